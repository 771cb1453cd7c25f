"""Escalation: who is told when about a test that stays in quarantine, and what a person's answer does to that.

The clock of a test is the time it was out of the gating set within the last 90 days, in all: over its variants (a test
is out while any of them is quarantined), and only while the project enforced. Leaving and coming
back does not reset it, for the days it was out still lie in the window.

The ladder: the first step is due after `first_days` on that clock, further ones `repeat_days` after the last. Level 1
tells the owner; after `rise_after` steps that nobody answered it rises to level 2, the owner and the fallback channel.
A responsibility that lapses while the test is still out brings it back one level higher, and as a proposal: delete the
test, or let it gate again. An acknowledgement says that somebody has seen it; the weekly repeat goes on. A snooze puts
the next step off, twice at most. What was told and answered before the window of the clock is forgotten.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from quarantine.domain.outcome import Mode, Status
from quarantine.domain.standing import Transition
from quarantine.errors import BadConfiguration, BadInput
from quarantine.policy.wording import percent, plural

__all__ = [
    "Answer",
    "AnswerKind",
    "Case",
    "EscalationAssessment",
    "Ladder",
    "Proposal",
    "Span",
    "Step",
    "Told",
    "acknowledge",
    "assess_escalation",
    "enforced_spans",
    "overlap",
    "propose",
    "quarantined_days",
    "snooze",
    "snoozes_left",
    "spans_of",
    "take_responsibility",
    "union",
]

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, its end not part of it; None for one that has not ended."""

    start: datetime
    end: datetime | None


def spans_of(transitions: Iterable[Transition]) -> tuple[Span, ...]:
    """Return when one (test, variant) was quarantined, from its transitions in their order."""
    spans: list[Span] = []
    since: datetime | None = None
    for move in transitions:
        if move.to_status is Status.QUARANTINED and since is None:
            since = move.at
        elif move.to_status is not Status.QUARANTINED and since is not None:
            spans.append(Span(since, max(since, move.at)))
            since = None
    return tuple(spans) if since is None else (*spans, Span(since, None))


def enforced_spans(changes: Sequence[tuple[datetime, Mode]]) -> tuple[Span, ...]:
    """Return when a project enforced, from the instants at which it took a mode, in their order."""
    spans: list[Span] = []
    since: datetime | None = None
    for at, mode in changes:
        if mode is Mode.ENFORCE and since is None:
            since = at
        elif mode is Mode.OBSERVE and since is not None:
            spans.append(Span(since, max(since, at)))
            since = None
    return tuple(spans) if since is None else (*spans, Span(since, None))


def _end(span: Span) -> float:
    return float("inf") if span.end is None else span.end.timestamp()


