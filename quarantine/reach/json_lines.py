"""Reading reach as JSON lines: what our client writes, and what a build tool's dependency query can print.

Each line is one of

    {"table": [["src/shop.py", "body"], ...]}        optional, first: columns to be named by number
    {"test": "tests/test_a.py::test_x", "columns": [["src/shop.py", "body"], 17, ...]}
    {"test": "...", "files": ["src/shop.py", "templates/page.html"]}
    {"function_table": [["src/shop.py", "Cart.total"], ...]}  optional, once, before the tests

A file without a part stands for all of it. A test may come on several lines; it reaches what any of them says. After
a table of functions a test's line may have `"functions": [3, 17, ...]` as well: the places in it of those that it ran.
The table lists every function of the files that were measured, whoever ran it, and `<module>` for each of these files.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from quarantine.errors import BadReach
from quarantine.reach.columns import BLOB, PARTS, Column
from quarantine.reach.functions import FunctionRows, function_table
from quarantine.reach.reach_map import ReachMap
from quarantine.reach.recorded import Recorded

__all__ = ["read_json_lines"]

_FIELDS = frozenset({"table", "function_table", "test", "columns", "files", "functions"})
_MEND = 'A line looks like {"test": "tests/test_a.py::test_x", "files": ["src/shop.py"]}.'


def read_json_lines(lines: Iterable[str | bytes]) -> Recorded:
    """Return the map that JSON lines hold, and which functions ran if they say so; blank lines are skipped.

    Raises:
        BadReach: a line is not as described, with its number; or no line names a test.
    """
    table: list[Column] = []
    reach: dict[str, set[Column]] = {}
    functions: FunctionRows | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = _record(line)
            if "table" in record:
                table = list(_columns(record["table"], ()))
            elif "function_table" in record:
                if functions is not None:
                    raise ValueError("is a second table of functions")  # noqa: TRY301 - as for all that is wrong
                functions = FunctionRows(function_table(record["function_table"]))
            else:
                reach.setdefault(record["test"], set()).update(_reached(record, table))
                if "functions" in record:
                    _add_functions(functions, record)
        except (ValueError, RecursionError) as error:
            raise BadReach(f"Line {number} of the reach map {error}.", mend=_MEND) from error
    if not reach:
        raise BadReach("The reach map names no test.", mend=_MEND)
    return Recorded(ReachMap.of(reach), functions.reach_map() if functions else None)


def _add_functions(functions: FunctionRows | None, record: dict[str, Any]) -> None:
    if functions is None:
        raise ValueError("names functions before there is a table of them")
    functions.add(record["test"], record["functions"])


def _record(line: str | bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - one kind of error for everything wrong with a line
    unknown = sorted(record.keys() - _FIELDS)
    if unknown:
        raise ValueError(f"has a field {unknown[0]!r}")
    if not record.keys() & {"table", "function_table"} and not (isinstance(record.get("test"), str) and record["test"]):
        raise ValueError("names no test")
    return record


def _reached(record: dict[str, Any], table: Sequence[Column]) -> Iterator[Column]:
    if ("columns" in record) == ("files" in record):
        raise ValueError("needs either `columns` or `files`")
    if "columns" in record:
        yield from _columns(record["columns"], table)
        return
    for path in _list(record["files"], "files"):
        if not (isinstance(path, str) and path):
            raise ValueError(f"names a file {path!r}")
        yield from ((path, part) for part in (PARTS if path.endswith((".py", ".pyw")) else (BLOB,)))


def _columns(items: Any, table: Sequence[Column]) -> Iterator[Column]:
    for item in _list(items, "columns"):
        if isinstance(item, int) and not isinstance(item, bool) and 0 <= item < len(table):
            yield table[item]
        elif isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and item[1] in PARTS:  # noqa: PLR2004
            yield item[0], item[1]
        else:
            raise ValueError(f"names a column {item!r}, which is neither [path, part] nor a place in the table")


def _list(items: Any, name: str) -> list[Any]:
    if not isinstance(items, list):
        raise ValueError(f"has {name} that are no list")  # noqa: TRY004 - one kind of error for a line
    return items
