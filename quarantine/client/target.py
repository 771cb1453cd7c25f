"""Where the daemon is, which project is meant, and with which token."""

import os
import re
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from quarantine.client.errors import ClientConfigurationError

__all__ = ["Target"]

_PROJECT = re.compile(r"[^\s/\x00-\x1f\x7f]{1,200}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,500}")


class Target:
    """One project of one daemon.

    Attributes:
        scheme: `http` or `https`.
        host: host name or address.
        port: TCP port; None means the scheme's own.
        base: path the daemon is served under, without a trailing slash; usually empty.
        url: the address in one piece, without a trailing slash.
        project: the project's name.
        token: sent as a bearer token; None sends none.

    Raises:
        ClientConfigurationError: a part is missing or ill-formed.
    """

    __slots__ = ("base", "host", "port", "project", "scheme", "token", "url")

    def __init__(self, url: str, project: str, token: str | None = None) -> None:
        self.scheme, self.host, self.port, self.base = _address(url)
        self.url = url.strip().rstrip("/")
        self.project = _project(project)
        self.token = _token(token)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "Target":
        """Return the target that QUARANTINE_URL, QUARANTINE_PROJECT and QUARANTINE_TOKEN name.

        Raises:
            ClientConfigurationError: the address or the project is not set, or one of the three is ill-formed.
        """
        variables = os.environ if environment is None else environment
        for name in ("QUARANTINE_URL", "QUARANTINE_PROJECT"):
            if not variables.get(name, "").strip():
                raise ClientConfigurationError(
                    f"{name} is not set, so there is no daemon to ask.",
                    mend="Set QUARANTINE_URL and QUARANTINE_PROJECT, and QUARANTINE_TOKEN where the daemon wants one.",
                )
        return cls(variables["QUARANTINE_URL"], variables["QUARANTINE_PROJECT"], variables.get("QUARANTINE_TOKEN"))

    def path(self, resource: str) -> str:
        """Return the request path of a resource of the project, such as `gating`."""
        return f"{self.base}/v1/projects/{quote(self.project, safe='')}/{resource}"

    def headers(self) -> dict[str, str]:
        """Return the headers every request to this target carries."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def _address(url: str) -> tuple[str, str, int | None, str]:
    mend = "QUARANTINE_URL looks like https://quarantine.example.org, with a path only when a proxy adds one."
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise ClientConfigurationError(f"{url!r} is not an address: {error}.", mend=mend) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ClientConfigurationError(f"{url!r} is not the address of a daemon.", mend=mend)
    if parts.username is not None or parts.password is not None:
        raise ClientConfigurationError("The daemon's address holds a user or a password.", mend="Use QUARANTINE_TOKEN.")
    if parts.query or parts.fragment or not url.isprintable() or not url.isascii() or " " in url.strip():
        raise ClientConfigurationError(f"{url!r} is more than the address of a daemon.", mend=mend)
    return parts.scheme, parts.hostname, port, parts.path.rstrip("/")


def _project(project: str) -> str:
    if not _PROJECT.fullmatch(project.strip()) or not _is_text(project):
        raise ClientConfigurationError(
            f"{project!r} is not the name of a project.", mend="QUARANTINE_PROJECT is one word without slashes."
        )
    return project.strip()


def _is_text(word: str) -> bool:
    """Whether a word of the command line or the environment is text: bytes that are none arrive as surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in word)


def _token(token: str | None) -> str | None:
    if token is None or not token.strip():
        return None
    if not _TOKEN.fullmatch(token.strip()):
        raise ClientConfigurationError(
            "The token holds characters that no token has.", mend="Set QUARANTINE_TOKEN to the token as it was shown."
        )
    return token.strip()