def union(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the time that lies in any of the spans, as spans in order that do not touch."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start, _end(one))):
        if merged and _end(merged[-1]) >= span.start.timestamp():
            if _end(span) > _end(merged[-1]):
                merged[-1] = Span(merged[-1].start, span.end)
        else:
            merged.append(span)
    return tuple(merged)


def overlap(one: Iterable[Span], other: Iterable[Span]) -> tuple[Span, ...]:
    """Return the time that lies in spans of both."""
    others = tuple(other)
    found = []
    for span in one:
        for against in others:
            start = max(span.start, against.start)
            end = min((one for one in (span.end, against.end) if one is not None), default=None)
            if end is None or start < end:
                found.append(Span(start, end))
    return union(found)


def quarantined_days(spans: Iterable[Span], now: datetime, window_days: float = 90) -> float:
    """Return how many days of the last `window_days` lie in the spans."""
    begin = now - window_days * _DAY
    seconds = sum(
        max(0.0, (min(span.end or now, now) - max(span.start, begin)).total_seconds()) for span in union(spans)
    )
    return seconds / _DAY.total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """After how long whom is told.

    Attributes:
        first_days: quarantined days of the window after which the first step is due.
        repeat_days: days from one step to the next.
        levels: who is told at each level, from level 1; the last one goes on.
        rise_after: steps at one level after which it rises.
        window_days: the days that the clock looks back.
        own_days: the longest a responsibility lasts.
        snooze_days, snoozes: the longest a snooze lasts, and how many there may be.
    """

    first_days: float = 30.0
    repeat_days: float = 7.0
    levels: tuple[tuple[str, ...], ...] = (("owner",), ("owner", "fallback"))
    rise_after: int = 4
    window_days: float = 90.0
    own_days: float = 30.0
    snooze_days: float = 14.0
    snoozes: int = 2

    def __post_init__(self) -> None:
        if not self.levels or not all(self.levels):
            raise BadConfiguration("The escalation ladder has a level that tells nobody.", mend="Name whom it tells.")
        if not 0 < self.first_days <= self.window_days:
            raise BadConfiguration(
                f"No test can be out for {self.first_days:g} of the last {self.window_days:g} days.",
                mend="Choose fewer days.",
            )
        if self.repeat_days <= 0 or self.rise_after < 1:
            raise BadConfiguration("The escalation ladder never moves on.", mend="Repeat after a day or more.")


@dataclass(frozen=True, slots=True)
class Told:
    """A step that was taken."""

    number: int
    level: int
    at: datetime
    is_proposal: bool = False


class AnswerKind(StrEnum):
    """What a person can say."""

    ACKNOWLEDGE = "acknowledge"
    SNOOZE = "snooze"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said. `until` is None for an acknowledgement; `level` is the one that was answered."""

    kind: AnswerKind
    by: str
    at: datetime
    until: datetime | None = None
    reason: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """What the ladder knows of one test: when it was out, what was told, what was answered, each in order."""

    spans: tuple[Span, ...]
    told: tuple[Told, ...] = ()
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step that is due: its number, who is told, and whether it proposes to delete or to gate."""

    number: int
    level: int
    audience: tuple[str, ...]
    days: float
    is_proposal: bool
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EscalationAssessment:
    """Where a test stands on the ladder.

    Attributes:
        days: on its clock.
        is_quarantined: whether it is out now.
        step: the step that is due; None when none is.
        next_at: when the next one falls due if nothing changes; None when it is not quarantined.
        responsible: the last responsibility somebody took since it was first told; None when nobody did.
        snoozed_until: until when nobody is told; None when that is over.
        sentence: all of it in one.
    """

    days: float
    is_quarantined: bool
    step: Step | None
    next_at: datetime | None
    responsible: Answer | None
    snoozed_until: datetime | None
    sentence: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a case is, as both the assessment and the answers see it: only the window of the clock is remembered."""

    case: Case
    ladder: Ladder
    now: datetime

    @property
    def told(self) -> list[Told]:
        begin = self.now - self.ladder.window_days * _DAY
        return [one for one in self.case.told if one.at >= begin]

    @property
    def answers(self) -> list[Answer]:
        begin = self.now - self.ladder.window_days * _DAY
        return [one for one in self.case.answers if max(one.at, one.until or one.at) >= begin]

    @property
    def is_out(self) -> bool:
        return self._was_out(self.now)

    def _was_out(self, at: datetime) -> bool:
        return any(span.start <= at and (span.end is None or span.end > at) for span in self.case.spans)

    @property
    def responsible(self) -> Answer | None:
        return next((one for one in reversed(self.answers) if one.kind is AnswerKind.OWN), None)

    @property
    def lapses(self) -> set[datetime]:
        """When a responsibility ended with the test still out; one that was handed over ended once."""
        ends = {one.until for one in self.answers if one.kind is AnswerKind.OWN and one.until is not None}
        return {end for end in ends if end <= self.now and self._was_out(end)}

    @property
    def has_lapsed(self) -> bool:
        """Whether the newest responsibility has lapsed."""
        owned = self.responsible
        return owned is not None and owned.until in self.lapses

    @property
    def quiet_until(self) -> datetime | None:
        """The last instant up to which somebody asked not to be told, past or to come."""
        ends = [one.until for one in self.answers if one.until is not None]
        return max(ends, default=None)

    @property
    def level(self) -> int:
        heard = max((one.at for one in self.answers), default=None)
        unheard = sum(heard is None or one.at > heard for one in self.told)
        rises = len(self.lapses) + unheard // self.ladder.rise_after
        return max(1, min(len(self.ladder.levels), 1 + rises))


def assess_escalation(case: Case, ladder: Ladder, now: datetime) -> EscalationAssessment:
    """Return where a test stands, and the step that is due now, if any."""
    place, days = _Place(case, ladder, now), quarantined_days(case.spans, now, ladder.window_days)
    next_at = _next_at(place, days) if place.is_out else None
    step = None
    if next_at is not None and next_at <= now:
        step = Step(
            number=max((one.number for one in case.told), default=0) + 1,
            level=place.level,
            audience=ladder.levels[place.level - 1],
            days=days,
            is_proposal=place.has_lapsed,
            at=now,
        )
    quiet = place.quiet_until
    return EscalationAssessment(
        days=days,
        is_quarantined=place.is_out,
        step=step,
        next_at=next_at,
        responsible=place.responsible,
        snoozed_until=quiet if quiet is not None and quiet > now else None,
        sentence=_sentence(place, days, next_at),
    )


def _next_at(place: _Place, days: float) -> datetime:
    """Return when the next step falls due if the test stays out; the past when it is due already.

    Days that leave the window meanwhile may put it off further: no step is ever due before this.
    """
    ladder = place.ladder
    on_clock = place.now + (ladder.first_days - days) * _DAY
    if place.told:
        last = place.told[-1].at
        at = last + ladder.repeat_days * _DAY
        owned = place.responsible
        if owned is not None and owned.until is not None and owned.at >= last:
            at = owned.until  # a responsibility replaces the repeat: it ends when it lapses, not a week later
        if days < ladder.first_days:
            at = max(at, on_clock)
    else:
        at = on_clock
    quiet = place.quiet_until
    return at if quiet is None else max(at, quiet)


def _sentence(place: _Place, days: float, next_at: datetime | None) -> str:
    said = f"In quarantine for {days:.0f} of the last {place.ladder.window_days:.0f} days"
    if next_at is None:
        return f"{said}, and not now."
    owned = place.responsible
    if owned is not None and owned.until is not None:
        took = f"{owned.by} took responsibility until {owned.until:%Y-%m-%d}"
        return f"{said}; {took}." if owned.until > place.now else f"{said}; {took}, which has passed."
    when = "now" if next_at <= place.now else f"on {next_at:%Y-%m-%d}"
    told = f"; its owner was told {plural(len(place.told), 'time')}" if place.told else ""
    return f"{said}{told}; the next step is due {when}."


def acknowledge(case: Case, *, by: str, now: datetime, ladder: Ladder) -> Answer:
    """Return the answer that somebody has seen it; it puts nothing off. Raises BadInput when the test is not out."""
    place = _answerable(case, by, now, ladder)
    return Answer(AnswerKind.ACKNOWLEDGE, by, now, level=place.level)


def snooze(case: Case, *, until: datetime, reason: str, by: str, now: datetime, ladder: Ladder) -> Answer:
    """Return the answer to be told again later; raises BadInput without a reason, too long, or once too often."""
    place = _answerable(case, by, now, ladder)
    if not reason.strip():
        raise BadInput("A snooze needs a reason.", mend="Say what will have changed by then.")
    _check_until(until, now, ladder.snooze_days, "A snooze")
    if not snoozes_left(case, ladder, now):
        raise BadInput(
            f"It was snoozed {plural(ladder.snoozes, 'time')} already, which is all there is.",
            mend="Mend it, delete it, or take responsibility for it until a date.",
        )
    return Answer(AnswerKind.SNOOZE, by, now, until, reason.strip(), place.level)


def snoozes_left(case: Case, ladder: Ladder, now: datetime) -> int:
    """Return how often the test may still be snoozed: those that the clock remembers count."""
    used = sum(one.kind is AnswerKind.SNOOZE for one in _Place(case, ladder, now).answers)
    return max(0, ladder.snoozes - used)


def take_responsibility(
    case: Case, *, until: datetime, by: str, now: datetime, ladder: Ladder, reason: str = ""
) -> Answer:
    """Return the answer that it is theirs until a date; raises BadInput for too long a time.

    While somebody's responsibility runs, another may take it over, but no longer than it runs: else one that is renewed
    each month would keep the ladder silent for ever.
    """
    place = _answerable(case, by, now, ladder)
    _check_until(until, now, ladder.own_days, "Responsibility")
    owned = place.responsible
    if owned is not None and owned.until is not None and now < owned.until < until:
        raise BadInput(
            f"{owned.by} is responsible until {owned.until:%Y-%m-%d}; that can be taken over, and not be lengthened.",
            mend="Take it until then, or once it has ended.",
        )
    return Answer(AnswerKind.OWN, by, now, until, reason.strip(), place.level)


def _answerable(case: Case, by: str, now: datetime, ladder: Ladder) -> _Place:
    place = _Place(case, ladder, now)
    if not by.strip():
        raise BadInput("An answer needs somebody who gives it.", mend="Say who you are.")
    if not place.is_out:
        raise BadInput(
            "The test is not in quarantine, so there is nothing to answer.", mend="Nothing needs to be done."
        )
    return place


def _check_until(until: datetime, now: datetime, most_days: float, what: str) -> None:
    if not now < until <= now + most_days * _DAY:
        raise BadInput(
            f"{what} lasts until a date to come, at most {most_days:.0f} days.", mend="Choose a nearer date."
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """What either way out would cost, as sentences."""

    delete: str
    gate: str


def propose(*, rate: float, builds_a_week: float, files: int, regressions: int) -> Proposal:
    """Return what it would cost to delete a test, and to let it gate again.

    Args:
        rate: its share of failed trials.
        builds_a_week: trunk builds it runs in.
        files: how many files no other test reaches.
        regressions: possible regressions it raised that nobody has answered.
    """
    lost = f"{plural(files, 'file')} would be reached by no test" if files else "other tests reach all that it reaches"
    open_ones = (
        f", and {plural(regressions, 'possible regression')} that it raised would go unanswered" if regressions else ""
    )
    rejected = rate * builds_a_week
    weekly = f"some {rejected:.1f} good trunk builds a week" if rejected else "no trunk build so far"
    return Proposal(
        delete=f"{lost}{open_ones}.",
        gate=f"it would reject {weekly}, and {percent(rate)} of the good changes that run it.",
    )
