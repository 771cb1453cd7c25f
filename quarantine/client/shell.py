"""The gate's question from a shell. It is asked once per test, so nothing is loaded that would make the answer wait."""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile

from quarantine.client.errors import ClientConfigurationError
from quarantine.client.gating import GatingSet
from quarantine.client.target import Target

__all__ = ["HELP", "is_gating"]

HELP = """\
Usage: quarantine is-gating [OPTIONS] TEST

  Exit 0 if TEST gates, 1 if it does not, 2 for wrong usage or configuration.

  TEST is an opaque id, a pytest node id, or classname::name. A test the daemon
  does not know gates. When the daemon cannot be reached, the last snapshot
  answers up to its maximum age; after that every test gates.

Options:
  --variant KEY=VALUE  The way it was run; repeat for each key.
  --url TEXT           The daemon [environment: QUARANTINE_URL].
  --project TEXT       The project [environment: QUARANTINE_PROJECT].
  --token TEXT         A token [environment: QUARANTINE_TOKEN].
  -h, --help           Show this message and exit.
"""
_VARIABLES = {"--url": "QUARANTINE_URL", "--project": "QUARANTINE_PROJECT", "--token": "QUARANTINE_TOKEN"}
_MISUSE = 2


def is_gating(arguments: Sequence[str]) -> int:
    """Answer for one test and return the exit code: 0 it gates, 1 it does not, 2 wrong usage or configuration."""
    if {"-h", "--help"}.intersection(takewhile(lambda word: word != "--", arguments)):
        sys.stdout.write(HELP)
        return 0
    try:
        test, variant, environment = _understood(arguments)
        target = Target.from_environment(environment)
        gates = GatingSet(target.url, target.project, target.token).is_gating(test, variant or None)
    except ClientConfigurationError as error:
        sys.stderr.write(f"quarantine: {error}\n")
        return _MISUSE
    sys.stdout.write("gating\n" if gates else "not gating\n")
    return 0 if gates else 1


def _understood(arguments: Sequence[str]) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the test, the variant, and the environment with what the options overrule."""
    tests: list[str] = []
    variant: dict[str, str] = {}
    environment = dict(os.environ)
    for option, value in _words(arguments):
        if option is None:
            tests.append(value)
        elif option == "--variant":
            key, equals, pair = value.partition("=")
            if not (key and equals):
                raise _misuse(f"--variant {value!r} is not KEY=VALUE.")
            variant[key] = pair
        else:
            environment[_VARIABLES[option]] = value
    if len(tests) != 1:
        raise _misuse(f"is-gating takes one TEST, not {len(tests)}.")
    return tests[0], variant, environment


def _words(arguments: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Yield (option, value), or (None, word); what follows `--` is words."""
    left = iter(arguments)
    for word in left:
        if word == "--":
            yield from ((None, test) for test in left)
        elif not word.startswith("--"):
            yield None, word
        else:
            option, equals, value = word.partition("=")
            if option != "--variant" and option not in _VARIABLES:
                raise _misuse(f"There is no option {option}.")
            given = value if equals else next(left, None)
            if given is None:
                raise _misuse(f"{option} needs a value.")
            yield option, given


def _misuse(message: str) -> ClientConfigurationError:
    return ClientConfigurationError(message, mend="See quarantine is-gating --help.")
