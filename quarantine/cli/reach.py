"""`quarantine reach`: which files each test reaches."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from quarantine.cli.options import complain, json_option, print_json, say
from quarantine.cli.remote import on_daemon, put_lines, target_of
from quarantine.cli.tested import root_of, root_option


@click.group()
def command() -> None:
    """Tell the daemon which files each test reaches.

    With reach maps, outcomes of reviews and agents speak about trunk where the change cannot touch the test. Without
    them a test reaches everything. Needs a token of the trunk lane.
    """


@command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@root_option("The tree it was recorded on")
@click.option("--leave-out", multiple=True, type=click.Path(path_type=Path), help="No part of that tree; repeatable.")
@json_option
@on_daemon
def add(
    file: Path,
    root: Path | None,
    leave_out: tuple[Path, ...],
    url: str | None,
    project: str,
    token: str | None,
    *,
    as_json: bool,
) -> None:
    """Send the reach that FILE holds: a coverage.py data file with contexts, or JSON lines.

    Record the contexts with `pytest --cov --cov-context=test`. A JSON line is {"test": "...", "files": ["...", ...]},
    which is what the dependency query of a build tool can print; files are named from the root.
    """
    from quarantine.client.tree import read_tree

    target = target_of(url, project, token)
    with file.open("rb") as opened:
        is_coverage = opened.read(16).startswith(b"SQLite format 3")
    tree = read_tree(root_of(root).path, leave_out=[file, *leave_out])
    lines: Iterable[bytes]
    if is_coverage:
        from quarantine.client.reach_map import reach_of_coverage, to_json_lines

        reading = reach_of_coverage(file, tree)
        for remark in reading.remarks:
            complain(remark)
        lines = (line.encode() for line in to_json_lines(reading))
    else:
        lines = _lines(file)
    told = put_lines(target, f"reach?tree={tree.hash}", lines)
    if as_json:
        print_json(told)
        return
    click.echo(f"Map {told['map']}: {told['tests']} tests reach {told['columns']} parts of files.")
    if told["matched"] < told["tests"]:
        few = ", ".join(told["unknown"])
        say(f"{told['tests'] - told['matched']} of them are in no report so far, such as {few}.")
    if told["unstable"]:
        few = ", ".join(told["unstable"][:5])
        say(f"{len(told['unstable'])} names are another test in each process and can never be quarantined: {few}.")


def _lines(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        yield from opened


@command.command()
@root_option("A clone that has the commit")
@click.option("--commit", default="HEAD", show_default=True, help="The trunk commit.")
@on_daemon
def manifest(root: Path | None, commit: str, url: str | None, project: str, token: str | None) -> None:
    """Send the part hashes of a trunk commit, so that fingerprints are finer than the tree.

    Builds whose base is that commit name it with `quarantine report --manifest`.
    """
    import json

    from quarantine.client.manifest import manifest_of_commit

    target = target_of(url, project, token)
    found = manifest_of_commit(root_of(root).path, commit)
    lines = (json.dumps(part, separators=(",", ":")).encode() + b"\n" for part in found.parts)
    told = put_lines(target, f"manifests/{found.id}", lines, method="PUT")
    click.echo(f"Manifest {told['manifest'][:12]}: {told['parts']} parts.")
