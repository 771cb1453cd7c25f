"""Which lines a change touched, by function: names, ranges, what is no change, and what is left out."""

import ast
import os
import subprocess
from pathlib import Path

import pytest

from quarantine.client import changed_lines as module_under_test
from quarantine.client.changed_lines import changed_lines, lines_of_file
from quarantine.client.functions import functions_of
from quarantine.client.manifest import ChangedFile
from quarantine.client.tree import read_tree

OLD = """\
import decimal

class Totals:
    @property
    def rate(self):
        return 1

    @rate.setter
    def rate(self, value):
        self.value = value

    def discount(self, amount):
        '''Return it.'''
        base = 1  # of all
        def inner(x):
            return x
        return inner(base)

def short(): return 1
"""


def lines(old: str | None, new: str, path: str = "totals.py") -> list[tuple[str | None, int, int]]:
    """The changed lines of one file."""
    found = lines_of_file(ChangedFile(path, None if old is None else old.encode(), new.encode()))
    assert {one[0] for one in found} <= {path}
    return [one[1:] for one in found]


def names(source: str) -> list[str]:
    """The names of the functions of a source."""
    return [one.name for one in functions_of(ast.parse(source), source.encode())]


def test_names() -> None:
    """Dotted through classes and functions; accessors by what they are, and whatever else shares a name by number."""
    assert names(OLD) == [
        "Totals.rate", "Totals.rate.setter", "Totals.discount", "Totals.discount.inner", "short",
    ]  # fmt: skip
    both = "try:\n    def f():\n        pass\nexcept E:\n    async def f():\n        pass\n"
    assert names(both) == ["f", "f#2"]
    assert names("match x:\n    case 1:\n        class C:\n            def f(self): ...\n") == ["C.f"]


def test_lines_of_their_own() -> None:
    """A nested body belongs to the nested function, its header to the outer one."""
    found = {one.name: one for one in functions_of(ast.parse(OLD), OLD.encode())}
    assert (found["Totals.rate.setter"].first, found["Totals.rate.setter"].last) == (8, 10)
    assert found["Totals.discount"].lines == sum(1 << line for line in (13, 14, 15, 17))
    assert found["Totals.discount.inner"].lines == 1 << 16
    assert (found["short"].shared, found["Totals.rate"].shared) == (1 << 19, 0)


def test_a_long_chain_of_branches_is_no_obstacle() -> None:
    """A chain of `elif` nests as deep as it is long."""
    source = "if x == 0:\n    pass\n" + "".join(f"elif x == {n}:\n    def f(): ...\n" for n in range(300))
    assert len(names(source)) == 300


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("base = 1", "base = 2", [("Totals.discount", 14, 14)]),
        ("return x\n", "y = x\n            return y\n", [("Totals.discount.inner", 16, 17)]),
        ("self.value = value", "self.value = value + 1", [("Totals.rate.setter", 10, 10)]),
        ("return inner(base)", "return base", [("Totals.discount", 17, 17)]),
        ("import decimal", "import fractions", [("<module>", 1, 1)]),
        ("def discount(self, amount)", "def discount(self, amount=1)", [("<module>", 12, 12)]),
        ("short(): return 1", "short(): return 2", [("short", 19, 19)]),
        ("Return it.", "Return all of it.", []),
        ("  # of all", "  # of some", []),
        ("        base = 1  # of all\n", "        # none\n        base = 1\n", []),
        ("import decimal\n", "import decimal\n\n\n\n", []),
    ],
)
def test_what_changed(old: str, new: str, found: list[tuple[str, int, int]]) -> None:
    """Only what differs in meaning, by the innermost function; comments, docstrings and moved lines are nothing."""
    assert lines(OLD, OLD.replace(old, new)) == found


def test_what_is_new_and_what_is_gone() -> None:
    """A new function is all of its lines; where lines were taken away, the next one of the function stands for them."""
    assert lines(OLD, OLD + "\n\ndef more():\n    return 1\n") == [("more", 22, 23), ("<module>", 22, 22)]
    assert lines(OLD, OLD.replace("        base = 1  # of all\n", "")) == [("Totals.discount", 14, 14)]
    assert lines(None, "X = 1\ndef f():\n    return X\n") == [("f", 2, 3), ("<module>", 1, 2)]
    assert lines("def f(:\n", "def f():\n    return 1\n")[0] == ("f", 1, 2)
    without = OLD.replace("    def rate(self):\n        return 1\n", "").replace("    @property\n", "")
    assert [one[0] for one in lines(OLD, without)] == ["<module>"]


def test_other_files_have_lines_only() -> None:
    """Text by its lines, Python that does not compile too; what is binary or huge by nothing."""
    assert lines("a\nb\nc\n", "a\nx\nc\nd\n", "page.html") == [(None, 2, 2), (None, 4, 4)]
    assert lines("def f(:\n", "def f(:\nx\n") == [(None, 2, 2)]
    assert lines("a\n", "a\0b\n", "data.bin") == []
    assert lines("", "x\n" * 600_000, "big.txt") == []
    assert lines("a\n", "b\n", "odd\nname.txt") == []


def test_what_is_too_long_to_compare_changed_as_a_whole() -> None:
    """Between the first and the last difference; the work is bounded whoever wrote the lines."""
    old = "".join(f"{n}\n" for n in range(2_000))
    new = old.replace("\n10\n", "\nten\n").replace("\n1990\n", "\nmany\n")
    assert lines(old, new, "numbers.txt") == [(None, 11, 1991)]


def test_a_tree_since_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Edited and new files; links and what is gone have no lines, and a file whose lines are too many has none."""
    run = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    quiet = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    (tmp_path / "totals.py").write_text(OLD)
    (tmp_path / "gone.py").write_text(OLD)
    (tmp_path / "same.py").write_text(OLD)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*run, *words], cwd=tmp_path, env=quiet, check=True)
    (tmp_path / "totals.py").write_text(OLD.replace("base = 1", "base = 2"))
    (tmp_path / "gone.py").unlink()
    (tmp_path / "new.txt").write_text("x\ny\n")
    (tmp_path / "link").symlink_to("new.txt")
    found = [("new.txt", None, 1, 2), ("totals.py", "Totals.discount", 14, 14)]
    assert changed_lines(read_tree(tmp_path), "HEAD") == found
    (tmp_path / "many.txt").write_text("x\n")
    monkeypatch.setattr(module_under_test, "MOST", 2)
    assert changed_lines(read_tree(tmp_path), "HEAD") == [("many.txt", None, 1, 1), ("new.txt", None, 1, 2)]
    monkeypatch.setattr(module_under_test, "MOST", 4)
    assert len(changed_lines(read_tree(tmp_path), "HEAD")) == 3
    monkeypatch.setattr(module_under_test, "MOST_READ", 6)
    assert changed_lines(read_tree(tmp_path), "HEAD") == [("many.txt", None, 1, 1), ("new.txt", None, 1, 2)]
