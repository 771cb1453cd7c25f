"""Which parts of which files each test reaches, from what coverage.py recorded and from what the sources say.

A column is (path, part). A test reaches, for every file of the tree:

- `body`, when a line of a function body of it ran in the test's own contexts (setup, run, teardown);
- `module`, when the file is in the static import closure of a file that ran, of the test's own file, or of a
  conftest.py above it: code at module level runs once, in whatever context comes first, but all who import it see it.

A line's context says only who ran it *first*, or alone. So these are charged more widely than they were recorded:

- set-up and tear-down to all tests of the same file (fixtures of wider scope, setUpClass and their like run for the
  first test only); to all tests below the folder of a conftest.py when a wide-scoped fixture of it ran, or may have run
  where conftest.py was not measured; and to all tests when the fixture is defined anywhere else. Where a fixture map
  (`quarantine.client.fixture_map`) tells who uses what: to the users of what was set up or taken down there instead,
  whatever file they lie in. A test that the map does not know pays, and is charged, as if there were none;
- function bodies that ran outside any test (while importing, collecting, or in hooks) to every test that has the
  file's `module`;
- a file whose module level ran though no import of anybody's explains it, to every test;
- `body` of a file in the closure that coverage never measured, since nobody knows whether it ran; so too for the
  test's own file and its conftest.py files.

A file that is no Python, or that cannot be parsed, counts as `blob` where the above says `body` or `module`.

Beside the columns, which attribution rests on, stands which functions each test ran; see
`quarantine.client.function_reach`.
"""

import ast
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from quarantine.client.coverage_data import Lines, phase_of, read_lines
from quarantine.client.errors import MapError
from quarantine.client.fixture_map import FixtureMap, read_fixture_map
from quarantine.client.function_reach import FunctionReading, FunctionsRun, places_of
from quarantine.client.imports import ImportGraph
from quarantine.client.parts import BLOB, BODY, MODULE, body_lines, is_python, parse_python
from quarantine.client.tree import LINK, Tree

__all__ = ["Column", "ReachReading", "reach_of_coverage", "reach_of_lines", "to_json_lines"]

MIN_TESTS = 20
MIN_LINES = 50
MIN_SHARED = 0.05
"""A map is refused when it has at least `MIN_TESTS` tests and `MIN_LINES` lines, and a smaller share of the lines that
tests ran was run by two tests. The suites of docs/reach.md share 53 to 87 % of their lines; one of them, recorded with
a core that reports each line once, shared 1 %."""

EVERYBODY = ""
"""The folder that every test lies below."""

NO_FIXTURE_MAP = FixtureMap({}, {})

Column = tuple[str, str]
"""(path, part)"""


class ReachReading(NamedTuple):
    """What one recorded run says.

    Attributes:
        columns: per test, as the runner names it, what it reaches.
        remarks: sentences for whoever set the recording up.
        functions: which functions each test ran.
    """

    columns: dict[str, frozenset[Column]]
    remarks: tuple[str, ...]
    functions: FunctionReading


class _Ran(NamedTuple):
    """What ran in some contexts: all files, and those of which a function body ran."""

    files: set[str]
    bodies: set[str]

    def add(self, other: "_Ran") -> None:
        self.files.update(other.files)
        self.bodies.update(other.bodies)


def reach_of_coverage(data_file: Path, tree: Tree) -> ReachReading:
    """Return the reach of every test in a data file of coverage.py; see the module's docstring.

    Args:
        data_file: recorded with dynamic contexts, on this very tree; the fixture map in it is used when there is one.
        tree: the files the paths and lines in it refer to.

    Raises:
        MapError: the file is none of coverage.py's, or its map cannot be believed; the text says why.
    """
    return reach_of_lines(read_lines(data_file), _contents(tree), read_fixture_map(data_file))


def reach_of_lines(lines: Lines, contents: Mapping[str, bytes], fixtures: FixtureMap | None = None) -> ReachReading:
    """Return the reach of every test, from recorded lines and the files of the tree by path; raises MapError."""
    lines = _without_run_names(lines)
    _refuse_broken(lines)
    sources = {path: parse_python(content) for path, content in contents.items() if is_python(path)}
    return _Charges(lines, sources, contents, fixtures or NO_FIXTURE_MAP).reading()


def to_json_lines(reading: ReachReading) -> Iterator[str]:
    """Yield the wire form: first the tables of columns and functions, then a line per test with positions in them."""
    table = sorted(set().union(*reading.columns.values()))
    position = {column: number for number, column in enumerate(table)}
    yield json.dumps({"table": table}, separators=(",", ":")) + "\n"
    functions = reading.functions
    if functions.table:
        yield json.dumps({"function_table": functions.table}, separators=(",", ":")) + "\n"
    for test in sorted(reading.columns):
        line = {"test": test, "columns": sorted(position[column] for column in reading.columns[test])}
        if functions.table:
            line["functions"] = places_of(functions.ran.get(test, 0))
        yield json.dumps(line, separators=(",", ":")) + "\n"


