"""What a session was asked to do: from the command line, the configuration file and the environment."""

import os
import sys
from typing import NamedTuple

import pytest

from quarantine.client.errors import ClientConfigurationError
from quarantine.client.providers import provider_of, stated
from quarantine.client.target import Target

__all__ = ["Options", "options_of", "take_part"]

_OFF = frozenset({"off", "0", "false", "no"})


class Options(NamedTuple):
    """What was asked.

    Attributes:
        target: which daemon and project; None when nobody named one.
        only_quarantined: run nothing else.
        upload: send the report at the end.
        reach: record reach.
        reruns: how often a failing test is run again after the last test, at most; None when the daemon's plan alone
            decides.
        variant: pairs stated for the build part, beside those that are found.
        command: the command as the daemon is told it; None means as pytest was called.
        excuses: whether quarantined tests are asked for at all: a setting says so when it is false.
    """

    target: Target | None
    only_quarantined: bool
    upload: bool
    reach: bool
    reruns: int | None
    variant: dict[str, str]
    command: str | None
    excuses: bool = True

    def full_variant(self) -> dict[str, str]:
        """Return the variant that the daemon will know this session's results by, the CI job included."""
        provider = provider_of(os.environ)
        job = stated(provider, os.environ).get("job") if provider else None
        found = {"os": sys.platform, "python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
        return found | self.variant | ({"job": str(job)} if job else {})


def options_of(config: pytest.Config) -> Options:
    """Return what a session was asked; raises pytest.UsageError for what cannot be meant."""
    asked = config.option
    upload = (asked.quarantine_upload or config.getini("quarantine_upload")) and os.environ.get(
        "QUARANTINE_UPLOAD", ""
    ).lower() not in _OFF
    return Options(
        target=_target(config),
        only_quarantined=asked.quarantined_only,
        upload=upload,
        reach=asked.quarantine_reach,
        reruns=_reruns(config, unasked=None if upload else 0),
        variant=_variant(asked.quarantine_variant),
        command=asked.quarantine_command,
        excuses=asked.quarantine or asked.quarantined_only or config.getini("quarantine") is not False,
    )


def _target(config: pytest.Config) -> Target | None:
    """Return the daemon that is named: by an option, else by the environment, else by a setting in a file.

    That none is named is no mistake: a fork without secrets runs the same command.
    """
    words = {}
    for name in ("url", "project"):
        variable = f"QUARANTINE_{name.upper()}"
        option, setting = getattr(config.option, f"quarantine_{name}"), config.getini(f"quarantine_{name}")
        words[variable] = option or os.environ.get(variable) or setting
    if not words["QUARANTINE_URL"].strip():
        return None
    try:
        return Target.from_environment({**os.environ, **words})
    except ClientConfigurationError as error:
        raise pytest.UsageError(f"quarantine: {error}") from error


def _reruns(config: pytest.Config, *, unasked: int | None) -> int | None:
    word = config.option.quarantine_reruns
    word = config.getini("quarantine_reruns") if word is None else word
    if word == "":
        return unasked
    try:
        number = int(word)
    except ValueError:
        number = -1
    if number < 0:
        raise pytest.UsageError(f"quarantine: {word!r} is no number of reruns; it is 0 or more.")
    return number


def _variant(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise pytest.UsageError(f"quarantine: --quarantine-variant {pair!r} is not KEY=VALUE.")
    return dict(pair.split("=", 1) for pair in pairs)


def take_part(config: pytest.Config) -> None:
    """Register what does the work of this process: the one a person looks at, or a worker of pytest-xdist."""
    if hasattr(config, "workerinput"):
        from quarantine.pytest_plugin.worker import join_worker  # noqa: PLC0415 - one of the two is needed

        join_worker(config)
    else:
        from quarantine.pytest_plugin.session import join_session  # noqa: PLC0415 - one of the two is needed

        join_session(config, options_of(config))
