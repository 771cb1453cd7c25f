"""A small project to test on: what its builds report, who sends it, and short words for what happens to it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from quarantine.clock import FrozenClock
from quarantine.domain.outcome import Lane
from quarantine.junit import Document
from quarantine.services import decisions, listing, verdicts
from quarantine.services.access import Bearer, of_shell
from quarantine.services.app import App
from quarantine.services.build_part import BuildPart, parse_build_part
from quarantine.services.explain import explain
from quarantine.services.ingest import Receipt, ingest
from quarantine.services.question import parse_question, parse_rerun_note
from quarantine.store.tokens import Scope

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
OWNER = of_shell("the tests")
PROJECT = "ledger"
CLASSNAME = "tests.test_ledger"

Tries = Mapping[str, str]
"""Test name to its tries: `P` passed, `F` failed, `E` errored, `S` skipped; `FP` failed first and passed on a retry."""

_CASES = {
    "P": "",
    "F": "<failure message={said} type='AssertionError'>{said}</failure>",
    "E": "<error message={said} type='RuntimeError'>{said}</error>",
    "S": "<skipped/>",
    "FP": "<flakyFailure message={said} type='AssertionError'>{said}</flakyFailure>",
    "FF": "<failure message={said} type='AssertionError'/><rerunFailure message={said} type='AssertionError'/>",
}


def junit(tests: Tries, *, said: str = "boom", classname: str = CLASSNAME) -> bytes:
    """Return a JUnit document in which these tests did that; `said` is the message of every failure."""
    text, attribute = escape(said), quoteattr(said)
    cases = "".join(
        f"<testcase classname={quoteattr(classname)} name={quoteattr(name)} time='0.01'>"
        f"{_CASES[tries].replace('={said}', f'={attribute}').replace('{said}', text)}</testcase>"
        for name, tries in tests.items()
    )
    return f"<testsuite name='suite' tests='{len(tests)}'>{cases}</testsuite>".encode()


def documents(*reports: bytes) -> list[Document]:
    """Return the reports as files of one upload."""
    return [Document(f"report-{number}.xml", report) for number, report in enumerate(reports, start=1)]


def tree(name: object) -> str:
    """Return a tree hash: the same for the same name."""
    return hashlib.sha256(str(name).encode()).hexdigest()


def commit(name: object) -> str:
    """Return a commit hash: the same for the same name."""
    return tree(f"commit {name}")[:40]


def build_part(build: object, **fields: Any) -> BuildPart:
    """Return a build part; the tree and the commit are those named like the build unless given."""
    values = {"schema": 1, "build": str(build), "job": "unit", "tree": tree(build), "commit": commit(build)}
    return parse_build_part(json.dumps(values | fields))


def sender(lane: Lane = Lane.TRUNK, *, change: str | None = None) -> Bearer:
    """Return whoever holds a report token of this lane."""
    return Bearer(f"token of {lane}", frozenset({Scope.REPORT, Scope.READ}), lane=lane, change=change)


@dataclass(slots=True)
class World:
    """One project of a running product."""

    app: App
    clock: FrozenClock
    project: str = PROJECT

    def created(self) -> "World":
        """Create the project."""
        decisions.create_project(self.app, self.project, bearer=OWNER)
        return self

    def send(
        self,
        build: object,
        *reports: Tries | bytes,
        lane: Lane = Lane.TRUNK,
        change: str | None = None,
        said: str = "boom",
        **fields: Any,
    ) -> Receipt:
        """Take one upload in; `fields` are those of the build part."""
        bodies = [report if isinstance(report, bytes) else junit(report, said=said) for report in reports]
        part = build_part(build, **fields)
        return ingest(self.app, self.project, sender(lane, change=change), part, documents(*bodies))

    def rerun(self, build: object, *reports: Tries | bytes, number: int = 1, **fields: Any) -> Receipt:
        """Take in a rerun of a build's own tree."""
        rerun = {"kind": "rerun", "rerun_of": str(build), "tree": tree(build), "commit": commit(build)}
        return self.send(f"{build}-rerun-{number}", *reports, **(rerun | fields))

    def ask(
        self,
        build: object,
        *reports: Tries | bytes,
        lane: Lane = Lane.AGENT,
        change: str | None = "ticket-1",
        said: str = "boom",
        question: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Ask for the verdict on a run; `fields` are those of the build part."""
        bodies = [report if isinstance(report, bytes) else junit(report, said=said) for report in reports]
        asked = parse_question(json.dumps({"schema": 1} | dict(question or {})).encode())
        part = build_part(build, **({"complete": False} | fields))
        bearer = sender(lane, change=change)
        return verdicts.ask(self.app, self.project, bearer, part, asked, documents=documents(*bodies))[0]

    def answer(
        self,
        verdict: Mapping[str, Any],
        build: object,
        *reports: Tries | bytes,
        number: int = 1,
        lane: Lane = Lane.AGENT,
        change: str | None = "ticket-1",
        said: str = "boom",
        note: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Send a rerun of a judged build, of its own tree unless `fields` name another, and return the verdict."""
        bodies = [report if isinstance(report, bytes) else junit(report, said=said) for report in reports]
        stated = {"kind": "rerun", "rerun_of": str(build), "tree": tree(build), "commit": commit(build)}
        part = build_part(f"{build}-rerun-{number}", **(stated | {"complete": False} | fields))
        told = parse_rerun_note(json.dumps(dict(note or {})).encode())
        return verdicts.add_rerun(
            self.app, self.project, sender(lane, change=change), part, told,
            number=verdict["id"], documents=documents(*bodies),
        )[0]  # fmt: skip

    def wait(self, **time: float) -> None:
        """Let time pass; the words are those of `timedelta`."""
        self.clock.advance(timedelta(**time))

    def explain(self, name: str) -> dict[str, Any]:
        """Return what is known about a test, derived a second time as well."""
        return explain(self.app, self.project, name, recomputed=True)

    def disagreements(self, names: Sequence[str]) -> list[str]:
        """Return every way in which what is stored about these tests contradicts the stored outcomes."""
        return [
            f"{name} in {variant['variant']}: {phrase}"
            for name in names
            for variant in self.explain(name)["variants"]
            for phrase in variant["disagreements"]
        ]

    def summary(self) -> dict[str, Any]:
        """Return what the project's page shows."""
        return listing.summary(self.app, self.project)
