"""The command `quarantine`: one file per verb, loaded only when it is called."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line. An error of ours becomes one line on stderr and exit code 2.

    A harness asks `is-gating` once per test, so that verb is answered before anything else is loaded.
    """
    if sys.argv[1:2] == ["is-gating"]:
        from quarantine.client import shell

        sys.exit(shell.is_gating(sys.argv[2:]))
    _run()


def _run() -> None:
    from quarantine.cli.group import cli
    from quarantine.client.errors import ClientError
    from quarantine.errors import QuarantineError

    try:
        cli(prog_name="quarantine")
    except (QuarantineError, ClientError) as error:
        sys.stderr.write(f"quarantine: {error}\n")
        sys.exit(2)
