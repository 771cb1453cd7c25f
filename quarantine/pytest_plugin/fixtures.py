"""Telling coverage.py what runs, and recording the fixture map: who else uses what was set up for the first test.

Each phase of each test is a context, named as pytest-cov names it (`ID|setup`, `ID|run`, `ID|teardown`). What the
set-up or tear-down of a fixture runs that several tests share is a context of its own inside the phase that pays for
it, `fixture-NUMBER|ID|setup`: whoever does not know the map takes it for that phase. The map's form is told in
`quarantine.client.fixture_map`, what follows from it in docs/reach.md.
"""

import hashlib
import inspect
from collections import defaultdict
from collections.abc import Generator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import pytest

from quarantine.client.fixture_map import FixtureMap, WideFixture
from quarantine.pytest_plugin.contexts import switch

if TYPE_CHECKING:
    from coverage import Coverage

__all__ = ["Recorder"]


class _Definition(NamedTuple):
    """What names the definition of a fixture in every process.

    Attributes:
        name: as tests ask for it.
        place: the defining file and line.
        below: the id of the node below which it is visible; empty for everywhere.
    """

    name: str
    place: str
    below: str


class _Key(NamedTuple):
    """One definition, and the node of the collection it was set up for."""

    definition: _Definition
    node: str

    @property
    def text(self) -> str:
        """What names it in every process."""
        return "\n".join([*self.definition, self.node])

    @property
    def number(self) -> str:
        """A short name for it: 16 hexadecimal digits."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class _Use(NamedTuple):
    """What may be used: these definitions, where they were set up for one of these nodes."""

    definitions: AbstractSet[_Definition]
    nodes: AbstractSet[str]

    def joined(self, other: "_Use") -> "_Use":
        return _Use(self.definitions | other.definitions, self.nodes | other.nodes)


_NOTHING = _Use(frozenset(), frozenset())


class Recorder:
    """Switches contexts and records the fixture map, in the process where the tests run.

    Args:
        recording: of coverage.py.
        root: the folder that defining files are named from.
    """

    def __init__(self, recording: "Coverage", root: Path) -> None:
        self.recording = recording
        self.root = root
        static = recording.get_option("run:context")
        self._static = f"{static}|" if static else ""
        self._item: pytest.Item | None = None
        self._contexts: list[str] = []
        self._scopes: dict[_Key, str] = {}
        self._paid: dict[_Key, set[str]] = defaultdict(set)
        self._needs: dict[_Key, _Use] = {}
        self._uses: dict[str, _Use] = {}
        self._definitions: WeakKeyDictionary[Any, _Definition] = WeakKeyDictionary()
        self._nodes_set_up: set[str] = set()

    def map(self) -> FixtureMap:
        """Return what was recorded."""
        by_definition: dict[_Definition, list[_Key]] = defaultdict(list)
        for key in self._scopes:
            by_definition[key.definition].append(key)

        def keys(use: _Use) -> tuple[str, ...]:
            found = [key for one in use.definitions for key in by_definition[one] if key.node in use.nodes]
            return tuple(sorted(key.text for key in found))

        fixtures = {
            key.text: WideFixture(
                name=key.definition.name,
                scope=scope,
                file=key.definition.place,
                paid=tuple(sorted(self._paid[key])),
                needs=keys(self._needs.get(key, _NOTHING)),
            )
            for key, scope in self._scopes.items()
        }
        return FixtureMap({nodeid: keys(use) for nodeid, use in self._uses.items()}, fixtures)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Charge what follows to the set-up; note which nodes above the test are set up with it."""
        for node in item.listchain()[:-1]:
            if node.nodeid not in self._nodes_set_up and _sets_up(node):
                key = _Key(_set_up_of(node), node.nodeid)
                self._scopes[key] = "node"
                self._paid[key].add(f"{self._static}{item.nodeid}|setup")
            self._nodes_set_up.add(node.nodeid)
        return (yield from self._during(item, "setup"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Charge what follows to the test itself."""
        return (yield from self._during(item, "run"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Charge what follows to the tear-down; note what the test has used, now that it is over."""
        use = self._use(item)
        if use is not None:
            self._uses[item.nodeid] = self._uses.get(item.nodeid, _NOTHING).joined(use)
        return (yield from self._during(item, "teardown"))

    def _during(self, item: pytest.Item, phase: str) -> Generator[None, object, object]:
        self._item = item
        self._contexts = [f"{item.nodeid}|{phase}"]
        switch(self.recording, self._contexts[-1])
        try:
            return (yield)
        finally:
            self._item = None
            switch(self.recording, "")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, object, object]:
        """Charge a fixture that several tests may share to a context of its own, its tear-down likewise.

        Finalizers run in the opposite order: what is added first ends the tear-down, what is added last begins it.
        """
        if request.scope == "function" or self._item is None:
            return (yield)
        key = _Key(self._definition(fixturedef), request.node.nodeid)
        self._scopes[key] = request.scope
        fixturedef.addfinalizer(self._leave)
        self._enter(key)
        try:
            return (yield)
        finally:
            self._leave()
            fixturedef.addfinalizer(lambda: self._enter(key))
            use = self._use(self._item) if "request" in fixturedef.argnames else None
            if use is not None:  # it may have asked for others by name
                self._needs[key] = self._needs.get(key, _NOTHING).joined(use)

    def _definition(self, fixturedef: Any) -> _Definition:
        known = self._definitions.get(fixturedef)
        if known is None:
            known = self._definitions[fixturedef] = _definition(fixturedef, self.root)
        return known

    def _use(self, item: Any) -> _Use | None:
        """Return what a test may have used; None when pytest does not tell, so that it is charged more widely."""
        static = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", None)
        active = getattr(getattr(item, "_request", None), "_fixture_defs", None)
        if static is None or active is None:
            return None
        chain = item.listchain()
        several = (*static.values(), active.values())
        found = {self._definition(one) for definitions in several for one in definitions}
        return _Use(found.union(map(_set_up_of, chain[:-1])), frozenset(node.nodeid for node in chain))

    def _enter(self, key: _Key) -> None:
        """Go into the context of a fixture; where no test is running there is none, and nobody in particular pays."""
        if self._item is None:
            return
        phase = self._contexts[0]
        self._contexts.append(phase if self._static else f"fixture-{key.number}|{phase}")
        self._paid[key].add(f"{self._static}{self._contexts[-1]}")
        switch(self.recording, self._contexts[-1])

    def _leave(self) -> None:
        if self._item is not None and len(self._contexts) > 1:
            self._contexts.pop()
            switch(self.recording, self._contexts[-1])


def _definition(fixturedef: Any, root: Path) -> _Definition:
    code = getattr(inspect.unwrap(fixturedef.func), "__code__", None)
    if code is None:
        return _Definition(fixturedef.argname, "", str(fixturedef.baseid or ""))
    file = Path(code.co_filename)
    shown = file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name
    return _Definition(fixturedef.argname, f"{shown}:{code.co_firstlineno}", str(fixturedef.baseid or ""))


def _set_up_of(node: Any) -> _Definition:
    return _Definition(f"{type(node).__name__}.setup", node.nodeid, "")


def _sets_up(node: Any) -> bool:
    """Return whether a collector runs code of its own before the first test below it."""
    if isinstance(node, pytest.Package):
        file = node.path / "__init__.py"
        text = file.read_bytes() if file.is_file() else b""
        return any(name in text for name in (b"setup_module", b"setUpModule", b"teardown_module", b"tearDownModule"))
    return type(node).setup is not pytest.Collector.setup
