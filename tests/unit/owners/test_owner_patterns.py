"""The two pattern languages: their tables, their oracles, and that nothing in them takes long."""

import re
from functools import lru_cache
from itertools import product

import codeowners
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quarantine.errors import BadInput
from quarantine.owners.patterns import expression
from quarantine.owners.rules import Dialect


def matches(pattern: str, path: str, dialect: Dialect) -> bool:
    return re.compile(expression(pattern, dialect), re.DOTALL).match(path) is not None


GITHUB = [
    ("foo", ["foo", "foo/bar", "bar/foo", "bar/foo/baz"], ["foo.txt", "bar/foo.txt", "bar/baz"]),
    ("/foo", ["foo", "foo/bar", "foo/bar/baz"], ["fool.txt", "bar/foo", "bar/foo/baz"]),
    ("foo/", ["foo/bar", "foo/bar/baz", "bar/foo/baz"], ["foo", "bar/foo", "bar/baz"]),
    ("/foo/", ["foo/bar", "foo/bar/baz"], ["foo", "bar/foo", "bar/foo/baz"]),
    ("foo/bar", ["foo/bar", "foo/bar/baz"], ["foo/bart", "baz/foo/bar"]),
    ("foo/bar/", ["foo/bar/baz"], ["foo/bar", "baz/foo/bar/qux"]),
    ("*", ["foo", "foo/bar", ".hidden/x"], []),
    ("f*", ["foo", "foo/bar", "bar/foo", "bar/foo/baz"], ["bar/baz", "xfoo"]),
    ("/*", ["foo", "bar"], ["foo/bar"]),
    ("/f*", ["foo", "foo/bar/baz"], ["bar/foo", "xfoo"]),
    ("f*/", ["foo/bar", "bar/foo/baz"], ["foo", "bar/foo", "bar/baz"]),
    ("/*/", ["foo/bar", "bar/foo/baz"], ["foo"]),
    ("f\\*o", ["f*o"], ["foo"]),
    ("docs/*", ["docs/start.md"], ["docs", "docs/build/x.md", "a/docs/start.md"]),
    ("foo/*.txt", ["foo/bar.txt"], ["foo", "foo/bar/baz.txt", "qux/foo/bar.txt"]),
    ("foo/*/baz", ["foo/bar/baz", "foo/bar/baz/qux"], ["foo/bar", "foo/baz"]),
    ("f?o", ["foo"], ["fo", "fooo", "f/o"]),
    ("**/foo/bar", ["foo/bar", "qux/foo/bar", "qux/foo/bar/baz"], ["foo/baz/bar"]),
    ("**/*bar*", ["bar", "foo/rebar", "foo/qux/barrio"], ["foo"]),
    ("foo/bar/**", ["foo/bar/baz", "foo/bar/baz/qux"], ["foo/bar", "qux/foo/bar/baz"]),
    ("foo/**/bar", ["foo/bar", "foo/qux/quux/bar/baz"], ["qux/foo/bar", "foo/qux"]),
    ("foo/**/bar/b*", ["foo/bar/baz", "foo/qux/bar/baz"], ["foo/bar", "foo/qux/bar/qux"]),
    ("/logs/**.conf", ["logs/a.conf"], ["logs/a/b.conf"]),
    ("a\\ b/c", ["a b/c"], ["a\\ b/c", "a/c"]),
    ("/Docs/", ["Docs/x"], ["docs/x"]),
]
GITLAB = [
    ("*", ["foo", "foo/bar", ".hidden/x"], []),
    ("/", ["foo", "foo/bar"], []),
    ("README.md", ["README.md", "internal/README.md", "a/b/README.md"], ["README.md/x", "xREADME.md"]),
    ("internal/README.md", ["internal/README.md", "docs/api/internal/README.md"], ["internal/x/README.md"]),
    ("/README.md", ["README.md"], ["docs/README.md"]),
    ("docs", ["docs", "a/docs"], ["docs/x"]),
    ("/docs/", ["docs/x", "docs/a/b", "docs/.x"], ["docs", "a/docs/x"]),
    ("lib/", ["lib/x", "a/lib/b/c"], ["lib"]),
    ("/docs/*", ["docs/a"], ["docs/a/b"]),
    ("/docs/**", ["docs/a"], ["docs/a/b"]),
    ("/docs/**/*", ["docs/a", "docs/a/b"], ["docs"]),
    ("/docs/**/*.md", ["docs/a.md", "docs/b/a.md"], ["docs/b/a.rb", "a.md"]),
    ("/docs/*spec*", ["docs/qa_specs.rb", "docs/runtime.spec"], ["docs/x/spec"]),
    ("/docs/*/README.md", ["docs/api/README.md"], ["docs/README.md", "docs/a/b/README.md"]),
    ("**/generated/", ["generated/x", "a/b/generated/c/d"], ["generated"]),
    ("\\#pound.rb", ["#pound.rb", "a/#pound.rb"], ["\\#pound.rb"]),
    ("path\\ with/", ["path with/x"], ["path/x"]),
    ("/[a-c]x", ["ax", "cx"], ["dx", "-x"]),
    ("/[!a-c]x", ["dx"], ["ax", "/x"]),
    ("/[^a]x", ["bx"], ["ax"]),
    ("/[c-a]x", [], ["ax", "bx", "-x"]),
    ("/[]x", [], ["x", "]x"]),
    ("/a[\\]b]c", ["a]c", "abc"], ["a\\c"]),
    ("/{a,b}", ["{a,b}"], ["a", "b"]),
]
TABLE = [(dialect, *row) for dialect, rows in ((Dialect.GITHUB, GITHUB), (Dialect.GITLAB, GITLAB)) for row in rows]


