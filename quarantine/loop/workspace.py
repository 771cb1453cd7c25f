"""Where patches are tried: a worktree of the user's repository, used as a transaction.

The worktree is detached, in a folder of its own, and every roll-back makes it byte-identical to the clean base (see
`clean_state`), whatever ran in it. Nothing of the user's is touched: not the checkout, the index, the references, the
stash, the hooks or the configuration; git's record of the worktree is all that is added, and goes at the end. (A lock
file of no content stays beside it, which the client's other worktrees use too.) A process that dies leaves its
workspace to the next `open` on the repository, which removes it.

Inside the worktree `.git` is not the link into the user's repository but a history of one commit (see `history`): code
under test finds no later commit to look its answer up in, and `git tag` in a test tags nothing of the user's.

The files are those of a plain checkout under the repository's attributes and its own line-end settings. No program is
run for it: no hooks, and no filters, so that files kept by Git LFS are their pointers; submodules are empty folders;
a sparse checkout is made whole; a partial clone that lacks contents of the base is refused, because nothing is fetched.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import NamedTuple, Self

from quarantine.client.claims import TREE, Claim, claim, discard, sweep
from quarantine.client.errors import TreeError
from quarantine.client.git import git, top_level
from quarantine.client.removal import remove
from quarantine.client.tree import Tree, read_tree
from quarantine.client.worktrees import alone
from quarantine.loop import claims
from quarantine.loop.clean_state import CleanState, Difference
from quarantine.loop.errors import BadPatch, WorkspaceError
from quarantine.loop.history import conversions, lay_history, settings
from quarantine.loop.patch import SEND, Patch
from quarantine.loop.protected import Protected

__all__ = ["Workspace"]

_LINK, _SUBMODULE = "120000", "160000"
_OWN_NAMES = frozenset({TREE, "claim", "kept"})
_SAID_CHARACTERS = 600


class _Base(NamedTuple):
    """The commit that patches are tried on: its id, the ids of its blobs, the paths of its links and submodules."""

    commit: str
    blobs: frozenset[str]
    links: frozenset[str]
    submodules: frozenset[str]


class Workspace:
    """A worktree on a base, for one patch at a time; a context manager, gone when it is left.

    Attributes:
        repository: the user's repository.
        base_commit: the full id of the commit.
        path: the worktree, where tests run.
        base_tree: the content of the clean base, as `quarantine.client.tree` hashes it.
        recovered: folders of dead processes that were removed on the way in: workspaces, and scratch folders of runs.
    """

    def __init__(self, repository: Path, base: _Base, held: Claim, recovered: list[str]) -> None:
        self.repository = repository
        self.base_commit = base.commit
        self.path = held.folder / TREE
        self.recovered = recovered
        self._base = base
        self._held = held
        self._applied = False
        self._is_exposed = False
        self._line_ends = [word for name, value in conversions(repository) for word in ("-c", f"{name}={value}")]
        self._trash = _trash(held.folder)
        kept = held.folder / "kept"
        kept.mkdir()
        _check_out(repository, base.commit, self.path)
        (self.path / ".git").unlink()
        lay_history(repository, base.commit, self.path, check_out=False)
        tree = read_tree(self.path)
        self.base_tree = tree.hash
        self._state = CleanState.note(tree, repository, base.blobs, kept=kept, trash=self._trash)

    @classmethod
    def open(cls, repository: Path, base: str = "HEAD", *, folder: Path | None = None) -> Self:
        """Make a workspace, after removing those of this repository, and scratch folders, whose process died.

        Args:
            repository: a folder of the user's repository.
            base: the commit that patches are tried on.
            folder: where workspaces are made; the system's folder for temporary files by default.

        Raises:
            WorkspaceError: there is no such commit, or its worktree cannot be made.
        """
        parent = (folder or Path(tempfile.gettempdir())).resolve()
        try:
            root, common = _places(repository)
            if any(parent.is_relative_to(place) for place in (root, common) if place is not None):
                raise WorkspaceError(f"{parent} lies in the checkout.", mend="Name a folder outside of the repository.")
            found = _base(repository, base)
            recovered = claims.recover(repository, common, parent) + list(map(str, sweep(repository)))
            parent.mkdir(parents=True, exist_ok=True)
            held = claim(claims.PREFIX, parent, os.fsencode(common))
        except OSError as error:
            raise WorkspaceError(f"No workspace can be made in {parent}: {error}.") from error
        except TreeError as error:
            raise WorkspaceError(f"{repository} cannot be worked on: {error}") from error
        try:
            return cls(repository, found, held, recovered)
        except BaseException as error:
            with suppress(OSError):
                discard(held, repository)
            if isinstance(error, (TreeError, OSError)):
                raise WorkspaceError(f"The worktree cannot be made: {error}", mend=_WHOLE) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except WorkspaceError:
            if error is None:
                raise

    def close(self) -> None:
        """Remove the worktree and all that belongs to it; raises WorkspaceError when that is not possible."""
        try:
            discard(self._held, self.repository)
        except OSError as error:
            raise WorkspaceError(
                f"{self._held.folder} cannot be removed: {error}.", mend="The next workspace tries again."
            ) from error

    def tree(self) -> Tree:
        """Read what the worktree holds now."""
        return read_tree(self.path)

    def scratch(self) -> Path:
        """Return a new empty folder outside of the tree, for what one run needs or writes; gone with the roll-back."""
        return Path(tempfile.mkdtemp(prefix="run-", dir=self._held.folder))

    @contextmanager
    def agent_folder(self) -> Iterator[Path]:
        """Yield a copy of the base for the agent to read and edit: its files and a history of one commit, no more.

        It is gone when the block is left, or at a roll-back.
        """
        place = Path(tempfile.mkdtemp(prefix="agent-", dir=self._held.folder))
        folder = place / "repository"
        self._is_exposed = True  # who works in there can reach the worktree too
        try:
            folder.mkdir()
            self._fill(folder)
            yield folder
        finally:
            with suppress(OSError):  # what is left goes with the roll-back
                remove(str(place), self._trash)

    def _fill(self, folder: Path) -> None:
        try:
            lay_history(self.repository, self.base_commit, folder, check_out=True)
        except TreeError as error:
            raise WorkspaceError(f"The agent's folder cannot be made: {error}", mend=_WHOLE) from error

    def apply(self, patch: Patch) -> None:
        """Apply a patch to the clean base; nothing is changed when it does not apply.

        Raises:
            BadPatch: `does-not-apply`, `symlink` or `submodule`.
            WorkspaceError: another patch is applied; roll back first.
        """
        if self._applied:
            raise WorkspaceError("A patch is applied already.", mend="Roll back first.")
        for path in patch.paths:
            self._refuse(path)
        if self._is_exposed:
            self.roll_back()
        self._applied = True
        try:
            git(self.path, *_OUTSIDE, *self._line_ends, *_APPLY, stdin=patch.text)
        except TreeError as error:
            self.roll_back()
            said = error.message.partition(f"{self.path}: ")[2].replace("error: ", "")[:_SAID_CHARACTERS].strip()
            raise BadPatch(
                "does-not-apply", f"The patch does not apply to the base: {'; '.join(said.splitlines())}", SEND
            ) from error

    def _refuse(self, path: str) -> None:
        """Refuse a path that goes by, or is, something else than folders and files."""
        steps = [str(step) for step in (PurePosixPath(path), *PurePosixPath(path).parents)]
        link = next((step for step in steps if step in self._base.links), None)
        if link is not None:
            raise BadPatch("symlink", f"{path} goes by {link}, a symbolic link.", "Name the file it leads to.")
        module = next((step for step in steps if step in self._base.submodules), None)
        if module is not None:
            raise BadPatch(
                "submodule", f"{path} lies in the submodule {module}.", "Change files of this repository only."
            )

    def roll_back(self, *, prove: bool = False) -> None:
        """Make the worktree what it was when it was made.

        Args:
            prove: read every byte of it afterwards and compare, instead of believing the times of what looks untouched.

        Raises:
            WorkspaceError: it cannot be put back, or the proof fails; the workspace is of no use then.
        """
        try:
            self._sweep()
        except OSError as error:
            raise WorkspaceError(f"{self._held.folder} cannot be cleared: {error}.") from error
        self._state.put_back(self._state.difference())
        self._applied = self._is_exposed = False
        if prove and self._state.content_hash() != self._state.expected_hash():
            raise WorkspaceError(
                f"{self.path} is not what it was, though nothing in it looks changed.",
                mend="Open another workspace, and look for who can change files without a trace: root, or the clock.",
            )

    def _sweep(self) -> None:
        """Remove all that lies beside the worktree and is not ours: it could be found by who looks upwards."""
        folder = self._held.folder
        self._trash = self._state.trash = _trash(folder)
        for name in set(os.listdir(folder)) - _OWN_NAMES - {self._trash.name}:  # noqa: PTH208 - names are wanted
            remove(f"{folder}/{name}", self._trash)

    def restore(self, protected: Protected) -> list[str]:
        """Put every protected path back as in the base, and remove those that the base does not have.

        Returns:
            What had to be changed, sorted. New links to folders are removed as well, because what lies behind them has
            another path.

        Raises:
            WorkspaceError: it cannot be done.
        """
        found = self._state.difference()
        lost = [path for path in found.lost if protected.matches(path)]
        in_the_way = [path for path in found.added if any(step.startswith(f"{path}/") for step in lost)]
        added = [path for path in found.added if path not in in_the_way]
        try:
            added = [path for top in added for path in _protected_below(f"{self.path}/", top, protected)]
        except OSError as error:
            raise WorkspaceError(f"{self.path} cannot be searched: {error}.") from error
        parents = {str(step) for path in lost for step in PurePosixPath(path).parents} - {"."}
        folders = [folder for folder in found.folders if folder in parents]
        self._state.put_back(Difference(in_the_way + added, lost, folders))
        return sorted({*in_the_way, *added, *lost})


_OUTSIDE = (f"--git-dir={os.devnull}", "--work-tree=.", "-c", "core.bare=false")
"""Makes git work in a folder without reading a repository's settings, but with the attributes that lie there."""
_APPLY = ("apply", "--whitespace=nowarn", "-p1", "-")
_WHOLE = "The clone must have all files of the base: nothing is fetched here."


