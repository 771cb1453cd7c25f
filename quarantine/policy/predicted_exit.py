"""When a quarantined test will have the evidence to leave, if it does not fail again and trunk goes on at its pace.

The exit rule asks for a streak: so many clean trunk trials in a row, on so many days with trunk trials, with a place in
two thirds of the trunk builds. At a pace of v trials a day, on a share s of all days, what is missing takes
`max(trials / v, days / s)` days.

That is a prediction only for a test that was mended. One that goes on failing at rate q, the share of the trials before
its streak that it failed, gets through m trials with chance `(1 - q)^m`, the binomial probability of no failure among
m. Where the streak it has would be that unlikely it looks mended; where only the rest it needs would be, it does not.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from quarantine.policy.exit import ExitAssessment, Streak
from quarantine.policy.wording import listed, percent, plural

__all__ = ["Outlook", "Pace", "Prediction", "predict"]

UNLIKELY = 0.05
"""What has a smaller chance than this is not expected to have happened, nor to happen."""


class Outlook(StrEnum):
    """What is to be expected."""

    DUE = "due"
    """It has the evidence; the next trunk build lets it gate."""
    ON_ITS_WAY = "on_its_way"
    FAILING = "failing"
    """It fails so often that it will not get there before it is mended."""
    TOO_SLOW = "too_slow"
    """It does not run often enough: without a probe, such as repeated runs at night, the evidence will not come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a test ran on trunk lately.

    Attributes:
        days: length of the time looked at, in days.
        trials: trunk trials it had in it.
        trial_days: days of it on which it had any.
    """

    days: float
    trials: int
    trial_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What is to be expected of one quarantined test.

    Attributes:
        outlook: which of the four.
        days: until it has the evidence; infinite when it never runs.
        sentence: the reason, with its numbers.
    """

    outlook: Outlook
    days: float
    sentence: str


def predict(found: ExitAssessment, pace: Pace, *, longest_days: float) -> Prediction:
    """Predict when the exit rule will be met.

    Args:
        found: the rule applied to the present streak.
        pace: how it ran lately.
        longest_days: what takes longer than this counts as too slow.
    """
    streak = found.streak
    trials = max(0, found.trials_needed - streak.clean_trials)
    days = max(0, found.days_needed - streak.clean_days)
    if found.is_met:
        return Prediction(
            outlook=Outlook.DUE, days=0.0, sentence="It has the evidence; the next trunk build lets it go."
        )
    rate = streak.failures / max(streak.trials, streak.failures, 1)
    chance = (1.0 - rate) ** trials
    if chance < UNLIKELY <= (1.0 - rate) ** streak.clean_trials:
        return Prediction(outlook=Outlook.FAILING, days=math.inf, sentence=_failing(streak, rate, trials, chance))
    takes = _takes(trials, days, pace)
    needs = listed(list(found.lacking))
    if _is_absent(found):
        return Prediction(
            outlook=Outlook.TOO_SLOW, days=math.inf, sentence=f"It needs {needs}: it is left out of too many builds."
        )
    if takes > longest_days:
        return Prediction(outlook=Outlook.TOO_SLOW, days=takes, sentence=_too_slow(needs, takes, pace))
    return Prediction(
        outlook=Outlook.ON_ITS_WAY,
        days=takes,
        sentence=f"It needs {needs}: {plural(math.ceil(takes), 'day')} at the present pace, if it does not fail again.",
    )


def _takes(trials: int, days: int, pace: Pace) -> float:
    """Return how many days the missing trials and the missing clean days take."""
    if not pace.trials or not pace.trial_days:
        return math.inf
    return max(trials * pace.days / pace.trials, days * pace.days / pace.trial_days, 0.0)


def _is_absent(found: ExitAssessment) -> bool:
    return found.streak.presence < found.policy.exit_presence - 1e-9


def _failing(streak: Streak, rate: float, trials: int, chance: float) -> str:
    before = f"It failed {streak.failures:,} of {plural(streak.trials, 'trunk trial')} before its present streak"
    return (
        f"{before} of {streak.clean_trials:,}: at {percent(rate)} the {plural(trials, 'clean trial')} it still needs "
        f"would come with chance {chance:.2g}. It has to be mended first."
    )


def _too_slow(needs: str, takes: float, pace: Pace) -> str:
    if math.isinf(takes):
        return f"It needs {needs}, and has not run on trunk in {pace.days:.0f} days."
    a_week = 7 * pace.trials / pace.days
    return f"It needs {needs}: at {a_week:.3g} trunk trials a week that takes {takes:,.0f} days."
