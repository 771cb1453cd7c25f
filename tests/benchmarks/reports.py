"""JUnit reports of any size, and the bare reader they are measured against."""

import json
from xml.parsers import expat

HEAD = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="pytest tests">'
    b'<testsuite name="pytest" tests="%d" time="12.3">'
)


def case(number: int, *, failed: bool = False, tag: str = "") -> str:
    """Return one case as pytest writes it."""
    name = f"test_discount_is_applied_{number}[{number % 7}-{tag or 'customer'}]"
    where = f"tests.billing.pkg{number // 500}.test_module_{number // 20}"
    opening = f'<testcase classname="{where}" name="{name}" time="0.0{number % 90 + 10}"'
    if not failed:
        return f"{opening} />"
    trace = "\n".join(f"    line {line} of the traceback: total = price * (1 - rate)" for line in range(12))
    failure = f'<failure message="AssertionError: assert 20.00 == 19.97">{trace}\nE   assert 20.00 == 19.97</failure>'
    return f"{opening}>{failure}</testcase>"


def node_id(number: int) -> str:
    """Return what pytest calls the case on its command line and in a reach map."""
    where = f"tests/billing/pkg{number // 500}/test_module_{number // 20}.py"
    return f"{where}::test_discount_is_applied_{number}[{number % 7}-customer]"


def reach_lines(tests: int, files: int, *, reached: int = 60) -> bytes:
    """Return a map in which each test reaches the whole of so many files, others for each module of tests."""
    table = [[f"src/m{number}.py", part] for number in range(files) for part in ("body", "module")]
    lines = [json.dumps({"table": table})]
    for number in range(tests):
        first = number // 20 * 37
        columns = sorted({(first + step * step) % files * 2 + part for step in range(reached) for part in (0, 1)})
        lines.append(json.dumps({"test": node_id(number), "columns": columns}))
    return "\n".join(lines).encode()


def names_of(cases: int) -> list[str]:
    """Return the names of the cases of such a report, as pytest names them on the command line."""
    return [
        f"tests/billing/pkg{number // 500}/test_module_{number // 20}.py::"
        f"test_discount_is_applied_{number}[{number % 7}-customer]"
        for number in range(cases)
    ]


def report(cases: int, *, failing: frozenset[int] = frozenset()) -> bytes:
    """Return a report of so many cases."""
    body = "".join(case(number, failed=number in failing) for number in range(cases))
    return HEAD % cases + body.encode() + b"</testsuite></testsuites>"


class BareReader:
    """Expat handlers that collect the rows an ingest needs, and do nothing else with them."""

    def __init__(self) -> None:
        self.rows: list[tuple[tuple[str, ...], str, str, float | None, str, str, str]] = []
        self._suites: list[str] = []
        self._case: dict[str, str] = {}
        self._outcome = self._message = ""
        self._text: list[str] = []

    def read(self, data: bytes) -> None:
        """Collect (suites, classname, name, seconds, outcome, message, text) of every case."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text.append
        parser.Parse(data, True)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "testcase":
            self._case, self._outcome, self._message = attributes, "passed", ""
        elif name == "testsuite":
            self._suites.append(attributes.get("name", ""))
        elif name in ("failure", "error", "skipped"):
            self._outcome, self._message = name, attributes.get("message", "")
        self._text.clear()

    def _end(self, name: str) -> None:
        if name == "testcase":
            case = self._case
            seconds = float(case["time"]) if "time" in case else None
            row = (tuple(self._suites), case.get("classname", ""), case.get("name", ""), seconds)
            self.rows.append((*row, self._outcome, self._message, "".join(self._text)))
        elif name == "testsuite":
            self._suites.pop()
