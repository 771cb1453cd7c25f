"""The command `quarantine`: one file per verb, loaded only when it is called."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. An error of ours becomes one line on stderr, and an exit code.

    2 says that the call or the configuration has to be mended, 1 that it may succeed later as it is.

    A harness asks `is-gating` once per test, so that verb is answered before anything else is loaded.
    """
    if sys.argv[1:2] == ["is-gating"]:
        from quarantine.client import shell

        sys.exit(shell.is_gating(sys.argv[2:]))
    _run()


def _run() -> None:
    from io import TextIOWrapper

    from quarantine.cli.group import cli
    from quarantine.cli.options import complain
    from quarantine.cli.remote import NoAnswer
    from quarantine.client.errors import ClientError
    from quarantine.errors import Busy, QuarantineError

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of tests hold what a terminal's encoding may not
    try:
        cli(prog_name="quarantine")
    except (QuarantineError, ClientError) as error:
        complain(str(error))
        sys.exit(1 if isinstance(error, Busy | NoAnswer) else 2)
