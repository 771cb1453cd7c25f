"""When a flaky test began to flake: the trunk trials among which its birth lies, with 99 % confidence.

Let a test have onsets at a rate of at least q from its birth on, and none before. Its first onset, at trial T, comes
more than d trials after the birth with a chance of at most `(1 - q)^d`. q is not known, but the trials after T say it
is at least L, the lower bound of Clopper and Pearson at half of the error; they are others than those before T, so that
L does not depend on how long the first onset took. With d the least number for which `(1 - L)^d` is at most the other
half of the error, the birth lies within the d trials before T with a chance of at least one less the error.

That says nothing where fewer than d trials before T are known to be clean: then it may have flaked from the start.
"""

import math
from dataclasses import dataclass

from quarantine.policy.wording import percent, plural
from quarantine.stats.binomial import lower_bound

__all__ = ["ERROR", "Birth", "assess_birth"]

ERROR = 0.01
"""Chance that the birth lies outside of what is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """What the trials say about when a test began to flake.

    Attributes:
        is_dated: whether it began within trials that are known.
        reach: d, the trunk trials before the first onset among which it began; 0 where nothing can be said.
        rate: L, the least rate of onsets that the trials after the first one leave.
        sentence: the answer with its numbers.
    """

    is_dated: bool
    reach: int
    rate: float
    sentence: str


def assess_birth(onsets: int, trials: int, clean_before: int) -> Birth:
    """Assess when a test began to flake, from its trunk trials.

    Args:
        onsets: onsets after the first one.
        trials: trials after the first onset.
        clean_before: trials before the first onset that passed without a break.
    """
    if not onsets:
        return Birth(
            is_dated=False, reach=0, rate=0.0, sentence="It has had one onset on trunk, which does not date it."
        )
    rate = lower_bound(onsets, max(trials, onsets), ERROR / 2)
    reach = max(1, math.ceil(math.log(ERROR / 2) / math.log1p(-rate))) if rate < 1 else 1
    since = f"It has had {plural(onsets, 'onset')} in {plural(trials, 'trunk trial')} since its first"
    flaking = f"a test with onsets in {percent(rate)} of its trials or more has its first within {reach:,}"
    if clean_before < reach:
        known = f"only {clean_before:,} clean ones before it are known"
        return Birth(
            is_dated=False,
            reach=reach,
            rate=rate,
            sentence=f"{since}: {flaking}, and {known}, so it may always have flaked.",
        )
    return Birth(
        is_dated=True,
        reach=reach,
        rate=rate,
        sentence=f"{since}: {flaking}, so with 99 % confidence it began within the {plural(reach, 'trial')} before it.",
    )
