"""The runner of the reference harness: the project's own command on a tree that was just made, judged by the daemon.

Each run, of the head and of the base alike, begins with a roll-back: the patch is applied anew, protected paths are put
back as the base has them, and a fresh canary is planted. A verdict rests on the run of the patch, on one run of the
same tests on the base, made beforehand, and on the reruns of either that the daemon asks for.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quarantine.client.changed_lines import ChangedLines
from quarantine.client.errors import ClientConfigurationError, ClientError
from quarantine.client.parts import Part
from quarantine.client.target import Target
from quarantine.client.tree import Tree
from quarantine.client.verdicts import Verdict
from quarantine.loop.admission import require_agent, strange_variant
from quarantine.loop.base_results import FAILED, PASSED, BaseResults
from quarantine.loop.canary import Canary
from quarantine.loop.case import Case
from quarantine.loop.command import Command
from quarantine.loop.daemon import ask, post, tell
from quarantine.loop.ends import Accepted, End
from quarantine.loop.errors import BadPatch
from quarantine.loop.execution import Ran
from quarantine.loop.judged import UNKNOWN, Judged, Prepared, Spent
from quarantine.loop.patch import SEND, Patch
from quarantine.loop.pinning import Pinned, few, lock_files
from quarantine.loop.protected import Protected
from quarantine.loop.setup import Ready, Settings, pinned
from quarantine.loop.subset import EVERYTHING, Impact, Subset, changed_parts, choose, lines_changed
from quarantine.loop.ticket import Ticket
from quarantine.loop.wire import build_part, question_of, rerun_note, variant_of
from quarantine.loop.workspace import Workspace

__all__ = ["CommandRunner"]

MOST_RERUNS = 80
"""The daemon bounds what it asks for; this bounds a daemon that does not."""
FULL_OWED = "Only the impacted tests ran: a run of every test is still owed."
_SHOWN = 3


@dataclass(slots=True)
class _Base:
    """What the base did with one subset, and whether the daemon has been told."""

    ran: Ran
    canary: Canary
    tree: Tree
    told: bool = False


@dataclass(slots=True)
class CommandRunner:
    """Runs a command in the worktree and asks a daemon; see the module's docstring.

    Attributes:
        command: a line for the shell, with places for the tests and the report; see `quarantine.loop.command`.
        target: the daemon, with a token of the agent lane that is bound to the ticket's change.
        settings: how the tests are run.
        protected: what is put back as the base has it before each run.
        told: called with a sentence for each thing that takes time.
    """

    command: str
    target: Target
    settings: Settings = field(default_factory=Settings)
    protected: Protected = field(default_factory=Protected)
    told: Callable[[str], None] = lambda _sentence: None
    ready: Ready | None = None
    _known_of: tuple[str, Pinned] | None = None
    _bases: dict[str, _Base] = field(default_factory=dict)
    _final: dict[tuple[Ticket, str, str], Judged] = field(default_factory=dict)

    def prepare(self, workspace: Workspace, ticket: Ticket) -> Prepared:
        """Ask whether this is ours to do, pin the environment, and run on the base what runs whatever changes.

        Raises:
            ClientConfigurationError: the token is not of the agent lane, or of another ticket; or on the base already
                the command gives no report, has not the tests that must pass, or the canary does not fail.
        """
        require_agent(self.target, ticket)
        base = self._fresh(workspace, None)
        self.ready = Ready.made(self.settings, Command(self.command), workspace, ticket, base)
        self._tell_of_the_variant()
        if self._known_of != (base.hash, self.ready.pinned):
            self._known_of = (base.hash, self.ready.pinned)
            self._bases.clear()
            self._final.clear()
        ran = self._base(Case(workspace, ticket, None, 0, (), self._chosen(workspace, ticket, ()))).ran
        results = self._require_there(ticket, ran)
        ends = {test: results.of(test) for test in ticket.must_pass}
        return Prepared(
            frozenset(test for test, end in ends.items() if end == FAILED),
            frozenset(test for test, end in ends.items() if end == PASSED),
            self.ready.execution.logs,
        )

    def _tell_of_the_variant(self) -> None:
        job = {"job": self.settings.job} if self.settings.job else {}
        strange = strange_variant(self.target, variant_of(self._ready, self.settings) | job)
        if strange:
            self.told(strange)

    def judge(
        self, workspace: Workspace, ticket: Ticket, patch: Patch, *, attempt: int, spent: Spent = UNKNOWN
    ) -> Judged:
        """Return the verdict on a patch by the impacted tests; see `Runner`."""
        changed, lines = self._changed(workspace, patch)
        subset = self._chosen(workspace, ticket, changed)
        return self._verdict(Case(workspace, ticket, patch, attempt, changed, subset, spent, lines))

    def full(self, workspace: Workspace, ticket: Ticket, patch: Patch, *, attempt: int) -> Judged:
        """Return the verdict on a patch by every test; see `Runner`."""
        changed, lines = self._changed(workspace, patch)
        return self._verdict(Case(workspace, ticket, patch, attempt, changed, EVERYTHING, lines=lines), once_more=True)

    def conclude(self, ticket: Ticket, end: End) -> None:
        """Tell the daemon how the loop ended; see `Runner`."""
        last = end.judged if isinstance(end, Accepted) else end.last
        body: dict[str, Any] = {"schema": 1, "ticket": ticket.id, "end": end.word, "attempts": end.attempts}
        body |= {"sentence": end.sentence[:4000], "verdict": last.answer.get("id") if last else None}
        try:
            post(self.target, "attempts", body)
        except ClientError as error:
            self.told(f"The daemon did not note how the loop ended: {error}")

    def _changed(self, workspace: Workspace, patch: Patch) -> tuple[Sequence[Part], Sequence[ChangedLines]]:
        """Return the parts and lines a patch changes; raises BadPatch when it does not apply or changes nothing."""
        tree = self._fresh(workspace, patch)
        if tree.hash == workspace.base_tree:
            raise BadPatch("empty-patch", "The patch leaves every file as it is.", SEND)
        return changed_parts(workspace, tree), lines_changed(workspace, tree)

    def _chosen(self, workspace: Workspace, ticket: Ticket, changed: Sequence[Part]) -> Subset:
        ready, command = self._ready, Command(self.command)
        if not command.selects:
            return EVERYTHING
        impact = Impact.asked(self.target, changed, workspace.base_commit)
        return choose(command, impact, must_pass=ticket.must_pass, files=ready.files, collected=ready.collected)

    @property
    def _ready(self) -> Ready:
        if self.ready is None:
            raise RuntimeError("prepare() comes first")
        return self.ready

    def _fresh(self, workspace: Workspace, patch: Patch | None) -> Tree:
        """Make the tree to be tested from the clean base, and read it."""
        workspace.roll_back()
        if patch is not None:
            workspace.apply(patch)
            workspace.restore(self.protected)
        return workspace.tree()

    def _base(self, case: Case) -> _Base:
        """Return what the base does with these tests; it is run once for each subset.

        Raises ClientConfigurationError when the run shows that tests cannot be judged like this.
        """
        key = case.subset.sha256
        if key not in self._bases:
            self.told(f"Running {_counted(case.subset)} on the base, to compare with.")
            with self._ran(case.on_base, "base") as (ran, canary, tree):
                self._require_known(case, ran)
                _require_sound(ran, canary, self.settings.timeout_s)
                reports = tuple(_kept(report, ran.log.with_suffix(f".{n}.xml")) for n, report in enumerate(ran.reports))
            self._bases[key] = _Base(ran._replace(reports=reports), canary, tree)
        return self._bases[key]

    def _require_known(self, case: Case, ran: Ran) -> None:
        """Raise ClientConfigurationError when the runner ran nothing and complains of tests that must pass."""
        results = BaseResults.read(ran.reports)
        output = (ran.finished.stdout + ran.finished.stderr).decode("utf-8", "replace")
        if ran.reports and not results.found and case.subset.tests is not None:
            named = [test for test in case.ticket.must_pass if test in output]
            results.require(named, self.protected, f"{ran.log} has the whole output.")

    def _require_there(self, ticket: Ticket, ran: Ran) -> BaseResults:
        """Return what a run of the base came to; raises ClientConfigurationError when it lacks one that must pass."""
        results = BaseResults.read(ran.reports)
        results.require(ticket.must_pass, self.protected, f"{ran.log} has the whole output.")
        return results

    def _verdict(self, case: Case, *, once_more: bool = False) -> Judged:
        """Return the verdict on a case; one that was judged before is run again only when that is asked for."""
        key = (case.ticket, case.patch.sha256 if case.patch else "", case.subset.sha256)
        if key in self._final and not once_more:
            self.told("The same patch with the same tests was judged before, so its verdict stands.")
            return self._final[key]
        obstacle = self._changed_environment(case.workspace)
        if obstacle:
            return Judged("inconclusive", "", {}, obstacle)
        base = self._base(case)
        if case.patch is not None:
            (self._ready.execution.logs / f"attempt-{case.number}.diff").write_bytes(case.patch.text)
        self.told(f"Attempt {case.number}: running {_counted(case.subset)}. {case.subset.why}")
        with self._ran(case, f"attempt-{case.number}") as (ran, canary, tree):
            part = build_part(self._ready, self.settings, case, tree, ran)
            verdict = ask(self.target, part, question_of(self.settings, case, ran, canary), ran.reports)
        verdict = self._told_base(case, str(part["build"]), verdict, base)
        runs = [ran]
        verdict = self._settled(case, str(part["build"]), verdict, runs)
        judged = self._judged(case, verdict, runs, base.ran)
        if verdict.final:
            self._final[key] = judged
        return judged

    def _changed_environment(self, workspace: Workspace) -> str:
        """Return what is no longer as it was at the start, as a sentence; empty when nothing changed."""
        ready = self._ready
        workspace.roll_back()
        now = pinned(self.settings, workspace, workspace.tree(), ready.execution.variables)
        found = ready.pinned.differences(now)
        if not found:
            return ""
        return (
            f"The environment changed while the loop ran: {'; '.join(found)}. Nothing that tests show from here on can "
            "be blamed on the patch."
        )

    def _told_base(self, case: Case, judged_build: str, verdict: Verdict, base: _Base) -> Verdict:
        """Send what the base did beforehand, which later verdicts on the same tests rest on too."""
        if base.told:
            return verdict
        base.told = True
        part = build_part(self._ready, self.settings, case.on_base, base.tree, base.ran, rerun_of=judged_build)
        return tell(self.target, verdict, part, rerun_note(base.ran, base.canary), base.ran.reports)

    def _settled(self, case: Case, judged_build: str, verdict: Verdict, runs: list[Ran]) -> Verdict:
        """Make the reruns the daemon wants, of head and base in turn, until it wants none."""
        for number in range(1, MOST_RERUNS + 1):
            if verdict.final or not (verdict.wanted_head or verdict.wanted_base):
                break
            on_base = bool(verdict.wanted_base) and (not verdict.wanted_head or number % 2 == 0)
            place = "base" if on_base else "head"
            self.told(f"Rerun {number}, on the {place}: {verdict.wanted_why}")
            again = case.on_base if on_base else case
            with self._ran(again, f"attempt-{case.number}-rerun-{number}-{place}") as (ran, canary, tree):
                part = build_part(self._ready, self.settings, again, tree, ran, rerun_of=judged_build)
                verdict = tell(self.target, verdict, part, rerun_note(ran, canary), ran.reports)
            runs += [] if on_base else [ran]
        return verdict

    @contextmanager
    def _ran(self, case: Case, name: str) -> Iterator[tuple[Ran, Canary, Tree]]:
        """Run a case once on a tree that was just made."""
        tree = self._fresh(case.workspace, case.patch)
        canary = self._ready.canary.fresh()
        with self._ready.execution.made(case.workspace.path, tree, case.subset, canary, name=name) as ran:
            yield ran, canary, tree

    def _judged(self, case: Case, verdict: Verdict, runs: Sequence[Ran], base: Ran) -> Judged:
        reasons = [*verdict.suspicions, *(_KILLED for ran in runs if ran.finished.lost)]
        if verdict.verdict == "accept":
            reasons += self._oddities(runs, base)
        word = "inconclusive" if verdict.verdict == "accept" and not verdict.final else verdict.verdict
        record = verdict.record_text or verdict.sentence
        return Judged(
            "suspect" if reasons else word,
            record.replace(str(runs[0].log), str(runs[0].as_last())),
            verdict.answer,
            verdict.sentence,
            verdict.key,
            tuple(dict.fromkeys(reasons)),
            tuple(_owed(verdict, case)),
        )

    def _oddities(self, runs: Sequence[Ran], base: Ran) -> Iterator[str]:
        """Yield what the runs of the patch did that the base's did not, and that no test has to do."""
        rewritten = set().union(*(ran.rewritten for ran in runs)) - base.rewritten
        if rewritten:
            shown = few(sorted(rewritten), _SHOWN)
            yield f"While the tests ran, files under test were rewritten, though not on the base: {shown}."
        planted = {path for ran in runs for path in ran.planted - base.planted if self.protected.matches(path)}
        if planted:
            shown = few(sorted(planted), _SHOWN)
            yield f"While the tests ran, protected files were made, though not on the base: {shown}."
        if any(ran.finished.left_behind for ran in runs) and not base.finished.left_behind:
            yield "The run left processes behind that outlived it, though not on the base."