def _trash(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix="trash-", dir=folder))


def _places(repository: Path) -> tuple[Path | None, Path]:
    """Return where a repository is checked out, None when it is bare, and its git folder."""
    common = git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    root = top_level(repository)
    return root and root.resolve(), Path(os.fsdecode(common.removesuffix(b"\n"))).resolve()


def _base(repository: Path, revision: str) -> _Base:
    try:
        found = git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except TreeError as error:
        raise WorkspaceError(
            f"{revision!r} is no commit that {repository} has.", mend="Name one, or fetch it first."
        ) from error
    commit = found.decode().strip()
    listed = git(repository, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
    entries = [line.partition(b"\t") for line in listed.split(b"\0") if line]
    about = [(*head.decode().split(), os.fsdecode(path)) for head, _, path in entries]
    return _Base(
        commit,
        frozenset(oid for mode, _, oid, _ in about if mode != _SUBMODULE),
        frozenset(path for mode, _, _, path in about if mode == _LINK),
        frozenset(path for mode, _, _, path in about if mode == _SUBMODULE),
    )


def _check_out(repository: Path, commit: str, tree: Path) -> None:
    """Make the worktree, whole, and without running a program that the repository's settings name."""
    drivers = {
        name.rpartition(".")[0] for name, _ in settings(repository, r"^filter\..*\.(smudge|clean|process|required)$")
    }
    calm = [f"{driver}.{key}" for driver in drivers for key in ("smudge=", "clean=", "process=", "required=false")]
    plain = ["core.sparseCheckout=false", "submodule.recurse=false", "core.fileMode=true", *calm]
    options = [word for setting in plain for word in ("-c", setting)]
    with alone(repository):
        git(
            repository, *options, "worktree", "add", "--quiet", "--force", "--detach",
            "--lock", "--reason", claims.reason(), str(tree), commit,
        )  # fmt: skip


def _protected_below(root: str, path: str, protected: Protected) -> Iterator[str]:
    """Yield what of a new file or folder is protected, or too deep to be seen."""
    waiting = [path]
    while waiting:
        place = waiting.pop()
        full = root + place
        if os.path.islink(full):  # noqa: PTH114 - plain strings here
            if protected.matches(place) or os.path.isdir(full):  # noqa: PTH112 - the same
                yield place
        elif not os.path.isdir(full):  # noqa: PTH112 - the same
            if protected.matches(place):
                yield place
        elif len(full) > _SEEN_CHARACTERS:
            yield place
        else:
            waiting += [f"{place}/{name}" for name in os.listdir(full)]  # noqa: PTH208 - the same


_SEEN_CHARACTERS = 3000
"""Longer paths can no longer be opened by their names on most systems."""
