"""The report's way to the daemon: the build is described before the first test, the report sent after the last."""

import contextlib
import hashlib
import io
import os
import shlex
import shutil
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from quarantine.client.build_part import build_part
from quarantine.client.errors import ClientError
from quarantine.client.git import blobs, commit_entries, head_commit, top_level
from quarantine.client.instants import iso_instant, wall_s
from quarantine.client.target import Target
from quarantine.client.tree import Entry, Tree, git_blob, read_tree
from quarantine.client.upload import post_reports
from quarantine.pytest_plugin.options import Options

__all__ = ["Upload"]

_OURS = frozenset({"--quarantine-upload"})
_REPORT_OPTIONS = ("--junitxml", "--junit-xml")
_STRAY_MEND = (
    "If an earlier run or step wrote them, remove them before pytest starts or let it write outside the checkout; if"
    " the tests need them, commit them"
)


class Upload:
    """One build's report. Nothing that goes wrong with it touches the session; it is said in `sentence`.

    Args:
        config: of the session.
        target: the daemon and project.
        options: what the session was asked.
        report: the JUnit file that pytest will write.

    Attributes:
        sentence: what became of the report, as a sentence's part.
        remarks: sentences for the person who set the run up.
    """

    def __init__(self, config: pytest.Config, target: Target, options: Options, report: Path) -> None:
        self.target = target
        self.report = report
        self.sentence = "the report was not sent"
        self.remarks: list[str] = []
        self._part: dict[str, Any] | None = None
        try:
            self._part = self._described(config, options)
        except ClientError as error:
            self.sentence = f"the report is not sent: {str(error).rstrip('.')}"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no verdict on the session
            self.sentence = f"the report is not sent: {error!r}"

    def _described(self, config: pytest.Config, options: Options) -> dict[str, Any]:
        """Return the build part of what is about to run: whatever the tests write is no part of the tree."""
        here = config.invocation_params.dir.resolve()
        root = top_level(here) or here  # all of the checkout, because a test reads more than what lies beside it
        command = options.command or recorded_command(config, here, root)
        stated = {
            "variant": options.variant or None,
            "command": command,
            "started_at": iso_instant(wall_s()),
            "complete": False if _is_a_selection(config) else None,
        }
        part, self.remarks = build_part(
            root,
            options=stated,
            python=sys.executable,
            tree=tree_of(root, [self.report, *reports_of(command, root)]),
            stray_mend=_STRAY_MEND,
        )
        return part

    def send(self, exit_code: int) -> None:
        """Send the report, or keep it for the next upload."""
        if self._part is None or not self.report.is_file():
            return
        self._part["exit_code"] = exit_code
        if exit_code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._part["complete"] = False
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                answer = post_reports(self.target, self._part, [self.report])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no verdict on the session
            self.sentence = f"the report could not be sent: {error!r}"
            return
        if answer.status == "sent":
            self.sentence = f"report sent as build {self._part['build']}"
            self.remarks += said.getvalue().splitlines()
        elif answer.status == "spooled":
            self.sentence = "the report is kept on this machine and sent with the next upload"
        else:
            self.sentence = answer.sentence.rstrip(".")


def recorded_command(config: pytest.Config, here: Path, root: Path) -> str:
    """Return the command as it runs again in the top folder of the checkout: it writes a report and sends none.

    A rerun that sent its own report would be taken for another run, so sending is switched off by a word that also
    beats a setting in a file.
    """
    words = [str(word) for word in config.invocation_params.args if word not in _OURS]
    if not any(word.startswith(_REPORT_OPTIONS) for word in words):
        words.append("--junitxml=junit.xml")
    runner = ["python", "-m", "pytest"] if Path(sys.argv[0]).name == "__main__.py" else ["pytest"]
    within = here.relative_to(root) if here.is_relative_to(root) else Path()
    change = f"cd {shlex.quote(within.as_posix())} && " if within != Path() else ""
    return f"{change}QUARANTINE_UPLOAD=off {shlex.join([*runner, *words])}"


def reports_of(command: str, root: Path) -> list[Path]:
    """Return the JUnit files that a recorded command writes when it runs in `root`, as far as its words tell.

    One that an earlier run of it left there is no part of what is tested.
    """
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    folder = root / words[1] if words[:1] == ["cd"] and len(words) > 1 else root
    named = [word.partition("=")[2] for word in words if word.startswith(tuple(f"{name}=" for name in _REPORT_OPTIONS))]
    named += [after for word, after in pairwise(words) if word in _REPORT_OPTIONS]
    return [folder / os.path.expandvars(Path(name).expanduser()) for name in named if name]


def tree_of(root: Path, reports: list[Path]) -> Tree:
    """Return the files that are tested; where one is a report of ours too, what the commit has there counts.

    So a committed one belongs to the tree, and what an earlier run has written over it does not. Raises TreeError.
    """
    tree, head, top = read_tree(root, leave_out=reports), head_commit(root), root.resolve()
    below = [path.resolve() for path in reports]
    names = {os.fsencode(path.relative_to(top).as_posix()) for path in below if path.is_relative_to(top)}
    if head is None or not names:
        return tree
    committed = [entry for entry in commit_entries(root, head) if entry.path in names]
    contents = blobs(root, [entry.oid for entry in committed]) if committed else {}
    put_back = (
        Entry(entry.path, entry.mode, hashlib.sha256(contents[entry.oid]).hexdigest(), git_blob(contents[entry.oid]))
        for entry in committed
        if entry.oid in contents
    )
    return tree._replace(entries=tuple(sorted([*tree.entries, *put_back])))


def _is_a_selection(config: pytest.Config) -> bool:
    """Return whether tests were picked by name, by their last outcome or by their standing."""
    asked = config.option
    picked = (asked.keyword, asked.quarantined_only, getattr(asked, "lf", False), getattr(asked, "stepwise", False))
    return any(picked) or any("::" in str(word) for word in config.args)


def own_report() -> Path:
    """Return the path of a report in a fresh temporary folder."""
    return Path(tempfile.mkdtemp(prefix="quarantine-")) / "pytest.xml"


def forget(report: Path) -> None:
    """Remove a report of ours and its folder."""
    shutil.rmtree(report.parent, ignore_errors=True)
