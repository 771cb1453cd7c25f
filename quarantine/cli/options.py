"""Options that several verbs share, and how they reach the product: its own database, or a daemon over HTTP."""

import contextlib
import getpass
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from quarantine.services.access import Bearer
    from quarantine.services.app import App

F = TypeVar("F", bound=Callable[..., Any])


class ReportFile(click.Path):
    """A file that can be read to its end: a pipe or a device may never have one."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; fails for whatever is no regular file."""
        path = super().convert(value, param, ctx)
        if not Path(os.fsdecode(path)).is_file():
            self.fail(
                f"{click.format_filename(value)!r} is no regular file. Write the report to a file first.", param, ctx
            )
        return path


class ProjectName(click.types.StringParamType):
    """A project's name, which may come from the environment too."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002 - click's
        """Return where the name can come from, for who gave none."""
        return "Name the project, or set QUARANTINE_PROJECT."


config_option = click.option(
    "--config", "config_path", type=click.Path(path_type=Path), help="Configuration file [default: quarantine.toml]."
)
database_option = click.option("--database", help="Database URL, instead of the configured one.")
project_option = click.option(
    "--project",
    envvar="QUARANTINE_PROJECT",
    required=True,
    type=ProjectName(),
    help="The project [environment: QUARANTINE_PROJECT].",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def on_database(function: F) -> F:
    """Give a verb the options that name the database it works on."""
    return config_option(database_option(function))


def open_app(config_path: Path | None, database: str | None, *, migrate: bool = False) -> "App":
    """Return the product on its database, which is closed when the verb ends; raises BadConfiguration."""
    from quarantine import bootstrap, config

    settings = config.load(config_path)
    if database:
        settings = settings.model_copy(update={"database": database})
    app = bootstrap.build_app(settings, migrate=migrate)
    click.get_current_context().call_on_close(app.engine.dispose)
    return app


def shell_bearer() -> "Bearer":
    """Return the person at this shell, who can open the database file and so owns it."""
    from quarantine.services.access import of_shell

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return of_shell(user)


def print_json(value: Any) -> None:
    """Print JSON for programs: keys as they are, one document, in characters that every terminal and pipe takes."""
    click.echo(json.dumps(value, indent=2))


def say(text: str) -> None:
    """Print text for people. Names and messages in it come from reports, so nothing of it acts on the terminal."""
    from quarantine.junit.texts import plain_text

    click.echo(plain_text(text))


def complain(text: str) -> None:
    """Say what went wrong in one line on stderr; nothing of it acts on the terminal."""
    from quarantine.junit.texts import plain_text

    click.echo(f"quarantine: {plain_text(' '.join(text.split()))}", err=True)


def drop_stdout() -> None:
    """Write nothing more to stdout: what it did not take would otherwise fail once more when the process ends."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - no path of ours
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def variant_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return KEY=VALUE words as a mapping; raises a usage error for a word without `=`."""
    for pair in pairs:
        if "=" not in pair:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE.", param_hint="--variant")
    return dict(pair.split("=", 1) for pair in pairs)