@pytest.mark.parametrize(("dialect", "pattern", "yes", "no"), TABLE, ids=lambda value: str(value)[:30])
def test_a_pattern_matches_what_its_host_matches(dialect: Dialect, pattern: str, yes: list[str], no: list[str]) -> None:
    """Each row of the table is a rule of the host's documentation, or of its published matcher."""
    assert [path for path in yes if not matches(pattern, path, dialect)] == []
    assert [path for path in no if matches(pattern, path, dialect)] == []


@pytest.mark.parametrize("pattern", ["!docs/", "\\#x", "/", "//", "[ab].py", "a/[", ""])
def test_github_has_no_such_pattern(pattern: str) -> None:
    """Negation, an escaped hash, ranges and the bare root are refused with a mend."""
    with pytest.raises(BadInput) as caught:
        expression(pattern, Dialect.GITHUB)
    assert caught.value.mend


def test_a_bracket_that_is_left_open_is_refused() -> None:
    """GitLab's matcher finds nothing by it, so it is a mistake."""
    with pytest.raises(BadInput, match="no `]`"):
        expression("/a[bc", Dialect.GITLAB)


SEGMENTS = ["a", "b", "ab", "*", "**", "a*", "*b", "?", "a*b*"]
PATHS = ["/".join(parts) for size in (1, 2, 3) for parts in product(["a", "b", "ab", "abb"], repeat=size)]


@pytest.mark.parametrize("lead", ["", "/"])
@pytest.mark.parametrize("trail", ["", "/"])
def test_github_patterns_agree_with_the_codeowners_package(lead: str, trail: str) -> None:
    """On everything that needs no long search, an independent matcher says the same."""
    for size in (1, 2, 3):
        for parts in product(SEGMENTS, repeat=size):
            pattern = lead + "/".join(parts) + trail
            if "**/**" in pattern or (parts[-1] == "**" and (trail or size == 1)):
                continue  # the package's expressions for these find less than gitignore does
            theirs = codeowners.path_to_regex(pattern)
            ours = re.compile(expression(pattern, Dialect.GITHUB), re.DOTALL)
            wrong = [path for path in PATHS if bool(theirs.search(path)) != bool(ours.match(path))]
            assert wrong == [], pattern


@lru_cache(maxsize=100_000)
def fnmatch(pattern: str, path: str) -> bool:
    """File.fnmatch with FNM_PATHNAME and FNM_DOTMATCH as the definition reads; `**/` only where a name begins."""
    if not pattern:
        return not path
    if pattern.startswith("*"):
        rest = pattern.lstrip("*")
        return fnmatch_name(rest, path)
    if not path or (pattern[0] == "?" and path[0] == "/"):
        return False
    if pattern[0] not in ("?", path[0]):
        return False
    return at_name(pattern[1:], path[1:]) if path[0] == "/" else fnmatch(pattern[1:], path[1:])


def fnmatch_name(rest: str, path: str) -> bool:
    return fnmatch(rest, path) or (bool(path) and path[0] != "/" and fnmatch_name(rest, path[1:]))


def at_name(pattern: str, path: str) -> bool:
    if pattern.startswith("**/"):
        below = path.partition("/")
        return at_name(pattern[3:], path) or (bool(below[1]) and at_name(pattern, below[2]))
    return fnmatch(pattern, path)


GLOB = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=5).map("/".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(pattern=GLOB, path=st.lists(st.sampled_from(["a", "b", "ab", "abab"]), min_size=1, max_size=5).map("/".join))
def test_gitlab_patterns_agree_with_the_definition_of_fnmatch(pattern: str, path: str) -> None:
    """A matcher written from the definition, without any regular expression, says the same."""
    assert matches(f"/{pattern}", path, Dialect.GITLAB) == at_name(pattern, path)
    assert matches(f"{pattern}/", path, Dialect.GITLAB) == at_name(f"**/{pattern}/**/*", path)


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("pattern", ["*a" * 40 + "b", "**/" * 40 + "zz", "**/a/" * 40 + "b", "**/*a" * 40 + "*b"])
@pytest.mark.timeout(20)
def test_no_pattern_makes_a_look_up_long(dialect: Dialect, pattern: str) -> None:
    """Patterns that send a backtracking matcher away for years are answered at once."""
    for path in ("a" * 4_000, "/".join("a" * 2_000)):
        assert not matches(pattern, path, dialect)
