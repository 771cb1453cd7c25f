"""The command `quarantine`: one file per verb, loaded only when it is called."""

import sys

from quarantine.cli.group import cli

__all__ = ["cli", "main"]


def main() -> None:
    """Run the command line. An error of ours becomes one line on stderr and exit code 2."""
    from quarantine.client.errors import ClientError
    from quarantine.errors import QuarantineError

    try:
        cli(prog_name="quarantine")
    except (QuarantineError, ClientError) as error:
        sys.stderr.write(f"quarantine: {error}\n")
        sys.exit(2)
