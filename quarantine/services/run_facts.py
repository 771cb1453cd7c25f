"""The facts of a run as a whole: how it ended, what was red beside the tests, and how much of the gating set ran."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quarantine.policy.run_causes import ReportsState, RunFacts, RunFault
from quarantine.services.facts import Case, View
from quarantine.services.traces import NO_REPORT, TIMED_OUT, TRUNCATED, UNREADABLE
from quarantine.store import outcomes as codes_of

_STATES: tuple[tuple[str, ReportsState], ...] = (
    (NO_REPORT, "none"),
    (UNREADABLE, "unreadable"),
    (TRUNCATED, "truncated"),
)
_WORST_CANARY = ("passed", "absent", "skipped", "failed")
_SHOWN_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Gating:
    """How many gating tests passed or failed in this build, how many of those passed, and how many there are."""

    ran: int
    passed: int
    of: int


def gating_of(case: Case, views: Sequence[View]) -> Gating:
    """Return how many gating tests ran, over the variants; of those expected where the client said which."""
    expected = case.question.expected
    ran = passed = of = 0
    for view in views:
        gating_ran = view.gating & view.head.ran
        ran += int(np.count_nonzero(gating_ran))
        passed += int(np.count_nonzero(view.passing))
        known = view.known if expected is None else case.expected
        of += int(np.count_nonzero(view.gating & (known | view.head.ran)))
    of += len(case.unknown) if expected is not None else 0
    return Gating(ran, passed, of)


def run_facts_of(case: Case, views: Sequence[View], runs: Sequence[Mapping[str, Any]], gating: Gating) -> RunFacts:
    """Return what the policy has to know about the run.

    Args:
        case: the question.
        views: the variants of the judged build.
        runs: the runs this verdict rests on, the judged build first.
        gating: how much of the gating set ran.
    """
    judged, head, base = case.judged, case.head, case.base
    kinds = {event["kind"] for event in head.events.get(judged["seq"], ())}
    reports: ReportsState = next((state for kind, state in _STATES if kind in kinds), "whole")
    mine = [run for run in runs if run["side"] == "head"]
    canaries = [run for run in mine if run["canary"] is not None]
    forged = any(head.builds[run["build_seq"]]["exit_code"] == 0 for run in canaries)
    return RunFacts(
        exit_code=0 if forged else judged["exit_code"],
        timed_out=TIMED_OUT in kinds,
        reports=reports,
        faults=[
            RunFault(kind=kind, where=where, head=head.fault(kind, where), base=base.side.fault(kind, where))
            for kind, where in sorted(head.faults())
        ],
        broken_head=head.broken(),
        broken_base=base.side.broken(),
        exit_head=head.exits(),
        exit_base=base.side.exits(),
        canary=_canary(case, canaries),
        canary_exit_code=next((run["canary_exit_code"] for run in canaries), 1),
        gating_ran=gating.ran,
        gating_on_base=sum(int(np.count_nonzero(view.gating & view.base.ran)) for view in views),
        shrunken=_shrunken(case, views),
        environment_changed=_environment_changed(case),
        can_rerun=case.question.can_rerun and judged["tree"] is not None,
        head_reruns=len(mine) - 1,
        base_reruns=len(runs) - len(mine),
    )


def _canary(case: Case, runs: Sequence[Mapping[str, Any]]) -> Any:
    """Return the worst that a canary did in a run of the head that came to its end; else in the judged build."""
    whole = [run["canary"] for run in runs if not case.head.broke_off(run["build_seq"])]
    return min(whole or [run["canary"] for run in runs[:1]], key=_WORST_CANARY.index, default=None)


def _shrunken(case: Case, views: Sequence[View]) -> tuple[int, int] | None:
    """Return how many tests the suite had on trunk and has now, when it has fewer and no base says which are gone."""
    if not views or not case.judged["complete"] or case.base.comparable or not case.told_all:
        return None
    view = views[0]
    if view.trunk is None:
        return None
    before = int(np.count_nonzero(view.trunk.codes != codes_of.ABSENT))
    now = int(np.count_nonzero(view.head.seen))
    return (before, now) if now + len(case.question.removed) < before else None


def _environment_changed(case: Case) -> str:
    if not case.base.elsewhere:
        return ""
    here = str(case.judged["environment_hash"])[:_SHOWN_DIGITS]
    return (
        f"The base was run in another environment only (here it is {here}), so it cannot tell what the change did from "
        "what the environment did."
    )
