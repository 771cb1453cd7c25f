"""The policy in words: what each knob says with its value, under the promise that it helps to keep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quarantine.policy.criteria import Policy
from quarantine.policy.wording import listed, percent, plural

Sentence = Callable[[Policy], str]


@dataclass(frozen=True, slots=True)
class Chapter:
    """Knobs that keep one promise together.

    Attributes:
        title: what they decide.
        promise: what they make true, in one sentence.
        knobs: each knob with what it says.
    """

    title: str
    promise: str
    knobs: dict[str, Sentence]


def _hours(hours: float) -> str:
    return f"{hours:g} {'hour' if hours == 1 else 'hours'}"


def _times(count: float) -> str:
    return "once" if count == 1 else f"{count:g} times"


def _one_of(chance: float) -> str:
    """Return a chance as a share and as odds."""
    return f"{percent(chance)} (1 in {round(1 / chance):,})"


def _due(hours: float) -> str:
    return "at once" if hours == 0 else f"after {_hours(hours)}"


CHAPTERS = (
    Chapter(
        "Entering quarantine",
        "A deterministic test is never quarantined: only a tree that both failed and passed counts. And however often "
        "anybody looks, however many tests are added: the number of tolerable tests that are ever quarantined is kept "
        "below the budget.",
        {
            "p0": lambda p: f"A test may have an onset in {_one_of(p.p0)} of its trials before it is called flaky.",
            "budget": lambda p: (
                f"At most {p.budget:g} tests that are no flakier than that are expected to be quarantined, in "
                "the whole "
                "life of a project."
            ),
            "reserve_factor": lambda p: (
                f"The first reserve of the budget is for {_times(p.reserve_factor)} the tests of the first full trunk "
                "build; each later one is four times larger."
            ),
            "company_tests": lambda p: (
                f"An onset is in company when {p.company_tests:,} tests or more fail alike in its build."
            ),
            "company_spacing_hours": lambda p: (
                f"Of onsets in company at most one in {_hours(p.company_spacing_hours)} counts, so that an outage that "
                "comes back is not taken for flaking."
            ),
            "onset_spacing_hours": lambda p: (
                f"At most one onset in {_hours(p.onset_spacing_hours)} counts, whoever runs what."
            ),
            "entry_span_hours": lambda p: (
                f"The first and the last onset of an entry lie at least {_hours(p.entry_span_hours)} apart, so that no "
                "short incident quarantines anything."
            ),
            "entry_trunk_onsets": lambda p: (
                f"At least {plural(p.entry_trunk_onsets, 'onset')} of an entry must come from trunk, never "
                "from changes "
                "alone."
            ),
            "origin_chance": lambda p: (
                "A flake is dated to a change, with its authors named, when the clean trials before it would have had "
                f"a chance of {percent(p.origin_chance)} at most."
            ),
        },
    ),
    Chapter(
        "Leaving quarantine",
        "Leaving takes stronger evidence than entering, from trunk alone.",
        {
            "exit_ratio": lambda p: f"A release may be wrong with {p.exit_ratio:g} times the chance that an entry may.",
            "exit_days": lambda p: f"It takes {plural(p.exit_days, 'clean day')} in a row at least.",
            "exit_gaps": lambda p: (
                f"It takes {_times(p.exit_gaps)} the longest time it was ever quiet between two failing days, at least."
            ),
            "exit_days_most": lambda p: f"More than {plural(p.exit_days_most, 'clean day')} are never asked for.",
            "exit_presence": lambda p: f"It must have run in {percent(p.exit_presence)} of the trunk builds meanwhile.",
            "hand_rate": lambda p: (
                f"A test quarantined by hand, without evidence, must refute a rate of {percent(p.hand_rate)}."
            ),
            "probation_days": lambda p: (
                f"After a release it is on probation for {plural(p.probation_days, 'day')} at least: it gates, "
                "and is watched."
            ),
            "probation_trials": lambda p: (
                f"Probation also lasts {_times(p.probation_trials)} as many trials as one failure would have taken."
            ),
            "probation_ratio": lambda p: (
                f"It goes back when its failures since are {_times(p.probation_ratio)} likelier for a flaky test than "
                "for a tolerable one."
            ),
        },
    ),
    Chapter(
        "Broken tests, and regressions that hide",
        "A broken test is not a flaky test, and a quarantined test still bites: what its known flaking cannot explain "
        "is raised.",
        {
            "broken_failures": lambda p: (
                f"A test is broken after {plural(p.broken_failures, 'failed trunk trial')} in a row."
            ),
            "broken_reruns": lambda p: (
                f"Each of their trees must have failed {plural(p.broken_reruns, 'rerun')} too, so that chance does not "
                "break a test."
            ),
            "broken_passes": lambda p: f"Trunk must then pass it {p.broken_passes:,} times in a row to make it whole.",
            "alarms_per_week": lambda p: (
                f"By chance, quarantined tests raise possible regressions {_times(p.alarms_per_week)} a week at most."
            ),
        },
    ),
    Chapter(
        "Storms",
        "Builds whose failures have one cause outside the tests count for nothing.",
        {
            "storm_tests": lambda p: f"A storm takes {plural(p.storm_tests, 'test')} that fail alike, at least.",
            "storm_builds": lambda p: f"They fail in {plural(p.storm_builds, 'build')} of unrelated changes, at least.",
            "storm_hours": lambda p: f"Those builds lie within {_hours(p.storm_hours)}.",
            "storm_chance": lambda p: (
                f"Their own flake rates would explain it with a chance of {percent(p.storm_chance)} at most."
            ),
        },
    ),
    Chapter(
        "The cap and the rules",
        "Quarantine never eats the gate: beyond the cap tests are held, still gating, and somebody is told.",
        {
            "cap_slots": lambda p: (
                f"{plural(p.cap_slots, 'group')} of tests may be quarantined whatever the size of the suite."
            ),
            "cap_share": lambda p: (
                f"In a large suite, groups worth {percent(p.cap_share)} of the tests in the last trunk build may be."
            ),
            "never_quarantine": lambda p: (
                f"These tests always gate: {listed([f'`{glob}`' for glob in p.never_quarantine])}."
                if p.never_quarantine
                else "No test is excluded from quarantine by name."
            ),
        },
    ),
    Chapter(
        "Reruns and verdicts",
        "A failure is excused only by runs of the identical tree and of its base, and never by hope.",
        {
            "rerun_hours": lambda p: (
                f"A failure right after a pass is rerun {listed([_due(hours) for hours in p.rerun_hours])}, so that "
                "bursts are confirmed too."
            ),
            "reruns_per_day": lambda p: f"The daemon asks for {plural(p.reruns_per_day, 'rerun')} a day at most.",
            "verdict_reruns": lambda p: (
                f"A test that fails in {plural(p.verdict_reruns, 'rerun')} of the head as well counts as "
                "always failing."
            ),
            "verdict_reruns_most": lambda p: (
                f"One verdict asks for {plural(p.verdict_reruns_most, 'rerun')} of the head at most."
            ),
            "must_pass_reruns_most": lambda p: (
                f"A test that has to pass and is known to flake gets {plural(p.must_pass_reruns_most, 'rerun')} of the "
                "head in one verdict at most."
            ),
            "session_reruns_most": lambda p: (
                f"A session tries its failing tests again {plural(p.session_reruns_most, 'time')} in all at most, when "
                "the others are done."
            ),
            "verdict_error": lambda p: (
                f"A streak of passes hides a test that still fails at the rate it showed with "
                f"{percent(p.verdict_error)} "
                "chance at most."
            ),
        },
    ),
)


def policy_view(policy: Policy) -> dict[str, Any]:
    """Return what policy.html prints: chapters of (knob, value, sentence, whether it is the default), the version."""
    defaults, values = Policy().to_json(), policy.to_json()
    return {
        "version": policy.version,
        "chapters": [
            {
                "title": chapter.title,
                "promise": chapter.promise,
                "knobs": [
                    {
                        "key": key,
                        "value": _value(values[key]),
                        "default": None if values[key] == defaults[key] else _value(defaults[key]),
                        "sentence": sentence(policy),
                    }
                    for key, sentence in chapter.knobs.items()
                ],
            }
            for chapter in CHAPTERS
        ],
    }


def _value(value: Any) -> str:
    """Return a value as it stands in the configuration."""
    if isinstance(value, list):
        return ", ".join(str(one) if isinstance(one, str) else f"{one:g}" for one in value) or "none"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
