"""What an agent proposes: a unified diff, understood once and written again by us.

The diff is parsed by unidiff, whose count of hunk lines a hostile line cannot fool, and `Patch.text` is written from
what was understood: what `git apply` reads is therefore exactly what was checked, and one edit has one hash however it
was dressed. What unidiff passes over in silence (a hunk header without numbers, lines beyond a hunk, GIT binary
patches, modes, quoted names) is looked at here, and refused where it could mean something.

Names lose `a/` and `b/` (or git's mnemonic letters) when all of the patch has them. Read as well: a diff below prose,
the one fenced block of an answer in Markdown, CRLF in transport, a missing newline at the end.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from unidiff.constants import DEV_NULL, LINE_TYPE_EMPTY, LINE_TYPE_NO_NEWLINE
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from quarantine.loop.errors import BadPatch
from quarantine.loop.paths import obstacle, quoted, unquoted

__all__ = ["MAX_BYTES", "Change", "Patch"]

MAX_BYTES = 4_000_000
"""A patch above this mends no ticket; 300 KB take 20 ms to parse."""
MAX_HEADER_CHARACTERS = 8_192
SEND = "Send one unified diff against the files as they are, such as `git diff` prints, and nothing else."
_SEND_TEXT = "Change text files only; say in words which other files a person should add."
_FENCE = re.compile(r"^(```+|~~~+)[ \t]*([A-Za-z]*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_DIFF_LIKE = re.compile(r"^(diff --git |--- \S|\+\+\+ \S|@@ -\d)", re.MULTILINE)
_HUNK = re.compile(r"@@ -[0-9]+(,[0-9]+)? \+[0-9]+(,[0-9]+)? @@")
_HEADERS = (
    *("rename from ", "rename to ", "copy from ", "copy to ", "old mode ", "new mode "),
    *("new file mode ", "deleted file mode ", "--- "),
)
_INDEX_MODE = re.compile(r"index [0-9a-f]+\.\.[0-9a-f]+ ([0-7]+)$")
_OLD_PREFIXES, _NEW_PREFIXES = ("a/", "i/", "c/", "o/", "w/", "1/"), ("b/", "w/", "i/", "2/", "c/", "o/")
_LINK, _SUBMODULE = "120000", "160000"
_FILE, _EXECUTABLE = "100644", "100755"
_NO_NEWLINE = "\\ No newline at end of file\n"


class Change(NamedTuple):
    """What a patch does to one file.

    Attributes:
        old: its path before; None when the patch makes it.
        new: its path afterwards; None when the patch removes it.
        copied: whether the old file stays as it is.
        old_mode, new_mode: `100644` or `100755` where the patch states them.
        added: number (in the new file, from 1) and text of each added line, without its end.
        body: the hunks, in bytes.
    """

    old: str | None
    new: str | None
    copied: bool
    old_mode: str | None
    new_mode: str | None
    added: tuple[tuple[int, str], ...]
    body: bytes

    @property
    def path(self) -> str:
        """The path to speak of: the new one, if there is one."""
        return self.new or self.old or ""

    @property
    def does_nothing(self) -> bool:
        """Whether the file stays as it is."""
        same = self.old == self.new and self.old_mode == self.new_mode
        return same and re.search(rb"^[+-]", self.body, re.MULTILINE) is None


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch that names only files a worktree may hold; whether it applies is seen when it is applied.

    Attributes:
        text: the diff as `git apply -p1` reads it, in bytes.
        changes: file by file, in the order of the diff.
        sha256: of the text, 64 hexadecimal digits.
        paths: every path it names, old and new, sorted.
    """

    text: bytes
    changes: tuple[Change, ...]
    sha256: str = field(init=False)
    paths: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        named = {path for change in self.changes for path in (change.old, change.new) if path is not None}
        object.__setattr__(self, "sha256", hashlib.sha256(self.text).hexdigest())
        object.__setattr__(self, "paths", tuple(sorted(named)))

    @classmethod
    def parse(cls, text: bytes | str, *, max_bytes: int = MAX_BYTES) -> Self:
        """Return the patch that an answer holds.

        Raises:
            BadPatch: `empty-patch`, `prose`, `binary-patch`, `escapes-worktree`, `symlink`, `submodule`, `too-big`, or
                `does-not-apply` when it is no well-formed diff.
        """
        raw = _encoded(text) if isinstance(text, str) else text
        if len(raw) > max_bytes:
            raise BadPatch(
                "too-big",
                f"The answer has {len(raw):,} bytes; at most {max_bytes:,} are read.",
                "Send the smallest diff that mends the ticket, without generated files.",
            )
        lines = _diff_lines(raw)
        changes = tuple(_changes(lines))
        if all(change.does_nothing for change in changes):
            raise BadPatch("empty-patch", "The patch changes nothing.", SEND)
        return cls(b"".join(map(_written, changes)), changes)


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise BadPatch(
            "does-not-apply", f"Character {error.start + 1} of the answer is half a surrogate, which is no text.", SEND
        ) from error


