"""From a run to a final verdict: ask, make the reruns that are wanted within a budget, ask again.

This is the whole of what a harness needs; `quarantine gate` and `quarantine run` are made of it.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quarantine.client.claims import sweep
from quarantine.client.errors import Refused
from quarantine.client.executing import TIMEOUT_S
from quarantine.client.head_and_base import JudgedRun, Outcome, Place, reports_kept, rerun_of
from quarantine.client.instants import monotonic_s
from quarantine.client.target import Target
from quarantine.client.verdicts import Verdict, ask_verdict, send_rerun
from quarantine.client.wire import Unreachable

__all__ = ["Budget", "settled_verdict"]

Told = Callable[[str], None]


class Budget(NamedTuple):
    """What reruns may cost.

    Attributes:
        most: whole reruns, those of the head and those of the base together; 0 makes none. None is 6, and 70 as long as
            a must-pass test that is known to flake wants passes: at 5 % and less it takes 59 to tell a mend from luck.
        seconds: all of them together; None sets no bound.
        timeout_s: one of them.
    """

    most: int | None = None
    seconds: float | None = None
    timeout_s: float = TIMEOUT_S

    def most_for(self, verdict: Verdict) -> int:
        """Return how many reruns may be made in all for what a verdict wants now."""
        if self.most is not None:
            return self.most
        return _MOST_TO_CONVINCE if verdict.wanted_must_pass else _MOST


_MOST, _MOST_TO_CONVINCE = 6, 70


def settled_verdict(
    target: Target,
    run: JudgedRun,
    question: Mapping[str, Any],
    reports: Sequence[Path],
    *,
    budget: Budget = Budget(),  # noqa: B008 - a frozen value
    told: Told = lambda _sentence: None,
) -> Verdict:
    """Return the verdict on a run, after the reruns that were wanted and could be made.

    When no further rerun can be had though one is wanted, the daemon is asked for its answer without. When it is lost
    on the way the verdict stays as it last was, which is then not final. What runs that were killed have left behind is
    removed first.

    Args:
        target: whom to ask.
        run: what is judged.
        question: as for `ask_verdict`; `can_rerun` is filled in.
        reports: what the run wrote.
        budget: what reruns may cost.
        told: called with a sentence for each rerun that was made or could not be.

    Raises:
        Refused, Unreachable, OSError: as in `ask_verdict`, from the first question only.
    """
    for folder in sweep(run.root):
        told(f"{folder} was left by a run that was killed; it has been removed.")
    can_rerun = bool(run.command) and budget.most != 0
    verdict = ask_verdict(target, run.build_part, {**question, "can_rerun": can_rerun}, reports)
    if verdict.final or not can_rerun:
        return verdict
    try:
        with reports_kept(run):
            verdict = _with_reruns(target, run, verdict, budget, told)
        return verdict if verdict.final else ask_verdict(target, run.build_part, question, reports)
    except (Refused, Unreachable) as error:
        told(f"The daemon was lost on the way, so the verdict stays as it was: {error}")
        return verdict


def _with_reruns(target: Target, run: JudgedRun, verdict: Verdict, budget: Budget, told: Told) -> Verdict:
    """Return the verdict once it is final, or once no wanted rerun can be had."""
    began, made = monotonic_s(), 0
    impossible: set[Place] = set()
    last: Place = "head"
    while (place := _next(verdict, impossible, last)) is not None:
        left_s = float("inf") if budget.seconds is None else budget.seconds - (monotonic_s() - began)
        most = budget.most_for(verdict)
        if made >= most or left_s <= 0:
            told(f"The budget for reruns is spent after {made}; {verdict.wanted_why or 'more are wanted.'}")
            break
        with rerun_of(run, place, timeout_s=min(budget.timeout_s, left_s)) as outcome:
            if outcome.timed_out and left_s < budget.timeout_s:
                continue  # the budget cut it short, which says nothing about the tree
            made += outcome.made
            if outcome.made:
                told(f"Rerun {made} of at most {most}, on the {place}: {outcome.sentence}")
            else:
                told(f"No rerun on the {place}. {outcome.sentence}")
            if outcome.made:
                try:
                    verdict = _sent(target, verdict, outcome)
                except Refused as error:
                    told(f"It is not taken: {error}")
                    impossible.add(place)
        if not outcome.made or (place == "base" and not outcome.reports):
            impossible.add(place)
        last = place
    return verdict


def _next(verdict: Verdict, impossible: set[Place], last: Place) -> Place | None:
    """Return where to rerun next: in turn, as far as either is wanted and possible."""
    wanted: dict[Place, int] = {"head": verdict.wanted_head, "base": verdict.wanted_base}
    other: Place = "base" if last == "head" else "head"
    if wanted[other] and other not in impossible:
        return other
    return last if wanted[last] and last not in impossible else None


def _sent(target: Target, verdict: Verdict, outcome: Outcome) -> Verdict:
    question = {"timed_out": outcome.timed_out, "runner_s": round(outcome.seconds, 3)}
    return send_rerun(target, verdict.id, outcome.build_part, outcome.reports, question=question)
