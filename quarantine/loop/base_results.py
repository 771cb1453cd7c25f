"""What the base's reports say of the tests that must pass, so that nobody is told that a test fails which does not.

The daemon reads reports thoroughly; this reads only enough of JUnit to find a test by the name pytest gives it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from quarantine.client.errors import ClientConfigurationError
from quarantine.loop.protected import Protected

__all__ = ["FAILED", "PASSED", "BaseResults"]

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_ENDS = {"failure": FAILED, "error": FAILED, "skipped": SKIPPED}
_RANK = (PASSED, SKIPPED, FAILED)
_PYTHON = ".py"


class BaseResults(NamedTuple):
    """The tests of the base's reports: (class name, name) to what became of it; the worst of several."""

    found: Mapping[tuple[str, str], str]

    @classmethod
    def read(cls, reports: Iterable[Path]) -> "BaseResults":
        """Return what these JUnit files hold; what cannot be read is left out."""
        found: dict[tuple[str, str], str] = {}
        for report in reports:
            for test, end in _cases(report):
                found[test] = max(found.get(test, PASSED), end, key=_RANK.index)
        return cls(found)

    def of(self, test: str) -> str | None:
        """Return what became of a test that is named as pytest does; None when it is not found by that name."""
        class_name, name = _spelled(test)
        ends = [end for (owner, own), end in self.found.items() if own == name and _is_same(owner, class_name)]
        return max(ends, key=_RANK.index, default=None)

    def require(self, tests: Sequence[str], protected: Protected, said: str) -> None:
        """Refuse tests that must pass, that the base has not, and that no patch may add.

        Args:
            tests: as the user named them.
            protected: the files that no patch may touch.
            said: where to read how the run on the base ended.

        Raises ClientConfigurationError.
        """
        missing = [test for test in tests if self._is_missing(test) and protected.matches(test.partition("::")[0])]
        if missing:
            mend = f"Name it as the runner lists it; a patch cannot add it, for tests are protected (--allow). {said}"
            raise ClientConfigurationError(f"There is no such test on the base: {', '.join(missing)}.", mend=mend)

    def _is_missing(self, test: str) -> bool:
        """Whether a name is one of pytest's and no report has a test that is called so, whatever its class."""
        file, parted, _ = test.partition("::")
        name = _spelled(test)[1].partition("[")[0]
        return bool(parted) and file.endswith(_PYTHON) and all(own.partition("[")[0] != name for _, own in self.found)


def _spelled(test: str) -> tuple[str, str]:
    """Return the class name and the name that pytest's JUnit file has for a test."""
    path, bracket, parameters = test.partition("[")
    file, *inner = path.split("::")
    module = file.removesuffix(_PYTHON).replace("/", ".")
    return ".".join([module, *inner[:-1]]), f"{inner[-1] if inner else ''}{bracket}{parameters}"


def _is_same(owner: str, class_name: str) -> bool:
    """Whether two class names mean one: they may be written from different folders."""
    return owner == class_name or owner.endswith(f".{class_name}") or class_name.endswith(f".{owner}")


def _cases(report: Path) -> list[tuple[tuple[str, str], str]]:
    """Return the cases of a report as far as it can be read; entities are none of JUnit's and end the reading."""
    cases: list[tuple[tuple[str, str], str]] = []

    def begun(tag: str, attributes: dict[str, str]) -> None:
        if tag == "testcase":
            cases.append(((attributes.get("classname", ""), attributes.get("name", "")), PASSED))
        elif tag in _ENDS and cases:
            test, end = cases[-1]
            cases[-1] = (test, max(end, _ENDS[tag], key=_RANK.index))

    def refused(*_declaration: object) -> None:
        raise ValueError("a report declares no entities")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EntityDeclHandler = begun, refused
    try:
        with report.open("rb") as stream:
            parser.ParseFile(stream)
    except (expat.ExpatError, ValueError, OSError):
        return cases
    return cases
