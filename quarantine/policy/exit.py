"""Whether a quarantined test may gate again. Trunk lane only."""

from dataclasses import asdict, dataclass
from typing import Any

from quarantine.policy.criteria import Policy
from quarantine.policy.wording import listed, percent, plural
from quarantine.stats.multiplicity import streak_level
from quarantine.stats.streaks import (
    clean_days_needed,
    clean_trials_needed,
    failing_day_share,
    rate_to_refute,
)

__all__ = ["ExitAssessment", "Streak", "assess_exit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """A quarantined test's record on trunk, storms left out, up to now.

    The *window* begins with the first onset of the entry and ends where the present streak begins.

    Attributes:
        failures: failed trunk trials that count: the entry's onsets on trunk, and every failed trunk trial since.
        trials: trunk trials in the window.
        clean_trials: m, trunk trials passed in a row since the last failed one.
        clean_days: D, days with trunk trials in the streak, the day of the last failure left out.
        failing_days: days of the window with a failure.
        days: days of the window with trunk trials.
        longest_gap_days: longest time between two failing days that follow each other, in days; 0 below two.
        presence: share of the trunk builds since the streak began in which the test ran.
        ordinal: r, from 1: how many streaks there have been since the entry, this one included.
        by_hand: whether a person quarantined it; then p1 is the policy's `hand_rate`.
    """

    failures: int
    trials: int
    clean_trials: int
    clean_days: int
    failing_days: int
    days: int
    longest_gap_days: int
    presence: float
    ordinal: int = 1
    by_hand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitAssessment:
    """The exit rule applied to one streak.

    Attributes:
        is_met: whether the test may gate again.
        rate: p1, the rate that the streak has to refute.
        share: d1, the lower bound of its share of failing days.
        level: `alpha_exit / (r (r + 1))`.
        p_value: the chance of the streak at rate p1, `(1 - p1)^m`.
        trials_needed, days_needed: the streak that would suffice, in trials and in days.
        lacking: what would change the answer, as phrases; empty when met.
        sentence: the answer with its numbers.
        streak, alpha, policy: what was assessed.
    """

    is_met: bool
    rate: float
    share: float
    level: float
    p_value: float
    trials_needed: int
    days_needed: int
    lacking: tuple[str, ...]
    sentence: str
    streak: Streak
    alpha: float
    policy: Policy

    def to_json(self) -> dict[str, Any]:
        """Return inputs, policy and result as JSON values, enough to recompute the decision from."""
        kept = ("is_met", "rate", "share", "level", "p_value", "trials_needed", "days_needed", "sentence")
        return {
            "kind": "exit",
            "policy_version": self.policy.version,
            "policy": self.policy.to_json(),
            "inputs": {"streak": asdict(self.streak), "alpha": self.alpha},
            "result": {name: getattr(self, name) for name in kept},
        }


def assess_exit(streak: Streak, alpha: float, policy: Policy) -> ExitAssessment:
    """Assess one quarantined (test, variant).

    Onsets of other lanes are no failures here: they have no trunk trials to be a share of, and counting them would put
    p1 above the true rate, which would make leaving easier. Failures beyond the trials (or failing days beyond the
    days), as counting at midnight may give, stand for trials too: an ingest does not fail over them.

    Args:
        streak: its record on trunk.
        alpha: alpha_entry, what its entry might spend; the exit spends `policy.exit_ratio` of it.
        policy: the criteria.
    """
    level = streak_level(alpha * policy.exit_ratio, streak.ordinal)
    rate = (
        policy.hand_rate
        if streak.by_hand
        else rate_to_refute(streak.failures, max(streak.trials, streak.failures), policy.p0)
    )
    share = failing_day_share(streak.failing_days, max(streak.days, streak.failing_days))
    trials_needed = clean_trials_needed(rate, level)
    days_needed = _days_needed(streak, share, policy)
    lacking = _lacking(streak, trials_needed, days_needed, policy)
    return ExitAssessment(
        is_met=not lacking,
        rate=rate,
        share=share,
        level=level,
        p_value=(1 - rate) ** streak.clean_trials,
        trials_needed=trials_needed,
        days_needed=days_needed,
        lacking=lacking,
        sentence=_sentence(streak, rate, level, lacking),
        streak=streak,
        alpha=alpha,
        policy=policy,
    )


def _days_needed(streak: Streak, share: float, policy: Policy) -> int:
    """Return the clean days in a row that are asked for: the least there are, where no failing day speaks for more.

    Without a failing day a test was quarantined by hand, and its days have no pattern that has to be waited out.
    """
    if streak.by_hand and not streak.failing_days:
        return policy.exit_days
    return clean_days_needed(
        share,
        streak.longest_gap_days,
        at_least=policy.exit_days,
        gaps=policy.exit_gaps,
        at_most=policy.exit_days_most,
    )


def _lacking(streak: Streak, trials_needed: int, days_needed: int, policy: Policy) -> tuple[str, ...]:
    phrases = []
    if streak.clean_trials < trials_needed:
        phrases.append(plural(trials_needed - streak.clean_trials, "more clean trunk trial"))
    if streak.clean_days < days_needed:
        phrases.append(plural(days_needed - streak.clean_days, "more clean day"))
    if streak.presence < policy.exit_presence - 1e-9:
        phrases.append(
            f"a place in {percent(policy.exit_presence)} of the trunk builds (it ran in {percent(streak.presence)})"
        )
    return tuple(phrases)


def _sentence(streak: Streak, rate: float, level: float, lacking: tuple[str, ...]) -> str:
    clean = f"{plural(streak.clean_trials, 'clean trunk trial')} on {plural(streak.clean_days, 'clean day')}"
    if lacking:
        return f"Has {clean}; needs {listed(lacking)} to show that it fails in less than {percent(rate)} of its trials."
    chance = (1 - rate) ** streak.clean_trials
    return (
        f"{clean} in a row: a test that still failed in {percent(rate)} of its trials would get so far with chance "
        f"{chance:.2g}, at most the limit {level:.2g} of streak {streak.ordinal}."
    )
