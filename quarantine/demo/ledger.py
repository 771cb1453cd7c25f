"""The ledger: a small billing project as a real git repository, whose history comes from the mail files beside this.

`history/trunk.mbox` holds the trunk as `git format-patch` writes it: author, date, message and edit of every commit.
`history/changes/LANE/NAME.mbox` holds a change: it branches off the commit that was the trunk's last at its first date.
`history/tickets/NAME/` holds a ticket: `ticket.md`, `base.mbox` with the tests that show what is wanted, and what an
agent answered, `attempt-1.diff` and so on.
To change the story: make the repository, rework it with git, and write the files again with
`git format-patch --stdout --zero-commit --no-signature --no-stat --no-numbered --subject-prefix= RANGE`, where RANGE is
`--root main` for the trunk. Which builds there are, when and in which lane is written nowhere else.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from quarantine.client.git import git

__all__ = ["TRUNK", "Commit", "TicketFiles", "branches", "clone", "commits", "create", "open_ticket"]

TRUNK = "main"
_AS_COMMITTER = ("-c", "user.name=Ledger", "-c", "user.email=ledger@ledger.example", "-c", "commit.gpgSign=false")
_AM = ("am", "--quiet", "--committer-date-is-author-date", "--whitespace=nowarn")
_FIELDS = "%H%x00%cI%x00%an%x00%s"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the ledger; `at` is aware."""

    hash: str
    at: datetime
    author: str
    subject: str


def create(folder: Path) -> None:
    """Make the repository in a new folder: the trunk checked out, each change on a branch named LANE/NAME.

    Raises TreeError when git is missing or refuses.
    """
    history = resources.files("quarantine.demo") / "history"
    folder.mkdir()
    git(folder, "init", "--quiet", f"--initial-branch={TRUNK}")
    _apply(folder, history / "trunk.mbox")
    for lane in _sorted(history / "changes"):
        for change in _sorted(lane):
            _branch_off(folder, f"{lane.name}/{change.name.removesuffix('.mbox')}", change)
    git(folder, "checkout", "--quiet", TRUNK)
    git(folder, "repack", "-a", "-d", "--quiet")


def _sorted(folder: Traversable) -> list[Traversable]:
    return sorted(folder.iterdir(), key=lambda entry: entry.name)


def _branch_off(folder: Path, name: str, change: Traversable) -> None:
    date = next(line for line in change.read_text(encoding="utf-8").splitlines() if line.startswith("Date: "))
    base = git(folder, "rev-list", "--max-count=1", f"--before={date.removeprefix('Date: ')}", TRUNK).decode().strip()
    git(folder, "checkout", "--quiet", "-b", name, base)
    _apply(folder, change)


def _apply(folder: Path, mails: Traversable) -> None:
    git(folder, *_AS_COMMITTER, *_AM, stdin=mails.read_bytes())


def branches(folder: Path) -> list[tuple[str, str]]:
    """Return (lane, name) of every change, sorted."""
    listed = git(folder, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").decode().split()
    return [(lane, name) for lane, _, name in (branch.partition("/") for branch in listed) if name]


def commits(folder: Path, *revisions: str) -> list[Commit]:
    """Return the commits of a revision range, the first one first."""
    logged = git(folder, "log", "--reverse", f"--format={_FIELDS}", *revisions, "--").decode()
    fields = [line.split("\0") for line in logged.splitlines()]
    return [Commit(oid, datetime.fromisoformat(at), author, subject) for oid, at, author, subject in fields]


@contextmanager
def clone(repository: Path, commit: str, folder: Path) -> Iterator[Path]:
    """Yield a clone with a commit checked out in `folder`, which must not exist; it is gone afterwards.

    A clone, not a worktree: git does not add worktrees to one repository at the same time without fail.
    """
    shutil.copytree(repository / ".git", folder / ".git", ignore=shutil.ignore_patterns("worktrees", "index"))
    try:
        git(folder, "checkout", "--quiet", "--detach", "--force", commit)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class TicketFiles:
    """A ticket as the ledger's people wrote it, and what an agent once answered.

    Attributes:
        branch: holds the tests that show what is wanted, on top of the trunk.
        text: what the agent reads.
        answers: the agent's patches, in order.
    """

    branch: str
    text: str
    answers: tuple[str, ...]


def open_ticket(folder: Path, name: str) -> TicketFiles:
    """Add a ticket's branch to a repository that `create` made, and return the ticket."""
    files = resources.files("quarantine.demo") / "history" / "tickets" / name
    branch = f"ticket/{name}"
    _branch_off(folder, branch, files / "base.mbox")
    git(folder, "checkout", "--quiet", TRUNK)
    answers = [entry.read_text(encoding="utf-8") for entry in _sorted(files) if entry.name.endswith(".diff")]
    return TicketFiles(branch, (files / "ticket.md").read_text(encoding="utf-8"), tuple(answers))
