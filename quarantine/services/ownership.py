"""Who owns a test: the owners of the file it lies in, as trunk's CODEOWNERS file says, and how to reach them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection

from quarantine.owners.ownership import OwnersFile
from quarantine.owners.parsing import dialect_of, parse
from quarantine.owners.rules import Dialect
from quarantine.policy.wording import listed
from quarantine.services import naming
from quarantine.services.app import App
from quarantine.services.people import ProjectPeople
from quarantine.store import owners, roster
from quarantine.store.owners import OwnersText
from quarantine.store.projects import Project

_HELD_FILES = 16


@dataclass(frozen=True, slots=True)
class Owned:
    """Whose a test is.

    Attributes:
        owners: as CODEOWNERS writes them.
        reached_at: Slack ids of those owners that the settings map.
        unmapped: the owners that no setting maps.
        sentence: where this was read, or why there is nobody.
    """

    owners: tuple[str, ...]
    reached_at: tuple[str, ...]
    unmapped: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of a project's tests.

    Attributes:
        file: the CODEOWNERS file; None when trunk never sent one.
        people: maps owners to Slack.
        folder: where the project's tree lies in its repository, at whose root the file's patterns begin.
    """

    file: OwnersFile | None
    people: ProjectPeople
    folder: str = ""

    def of(self, test: dict[str, Any]) -> Owned:
        """Return whose a test is, by its roster row."""
        if self.file is None:
            return Owned((), (), (), "Trunk never sent a CODEOWNERS file, so nobody is known to own it.")
        path = _file_of(test)
        if not path:
            return Owned((), (), (), "No report says in which file it lies, so nobody is known to own it.")
        found = self.file.ownership(f"{self.folder}/{path}" if self.folder else path)
        names = tuple(owner.text for owner in found.owners)
        mapped = {owner.text: self.people.owners.get(owner.key, "") for owner in found.owners}
        unmapped = tuple(name for name in names if not mapped[name])
        reached = tuple(dict.fromkeys(slack for slack in mapped.values() if slack))
        return Owned(names, reached, unmapped, found.sentence)


def _file_of(test: dict[str, Any]) -> str:
    """Return the file a test lies in: as reports say, else the longest its names spell that looks like one of tests."""
    if test["file"]:
        return str(test["file"]).replace("\\", "/").lstrip("/")
    spelled = {name.partition("::")[0] for name in naming.present_spellings_of(test) if ".py::" in name}
    return max(filter(_is_test_module, sorted(spelled)), key=len, default="")


def _is_test_module(path: str) -> bool:
    module = path.rpartition("/")[2].removesuffix(".py")
    return module.startswith("test_") or module.endswith("_test")


def owners_of(connection: Connection, project: Project, people: ProjectPeople) -> Owners:
    """Return the owners of a project's tests, by the newest file that trunk sent."""
    text = owners.newest(connection, project.id)
    if text is None:
        return Owners(None, people)
    return Owners(_parsed(text), people, text.folder)


def names_of_owners(app: App, connection: Connection, project: Project, tests: Sequence[int]) -> dict[int, str]:
    """Return who owns each of these tests, as prose; tests that nobody owns are left out."""
    found = owners_of(connection, project, app.people.of(project.slug))
    if found.file is None or not found.file.rules:
        return {}
    named = {test: found.of(row).owners for test, row in roster.rows(connection, project.id, tests).items()}
    return {test: listed(list(names)) for test, names in named.items() if names}


@lru_cache(_HELD_FILES)
def _parsed(found: OwnersText) -> OwnersFile:
    dialect = Dialect(found.dialect) if found.dialect else dialect_of(found.path, found.text)
    return parse(found.text, dialect)
