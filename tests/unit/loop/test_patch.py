"""Reading what agents send: what is understood, what is refused and in which words."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.loop.errors import BadPatch
from quarantine.loop.patch import MAX_BYTES, Patch
from quarantine.loop.paths import obstacle, quoted, unquoted

HUNK = "@@ -1 +1 @@\n-a\n+b\n"


def git_diff(old: str, new: str, *, extra: str = "", hunk: str = HUNK) -> str:
    return f"diff --git a/{old} b/{new}\n{extra}--- a/{old}\n+++ b/{new}\n{hunk}"


PLAIN = git_diff("x.py", "x.py")
READ = {
    "as git prints it": (PLAIN, ["x.py"]),
    "as diff prints it": ("--- a/x.py\t2026-01-01 10:00\n+++ b/x.py\t2026-01-02 10:00\n" + HUNK, ["x.py"]),
    "without prefixes": ("--- x.py\n+++ x.py\n" + HUNK, ["x.py"]),
    "a folder called a": ("--- a/x.py\n+++ a/x.py\n" + HUNK, ["a/x.py"]),
    "git's mnemonic prefixes": ("diff --git i/x.py w/x.py\n--- i/x.py\n+++ w/x.py\n" + HUNK, ["x.py"]),
    "below prose": ("I changed it:\n\n- one thing\n- another\n\n" + PLAIN, ["x.py"]),
    "fenced": ("So:\n```diff\n" + PLAIN + "```\nDone. It\n- works\n", ["x.py"]),
    "fenced beside other code": ("```python\nx = 1\n```\n```diff\n" + PLAIN + "```\n", ["x.py"]),
    "a mail": ("From: a\nSubject: b\n---\n x.py | 2 +-\n\n" + PLAIN + "-- \n2.39.5\n", ["x.py"]),
    "crlf in transport": (PLAIN.replace("\n", "\r\n"), ["x.py"]),
    "no newline at the end of the answer": (PLAIN.rstrip("\n"), ["x.py"]),
    "a byte order mark": ("\ufeff" + PLAIN, ["x.py"]),
    "blank context lines": (git_diff("x", "x", hunk="@@ -1,3 +1,3 @@\n-a\n+b\n\n c\n"), ["x"]),
    "two files": (PLAIN + "--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+q\n", ["n.py", "x.py"]),
    "made, half said": ("diff --git a/n b/n\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+q\n", ["n"]),
    "made, empty": ("diff --git a/n b/n\nnew file mode 100644\nindex 0000000..e69de29\n", ["n"]),
    "removed": ("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", ["x"]),
    "renamed": ("diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n\n", ["n", "o"]),
    "copied": ("diff --git a/o b/n\ncopy from o\ncopy to n\n", ["n", "o"]),
    "made executable": ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", ["x"]),
    "a name with a space": (git_diff("x y.py", "x y.py"), ["x y.py"]),
    "a quoted name": (git_diff("x", "x").replace("a/x", '"a/\\303\\251"').replace("b/x", '"b/\\303\\251"'), ["é"]),
    "an added line like a header": (git_diff("x", "x", hunk="@@ -1 +1,2 @@\n-a\n+b\n+++ b/evil.py\n"), ["x"]),
    "a removed line like a header": (git_diff("x", "x", hunk="@@ -1,2 +1 @@\n-a\n--- a/evil.py\n+b\n"), ["x"]),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_a_diff_is_understood_however_it_is_dressed(case: str) -> None:
    """The paths are those it changes, and what we write means the same when it is read again."""
    text, paths = READ[case]
    patch = Patch.parse(text)
    assert list(patch.paths) == paths
    again = Patch.parse(patch.text)
    assert (again.text, again.sha256, again.changes) == (patch.text, patch.sha256, patch.changes)


def test_one_edit_has_one_hash() -> None:
    """The same patch sent again in other clothes is known as the same."""
    assert len({Patch.parse(text).sha256 for text in (PLAIN, *(READ[case][0] for case in (
        "below prose", "fenced", "crlf in transport", "git's mnemonic prefixes", "as diff prints it",
    )))}) == 1  # fmt: skip


BINARY = "diff --git a/i.png b/i.png\nindex 111..222 100644\n"
LINK = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n"
REFUSED = {
    "nothing": ("", "empty-patch", "empty"),
    "blanks": (" \n\t\n", "empty-patch", "empty"),
    "no change": (git_diff("x", "x", hunk="@@ -1 +1 @@\n a\n"), "empty-patch", "changes nothing"),
    "prose": ("I would rename the function.", "prose", "no diff"),
    "prose with a list": ("- one\n+ two\n", "prose", "no diff"),
    "code only": ("```python\nx = 1\n```\n", "prose", "no diff"),
    "two fences": (f"```diff\n{PLAIN}```\nor\n```diff\n{PLAIN}```\n", "prose", "2 fenced"),
    "fenced and not": (f"```diff\n{PLAIN}```\n{PLAIN}", "prose", "fenced"),
    "binary": (BINARY + "GIT binary patch\nliteral 3\nKc$_\n\n", "binary-patch", "i.png"),
    "binary, unsaid": (BINARY + "Binary files a/i.png and b/i.png differ\n", "binary-patch", "i.png"),
    "binary, alone": ("Binary files a/i.png and b/i.png differ\n", "binary-patch", "i.png"),
    "zeros": (git_diff("x", "x", hunk="@@ -1 +1 @@\n-a\n+\0\n"), "binary-patch", "NUL"),
    "utf-16": (PLAIN.encode("utf-16").decode("latin-1"), "binary-patch", "NUL"),
    "above": (git_diff("../x", "../x"), "escapes-worktree", "'../x'"),
    "through": (git_diff("a/../../x", "a/../../x"), "escapes-worktree", "`..`"),
    "absolute": ("--- /etc/passwd\n+++ /etc/passwd\n" + HUNK, "escapes-worktree", "not relative"),
    "absolute below a prefix": (git_diff("/etc/x", "/etc/x"), "escapes-worktree", "not relative"),
    "a drive": (git_diff("C:/x", "C:/x"), "escapes-worktree", "not relative"),
    "backslashes": (git_diff("..\\x", "..\\x"), "escapes-worktree", "backslash"),
    "quoted above": (git_diff("x", "x").replace("a/x", '"a/\\056\\056/x"').replace("b/x", '"b/\\056./x"'),
                     "escapes-worktree", "`..`"),
    "git's folder": (git_diff(".git/hooks/x", ".git/hooks/x"), "escapes-worktree", "git's own"),
    "a submodule's git": (git_diff("sub/.git/config", "sub/.git/config"), "escapes-worktree", "git's own"),
    "renamed out": ("diff --git a/x b/y\nrename from x\nrename to ../y\n", "escapes-worktree", "'../y'"),
    "renamed in": ("diff --git a/x b/y\nrename from .git/config\nrename to y\n", "escapes-worktree", "git's own"),
    "a new link": (LINK, "symlink", "l is a symbolic link"),
    "a changed link": ("diff --git a/l b/l\nindex 111..222 120000\n--- a/l\n+++ b/l\n" + HUNK, "symlink", "l is"),
    "a file made a link": (git_diff("l", "l", extra="old mode 100644\nnew mode 120000\n"), "symlink", "l is"),
    "a removed link": ("diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-/etc\n",
                       "symlink", "l is"),
    "a submodule": ("diff --git a/s b/s\nindex 111..222 160000\n--- a/s\n+++ b/s\n" + HUNK, "submodule", "s is"),
    "a setuid file": ("diff --git a/x b/x\nold mode 100644\nnew mode 104755\n", "does-not-apply", "mode 104755"),
    "a short hunk": (git_diff("x", "x", hunk="@@ -1,9 +1,9 @@\n-a\n+b\n"), "does-not-apply", "shorter"),
    "a long hunk": (git_diff("x", "x", hunk=HUNK + "+c\n"), "does-not-apply", "no hunk has it"),
    "a hunk without numbers": (git_diff("x", "x", hunk="@@ ... @@\n-a\n+b\n"), "does-not-apply", "no hunk has it"),
    "a second hunk without numbers": (git_diff("x", "x", hunk=HUNK + "@@\n-c\n+d\n"), "does-not-apply", "line 7"),
    "an old name alone": (PLAIN + "--- a/y.py\n", "does-not-apply", "line 7"),
    "two names": (git_diff("x", "y"), "does-not-apply", "two names"),
    "mixed prefixes": (PLAIN + "--- y\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "does-not-apply", "a/ and b/"),
    "numbers without end": (git_diff("x", "x", hunk=f"@@ -1,{'9' * 5000} +1 @@\n"), "does-not-apply", "cannot be read"),
    "a header without end": ("diff --git a/" + "x" * 9_000 + " b/x\n" + HUNK, "does-not-apply", "longer than a header"),
    "nowhere to nowhere": ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", "does-not-apply", "/dev/null"),
    "too big": ("x" * (MAX_BYTES + 1), "too-big", "4,000,001"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_has_a_code_says_where_and_what_to_send(case: str) -> None:
    """An agent learns from the answer what to do differently."""
    text, code, said = REFUSED[case]
    with pytest.raises(BadPatch, match=said.replace("(", r"\(")) as refused:
        Patch.parse(text)
    assert refused.value.code == code
    assert refused.value.sentence.endswith(".")
    assert refused.value.mend.endswith(".")


@pytest.mark.parametrize(
    "path",
    [".GIT/config", ".git./config", ".git /config", "a/.Git::$INDEX_ALLOCATION/x", "GIT~1/config", ".g\u200cit/config",
     "\uff0egit/config", "a//b", "./a", "a/.", "", "a\x07", "~/x", "x" * 256, "/".join(["abc"] * 400)],
)  # fmt: skip
def test_a_path_that_is_special_anywhere_is_refused_everywhere(path: str) -> None:
    """What another file system would fold into git's folder, or no file can have, is no path for a patch."""
    assert obstacle(path)


