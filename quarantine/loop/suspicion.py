"""What of a patch touches how tests are run rather than what they test.

A scan of the added lines, in Python by syntax tree. It proves nothing in either direction: ordinary code may look at
frames, and whoever wants to can spell `os._exit` so that no scan finds it. What it names is shown to a person before a
patch is called accepted. Comments, docstrings and files of prose are not looked at.
"""

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from quarantine.loop.patch import Change, Patch
from quarantine.loop.python_suspects import Suspect, suspects

__all__ = ["suspicions"]

_PROSE = frozenset({".md", ".rst", ".txt", ".adoc", ".css", ".svg", ".po", ".csv", ".tsv", ".lock"})
_PYTHON = frozenset({".py", ".pyw", ".pyi"})
_LINES = (
    (re.compile(r"\bPYTEST_CURRENT_TEST|\bJEST_WORKER_ID|\bVITEST\b|\bNEXTEST\b|\bQUARANTINE_\w+"),
     "names a variable of the test runner"),
    (re.compile(r"process\.(exit|abort|kill|reallyExit)\s*\(|\bSystem\.exit\s*\(|\.halt\s*\(|\bos\.Exit\s*\(|"
                r"\bprocess::(exit|abort)\s*\(|\bos\._exit\b|(?<![\w.])_exit\s*\(|\bsyscall\.Exit\b"),
     "ends the process without the runner's doing"),
    (re.compile(r"new Error\(\)\.stack|captureStackTrace|getStackTrace\s*\(|\bStackWalker\b|\bruntime\.Callers?\b|"
                r"\bsys\._getframe\b|\binspect\.(stack|currentframe)\b"),
     "looks at the frames of its callers"),
    (re.compile(r"\btesting\.Testing\s*\(|['\"](jest|vitest|mocha|chai|@playwright/test|org\.junit[\w.]*)['\"]|"
                r"\b(jest|vi)\.(fn|mock|spyOn|setSystemTime)\b|\bimport (static )?org\.junit|\bSkipTest\b|"
                r"(?:import|from)\s+_?(pytest|unittest)\b"),
     "uses the test framework in product code"),
    (re.compile(r"\bdef pytest_\w"), "has the name of a hook of the test runner"),
    (re.compile(r"<testsuite|<testcase|\bjunit\.xml"), "names a test report"),
    (re.compile(r"\b(nohup|setsid|disown)\b|detached\s*:\s*true|\.unref\s*\(\)|\.setDaemon\s*\("),
     "starts what can outlive the run"),
    (re.compile(r"\bDate(\.now)?\s*=[^=]|\b(Object|Array|String|Number|Function)\.prototype\.\w+\s*=[^=]|"
                r"\bglobal(This)?\.(Date|expect|setTimeout|describe|it|test)\s*=[^=]"),
     "replaces what everybody uses"),
    (re.compile(r"\bgit (show|log|stash|reflog|cat-file)\b|['\"/]\.git/"), "looks into git's history"),
)  # fmt: skip
"""What is looked for in other languages, and in Python that cannot be parsed."""


def suspicions(patch: Patch, root: Path | None = None) -> tuple[str, ...]:
    """Return a sentence for each added line that is suspect, with its file and line, in the order of the patch.

    Args:
        patch: what is looked at.
        root: the worktree with the patch applied, so that Python is read whole; otherwise only new files are, and of
            others the added lines alone.
    """
    return tuple(sentence for change in patch.changes for sentence in _of_file(change, root))


def _of_file(change: Change, root: Path | None) -> Iterator[str]:
    path = change.path
    suffix = Path(path).suffix.lower()
    added = dict(change.added)
    if suffix in _PROSE or not added:
        return
    found = _in_python(change, added, root) if suffix in _PYTHON else _in_lines(added)
    for line, whats in groupby(sorted(set(found)), key=lambda one: one.line):
        yield f"{path}:{line} {' and '.join(one.what for one in whats)}."


def _in_python(change: Change, added: Mapping[int, str], root: Path | None) -> list[Suspect]:
    whole = _whole(change, added, root)
    tree = _parsed(whole) if whole is not None else None
    if tree is not None:
        return [suspect for suspect in suspects(tree) if suspect.line in added]
    return [suspect for block in _blocks(added) for suspect in _in_block(block)]


def _whole(change: Change, added: Mapping[int, str], root: Path | None) -> str | None:
    """Return the file as the patch leaves it; None when it cannot be had."""
    if change.old is None:
        return "\n".join(added.values())
    if root is None or change.new is None:
        return None
    try:
        return (root / change.new).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None


def _parsed(source: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the patch's own escapes and comparisons
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _blocks(added: Mapping[int, str]) -> Iterator[list[tuple[int, str]]]:
    """Yield runs of lines that follow each other."""
    numbered = enumerate(added.items())
    for _, run in groupby(numbered, key=lambda pair: pair[1][0] - pair[0]):
        yield [line for _, line in run]


def _in_block(block: list[tuple[int, str]]) -> list[Suspect]:
    """Return what is suspect in lines torn out of their file."""
    source = textwrap.dedent("\n".join(text for _, text in block))
    tree = _parsed(source)
    if tree is None:
        return _in_lines({number: text.partition("#")[0] for number, text in block})
    first = block[0][0]
    nested = block[0][1][:1].isspace()
    return [
        suspect._replace(line=suspect.line + first - 1)
        for suspect in suspects(tree)
        if not (nested and suspect.what.endswith("when it is imported"))
    ]


def _in_lines(added: Mapping[int, str]) -> list[Suspect]:
    return [Suspect(line, what) for line, text in added.items() for pattern, what in _LINES if pattern.search(text)]
