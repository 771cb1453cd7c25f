"""Applying a patch and rolling it back: by a workspace, and by plain git in a clone that nothing else uses."""

import os
import resource
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from quarantine.loop.patch import Patch
from quarantine.loop.workspace import Workspace

_PATCHED = 5
_ENVIRONMENT = os.environ | {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


def workspace_and_git(*, files: int, rounds: int) -> tuple[float, float]:
    """Return the median CPU seconds, children included, of both: each patches five files and undoes it and a new file.

    Args:
        files: how many files the repository has.
        rounds: how often each is done, in turn, after one round that warms up.
    """
    with TemporaryDirectory(prefix="quarantine-bench-") as folder:
        repository, places = Path(folder, "repository"), Path(folder, "places")
        text = _make(repository, files)
        with Workspace.open(repository, folder=places) as workspace:

            def mine() -> None:
                workspace.apply(Patch.parse(text))
                (workspace.path / "left.txt").write_text("left by the tests\n")
                workspace.roll_back()

            def plain() -> None:
                _git(repository, "apply", "-", stdin=text)
                (repository / "left.txt").write_text("left by the tests\n")
                _git(repository, "checkout", "--quiet", "--", ".")
                _git(repository, "clean", "-fdxq")

            pairs = [(_cpu_s(mine), _cpu_s(plain)) for _ in range(rounds + 1)][1:]
    return statistics.median(one for one, _ in pairs), statistics.median(other for _, other in pairs)


def _make(repository: Path, files: int) -> str:
    """Make a repository of so many files, a hundred to a folder, and return a patch of some of them."""
    for number in range(files):
        path = repository / f"package_{number // 1000}" / f"part_{number // 100}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"NUMBER = {number}\n" + "x = 1\n" * 50)
    _git(repository, "init", "--quiet")
    _git(repository, "add", ".")
    _git(repository, "-c", "user.name=b", "-c", "user.email=b", "-c", "gc.auto=0", "commit", "--quiet", "-m", "files")
    names = [f"package_{n // 1000}/part_{n // 100}/module_{n}.py" for n in range(0, files, files // _PATCHED)]
    return "".join(
        f"--- a/{name}\n+++ b/{name}\n@@ -1,4 +1,4 @@\n-NUMBER = {name.rpartition('_')[2][:-3]}\n+NUMBER = 0\n"
        + " x = 1\n" * 3
        for name in names
        if not name.endswith("_0.py")
    )


def _git(folder: Path, *words: str, stdin: str = "") -> None:
    subprocess.run(["git", *words], cwd=folder, env=_ENVIRONMENT, input=stdin.encode(), check=True)


def _cpu_s(work: Callable[[], None]) -> float:
    """Return the CPU seconds that the work took, here and in what it started."""
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    work()
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True))
