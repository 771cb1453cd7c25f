"""What could make a run as a whole red: it breaks off, it has run events, it ends with a code that nothing explains.

Each of these is judged by the table of tests, as a pseudo-test that failed on the head wherever it was seen and on the
base wherever it was seen there. So a crash that the base has too is a sick environment, one that only the change has
rejects it, and one that comes and goes is random under the change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from quarantine.domain.verdict import Effect, Finding
from quarantine.policy.criteria import Policy
from quarantine.policy.findings import NO_TRIES, Found, TestFacts, Tries, find
from quarantine.policy.wording import lowered

__all__ = ["Cause", "RunFacts", "RunFault", "causes_of_run", "is_signal", "is_unexplained"]

ReportsState = Literal["whole", "truncated", "unreadable", "none"]
CanaryState = Literal["failed", "passed", "skipped", "absent"]

ONE_FAILURE = Tries(failed=1)
_FIRST_SIGNAL = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFault:
    """Something red that is no test: a run event of the reports.

    Attributes:
        kind: as the run event has it, such as `collection-error`.
        where: the suite, class or file it belongs to.
        head, base: in how many runs of either tree it was seen (failed) and not seen (passed).
    """

    kind: str
    where: str
    head: Tries = ONE_FAILURE
    base: Tries = NO_TRIES


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """All that is known about the run as a whole.

    Attributes:
        exit_code: of the first run; None when nobody said it.
        timed_out: whether the client killed it.
        reports: whether everything could be read.
        faults: the run events that are no matter of the reports' own state.
        broken_head, broken_base: runs of either tree that broke off (failed) or came to their end (passed): no report,
            an unreadable or truncated one, a time-out, a signal.
        exit_head, exit_base: runs whose exit code no failing test explains (failed), and the others (passed).
        canary: what the canary did; None when there was none.
        canary_exit_code: what the runner must exit with because of the canary.
        gating_ran: gating tests that passed or failed, must-pass tests among them.
        gating_on_base: gating tests that passed or failed on the base; 0 when it has not been run.
        shrunken: (tests before, tests now) of a suite that lost tests though nobody can name them; None otherwise.
        environment_changed: a sentence when the base was run in another environment; empty otherwise.
        can_rerun: whether the client makes the reruns that are wanted.
        head_reruns: reruns of the head made so far.
        base_reruns: runs of the base made for this verdict so far.
    """

    exit_code: int | None = None
    timed_out: bool = False
    reports: ReportsState = "whole"
    faults: Sequence[RunFault] = ()
    broken_head: Tries = NO_TRIES
    broken_base: Tries = NO_TRIES
    exit_head: Tries = NO_TRIES
    exit_base: Tries = NO_TRIES
    canary: CanaryState | None = None
    canary_exit_code: int = 1
    gating_ran: int = 0
    gating_on_base: int = 0
    shrunken: tuple[int, int] | None = None
    environment_changed: str = ""
    can_rerun: bool = False
    head_reruns: int = 0
    base_reruns: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the first run came to its end and told everything."""
        return self.reports == "whole" and not self.timed_out and not is_signal(self.exit_code)

    @property
    def told_all(self) -> bool:
        """Whether any run of the head came to its end, so that what is in no report was not there."""
        return self.is_whole or self.broken_head.passed > 0

    @property
    def is_empty(self) -> bool:
        """Whether no gating test ran, and no error outside the tests that only the head has says why."""
        return not self.gating_ran and not any(fault.head.failed and not fault.base.failed for fault in self.faults)


def is_signal(exit_code: int | None) -> bool:
    """Return whether the exit code says that the runner was killed or crashed rather than that tests failed."""
    return exit_code is not None and (exit_code < 0 or exit_code >= _FIRST_SIGNAL)


