"""Every knob of the policy, checked when it is built. The version goes with each decision."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise
from typing import Any, Self

from quarantine.errors import BadConfiguration

__all__ = ["RULES_VERSION", "Policy"]

RULES_VERSION = "1"
"""Grows whenever the meaning of a knob or of a rule changes, so that equal versions decide equally."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The criteria every decision is made by. Raises BadConfiguration, naming the key, when they are incoherent.

    Attributes:
        p0: tolerated chance of an onset in one trial.
        budget: B, the number of false quarantines expected in the life of the project.
        reserve_factor: how many times the pairs of the first full trunk build the first reserve holds.
        exit_ratio: alpha_exit / alpha_entry; below 1.
        onset_spacing_hours: at most one onset in so many hours.
        company_tests: tests that fail alike in one build from which on an onset counts as one in company.
        company_spacing_hours: at most one onset in company in so many hours.
        entry_span_hours: least time between the first and the last onset of an entry.
        entry_trunk_onsets: least number of an entry's onsets that come from the trunk lane.
        origin_chance: at most this chance of the clean trials before a change dates the flake to that change.
        broken_failures: consecutive failed trunk trials of a broken test.
        broken_reruns: failed reruns each of their trees needs.
        broken_passes: consecutive trunk passes that end it.
        exit_days: least number of clean days in a row.
        exit_gaps: how many times the longest gap between failing days must pass.
        exit_days_most: clean days never asked for beyond.
        exit_presence: least share of the trunk builds in which the test ran.
        hand_rate: p1 of a test quarantined by hand.
        probation_days: days on probation after an exit, at least.
        probation_trials: trials on probation, as a multiple of 1 / p1, at least.
        probation_ratio: likelihood ratio that sends a test on probation back.
        alarms_per_week: chance alarms a week that a quarantined test may raise.
        storm_tests: tests that fail together in a storm, at least.
        storm_builds: builds of unrelated changes they fail in, at least.
        storm_hours: the time those builds lie within.
        storm_chance: at most this chance that the tests' own rates explain it.
        cap_slots: quarantined clusters allowed whatever the size of the suite.
        cap_share: quarantined clusters allowed as a share of the tests in the last trunk build.
        rerun_hours: when the reruns of a pending head fall due, in hours after its arrival; increasing.
        reruns_per_day: reruns the daemon asks for in a day, at most.
        verdict_reruns: reruns of the head after which a test that failed each time counts as always failing.
        verdict_reruns_most: reruns of the head that one verdict asks for, at most.
        must_pass_reruns_most: the same, where a must-pass test that is known to flake has to convince.
        session_reruns_most: tries that one session makes of its failing tests after the last test, at most.
        verdict_error: chance left that a streak of passes hides a test that still fails at the rate it showed.
        never_quarantine: globs over test names that always gate.
    """

    p0: float = 0.001
    budget: float = 0.5
    reserve_factor: int = 4
    exit_ratio: float = 0.1
    onset_spacing_hours: float = 6.0
    company_tests: int = 5
    company_spacing_hours: float = 24.0
    entry_span_hours: float = 72.0
    entry_trunk_onsets: int = 2
    origin_chance: float = 0.001
    broken_failures: int = 3
    broken_reruns: int = 2
    broken_passes: int = 3
    exit_days: int = 7
    exit_gaps: int = 3
    exit_days_most: int = 90
    exit_presence: float = 2 / 3
    hand_rate: float = 0.05
    probation_days: int = 30
    probation_trials: float = 3.0
    probation_ratio: float = 100.0
    alarms_per_week: float = 1.0
    storm_tests: int = 5
    storm_builds: int = 2
    storm_hours: float = 1.0
    storm_chance: float = 0.001
    cap_slots: int = 10
    cap_share: float = 0.02
    rerun_hours: tuple[float, ...] = (0.0, 1.0, 24.0)
    reruns_per_day: int = 200
    verdict_reruns: int = 2
    verdict_reruns_most: int = 12
    must_pass_reruns_most: int = 60
    session_reruns_most: int = 40
    verdict_error: float = 0.05
    never_quarantine: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_kinds(self)
        for key in ("p0", "origin_chance", "hand_rate", "storm_chance", "verdict_error"):
            _check(self, key, 0 < getattr(self, key) < 1, "lies strictly between 0 and 1")
        _check(self, "p0", self.p0 <= _LARGEST_TOLERANCE, "is at most 0.05: above it no exit could be proved")
        _check(self, "hand_rate", self.hand_rate >= self.p0, f"is at least p0 ({self.p0:g})")
        _check(self, "budget", 0 < self.budget <= _LARGEST_BUDGET, "lies above 0 and at or below 100 false quarantines")
        _check(
            self,
            "exit_ratio",
            0 < self.exit_ratio < 1,
            "lies above 0 and below 1, so that leaving quarantine takes stronger evidence than entering it",
        )
        for key, least in _LEAST.items():
            _check(self, key, getattr(self, key) >= least, f"is at least {least}")
        _check(
            self, "exit_days_most", self.exit_days_most >= self.exit_days, f"is at least exit_days ({self.exit_days})"
        )
        for key in ("exit_presence", "cap_share"):
            _check(self, key, 0 < getattr(self, key) <= 1, "lies above 0 and at or below 1")
        _check(self, "probation_ratio", self.probation_ratio > 1, "is above 1")
        for key in ("storm_hours", "alarms_per_week", "probation_trials"):
            _check(self, key, getattr(self, key) > 0, "is above 0")
        _check(
            self, "rerun_hours", _is_schedule(self.rerun_hours), "lists increasing hours, none below 0, at least one"
        )
        _check(self, "never_quarantine", all(self.never_quarantine), "lists globs, none of them empty")

    @property
    def version(self) -> str:
        """The rules' version and a hash over every knob: equal versions decide equally. At most 40 characters."""
        return _version(self)

    @property
    def onset_spacing(self) -> timedelta:
        """At most one onset in this time."""
        return timedelta(hours=self.onset_spacing_hours)

    @property
    def entry_span(self) -> timedelta:
        """Least time between the first and the last onset of an entry."""
        return timedelta(hours=self.entry_span_hours)

    def barring_glob(self, *names: str) -> str | None:
        """Return the first never-quarantine glob that matches one of a test's `names`; case matters, `*` spans all."""
        return next((glob for glob in self.never_quarantine if any(fnmatchcase(name, glob) for name in names)), None)

    def to_json(self) -> dict[str, Any]:
        """Return every knob as JSON values; `from_json` is the inverse."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Build a policy from a mapping; keys left out keep their defaults, unknown ones raise BadConfiguration."""
        known = {field.name for field in fields(cls)}
        for key in values:
            if key not in known:
                raise BadConfiguration(
                    f"policy.{key} is no setting of the policy.", mend=f"Known are: {', '.join(sorted(known))}."
                )
        knobs: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        return cls(**knobs)


