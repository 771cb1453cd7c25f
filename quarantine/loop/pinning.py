"""The environment that a loop's tests run in: recorded once, looked at again before each attempt.

A change of it is named, and nothing that a run then shows is blamed on the patch.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from quarantine.client.environment import Environment, asked, environment_of, named
from quarantine.client.tree import Tree

__all__ = ["LOCK_FILES", "Pinned", "clean_variables", "lock_files"]

KEPT = (*("LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "SYSTEMROOT", "LD_LIBRARY_PATH"), *("SSL_CERT_*", "REQUESTS_CA_*"))
"""What the tests see of this process's variables; no token, no credential and no CI system is among them."""
LOCK_FILES = (
    *("*.lock", "*requirements*.txt", "constraints*.txt", "*-lock.json", "*-lock.yaml", "npm-shrinkwrap.json"),
    *("go.sum", "gradle.lockfile"),
)
_STARTUP_PROBE = """
import json, site, sys
folders = [*site.getsitepackages(), site.getusersitepackages()]
print(json.dumps([folders, [path for path in sys.path if path]]))
"""
_LOADED_AT_START = ("*.pth", "sitecustomize.py", "usercustomize.py")


class Pinned(NamedTuple):
    """What has to stay as it is while a loop runs.

    Attributes:
        environment: the interpreter and what is installed for it.
        startup: SHA-256 over the files that every interpreter loads by itself: `.pth`, site and user customisation.
        lock: SHA-256 over the base's lock and requirement files.
        variables: SHA-256 of each variable that the tests see, by name.
    """

    environment: Environment
    startup: str
    lock: str
    variables: Mapping[str, str]

    @classmethod
    def taken(cls, python: str, base: Tree, variables: Mapping[str, str]) -> "Pinned":
        """Return the environment as it is now; raises ClientConfigurationError when the interpreter does not answer."""
        hashed = {name: _digest([value.encode("utf-8", "surrogateescape")]) for name, value in variables.items()}
        locks = [entry for entry in base.entries if _matches(entry.name, LOCK_FILES)]
        lock = _digest(f"{entry.name} {entry.blob}".encode("utf-8", "backslashreplace") for entry in locks)
        return cls(environment_of(python), _startup(python), lock, hashed)

    def differences(self, now: "Pinned") -> list[str]:
        """Return what is no longer as it was, as phrases; empty when nothing changed."""
        found = []
        if self.environment[:4] != now.environment[:4]:
            found.append("the interpreter")
        if self.environment.distributions != now.environment.distributions:
            changed = sorted(set(self.environment.distributions) ^ set(now.environment.distributions))
            found.append(f"what is installed ({few(changed)})")
        if self.startup != now.startup:
            found.append("a file that every interpreter loads when it starts (.pth or customisation)")
        if self.lock != now.lock:
            found.append("the base's lock files")
        names = sorted(
            name
            for name in self.variables.keys() | now.variables.keys()
            if self.variables.get(name) != now.variables.get(name)
        )
        return [*found, f"the variables {few(names)}"] if names else found

    def to_json(self) -> dict[str, Any]:
        """Return what is recorded of it."""
        return {
            "hash": self.environment.hash,
            "implementation": self.environment.implementation,
            "version": self.environment.version,
            "platform": self.environment.platform,
            "machine": self.environment.machine,
            "distributions": list(self.environment.distributions),
            "startup": self.startup,
            "lock": self.lock,
            "variables": dict(self.variables),
        }


def clean_variables(
    python: str, here: Mapping[str, str], *, kept: Sequence[str] = (), stated: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables that the tests see, but for the scratch folders of each run.

    Args:
        python: the interpreter that `python` must be.
        here: this process's variables.
        kept: more names, or globs of names, that are passed on.
        stated: variables that are set as they are given here.
    """
    found = {name: value for name, value in here.items() if _matches(name, (*KEPT, *kept))}
    path = f"{Path(named(python)).parent}{os.pathsep}{here.get('PATH', os.defpath)}"
    safe = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
    return {**found, "PATH": path, **safe, **(stated or {})}


def lock_files(paths: Iterable[str]) -> list[str]:
    """Return those of the paths that say what is installed."""
    return [path for path in paths if _matches(path, LOCK_FILES)]


def _startup(python: str) -> str:
    mend = "Name the interpreter that runs the tests, by --python."
    folders, path = asked(python, "-c", _STARTUP_PROBE, what="what it loads when it starts", answers=2, mend=mend)
    looked_at = [(folder, glob) for folder in folders for glob in _LOADED_AT_START]
    looked_at += [(folder, glob) for folder in path for glob in _LOADED_AT_START[1:]]
    files = sorted({file for folder, glob in looked_at for file in Path(folder).glob(glob)})
    return _digest(part for file in files if file.is_file() for part in (os.fsencode(file), file.read_bytes()))


def _matches(path: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(path.rpartition("/")[2], glob) for glob in globs)


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def few(names: Sequence[str], most: int = 5) -> str:
    """Return the first of the names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
