"""CODEOWNERS files as GitHub and as GitLab read them: lines, sections, owners, and what is wrong."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quarantine.owners.parsing import MAX_BYTES, MAX_LINES, dialect_of, parse
from quarantine.owners.rules import Dialect, OwnerKind

GITHUB, GITLAB = Dialect.GITHUB, Dialect.GITLAB

DOCUMENTED = """\
# This is a comment.
*       @global-owner1 @global-owner2
*.js    @js-owner #This is an inline comment.
*.go docs@example.com
*.txt @octo-org/octocats
/build/logs/ @doctocat
docs/*  docs@example.com
apps/ @octocat
/docs/ @doctocat
/scripts/ @doctocat @octocat
**/logs @octocat
/apps/ @octocat
/apps/github
"""


def owners(text: str, path: str, dialect: Dialect) -> list[str]:
    return [owner.text for owner in parse(text, dialect).owners_of(path)]


@pytest.mark.parametrize(
    ("path", "expected", "line"),
    [
        ("README", ["@global-owner1", "@global-owner2"], 2),
        ("src/x.js", ["@js-owner"], 3),
        ("x.go", ["docs@example.com"], 4),
        ("a/x.txt", ["@octo-org/octocats"], 5),
        ("build/logs/x/y.js", ["@octocat"], 11),
        ("docs/build-app/x.md", ["@doctocat"], 9),
        ("a/apps/x", ["@octocat"], 8),
        ("scripts/x", ["@doctocat", "@octocat"], 10),
        ("apps/github/x.js", [], 13),
    ],
)
def test_githubs_own_example(path: str, expected: list[str], line: int) -> None:
    """The last line that matches decides; one without owners leaves the path to nobody."""
    file = parse(DOCUMENTED, GITHUB)
    assert file.faults == ()
    found = file.ownership(path)
    assert [owner.text for owner in found.owners] == expected
    assert [rule.line for rule in found.rules] == [line]


def test_how_it_was_decided_is_told() -> None:
    """The sentence names the line; nobody on purpose and nobody by omission are told apart."""
    file = parse("docs/ @a @o/b x@y.org\n/apps/\n", GITHUB)
    assert file.ownership("docs/x").sentence == "Line 1 (docs/) names @a, @o/b and x@y.org."
    assert file.ownership("apps/x").sentence == "Line 2 (/apps/) names nobody."
    assert file.ownership("x").sentence == "No line of the owners' file matches."
    sectioned = parse("[Docs] @d\ndocs/\n", GITLAB)
    assert sectioned.ownership("docs/x").sentence == "Line 2 (docs/, section Docs) names @d."


GITLAB_TABLE = [
    ("sections add up", "* @admin\n[A]\nREADME.md @u1 @u2\ninternal/README.md @u4\n[B]\nREADME.md @u3", "README.md",
     ["@admin", "@u1", "@u2", "@u3"]),
    ("the last in each section", "* @admin\n[A]\nREADME.md @u1\ninternal/README.md @u4\n[B]\nREADME.md @u3",
     "internal/README.md", ["@admin", "@u4", "@u3"]),
    ("section defaults", "[Db] @db @ag\nmodel/db/\nconfig/setup.md @docs", "model/db/x", ["@db", "@ag"]),
    ("defaults overridden", "[Db] @db @ag\nmodel/db/\nconfig/setup.md @docs", "config/setup.md", ["@docs"]),
    ("approvals and defaults", "[Docs][2] @g/s @d\n*.md", "x.md", ["@g/s", "@d"]),
    ("optional sections own too", "^[Go] @go\n*.go", "x.go", ["@go"]),
    ("an optional one with approvals", "^[Go][3] @go\n*.go", "x.go", ["@go"]),
    ("sections of one name are one", "[Docs]\n*.md @a\n[Db]\nx/ @b\n[DOCS]\nREADME.md @c", "README.md", ["@c"]),
    ("a repeated heading brings its own defaults", "[D] @a\n*.md\n[d]\nx.md", "x.md", []),
    ("the unnamed section's own name", "*.md @a\n[codeowners]\nx.md @b", "x.md", ["@b"]),
    ("one owner once", "* @a\n[X]\n*.md @A @b", "x.md", ["@a", "@b"]),
    ("an escaped hash", "\\#x.rb @a", "#x.rb", ["@a"]),
    ("an escaped space", "path\\ with/ @a", "path with/x", ["@a"]),
    ("roles", "*.md @@Maintainers @@developer", "x.md", ["@@maintainer", "@@developer"]),
    ("addresses and nested groups", "LICENSE @g/with-nested/sub j.d@gitlab.com", "LICENSE",
     ["@g/with-nested/sub", "j.d@gitlab.com"]),
    ("an exclusion", "* @a\n!pom.xml\n[R]\npom.xml @r", "pom.xml", ["@r"]),
    ("an exclusion is final", "* @a\n!*.rb\n/special/*.rb @b", "special/x.rb", []),
    ("owners in a comment count", "*.md @a # ask @b", "x.md", ["@a", "@b"]),
    ("malformed owners are left out", "/p/* @g without_at @u", "p/x", ["@g", "@u"]),
    ("no default for malformed ones", "[X] @d\n/p/* without_at", "p/x", []),
    ("an open heading is an entry", "* @g\n[Section name\ndocs/ @d", "docs/x", ["@d"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "path", "expected"), [row[1:] for row in GITLAB_TABLE], ids=[row[0] for row in GITLAB_TABLE]
)
def test_gitlabs_rules(text: str, path: str, expected: list[str]) -> None:
    """Each row is a rule of GitLab's documentation, or of its published parser."""
    assert owners(text, path, GITLAB) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [("@a", OwnerKind.USER), ("@o/t", OwnerKind.TEAM), ("x@y.org", OwnerKind.EMAIL), ("@@owner", OwnerKind.ROLE)],
)
def test_an_owner_is_what_its_spelling_says(text: str, kind: OwnerKind) -> None:
    """A user, a team, an address, a role; compared without regard to case."""
    (owner,) = parse(f"* {text}", GITLAB).owners_of("x")
    assert (owner.kind, owner.text) == (kind, text)
    assert owner.key == parse(f"* {text.upper()}", GITLAB).owners_of("x")[0].key


