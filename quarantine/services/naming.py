"""Finding tests by any spelling, and the rules that hang on a test's name."""

import re
from collections.abc import Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.identity import ID_PREFIX, TestName
from quarantine.domain.spelling import spellings
from quarantine.errors import NotFound
from quarantine.policy.criteria import Policy
from quarantine.policy.wording import named
from quarantine.store import histories, roster
from quarantine.store.projects import Project

SOUND_BUILDS = 20
"""Trunk runs in a row that have to tell once of an id that stood for several tests, before its trials count again."""
_SUGGESTED = 5
_SOUGHT_CHARACTERS = 200
"""SQLite looks for no longer a text."""
_DEEPEST = 64
"""Parts that may stand before a bare name. Unbounded, names of nothing but dots cost the square of their length."""


def id_of(row: dict[str, Any]) -> str:
    """Return the opaque id of a stored test, which no rename changes."""
    return f"{ID_PREFIX}{bytes(row['digest']).hex()}"


def display_of(row: dict[str, Any]) -> str:
    """Return the name of a stored test as people read it."""
    return TestName(tuple(row["suite"]), row["classname"], row["name"]).display


def name_of(connection: Connection, project: Project, test: int) -> str:
    """Return the name of the test with this ordinal as people read it."""
    return display_of(roster.rows(connection, project.id, [test])[test])


def formerly(row: dict[str, Any]) -> list[str]:
    """Return the names that a stored test went by before, the latest first."""
    return [display_of(former) for former in row.get("former", ())]


def formerly_sentence(row: dict[str, Any]) -> str:
    """Return a sentence that says what a stored test was called before, led by a blank; empty where it never was."""
    return f" Formerly {named(formerly(row))}." if row.get("former") else ""


def ids_of(row: dict[str, Any]) -> frozenset[str]:
    """Return every id that a stored test goes by: its own, and those of the names it has had since."""
    return frozenset(f"{ID_PREFIX}{digest.hex()}" for digest in row.get("names", [bytes(row["digest"])]))


def spellings_of(row: dict[str, Any]) -> frozenset[str]:
    """Return the accepted spellings of a stored test, those of its former names too, the opaque ids left out."""
    return present_spellings_of(row).union(*map(present_spellings_of, row.get("former", ())))


def present_spellings_of(row: dict[str, Any]) -> frozenset[str]:
    """Return the accepted spellings of the name that a stored test has now."""
    return spellings(TestName(tuple(row["suite"]), row["classname"], row["name"]), row["file"])


def goes_by(row: dict[str, Any], name: str) -> bool:
    """Return whether a stored row is what an id or a name stands for, whatever else may go by it."""
    return name in ids_of(row) or name in bare_names_of(row) or name in spellings_of(row)


def bare_names_of(row: dict[str, Any]) -> frozenset[str]:
    """Return the last part of every name of a stored test."""
    return frozenset([row["name"], *(former["name"] for former in row.get("former", ()))])


def find(connection: Connection, project: Project, name: str) -> dict[str, Any]:
    """Return the one test that goes by this id or spelling.

    Raises NotFound when there is none, or when several share the spelling; the error names the nearest.
    """
    if re.fullmatch(r"v1:[0-9a-f]{32}", name):
        row = roster.by_digest(connection, project.id, bytes.fromhex(name.removeprefix(ID_PREFIX)))
        if row is None:
            raise NotFound(f"No test of {project.slug} has the id {name}.", mend="See `quarantine list`.")
        return row
    rows = roster.named(connection, project.id, bare_names(name))
    found = [row for row in rows if name in bare_names_of(row) or name in spellings_of(row)]
    exact = [row for row in found if name in spellings_of(row)] or found
    if len(exact) > 1:  # a name that another lane made up takes nothing from one that trunk runs
        variants = histories.variants_on_trunk(connection, project.id, [row["ordinal"] for row in exact])
        exact = [row for row in exact if variants[row["ordinal"]]] or exact
    if len(exact) == 1:
        return exact[0]
    if exact:
        raise NotFound(f"{len(exact)} tests go by {name!r}: {_ids(exact)}.", mend="Use the id of the one you mean.")
    near = roster.resembling(connection, project.id, bare_names(name)[-1][:_SOUGHT_CHARACTERS], _SUGGESTED)
    mend = f"Did you mean {_ids(near)}?" if near else "Is it in another project, or did it never run?"
    raise NotFound(f"No test of {project.slug} goes by {name!r}.", mend=mend)


def bare_names(name: str) -> list[str]:
    """Return every suffix of a spelling that may be the bare name of the test, the longest first."""
    return [name, *(name[match.end() :] for match in islice(re.finditer(r"::|\.", name), _DEEPEST))]


def _ids(rows: Sequence[dict[str, Any]]) -> str:
    shown = [f"{display_of(row)[:120]} ({id_of(row)})" for row in rows[:_SUGGESTED]]
    return ", ".join(shown) + (f" and {len(rows) - _SUGGESTED} more" if len(rows) > _SUGGESTED else "")


def barred(row: dict[str, Any]) -> str | None:
    """Return why a test's id keeps it from being quarantined and what ends that, as a sentence; None for a sound id."""
    if not row["stable_id"]:
        return (
            "Its id was another case in each process, so its history is nobody's and it cannot be quarantined. Give "
            "the cases names of their own."
        )
    if not row["unique_id"]:
        return (
            "Several tests shared its id in one trunk build, so its history is nobody's and it cannot be quarantined. "
            f"It can again once {SOUND_BUILDS} trunk builds in a row have told of it once: {row['sound_builds']} have."
        )
    return None


def never_reason(connection: Connection, project: Project, policy: Policy, test: int) -> str | None:
    """Return why the test must always gate, as a sentence; None when nothing says so."""
    row = roster.rows(connection, project.id, [test])[test]
    if not row["unique_id"]:
        return "its id stands for several tests, so its history is nobody's."
    if not row["stable_id"]:
        return "its id is another case in each process, so its history is nobody's."
    glob = policy.barring_glob(*present_spellings_of(row), *ids_of(row))
    return f"the policy never quarantines {glob!r}." if glob else None
