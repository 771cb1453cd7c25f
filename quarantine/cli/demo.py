"""`quarantine demo`: watch it work on a small real repository."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import click

BAR_WIDTH = 40
LINE_EVERY = 10
"""Where there is no terminal, a line is written after so many builds."""


@click.command()
@click.option("--once", is_flag=True, help="End when the story is told, instead of serving the page.")
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Work in this folder, new or empty, and leave it there afterwards [default: a temporary one].",
)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, show_default=True, help="0 picks a free one.")
def command(*, once: bool, keep: Path | None, port: int) -> None:
    """Watch it work: a small repository, sixty commits, one flaky test, and a ticket for an agent.

    Makes a real git repository, really runs its tests over six weeks of commits and changes, sends every report to a
    daemon of its own, tells what the daemon made of it, and lets a scripted agent work on a ticket by its verdicts.
    Then the page stays up until Ctrl-C. Nothing is sent anywhere but to this machine.
    """
    try:
        with _folder(keep) as folder:
            _play(folder, once=once, kept=keep is not None, port=port)
    except KeyboardInterrupt:
        click.echo("Stopped." if keep else "Stopped; the temporary folder is gone.", err=True)
        sys.exit(130)


def _play(folder: Path, *, once: bool, kept: bool, port: int) -> None:
    from quarantine.demo.story import told
    from quarantine.demo.telling import places, story

    with _Progress() as progress, told(folder, progress.show, port=port) as ending:
        progress.clear()
        click.echo("\n".join(story(ending)))
        if not once:
            click.echo("\n".join(["", *places(ending, _program())]))
            click.echo(f"Ctrl-C ends it{'' if kept else ' and removes its folder'}.")
            _wait()
    if kept and once:
        click.echo(f"\nThe database and the repository are left in {folder}.")


def _wait() -> None:
    """Return when Ctrl-C is pressed."""
    import threading

    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo("\nStopped.", err=True)


def _program() -> str:
    """Return how this command was called, to be typed again."""
    called = Path(sys.argv[0])
    return str(called) if called.name == "quarantine" else "quarantine"


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Yield an empty folder; a temporary one is gone afterwards. Raises BadInput when `keep` holds something."""
    from quarantine.errors import BadInput

    if keep is None:
        with tempfile.TemporaryDirectory(prefix="quarantine-demo-", ignore_cleanup_errors=True) as name:
            yield Path(name).resolve()
        return
    keep.mkdir(parents=True, exist_ok=True)
    if any(keep.iterdir()):
        raise BadInput(f"{keep} is not empty.", mend="Name a folder that does not exist yet.")
    yield keep.resolve()


class _Progress:
    """A bar on stderr; a line now and then where that is no terminal."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        self._draw("Making the repository ...")
        return self

    def __exit__(self, *_exception: object) -> None:
        self.clear()

    def show(self, done: int, total: int) -> None:
        """Say that so many of the builds are in."""
        if not self._is_terminal and (done % LINE_EVERY == 0 or done == total):
            sys.stderr.write(f"{done} of {total} builds are in.\n")
        filled = BAR_WIDTH * done // total
        self._draw(f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {done} of {total} builds are in")

    def clear(self) -> None:
        """Take the bar away."""
        self._draw("")

    def _draw(self, text: str) -> None:
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
