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
    from quarantine.cli.options import complain, drop_stdout
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
    except Exception as error:
        told = _told(error)
        if told is None:  # a mistake of ours: its traceback says where
            raise
        drop_stdout()
        complain(told)
        sys.exit(2)


def _told(error: Exception) -> str | None:
    """Return what the machine refused as a sentence; None for an error that is not the machine's."""
    if isinstance(error, OSError):
        return f"{error.filename or 'What is read or written'} cannot be used: {error.strerror or error}."
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object[:80]!a} holds bytes that are no UTF-8. Check what was given on the line."
    databases = sys.modules.get("sqlalchemy.exc")  # loaded by whoever raises its errors
    if databases is not None and isinstance(error, databases.SQLAlchemyError):
        cause = getattr(error, "orig", None) or type(error).__name__  # its own text may hold what the URL holds
        return f"The database cannot be used: {cause}. Check --database, and the file if it is one."
    return None