def is_unexplained(exit_code: int | None, *, failures: int, expected: int = 0) -> bool:
    """Return whether nothing in the reports explains the exit code of a run that came to its end.

    Args:
        exit_code: what the runner ended with.
        failures: tests and run events that failed in it, whoever excuses them.
        expected: the exit code that the canary demands; 0 without a canary.
    """
    return exit_code not in (None, 0, expected) and not failures


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that could make the build red, and what it does to the verdict; `tests` are names, maybe none."""

    code: str
    effect: Effect
    sentence: str
    tests: tuple[str, ...] = ()


_OfRun = tuple[Cause, Found | None]


def causes_of_run(run: RunFacts, policy: Policy) -> list[tuple[Cause, Found | None]]:
    """Return each cause that is no test, with what it was found to be; None for what no rerun could settle."""
    return [*_tampering(run), *_broken_off(run, policy), *_run_events(run, policy), *_unexplained_exit(run, policy)]


def _tampering(run: RunFacts) -> list[_OfRun]:
    """Return what cannot be unless somebody interfered: a canary fails whatever the change does."""
    if run.canary is None:
        return []
    found = []
    if run.exit_code == 0:
        said = "The runner said success, though the canary had to fail."
        found.append(Cause("exit-code-forged", Effect.SUSPECT, said))
    if run.canary != "failed" and run.is_whole and not _gave_up(run):
        did = "is in no report" if run.canary == "absent" else run.canary if run.canary == "passed" else "was skipped"
        said = f"The canary, a test that must fail, {did}: whatever decided that may have decided the other outcomes."
        found.append(Cause("canary", Effect.SUSPECT, said))
    return [(cause, None) for cause in found]


def _gave_up(run: RunFacts) -> bool:
    """Return whether the runner itself says that it could not run the tests, such as after a syntax error.

    An honest change may do that. The run events reject it, and so does an exit code that is not the canary's.
    """
    return run.canary == "absent" and bool(run.faults) and run.exit_code not in (None, 0, run.canary_exit_code)


def _broken_off(run: RunFacts, policy: Policy) -> list[_OfRun]:
    """Return the cause for a run that did not come to its end, judged as if it were a test."""
    if run.is_whole and not run.broken_head.failed:
        return []
    code, what = _how_it_broke(run)
    tries = run.broken_head if run.broken_head.total else ONE_FAILURE
    found = _as_test(what, tries, run.broken_base, run, policy)
    effect, said = found.effect, f"{what}: {lowered(found.sentence)}"
    if found.finding is Finding.PRE_EXISTING:
        code, effect = "sick-environment", Effect.UNDECIDED
    elif found.finding is Finding.UNSETTLED and effect is Effect.REJECTS:
        effect = Effect.UNDECIDED
        said = f"{what}: {_missing(tries, run.broken_base)}, so nobody can say whether the change did it."
    return [(Cause(code, effect, said), found)]


def _missing(head: Tries, base: Tries) -> str:
    """Return which runs would have told more."""
    if head.total == 1:
        return "no further run was made"
    return "no more runs could be had" if base.total else "no run of the base could be had"


def _how_it_broke(run: RunFacts) -> tuple[str, str]:
    if run.timed_out:
        return "timed-out", "The run was stopped because it took too long"
    if is_signal(run.exit_code):
        return "crash", f"The runner was killed or crashed (exit code {run.exit_code})"
    ended = "" if run.exit_code is None else f" and the runner ended with {run.exit_code}"
    told: dict[ReportsState, tuple[str, str]] = {
        "none": ("no-report", f"There is no report{ended}"),
        "unreadable": ("unreadable-report", f"A report could not be read{ended}"),
        "truncated": ("truncated-report", f"A report breaks off{ended}"),
        "whole": ("crash", "A run of this tree was stopped, or brought no whole report"),
    }
    return told[run.reports]


def _run_events(run: RunFacts, policy: Policy) -> list[_OfRun]:
    causes: list[_OfRun] = []
    for fault in sorted(run.faults, key=lambda fault: (fault.kind, fault.where)):
        what = f"{fault.kind} in {fault.where}" if fault.where else fault.kind
        found = _as_test(what, fault.head, fault.base, run, policy)
        effect = found.effect
        if found.finding is Finding.PRE_EXISTING:
            effect = Effect.UNDECIDED
        causes.append((Cause("run-event", effect, f"{what}: {lowered(found.sentence)}"), found))
    return causes


def _unexplained_exit(run: RunFacts, policy: Policy) -> list[_OfRun]:
    """Return the cause for an exit code that nothing in the reports explains."""
    if not run.is_whole or not run.exit_head.failed:
        return []
    if run.is_empty:
        said = f"The runner ended with {run.exit_code}, which may be no more than that no gating test ran."
        return [(Cause("exit-code", Effect.UNDECIDED, said), None)]
    what = f"The runner ended with {run.exit_code}, and nothing in the reports explains it"
    found = _as_test(what, run.exit_head, run.exit_base, run, policy)
    return [(Cause("exit-code", found.effect, f"{what}: {lowered(found.sentence)}"), found)]


def _as_test(name: str, head: Tries, base: Tries, run: RunFacts, policy: Policy) -> Found:
    """Judge something that is no test by the table of tests."""
    facts = TestFacts(name=name, head=head, base=base, on_base=True if base.total else None, same_signature=True)
    found = find(facts, policy, can_rerun=run.can_rerun)
    if found is None:
        raise ValueError(f"{name} was seen nowhere")
    return found
