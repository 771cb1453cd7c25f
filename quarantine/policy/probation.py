"""Whether a test that was let out must go back, or has served its probation."""

from dataclasses import dataclass
from typing import Any

from quarantine.policy.criteria import Policy
from quarantine.policy.wording import percent, plural
from quarantine.stats.streaks import likelihood_ratio

__all__ = ["ProbationAssessment", "assess_probation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbationAssessment:
    """What has become of a test since it was let out.

    Attributes:
        is_met: whether it goes back at once.
        is_over: whether its probation has ended well.
        ratio: how much better its old rate explains the onsets since than the tolerance does.
        sentence: the answer with its numbers.
        onsets, trials, days, rate, policy: what was assessed.
    """

    is_met: bool
    is_over: bool
    ratio: float
    sentence: str
    onsets: int
    trials: int
    days: int
    rate: float
    policy: Policy

    def to_json(self) -> dict[str, Any]:
        """Return inputs, policy and result as JSON values, enough to recompute the decision from."""
        return {
            "kind": "probation",
            "policy_version": self.policy.version,
            "policy": self.policy.to_json(),
            "inputs": {name: getattr(self, name) for name in ("onsets", "trials", "days", "rate")},
            "result": {name: getattr(self, name) for name in ("is_met", "is_over", "ratio", "sentence")},
        }


def assess_probation(onsets: int, trials: int, days: int, rate: float, policy: Policy) -> ProbationAssessment:
    """Assess a test that was let out.

    It goes back when `(q/p0)^k ((1-q)/(1-p0))^(n-k) >= policy.probation_ratio`, q = max(p1, 3 p0). Under the tolerance
    that ever happens with chance at most 1 / `policy.probation_ratio` (Ville's inequality).

    Args:
        onsets: k, counted onsets since the exit.
        trials: n, counted trials since the exit.
        days: whole days since the exit.
        rate: p1 of the exit.
        policy: the criteria.
    """
    likely = max(rate, 3 * policy.p0)
    ratio = likelihood_ratio(onsets, trials, likely=likely, tolerated=policy.p0)
    is_met = onsets > 0 and ratio >= policy.probation_ratio
    trials_needed = round(policy.probation_trials / rate)
    is_over = not is_met and days >= policy.probation_days and trials >= trials_needed
    seen = f"{plural(onsets, 'onset')} in {plural(trials, 'trial')} since it was let out"
    if is_met:
        sentence = f"{seen}: {ratio:.3g} times likelier at its old {percent(likely)} than at {percent(policy.p0)}."
    elif is_over:
        sentence = f"{seen} and {plural(days, 'day')}: its probation is over."
    else:
        sentence = f"{seen}, {days} of {policy.probation_days} days and {trials:,} of {trials_needed:,} trials served."
    return ProbationAssessment(
        is_met=is_met,
        is_over=is_over,
        ratio=ratio,
        sentence=sentence,
        onsets=onsets,
        trials=trials,
        days=days,
        rate=rate,
        policy=policy,
    )