def _diff_lines(raw: bytes) -> list[str]:
    """Return the lines of the one diff in an answer, each with its newline."""
    text = raw.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    if not text.strip():
        raise BadPatch("empty-patch", "The answer is empty.", SEND)
    if "\0" in text:
        raise BadPatch("binary-patch", "The answer holds NUL bytes, so it is not text.", f"{SEND} Encode it as UTF-8.")
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        text = text.replace("\r\n", "\n")
    text = _fenced(text)
    if not _DIFF_LIKE.search(text) and not re.search(r"^(GIT binary patch|Binary files? )", text, re.MULTILINE):
        raise BadPatch("prose", "The answer holds no diff, only other text.", SEND)
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")]


def _fenced(text: str) -> str:
    """Return the one fenced diff of an answer in Markdown; the text itself when there is no fence."""
    blocks: list[tuple[str, str]] = [(word.lower(), content) for _, word, content in _FENCE.findall(text)]
    diffs = [
        content for word, content in blocks if word in {"diff", "patch"} or (not word and _DIFF_LIKE.match(content))
    ]
    if not diffs:
        return text
    outside = _FENCE.sub("", text)
    if len(diffs) > 1 or re.search(r"^(diff --git |@@ -\d)", outside, re.MULTILINE):
        raise BadPatch("prose", f"The answer holds {len(diffs)} fenced diffs or more; which is meant is a guess.", SEND)
    return diffs[0]


def _changes(lines: Sequence[str]) -> Iterator[Change]:
    """Yield what the diff says of each file."""
    files = _parsed(lines)
    body = {line.diff_line_no for file in files for hunk in file for line in hunk if line.diff_line_no is not None}
    outside = {number: line for number, line in enumerate(lines, 1) if number not in body}
    starts = [file.diff_line_no or 1 for file in files]
    _refuse_strays(outside, min(starts, default=len(lines) + 1))
    ends = [*starts[1:], len(lines) + 1]
    heads = [_head(outside, begin, end) for begin, end in zip(starts, ends, strict=True)]
    names = [_names(file, head) for file, head in zip(files, heads, strict=True)]
    strip = _prefixed([(one.old, one.new) for one in names if not one.bare])
    for file, head, name in zip(files, heads, names, strict=True):
        yield _change(file, head, name.stripped() if strip else name)


def _head(outside: dict[int, str], begin: int, end: int) -> list[str]:
    """Return the header of one file, without newlines: up to its hunks, and with its `---` line."""
    head: list[str] = []
    for number in range(begin, end):
        line = outside.get(number, "@@").rstrip("\n")
        if line.startswith("@@"):
            break
        if line.startswith("+++ "):
            head.append(outside.get(number - 1, "").rstrip("\n"))
            break
        if not line.startswith("--- "):
            head.append(line)
    return head


def _parsed(lines: Sequence[str]) -> list[PatchedFile]:
    """Return the files of a diff as unidiff reads them."""
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_HEADER_CHARACTERS and not line.startswith(("+", "-", " ", "\\")):
            raise _malformed(f"line {number} is longer than a header can be")
    try:
        return list(PatchSet(iter(lines)))
    except (UnidiffParseError, ValueError, AssertionError) as error:
        said = " ".join(str(error).split())[:200] or "it is malformed"
        raise _malformed(said) from error


def _malformed(what: str) -> BadPatch:
    return BadPatch(
        "does-not-apply",
        f"The diff cannot be read: {what}.",
        "Count the lines of each hunk as its @@ header says, begin each with a space, + or -, and leave none out.",
    )


def _refuse_strays(outside: dict[int, str], first: int) -> None:
    """Refuse lines that look like part of a diff but belong to no hunk: unidiff would drop them without a word."""
    for number, line in outside.items():
        if line.startswith("--- "):
            stray = not outside.get(number + 1, "").startswith("+++ ")
        elif line.startswith("@@"):
            stray = not _HUNK.match(line)
        else:
            stray = line.startswith(("+", "-")) and not line.startswith("+++ ") and line.rstrip() not in {"--", "---"}
        if stray and number >= first:
            raise _malformed(f"line {number} ({line.strip()[:60]!r}) looks like part of a diff, but no hunk has it")


class _Names(NamedTuple):
    """The two names of a file as the diff spells them, None for /dev/null; `bare` when they carry no prefix."""

    old: str | None
    new: str | None
    bare: bool

    def stripped(self) -> Self:
        """Return them without their prefix."""
        if self.bare:
            return self
        return self._replace(old=self.old and self.old[2:], new=self.new and self.new[2:])


def _names(file: PatchedFile, head: Sequence[str]) -> _Names:
    said = _said(head)
    for verb in ("rename", "copy"):
        if f"{verb} from " in said and f"{verb} to " in said:
            return _Names(unquoted(said[f"{verb} from "]), unquoted(said[f"{verb} to "]), bare=True)
    old = DEV_NULL if said.get("--- ", "").split("\t")[0].strip() == DEV_NULL else file.source_file
    new = file.target_file
    return _Names(_name(old), _name(new), bare=False)