def _contents(tree: Tree) -> dict[str, bytes]:
    """Return Python files by content; of the others the name is all that matters."""
    return {
        entry.name: (tree.root / entry.name).read_bytes() if is_python(entry.name) else b""
        for entry in tree.entries
        if entry.mode != LINK
    }


def _without_run_names(lines: Lines) -> Lines:
    """Return lines in which what ran outside every test has no context.

    A project that names its whole runs (`context = NAME`) has NAME there, and before each test's own context.
    """
    names = {name for context in lines for name, bar, _ in [context.partition("|")] if bar and "::" not in name}
    found: Lines = {}
    for context, files in lines.items():
        own = found.setdefault("" if context in names else context, {})
        for path, mask in files.items():
            own[path] = own.get(path, 0) | mask
    return found


def _refuse_broken(lines: Lines) -> None:
    by_test = _lines_by_test(lines)
    if not by_test:
        raise MapError(
            "The coverage data says nothing about single tests: it was recorded without contexts.",
            mend="Run pytest with --cov --cov-context=test.",
        )
    once: dict[str, int] = defaultdict(int)
    twice: dict[str, int] = defaultdict(int)
    for files in by_test.values():
        for path, mask in files.items():
            twice[path] |= once[path] & mask
            once[path] |= mask
    total, shared = (sum(mask.bit_count() for mask in masks.values()) for masks in (once, twice))
    if len(by_test) >= MIN_TESTS and total >= MIN_LINES and shared < MIN_SHARED * total:
        raise MapError(
            f"Of {total} lines that tests ran only {shared} were run by two tests: each line was reported once.",
            mend="Record with COVERAGE_CORE=ctrace; the core `sysmon` cannot tell tests apart.",
        )


def _lines_by_test(lines: Lines) -> Lines:
    found: Lines = {}
    for context, files in lines.items():
        phase = phase_of(context)
        if phase is not None:
            own = found.setdefault(phase.test, {})
            for path, mask in files.items():
                own[path] = own.get(path, 0) | mask
    return found


