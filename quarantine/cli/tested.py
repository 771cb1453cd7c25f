"""What was run and tested, as the verbs that send or show it are told: the tree's root, the build, the report files."""

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from quarantine.cli.options import ReportFile, variant_of

if TYPE_CHECKING:
    from quarantine.client.tree import Tree

F = TypeVar("F", bound=Callable[..., Any])
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_STATED = ("build", "job", "attempt", "change", "stream", "exit_code", "rerun_of")


class Found(NamedTuple):
    """The report files that the words of a line name.

    Attributes:
        files: those that are there, in the order named, each once.
        missing: names at which nothing is, and globs that match nothing.
    """

    files: tuple[Path, ...]
    missing: tuple[str, ...]


class Root(NamedTuple):
    """The folder whose files are the tree that was tested.

    Attributes:
        path: where it lies.
        within: the folder we are in, from the root and with `/`, when the root was found from it; else empty.
        why: how the root was chosen, for a person.
    """

    path: Path
    within: str
    why: str


def root_option(what: str) -> Callable[[F], F]:
    """Give a verb the option --root; see `root_of` for what leaving it out means."""
    text = f"{what} [default: the top level of the repository we are in, else here]."
    return click.option("--root", type=_FOLDER, help=text)


def leave_out_option(function: F) -> F:
    """Give a verb the option --leave-out."""
    text = "A file or folder that is no part of what was tested; repeatable."
    return click.option("--leave-out", multiple=True, type=click.Path(path_type=Path), help=text)(function)


def base_option(function: F) -> F:
    """Give a verb the option --base."""
    text = "A revision on trunk that the change is relative to [default: what CI or git says]."
    return click.option("--base", help=text)(function)


_BEFORE_THE_RUN = 8
"""How many of the options below are shown before those that say how the build was run."""
_WHICH_BUILD: tuple[Callable[[Any], Any], ...] = (
    root_option("The tree that was tested"),
    base_option,
    click.option("--build", help="The CI system's name for this execution [default: from CI]."),
    click.option("--job", help="The CI job's name [default: from CI]."),
    click.option("--attempt", type=click.IntRange(1), help="Which attempt of the job this is [default: from CI]."),
    click.option("--change", help="The pull request or ticket [default: from CI]."),
    click.option(
        "--variant", "pairs", multiple=True, metavar="KEY=VALUE", help="The way it was run; repeat for each key."
    ),
    click.option("--stream", help="Sets apart modules whose reports use the same names."),
    click.option("--python", help="The interpreter that ran the suite."),
    click.option("--incomplete", is_flag=True, help="Only a part of the suite was meant to run."),
    leave_out_option,
    click.option(
        "--manifest", is_flag=True, help="Also name the base's part hashes (see `quarantine reach manifest`)."
    ),
)


_HOW_IT_WAS_RUN: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--command",
        "command_line",
        help="The command that ran, so that it can be run again: from the folder we are in, or from a --root.",
    ),
    click.option("--exit-code", type=int, help="The runner's exit code. With it no report need be there."),
)
_RERUN_OF: Callable[[Any], Any] = click.option(
    "--rerun-of", help="This build repeats that one: it confirms, and makes no trial."
)


def on_build(function: F) -> F:
    """Give a verb the options that say which build or rerun was run, and how; `part_of` reads them."""
    which, rest = _WHICH_BUILD[:_BEFORE_THE_RUN], _WHICH_BUILD[_BEFORE_THE_RUN:]
    return _with_options(function, (*which, *_HOW_IT_WAS_RUN, _RERUN_OF, *rest))


def on_judged_build(function: F) -> F:
    """Give a verb the options that say which build was run, and how; it is none that repeats another."""
    which, rest = _WHICH_BUILD[:_BEFORE_THE_RUN], _WHICH_BUILD[_BEFORE_THE_RUN:]
    return _with_options(function, (*which, *_HOW_IT_WAS_RUN, *rest))


def on_build_to_come(function: F) -> F:
    """Give a verb that runs the build itself the options that say which it is; `part_of` reads them."""
    return _with_options(function, _WHICH_BUILD)


def _with_options(function: F, options: Sequence[Callable[[F], F]]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def found_reports(context: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> Found:
    """Return the files that names and globs stand for; raises BadParameter for what is no file that can be read.

    A callback of click's, for an argument.
    """
    from quarantine.client.report_files import matching

    files: dict[Path, None] = {}
    missing = []
    for word in words:
        matched = [Path(word)] if os.path.lexists(word) else matching(Path(), [word])
        files |= dict.fromkeys(ReportFile().convert(name, parameter, context) for name in matched)
        missing += [] if matched else [word]
    return Found(tuple(files), tuple(missing))


def quoted(words: Sequence[str]) -> str:
    """Return names and globs as prose, each in quotes."""
    return " and ".join(repr(click.format_filename(word)) for word in words)


def root_of(given: Path | None) -> Root:
    """Return the root that was named, else the top level of the repository we are in, else the folder we are in."""
    from quarantine.client.git import top_level

    if given is not None:
        return Root(given, "", "--root")
    here = Path.cwd().resolve()
    top = top_level(here)
    if top is None or not here.is_relative_to(top):
        return Root(Path(), "", "the folder we are in, for it lies in no repository")
    within = here.relative_to(top).as_posix()
    return Root(top, "" if within == "." else within, "the top level of the repository we are in")


def stated_of(options: dict[str, Any], root: Root) -> dict[str, Any]:
    """Return the fields of the build part that were stated; raises BadParameter for a variant that is none.

    Reruns begin at the root, so a command that ran in a folder below a root we found is recorded to go there first.
    """
    stated = {name: options[name] for name in _STATED}
    command = options["command_line"]
    if command and root.within:
        command = f"cd {shlex.quote(root.within)} && {command}"
    stated |= {"command": command, "variant": variant_of(options["pairs"])}
    return stated | {
        "kind": "rerun" if options["rerun_of"] else None,
        "complete": False if options["incomplete"] else None,
    }


def part_of(
    options: dict[str, Any], found: Found, tree: "Tree | None" = None
) -> tuple[dict[str, Any], list[str], Root]:
    """Return the build part of what was run, remarks for whoever set it up, and the tree's root.

    Where some of the reports that were named are not there, the build is not complete. A `tree` is what was read at
    the root before the run.

    Raises: BadParameter; ClientConfigurationError and TreeError as `build_part`.
    """
    from quarantine.client.build_part import build_part

    root = root_of(options["root"])
    stated = stated_of(options, root)
    if found.files and found.missing:
        stated["complete"] = False
    part, remarks = build_part(
        root.path,
        options=stated,
        python=options["python"],
        base=options["base"],
        leave_out=[*found.files, *map(Path, found.missing), *options["leave_out"]],
        with_manifest=options["manifest"],
        tree=tree,
    )
    return part, remarks, root