BROKEN = [
    (GITHUB, "!docs/ @a", "`!docs/ @a` is passed over: GitHub knows no `!`."),
    (GITHUB, "[ab].py @a", "GitHub knows no `[ ]`."),
    (GITHUB, "\\#x @a", "does not take `\\#`"),
    (GITHUB, "docs/ alice", "`alice` is no owner."),
    (GITHUB, "my docs/ @a", "`docs/` is no owner."),
    (GITHUB, "* @@maintainer", "`@@maintainer` is no owner."),
    (GITHUB, "<<<<<<< HEAD", "`HEAD` is no owner."),
    (GITHUB, "a\0b @a", "it is no text."),
    (GITHUB, "x" * 1001 + " @a", "a path of more than 1,000 characters."),
    (GITLAB, "docs/ alice @b", "`alice` is no owner; the others of the line are used."),
    (GITLAB, "docs/", "it names no owner, and neither does its section."),
    (GITLAB, "/a[b @x", "its `[` has no `]`"),
    (GITLAB, "[ab]c.py @x", "`c.py @x` behind the heading is not read."),
    (GITLAB, "[] @x", "the section has no name."),
    (GITLAB, "! @x", "it has no pattern."),
]


@pytest.mark.parametrize(("dialect", "line", "message"), BROKEN, ids=[row[1][:20].strip() for row in BROKEN])
def test_a_broken_line_is_named_and_the_rest_is_used(dialect: Dialect, line: str, message: str) -> None:
    """The fault has the number, the reason and a mend; the line before goes on to count."""
    file = parse(f"*.md @first\n{line}\n", dialect)
    (fault,) = file.faults
    assert fault.line == 2
    assert fault.message.startswith("Line 2: ")
    assert message in fault.message
    assert fault.mend
    assert [owner.text for owner in file.owners_of("x.md")] == ["@first"]