class _Charges:
    """One computation: what ran, to whom it is charged, and the columns that follow."""

    def __init__(
        self,
        lines: Lines,
        sources: Mapping[str, ast.Module | None],
        contents: Mapping[str, bytes],
        fixture_map: FixtureMap,
    ) -> None:
        self.paths = set(contents)
        self.fixture_map = fixture_map
        self.sources = sources
        self.graph = ImportGraph(sources, self.paths - sources.keys())
        self.masks = {path: body_lines(module) for path, module in sources.items() if module is not None}
        recorded = {path for files in lines.values() for path in files}
        self.places = {path: place for path in recorded if (place := _place(path, self.paths))}
        self.measured = set(self.places.values())
        if not self.measured:
            raise MapError(
                "No file that the coverage data names is in this tree.", mend="Read it on the tree it was recorded on."
            )
        self.outside = _Ran(set(), set())
        self.by_test: dict[str, _Ran] = {}
        self.by_shared_context: dict[str, _Ran] = {}
        self.by_folder: dict[str, _Ran] = defaultdict(lambda: _Ran(set(), set()))
        self.by_folder_unmapped: dict[str, _Ran] = defaultdict(lambda: _Ran(set(), set()))
        self.loaded: set[str] = set()
        self.fixtures = dict(self._wide_fixtures())
        self.homes: dict[str, str | None] = {}
        self.functions = FunctionsRun(sources, contents, self.measured)
        self._gather(lines)

    def reading(self) -> ReachReading:
        """Return what every test reaches, and remarks."""
        everybody = self._unexplained()
        columns = {test: frozenset(self._columns(test, everybody)) for test in self.by_test}
        homeless = sorted(test for test in self.by_test if self.homes[test] is None)
        remarks = []
        if homeless:
            remarks.append(f"The file of {len(homeless)} tests was not found in the tree, such as {homeless[0]}.")
        functions = self.functions.reading({test: self._functions_run(test, columns[test]) for test in columns})
        if self.functions.table and not functions.table:
            remarks.append("There are too many functions to send which of them each test ran.")
        return ReachReading(columns, tuple(remarks), functions)

    def _functions_run(self, test: str, columns: frozenset[Column]) -> int:
        contexts = self.fixture_map.shared_contexts(test) if test in self.fixture_map.tests else ()
        return self.functions.run_by(test, contexts, (path for path, part in columns if part == MODULE))

    def _gather(self, lines: Lines) -> None:
        shared = self.fixture_map.contexts
        for context, files in lines.items():
            ran = self._ran(files)
            phase = phase_of(context)
            self.functions.note(
                context,
                phase.test if phase else None,
                {self.places[path]: mask for path, mask in files.items() if path in self.places},
            )
            if phase is None:
                self.outside.add(ran)
                continue
            home = self.homes.setdefault(phase.test, self._home(phase.test))
            self.by_test.setdefault(phase.test, _Ran(set(), set())).add(ran)
            if context in shared:
                self.by_shared_context[context] = ran
            if phase.name != "run":
                for folder in self._shared_with(home, files):
                    self.by_folder[folder].add(ran)
                    if phase.test not in self.fixture_map.tests:
                        self.by_folder_unmapped[folder].add(ran)

    def _ran(self, files: Mapping[str, int]) -> _Ran:
        found = {self.places[path]: mask for path, mask in files.items() if mask and path in self.places}
        bodies = {path for path, mask in found.items() if mask & self.masks.get(path, -1)}
        self.loaded.update(path for path, mask in found.items() if mask & ~self.masks.get(path, 0))
        return _Ran(set(found), bodies)

    def _home(self, test: str) -> str | None:
        """Return the file a test lies in; None when the tree has no such file, or several."""
        name = test.partition("::")[0].replace("\\", "/")
        if "::" in test or name in self.paths:
            return _place(name, self.paths) or _only_ending(name, self.paths)
        pieces = name.split(".")  # as `dynamic_context = test_function` names tests
        for end in range(len(pieces) - 1, 0, -1):
            path = "/".join(pieces[:end]) + ".py"
            home = path if path in self.paths else _only_ending(path, self.paths)
            if home:
                return home
        return None

    def _wide_fixtures(self) -> Iterator[tuple[str, int]]:
        """Yield the files that define fixtures of a wider scope than one test, and the lines of their bodies."""
        for path, module in self.sources.items():
            mask = 0
            for node in ast.walk(module) if module is not None else ():
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_wide_fixture(node):
                    mask |= body_lines(ast.Module([node], []))
            if mask:
                yield path, mask

    def _shared_with(self, home: str | None, files: Mapping[str, int]) -> Iterator[str]:
        """Yield the file or the folders whose tests share what ran in a set-up or tear-down."""
        yield home or EVERYBODY
        ran = {self.places[path]: mask for path, mask in files.items() if path in self.places}
        for path, mask in self.fixtures.items():
            folder, _, name = path.rpartition("/")
            is_conftest = name == "conftest.py"
            if ran.get(path, 0) & mask and path != home:
                yield folder if is_conftest else EVERYBODY
            elif is_conftest and path not in self.measured and path in self._conftests(home):
                yield folder

    def _conftests(self, home: str | None) -> list[str]:
        """Return the conftest.py files that apply to a test file."""
        found = []
        folder = home or ""
        while folder:
            folder = folder.rpartition("/")[0]
            path = f"{folder}/conftest.py" if folder else "conftest.py"
            if path in self.paths:
                found.append(path)
        return found

    def _own(self, home: str | None) -> set[str]:
        return {home, *self._conftests(home)} if home else set()

    def _unexplained(self) -> _Ran:
        """Return the files whose module level ran though no import explains it: they are charged to every test."""
        roots = {path for home in set(self.homes.values()) for path in self._own(home)}
        strays = self.loaded - self._closure(roots)
        return _Ran(strays, strays & self.outside.bodies)

    def _closure(self, files: Iterable[str]) -> set[str]:
        return set().union(*(self.graph.closure(path) for path in files))

    def _columns(self, test: str, everybody: _Ran) -> Iterator[Column]:
        home = self.homes[test]
        ran = _Ran(set(), set())
        for part in (self.by_test[test], everybody, *self._shared(test, home)):
            ran.add(part)
        own = self._own(home)
        modules = self._closure(ran.files | own)
        bodies = ran.bodies | own | (modules & self.outside.bodies) | (modules - self.measured)
        for path in modules | bodies:
            if self.sources.get(path) is None:
                yield path, BLOB
                continue
            yield path, MODULE
            if path in bodies:
                yield path, BODY

    def _shared(self, test: str, home: str | None) -> Iterator[_Ran]:
        """Yield what other tests' set-ups and tear-downs ran on behalf of this one."""
        is_mapped = test in self.fixture_map.tests
        by_folder = self.by_folder_unmapped if is_mapped else self.by_folder
        for context in self.fixture_map.shared_contexts(test) if is_mapped else ():
            if context in self.by_shared_context:
                yield self.by_shared_context[context]
        places = [home or EVERYBODY]
        while places[-1]:
            places.append(places[-1].rpartition("/")[0])
        for place in places:
            if place in by_folder:
                yield by_folder[place]


def _is_wide_fixture(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("fixture"):
            for keyword in decorator.keywords:
                if keyword.arg == "scope":
                    return not (isinstance(keyword.value, ast.Constant) and keyword.value.value == "function")
    return False


def _place(recorded: str, paths: set[str]) -> str | None:
    """Return the file of the tree that a recorded path stands for; None for files of elsewhere.

    The recording may have been made in another folder, or of an installed copy of the tree.
    """
    name = recorded.replace("\\", "/")
    _, installed, rest = name.rpartition("/site-packages/")
    if installed:
        return rest if rest in paths else _only_ending(rest, paths)
    pieces = name.split("/")
    endings = ("/".join(pieces[start:]) for start in range(len(pieces)))
    return next((ending for ending in endings if ending in paths), None)


def _only_ending(ending: str, paths: set[str]) -> str | None:
    """Return the one path that ends so; None when there is none, or when there are several."""
    found = [path for path in paths if path.endswith(f"/{ending}")]
    return found[0] if len(found) == 1 else None
