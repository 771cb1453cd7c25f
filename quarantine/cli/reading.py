"""Where verbs read and decide: at a daemon when one is named, else in the database on this machine."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from quarantine.cli.options import on_database, open_app
from quarantine.cli.remote import get, on_daemon, post, target_of

if TYPE_CHECKING:
    from quarantine.services.app import App

F = TypeVar("F", bound=Callable[..., Any])


def on_either(function: F) -> F:
    """Give a verb the options that name a daemon or a database, passed on as one `where`."""

    def verb(
        url: str | None,
        project: str,
        token: str | None,
        config_path: Path | None,
        database: str | None,
        **options: Any,
    ) -> Any:
        return function(where=Where(url, project, token, config_path, database), **options)

    verb.__doc__ = function.__doc__
    verb.__name__ = function.__name__
    return on_daemon(on_database(verb))  # type: ignore[return-value]  # click calls it with options, whatever its type


class Where:
    """A daemon, or a database on this machine."""

    def __init__(
        self, url: str | None, project: str, token: str | None, config_path: Path | None, database: str | None
    ) -> None:
        self.url = None if database else url  # a database named on the line is meant, whatever the environment says
        self.project, self.token = project, token
        self.config_path, self.database = config_path, database

    def read(self, resource: str, local: Callable[["App"], Any]) -> Any:
        """Return what the daemon answers for `resource`, or what `local` returns for the database."""
        if self.url:
            return get(target_of(self.url, self.project, self.token), resource)
        return local(self._app())

    def decide(self, resource: str, body: dict[str, Any], local: Callable[["App"], Any]) -> Any:
        """Return what the daemon answers to `body`, or what `local` returns for the database."""
        if self.url:
            return post(target_of(self.url, self.project, self.token), resource, body)
        return local(self._app())

    def _app(self) -> "App":
        """Return the product on the database; raises BadConfiguration, naming both ways where neither was named."""
        from quarantine.errors import BadConfiguration
        from quarantine.store.migrations import NO_DATABASE

        try:
            return open_app(self.config_path, self.database)
        except BadConfiguration as error:
            if error.code != NO_DATABASE or self.database:
                raise
            raise BadConfiguration(
                f"No daemon is named, and t{error.message[1:]}",
                mend="Name a daemon with --url or QUARANTINE_URL, or a database with --database.",
                code=NO_DATABASE,
            ) from error