@pytest.mark.parametrize("path", ["a", ".github/x", "a/.gitignore", "git/x", "é/ü", "a b", "a..b/c", "x~", "-x"])
def test_an_ordinary_path_is_none(path: str) -> None:
    """Names that only look like the special ones are left alone."""
    assert obstacle(path) is None


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_a_name_survives_its_quotes(name: str) -> None:
    """Whatever a file is called, git and we mean the same by its quoted name."""
    if not name.startswith('"'):
        assert unquoted(quoted(name)) == name


ODDITIES = {
    "plain.py": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "no newline": (b"a\nb", b"a\nc"),
    "newline gone.txt": (b"a\nb\n", b"a\nb"),
    "newline come.txt": (b"a\nb", b"a\nb\n"),
    "crlf.txt": (b"a\r\nb\r\n", b"a\r\nB\r\n"),
    "mixed.txt": (b"a\r\nb\nc\r", b"a\nb\r\nc\r"),
    'quo"te.txt': (b"a\n", b"b\n"),
    "\u00e9\u4e2d.txt": (b"a\n", b"b\n"),
    "latin.txt": (b"\xe9\n", b"\xe8\n"),
    "made/deep.txt": (None, b"x\n"),
    "made/empty.txt": (None, b""),
    "gone/deep.txt": (b"x\n", None),
    "gone/empty.txt": (b"", None),
    "form.txt": (b"a\x0cb\n\x0bc\n\x1c\x85\n", b"a\x0cb\n\x0bd\n\x1c\x85\n"),
    "lines.txt": ("a\u2028b\u0085c\n".encode(), "a\u2028b\u0085d\n".encode()),
    "long.txt": (b"x" * 20_000 + b"\n", b"y" * 20_000 + b"\n"),
}