def _name(spelled: str) -> str | None:
    return None if spelled == DEV_NULL else unquoted(spelled)


def _said(head: Sequence[str]) -> dict[str, str]:
    """Return what the header lines of one file say, by how they begin."""
    return {key: line.removeprefix(key) for line in head for key in _HEADERS if line.startswith(key)}


def _prefixed(names: Sequence[tuple[str | None, str | None]]) -> bool:
    """Whether the names of a diff begin with a letter and a slash that are not theirs."""
    if any(old == new for old, new in names):
        return False
    told = [
        name.startswith(prefixes)
        for pair in names
        for name, prefixes in zip(pair, (_OLD_PREFIXES, _NEW_PREFIXES), strict=True)
        if name is not None
    ]
    if any(told) and not all(told):
        raise _malformed("some names begin with a/ and b/ and others do not")
    return any(told)


def _change(file: PatchedFile, head: Sequence[str], names: _Names) -> Change:
    old, new = names.old, names.new
    for name in filter(None, (old, new)):
        _refuse_path(name)
    path = new or old
    if path is None:
        raise _malformed("a file is named /dev/null on both sides")
    _refuse_kind(file, head, path)
    said = _said(head)
    if old is not None and new is not None and old != new and not names.bare:
        raise _malformed(f"{old} and {new} are two names of one file, without `rename from` and `rename to`")
    old_mode = _mode(said.get("old mode ", said.get("deleted file mode ", _FILE if new is None else None)), path)
    new_mode = _mode(said.get("new mode ", said.get("new file mode ", _FILE if old is None else None)), path)
    added = tuple(
        (line.target_line_no or 0, line.value.rstrip("\r\n")) for hunk in file for line in hunk if line.is_added
    )
    copied = "copy from " in said and "rename from " not in said
    return Change(old, new, copied, old_mode, new_mode, added, b"".join(map(_hunk, file)))


def _refuse_path(path: str) -> None:
    why = obstacle(path)
    if why:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise BadPatch(
            "escapes-worktree",
            f"The patch names {shown!r}, which {why}.",
            "Name only files of the repository, by their path from its root.",
        )


def _refuse_kind(file: PatchedFile, head: Sequence[str], path: str) -> None:
    """Refuse what is no change of a text file."""
    modes = {line.rpartition(" ")[2] for line in head if " mode " in line or _INDEX_MODE.match(line)}
    if _LINK in modes:
        raise BadPatch("symlink", f"{path} is a symbolic link in the patch.", "Send ordinary files in its place.")
    if _SUBMODULE in modes:
        raise BadPatch("submodule", f"{path} is a submodule in the patch.", "Change files of this repository only.")
    if file.is_binary_file or any(line.startswith(("GIT binary patch", "Binary file")) for line in head):
        raise BadPatch("binary-patch", f"The patch changes {path} as a binary file.", _SEND_TEXT)


def _mode(spelled: str | None, path: str) -> str | None:
    if spelled is None:
        return None
    if not re.fullmatch(r"100[0-7]{3}", spelled):
        raise _malformed(f"{path} would get the mode {spelled}; files have {_FILE} or {_EXECUTABLE}")
    return _EXECUTABLE if int(spelled, 8) & 0o100 else _FILE


def _hunk(hunk: Hunk) -> bytes:
    """Return a hunk as git reads it."""
    head = f"@@ -{hunk.source_start},{hunk.source_length} +{hunk.target_start},{hunk.target_length} @@\n"
    body = (_NO_NEWLINE if line.line_type == LINE_TYPE_NO_NEWLINE else f"{line.line_type}{line.value}"
            for line in hunk if line.line_type != LINE_TYPE_EMPTY)  # fmt: skip
    return "".join([head, *body]).encode("utf-8", "surrogateescape")


def _written(change: Change) -> bytes:
    """Return one file's part of the diff."""
    old, new = change.old or change.new or "", change.new or change.old or ""
    head = [f"diff --git {quoted(f'a/{old}')} {quoted(f'b/{new}')}"]
    if change.old is None:
        head.append(f"new file mode {change.new_mode}")
    elif change.new is None:
        head.append(f"deleted file mode {change.old_mode}")
    elif change.new_mode is not None:
        head += [f"old mode {change.old_mode or _FILE}", f"new mode {change.new_mode}"]
    if old != new:
        verb = "copy" if change.copied else "rename"
        head += [f"{verb} from {quoted(old)}", f"{verb} to {quoted(new)}"]
    if change.body:
        head.append(f"--- {DEV_NULL if change.old is None else quoted(f'a/{old}')}")
        head.append(f"+++ {DEV_NULL if change.new is None else quoted(f'b/{new}')}")
    return "".join(f"{line}\n" for line in head).encode() + change.body
