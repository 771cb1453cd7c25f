"""Reading reach as JSON lines: what our client writes, and what a build tool's dependency query can print.

Each line is one of

    {"table": [["src/shop.py", "body"], ...]}        optional, first: columns to be named by number
    {"test": "tests/test_a.py::test_x", "columns": [["src/shop.py", "body"], 17, ...]}
    {"test": "...", "files": ["src/shop.py", "templates/page.html"]}

A file without a part stands for all of it. A test may come on several lines; it reaches what any of them says.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from quarantine.errors import BadReach
from quarantine.reach.columns import BLOB, PARTS, Column
from quarantine.reach.reach_map import ReachMap

__all__ = ["read_json_lines"]

_MEND = 'A line looks like {"test": "tests/test_a.py::test_x", "files": ["src/shop.py"]}.'


def read_json_lines(lines: Iterable[str | bytes]) -> ReachMap:
    """Return the map that JSON lines hold; blank lines are skipped.

    Raises:
        BadReach: a line is not as described, with its number; or no line names a test.
    """
    table: list[Column] = []
    reach: dict[str, set[Column]] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = _record(line)
            if "table" in record:
                table = list(_columns(record["table"], ()))
            else:
                reach.setdefault(record["test"], set()).update(_reached(record, table))
        except (ValueError, RecursionError) as error:
            raise BadReach(f"Line {number} of the reach map {error}.", mend=_MEND) from error
    if not reach:
        raise BadReach("The reach map names no test.", mend=_MEND)
    return ReachMap.of(reach)


def _record(line: str | bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise ValueError("is not a JSON object")  # noqa: TRY004 - one kind of error for everything wrong with a line
    unknown = sorted(record.keys() - {"table", "test", "columns", "files"})
    if unknown:
        raise ValueError(f"has a field {unknown[0]!r}")
    if "table" not in record and not (isinstance(record.get("test"), str) and record["test"]):
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