def test_what_git_prints_is_what_we_read(tmp_path: Path) -> None:
    """A real diff of every oddity, read and written by us, makes the same files of the same files."""
    old, new = tmp_path / "old", tmp_path / "new"
    for root, index in ((old, 0), (new, 1)):
        for name, contents in ODDITIES.items():
            content = contents[index]
            if content is not None:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content)
    (new / "plain.py").chmod(0o755)
    command = ["git", "diff", "--no-index", "--no-renames", "--text", "old", "new"]
    printed = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).stdout
    patch = Patch.parse(
        printed.replace(b"a/old/", b"a/").replace(b"b/new/", b"b/").replace(b"b/old/", b"b/").replace(b"a/new/", b"a/")
    )
    assert set(patch.paths) == set(ODDITIES)
    subprocess.run(
        ["git", "apply", "-"],
        cwd=old,
        input=patch.text,
        check=True,
        env={"GIT_DIR": "/dev/null", "PATH": "/usr/bin:/bin"},
    )
    for name, (_, content) in ODDITIES.items():
        assert ((old / name).read_bytes() if (old / name).exists() else None) == content, name
    assert (old / "plain.py").stat().st_mode & 0o100


def test_added_lines_are_known_by_their_numbers() -> None:
    """Who looks at what a patch adds can say where."""
    text = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,3 @@\n a\n+one\n b\n@@ -9,2 +10,2 @@\n-c\n+two\n d\n"
    assert Patch.parse(text).changes[0].added == ((2, "one"), (10, "two"))
