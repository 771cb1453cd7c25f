"""A repository of one commit: what the base holds, and nothing of what came before or after it.

Who works in a folder with such a history can use git as usual, but finds no later commit with the answer, no remote, no
reference, hook or configuration of the user's repository, and can change none of them.
"""

from contextlib import suppress
from pathlib import Path

from quarantine.client.errors import TreeError
from quarantine.client.git import git

__all__ = ["conversions", "lay_history"]

_PERSON = "quarantine <quarantine@localhost>"
_SETTINGS = "[user]\n\tname = quarantine\n\temail = quarantine@localhost\n[gc]\n\tauto = 0\n"
_CONVERSIONS = r"^core\.(autocrlf|eol)$"


def lay_history(repository: Path, commit: str, folder: Path, *, check_out: bool) -> None:
    """Make a folder a repository whose only commit holds the files of one of another repository's commits.

    Args:
        repository: where the commit is; nothing of it is changed.
        commit: its full id.
        folder: a folder without `.git`.
        check_out: whether the files are to be written; otherwise they lie there already.

    Raises:
        TreeError: git cannot do it, as in a partial clone that lacks contents of the commit.
    """
    kind = git(repository, "rev-parse", "--show-object-format").decode().strip()
    git(folder, "init", "--quiet", "--template=", "--initial-branch=main", f"--object-format={kind}")
    (folder / ".git/info").mkdir()
    objects = git(repository, "rev-list", "--objects", "--no-object-names", f"{commit}^{{tree}}")
    git(repository, "pack-objects", "-q", str(folder / ".git/objects/pack/pack"), stdin=objects)
    with (folder / ".git/config").open("a", encoding="utf-8") as config:
        config.write(_SETTINGS + "".join(f"[core]\n\t{key[5:]} = {value}\n" for key, value in conversions(repository)))
    git(folder, "update-ref", "HEAD", _commit(repository, commit, folder))
    if check_out:
        git(folder, "read-tree", "--reset", "-u", "HEAD")
    else:
        git(folder, "read-tree", "HEAD")
        with suppress(TreeError):  # it fails when a file differs, as one does whose filter was not run
            git(folder, "update-index", "-q", "--refresh")


def _commit(repository: Path, commit: str, folder: Path) -> str:
    """Write the one commit, with the base's date, and return its id."""
    tree, date = git(repository, "log", "-1", "--format=%T %ct", "--end-of-options", commit).decode().split()
    text = f"tree {tree}\nauthor {_PERSON} {date} +0000\ncommitter {_PERSON} {date} +0000\n\nThe base\n"
    return git(folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode()).decode().strip()


def conversions(repository: Path) -> list[tuple[str, str]]:
    """Return the repository's own settings about line ends."""
    return [(name, value) for name, value in settings(repository, _CONVERSIONS) if value.isalpha()]


def settings(repository: Path, pattern: str) -> list[tuple[str, str]]:
    """Return names and values of a repository's own settings whose names match a pattern."""
    try:
        listed = git(repository, "config", "--local", "--null", "--get-regexp", pattern)
    except TreeError:
        return []
    pairs = (entry.partition("\n") for entry in listed.decode("utf-8", "surrogateescape").split("\0") if entry)
    return [(name, value) for name, _, value in pairs]
