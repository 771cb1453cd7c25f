"""Reach as JSON lines: every accepted form, and errors that name the line."""

import json

import pytest

from quarantine.errors import BadReach
from quarantine.reach.json_lines import read_json_lines
from quarantine.reach.recorded import functions_in, reach_in


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
    ).reach
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
        ('{"test": "t", "files": [], "functions": [0]}', "names functions before there is a table"),
        ('{"function_table": {}}', "no list"),
        ('{"function_table": [["a.py"]]}', "no \\[path, qualified name\\]"),
        ('{"function_table": [["a.py", 3]]}', "no \\[path, qualified name\\]"),
        ('{"function_table": [["a.py", ""]]}', "no \\[path, qualified name\\]"),
        ('{"function_table": [["a.py", "f\\u001b[2J"]]}', "more than a line of text"),
        (json.dumps({"function_table": [["a.py", "f" * 1001]]}), "more than a line of text"),
        ('{"function_table": [["a.py", "f"], ["a.py", "f"]]}', "a function twice"),
        (json.dumps({"function_table": [["a.py", str(number)] for number in range(200_001)]}), "200,001 functions"),
    ],
)
def test_a_line_that_is_not_as_described(line: str | bytes, says: str) -> None:
    """What is wrong is said with the number of the line."""
    good = '{"test": "t", "files": []}'
    with pytest.raises(BadReach, match=rf"^Line 3 of the reach map .*({says})"):
        read_json_lines([good, "", line])


@pytest.mark.parametrize(
    ("functions", "says"),
    [("[2]", "place that the table of 2 has not"), ("[-1]", "has not"), ("[true]", "no list"), ("3", "no list")],
)
def test_functions_that_the_table_has_not(functions: str, says: str) -> None:
    """A place outside of the table, or what is no place, is said with the number of the line."""
    table = '{"function_table": [["a.py", "<module>"], ["a.py", "f"]]}'
    with pytest.raises(BadReach, match=rf"^Line 2 of the reach map .*{says}"):
        read_json_lines([table, f'{{"test": "t", "files": [], "functions": {functions}}}'])
    with pytest.raises(BadReach, match=r"^Line 2 of the reach map is a second table"):
        read_json_lines([table, table])


def test_no_more_than_so_many_functions_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pairs of a test and a function are bounded over the whole map, however they are spread."""
    monkeypatch.setattr("quarantine.reach.functions.MOST_RUN", 3)
    lines = ['{"function_table": [["a.py", "f"], ["a.py", "g"]]}']
    lines += [f'{{"test": "{test}", "files": [], "functions": [0, 1]}}' for test in "tu"]
    with pytest.raises(BadReach, match=r"^Line 3 .* at most 3 pairs"):
        read_json_lines(lines)


def test_functions_stand_beside_the_reach() -> None:
    """Those no test ran are columns too; what is not said of functions changes nothing of the reach, nor its bytes."""
    lines = [
        json.dumps({"function_table": [["b.py", "g"], ["a.py", "f"], ["a.py", "<module>"]]}),
        json.dumps({"test": "u", "files": ["a.py"], "functions": [0, 1]}),
        json.dumps({"test": "t", "files": ["a.py"], "functions": [1]}),
        json.dumps({"test": "t", "files": ["b.py"], "functions": [1, 0]}),
        json.dumps({"test": "v", "files": []}),
    ]
    recorded = read_json_lines(lines)
    functions = recorded.functions
    assert functions is not None
    assert functions.columns == (("a.py", "<module>"), ("a.py", "f"), ("b.py", "g"))
    assert dict(functions.items()) == {name: {("a.py", "f"), ("b.py", "g")} for name in "tu"}
    plain = [
        json.dumps({key: value for key, value in json.loads(line).items() if key != "functions"}) for line in lines
    ]
    old = read_json_lines(plain[1:])
    assert (old.functions, old.to_bytes()) == (None, recorded.reach.to_bytes())
    assert dict(reach_in(recorded.to_bytes()).items()) == dict(recorded.reach.items())
    assert functions_in(recorded.to_bytes()).to_bytes() == functions.to_bytes()  # type: ignore[union-attr]  # it is there
    assert functions_in(old.to_bytes()) is None
    with pytest.raises(BadReach, match="cut off"):
        reach_in(recorded.to_bytes()[:40])


def test_a_map_without_tests() -> None:
    """Lines that name no test are no map."""
    with pytest.raises(BadReach, match="no test"):
        read_json_lines(["", '{"table": []}'])
