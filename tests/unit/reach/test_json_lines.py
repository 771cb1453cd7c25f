"""Reach as JSON lines: every accepted form, and errors that name the line."""

import json

import pytest

from quarantine.errors import BadReach
from quarantine.reach.json_lines import read_json_lines


def test_every_form() -> None:
    """Columns by name or by place in the table, and files, add up for a test."""
    made = read_json_lines(
        [
            json.dumps({"table": [["a.py", "module"], ["b.py", "body"]]}),
            "",
            json.dumps({"test": "t", "columns": [1, ["c.py", "blob"]]}).encode(),
            json.dumps({"test": "t", "files": ["page.html"]}) + "\n",
            json.dumps({"test": "u", "files": ["d.py"]}),
            json.dumps({"test": "v", "columns": []}),
        ]
    )
    assert made.reach("t") == {("b.py", "body"), ("c.py", "blob"), ("page.html", "blob")}
    assert made.reach("u") == {("d.py", "body"), ("d.py", "module"), ("d.py", "blob")}
    assert made.tests == ("t", "u", "v")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("[" * 200_000, "is not JSON|recursion"),
        ('{"test": "t"}', "either `columns` or `files`"),
        ('{"test": "t", "columns": [], "files": []}', "either `columns` or `files`"),
        ('{"files": ["a"]}', "names no test"),
        ('{"test": "", "files": ["a"]}', "names no test"),
        ('{"test": 1, "files": ["a"]}', "names no test"),
        ('{"test": "t", "files": "a"}', "no list"),
        ('{"test": "t", "files": [""]}', "names a file"),
        ('{"test": "t", "files": [1]}', "names a file"),
        ('{"test": "t", "columns": [7]}', "names a column 7"),
        ('{"test": "t", "columns": [-1]}', "names a column -1"),
        ('{"test": "t", "columns": [true]}', "names a column True"),
        ('{"test": "t", "columns": [["a.py", "soul"]]}', "names a column"),
        ('{"test": "t", "columns": [["a.py"]]}', "names a column"),
        ('{"test": "t", "files": [], "colour": 1}', "colour"),
        ('{"table": {}}', "no list"),
        ('{"table": [3]}', "names a column 3"),
        (b'{"test": "\xff", "files": []}', "is not JSON"),
    ],
)
def test_a_line_that_is_not_as_described(line: str | bytes, says: str) -> None:
    """What is wrong is said with the number of the line."""
    good = '{"test": "t", "files": []}'
    with pytest.raises(BadReach, match=rf"^Line 3 of the reach map .*({says})"):
        read_json_lines([good, "", line])


def test_a_map_without_tests() -> None:
    """Lines that name no test are no map."""
    with pytest.raises(BadReach, match="no test"):
        read_json_lines(["", '{"table": []}'])