def test_github_passes_over_the_whole_line() -> None:
    """An owner without its @ loses the line, so that the line before decides, as on the host."""
    assert owners("* @a\n*.md @b oops\n", "x.md", GITHUB) == ["@a"]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (".gitlab/CODEOWNERS", "* @a", GITLAB),
        (".github/CODEOWNERS", "[X]\n* @a", GITHUB),
        ("CODEOWNERS", "* @a\n", GITHUB),
        ("CODEOWNERS", "* @a\n[Docs]\n*.md @b", GITLAB),
        ("docs/CODEOWNERS", "^[Docs][2] @a\n*.md", GITLAB),
        ("CODEOWNERS", "* @@maintainer", GITLAB),
        ("CODEOWNERS", "* @a\n!x", GITLAB),
        ("CODEOWNERS", "# [Docs]\n* @a # see @@owner\n[ab]*.py @c", GITHUB),
    ],
)
def test_the_dialect_is_told_by_place_and_content(path: str, text: str, expected: Dialect) -> None:
    """Its folder decides; in a shared place, what only GitLab knows does."""
    assert dialect_of(path, text) is expected


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_are_counted_as_editors_do(ending: str) -> None:
    """A byte order mark, Windows line ends and odd separators shift no number."""
    file = parse(ending.join(["\ufeff# x", "a\u2028b @u", "oops oops", "*.md @m"]), GITHUB)
    assert [fault.line for fault in file.faults] == [2, 3]
    assert [(rule.line, rule.owners[0].text) for rule in file.rules] == [(4, "@m")]


def test_a_huge_file_is_not_read() -> None:
    """Beyond the size there is no rule and one fault; beyond the lines the first ones count."""
    huge = parse("é" * (MAX_BYTES // 2 + 1), GITHUB)
    assert (huge.rules, [fault.line for fault in huge.faults]) == ((), [0])
    long = parse("* @a\n" * (MAX_LINES + 5), GITHUB)
    assert len(long.rules) == MAX_LINES
    assert [fault.line for fault in long.faults] == [MAX_LINES + 1]


def test_faults_are_bounded() -> None:
    """Thousands of broken lines are told as the first ones and that there are more."""
    file = parse("oops oops\n" * 5_000 + "* @a", GITHUB)
    assert len(file.faults) == 201
    assert file.faults[-1].message == "There are more than 200 faults."
    assert owners("oops oops\n" * 5_000 + "* @a", "x", GITHUB) == ["@a"]


def test_many_rules_keep_their_order_across_the_joined_expressions() -> None:
    """Of a thousand rules the last that matches decides, wherever it stands."""
    file = parse("".join(f"/d{number % 400}/ @u{number}\n" for number in range(1_000)), GITHUB)
    for folder in (0, 1, 199, 200, 399):
        last = max(number for number in range(1_000) if number % 400 == folder)
        assert [owner.text for owner in file.owners_of(f"d{folder}/x")] == [f"@u{last}"]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(text=st.text(alphabet="[]^!#@\\*?/ab. \t\n\r\0é", max_size=120), path=st.text(alphabet="ab/.#[]\n", max_size=20))
def test_any_text_is_read(text: str, path: str) -> None:
    """No text makes the reader or a look-up fail, and every fault names a line of the text."""
    for dialect in Dialect:
        file = parse(text, dialect)
        file.owners_of(path)
        assert all(1 <= fault.line <= text.count("\n") + 1 for fault in file.faults)
    assert dialect_of("CODEOWNERS", text) in Dialect