_LARGEST_TOLERANCE = 0.05
_LARGEST_BUDGET = 100
_MOST = 1_000_000
"""No knob needs more: a million hours are a century."""
_LEAST = {
    "reserve_factor": 1,
    "onset_spacing_hours": 0,
    "company_tests": 2,
    "company_spacing_hours": 0,
    "entry_span_hours": 0,
    "entry_trunk_onsets": 1,
    "broken_failures": 2,
    "broken_reruns": 1,
    "broken_passes": 1,
    "exit_days": 1,
    "exit_gaps": 1,
    "probation_days": 0,
    "storm_tests": 2,
    "storm_builds": 2,
    "cap_slots": 1,
    "reruns_per_day": 0,
    "verdict_reruns": 1,
    "verdict_reruns_most": 0,
    "must_pass_reruns_most": 0,
    "session_reruns_most": 0,
}


def _check(policy: Policy, key: str, holds: bool, rule: str) -> None:  # noqa: FBT001 - the condition is the point
    if not holds:
        default = Policy.__dataclass_fields__[key].default
        raise BadConfiguration(
            f"policy.{key} is {getattr(policy, key)!r}, but it {rule}.",
            mend=f"Set policy.{key} accordingly; {default!r} is a good start.",
        )


def _check_kinds(policy: Policy) -> None:
    """Refuse values of another kind than the default's, and numbers that are not finite."""
    for key, knob in Policy.__dataclass_fields__.items():
        value, default = getattr(policy, key), knob.default
        if isinstance(default, tuple):
            kind = str if key == "never_quarantine" else (int, float)
            fits = isinstance(value, tuple) and all(isinstance(v, kind) and not isinstance(v, bool) for v in value)
            rule = "is a list of " + ("globs" if kind is str else "numbers")
        else:
            fits = isinstance(value, int if isinstance(default, int) else (int, float)) and not isinstance(value, bool)
            fits = fits and abs(value) <= _MOST
            rule = f"is a {'whole number' if isinstance(default, int) else 'number'} of at most {_MOST:,}"
        _check(policy, key, fits, rule)


def _is_schedule(hours: tuple[float, ...]) -> bool:
    return bool(hours) and hours[0] >= 0 and all(a < b for a, b in pairwise(hours))


@lru_cache(maxsize=64)
def _version(policy: Policy) -> str:
    knobs = json.dumps(policy.to_json(), sort_keys=True).encode()
    return f"{RULES_VERSION}-{hashlib.sha256(knobs).hexdigest()[:16]}"
