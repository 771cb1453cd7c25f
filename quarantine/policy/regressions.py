"""What a quarantined test's failure says about a change, and whether a flake came with one."""

from dataclasses import dataclass

from quarantine.policy.criteria import Policy
from quarantine.policy.wording import percent, plural
from quarantine.stats.binomial import lower_bound, upper_bound
from quarantine.stats.streaks import straight_reruns_needed

__all__ = ["Origin", "alarm_reruns", "assess_origin"]

_ORIGIN_ERROR = 0.05
_REFAIL_ERROR = 0.05
_REFAIL_CEILING = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Whether a flake can be dated to the last change in the test's reach.

    Attributes:
        is_met: the clean trials before that change are too many for the flake to be older.
        lower: L, the lower 95 % bound of the rate since the change.
        chance: `(1 - L)^c`, the chance of the clean trials before it at that rate.
        sentence: the answer with its numbers.
    """

    is_met: bool
    lower: float
    chance: float
    sentence: str


def assess_origin(onsets: int, trials: int, earlier_onsets: int, clean_before: int, policy: Policy) -> Origin:
    """Assess whether a test became flaky with the last change in its reach.

    Args:
        onsets: counted onsets since that change.
        trials: counted trials since that change.
        earlier_onsets: counted onsets before it; any of them rules the change out.
        clean_before: c, counted trials before it since the last onset or the beginning of the evidence.
        policy: the criteria.
    """
    lower = lower_bound(onsets, trials, _ORIGIN_ERROR)
    chance = (1 - lower) ** clean_before
    is_met = onsets > 0 and not earlier_onsets and chance <= policy.origin_chance
    since = f"{plural(onsets, 'onset')} in {plural(trials, 'trial')} since the last change in its reach"
    if earlier_onsets:
        sentence = f"It flaked {plural(earlier_onsets, 'time')} before the last change in its reach already."
    else:
        verb = "became flaky with that change" if is_met else "may be older than that change"
        sentence = (
            f"{since}, and {plural(clean_before, 'clean trial')} before it, which a flake of {percent(lower)} would "
            f"survive with chance {chance:.2g}: it {verb}."
        )
    return Origin(is_met=is_met, lower=lower, chance=chance, sentence=sentence)


def alarm_reruns(failures_per_week: float, refailed: int, reruns: int, policy: Policy) -> int:
    """Return r, the failed reruns in a row after which a quarantined test's failure is a possible regression.

    `r = ceil(ln(A / lambda) / ln c)`: A the alarms allowed a week, lambda = `failures_per_week`, c the upper 95 % bound
    of P(rerun fails | just failed), of which `refailed` of `reruns` are known. c is taken to be at most 0.95, so that r
    stays finite for a test about which nothing is known.
    """
    refail = min(_REFAIL_CEILING, upper_bound(refailed, reruns, _REFAIL_ERROR))
    return straight_reruns_needed(policy.alarms_per_week, failures_per_week, refail)