_KILLED = "The process that watched over the run was killed, which no test has to do."


def _require_sound(ran: Ran, canary: Canary, timeout_s: float) -> None:
    """Raise ClientConfigurationError when the base itself shows that tests cannot be judged like this."""
    mend = f"The base was not changed, so mend the command or its environment. {ran.log} ends so:\n{ran.tail}"
    if ran.finished.timed_out:
        raise ClientConfigurationError(f"On the base the command did not end within {timeout_s:g} s.", mend=mend)
    if not ran.reports:
        said = f"On the base the command ended with {ran.exit_code} and wrote no report."
        raise ClientConfigurationError(said, mend=mend)
    if ran.exit_code != canary.exit_code or not ran.heard_canary:
        said = (
            f"On the base the canary {canary.path} should have failed and made the command end with "
            f"{canary.exit_code}; it ended with {ran.exit_code}. Does it run the tests of that folder?"
        )
        raise ClientConfigurationError(said, mend=mend)


def _kept(report: Path, place: Path) -> Path:
    return Path(shutil.copyfile(report, place))


def _owed(verdict: Verdict, case: Case) -> Iterator[str]:
    """Yield what the verdict leaves unshown, as sentences."""
    not_shown = verdict.answer.get("not_shown") or {}
    yield from map(str, not_shown.get("sentences") or ())
    if case.subset.tests is not None:
        yield FULL_OWED
    locks = lock_files(case.patch.paths) if case.patch else []
    if locks:
        yield f"The patch changes {few(sorted(locks), _SHOWN)}, but the tests ran in the environment as it was."


def _counted(subset: Subset) -> str:
    if subset.tests is None:
        return "every test"
    return f"{len(subset.tests):,} test{'s' * (len(subset.tests) != 1)}"
