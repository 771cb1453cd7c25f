"""The escalation ladder: its clock against a day-by-day count, its steps, and what each answer does to them."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quarantine.domain.outcome import Mode, Status
from quarantine.domain.standing import Transition
from quarantine.errors import BadConfiguration, BadInput
from quarantine.policy.escalation import (
    Answer,
    AnswerKind,
    Case,
    Ladder,
    Span,
    Told,
    acknowledge,
    assess_escalation,
    enforced_spans,
    overlap,
    propose,
    quarantined_days,
    snooze,
    spans_of,
    take_responsibility,
    union,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)
LADDER = Ladder()
OUT = Case((Span(T0, None),))


def day(number: float) -> datetime:
    return T0 + timedelta(days=number)


def lived(
    case: Case, until: int, *, ladder: Ladder = LADDER, since: int = 0
) -> tuple[Case, list[tuple[int, int, bool]]]:
    """Walk the ladder day by day; return the case with the steps taken and (day, level, is proposal) of each."""
    taken = []
    for number in range(since, until):
        step = assess_escalation(case, ladder, day(number)).step
        if step is not None:
            taken.append((number, step.level, step.is_proposal))
            case = replace(case, told=(*case.told, Told(step.number, step.level, day(number), step.is_proposal)))
    return case, taken


def move(at: datetime, before: Status, after: Status) -> Transition:
    return Transition(from_status=before, to_status=after, at=at, reason="x", mode=Mode.ENFORCE, policy_version="1")


def test_the_owner_is_told_after_thirty_days_and_then_weekly() -> None:
    """Nobody answers: four steps to the owner, then the fallback channel hears of it as well."""
    _, taken = lived(OUT, 75)
    assert taken == [(30, 1, False), (37, 1, False), (44, 1, False), (51, 1, False), (58, 2, False), (65, 2, False),
                     (72, 2, False)]  # fmt: skip


def test_leaving_and_coming_back_does_not_reset_the_clock() -> None:
    """Twenty days out, ten days in, and the eleventh day after the return is the thirtieth."""
    case = Case((Span(T0, day(20)), Span(day(30), None)))
    _, taken = lived(case, 45)
    assert taken[0] == (40, 1, False)


def test_while_it_gates_nobody_is_told() -> None:
    """A test that is not out has no step, however long it was."""
    found = assess_escalation(Case((Span(T0, day(60)),)), LADDER, day(61))
    assert (found.step, found.next_at, found.is_quarantined) == (None, None, False)
    assert found.days == 60


def test_the_clock_is_a_day_by_day_count() -> None:
    """On random spans, overlapping and not, the days come out as counting hours has it."""
    rng = random.Random(11)  # noqa: S311 - a fixed seed for a test
    for _ in range(60):
        spans = []
        for _ in range(rng.randrange(5)):
            begin = rng.randrange(2_400)
            end = None if rng.random() < 0.2 else T0 + timedelta(hours=begin + rng.randrange(1, 900))
            spans.append(Span(T0 + timedelta(hours=begin), end))
        hour = rng.randrange(100, 4_000)
        now = T0 + timedelta(hours=hour)
        hours = sum(
            any(span.start <= at and (span.end is None or at < span.end) for span in spans)
            for at in (T0 + timedelta(hours=one) for one in range(max(0, hour - 90 * 24), hour))
        )
        assert quarantined_days(spans, now) == pytest.approx(hours / 24)
        assert quarantined_days(union(spans), now) == pytest.approx(hours / 24)


def test_time_counts_only_while_the_project_enforced() -> None:
    """What would have been out while it observed was not out."""
    enforced = enforced_spans([(T0, Mode.OBSERVE), (day(10), Mode.ENFORCE), (day(20), Mode.OBSERVE)])
    assert enforced == (Span(day(10), day(20)),)
    assert overlap((Span(T0, None),), enforced) == (Span(day(10), day(20)),)
    assert overlap((Span(T0, day(12)), Span(day(18), None)), (*enforced, Span(day(30), None))) == (
        Span(day(10), day(12)), Span(day(18), day(20)), Span(day(30), None),
    )  # fmt: skip


def test_spans_come_from_transitions() -> None:
    """A quarantine begins with its transition and ends with the next that leads elsewhere."""
    moves = [
        move(T0, Status.GATING, Status.QUARANTINED),
        move(day(3), Status.QUARANTINED, Status.HELD),
        move(day(4), Status.HELD, Status.QUARANTINED),
        move(day(9), Status.QUARANTINED, Status.GATING),
        move(day(12), Status.GATING, Status.BROKEN),
    ]
    assert spans_of(moves) == (Span(T0, day(3)), Span(day(4), day(9)))
    assert spans_of(moves[:3]) == (Span(T0, day(3)), Span(day(4), None))


def test_responsibility_is_silence_until_its_date_and_then_one_level_up_with_a_proposal() -> None:
    """It does not come back a week late, and it comes back as something to decide."""
    case, _ = lived(OUT, 31)
    owned = take_responsibility(case, until=day(55), by="alice", now=day(31), ladder=LADDER)
    case = replace(case, answers=(owned,))
    case, taken = lived(case, 70, since=31)
    assert taken == [(55, 2, True), (62, 2, True), (69, 2, True)]


def test_responsibility_cannot_be_renewed_to_keep_it_silent() -> None:
    """It can be handed over within its time; it is not lengthened, by whoever it is."""
    owned = Answer(AnswerKind.OWN, "alice", day(31), day(61))
    case = replace(OUT, answers=(owned,))
    for who in ("alice", "bob"):
        with pytest.raises(BadInput, match="not be lengthened"):
            take_responsibility(case, until=day(70), by=who, now=day(45), ladder=LADDER)
    taken_over = take_responsibility(case, until=day(60), by="bob", now=day(45), ladder=LADDER)
    assert taken_over.by == "bob"
    case = replace(case, answers=(owned, replace(taken_over, until=day(61))))
    _, taken = lived(case, 64, since=45)
    assert taken == [(61, 2, True)]  # one lapse, not two


def test_a_responsibility_that_was_kept_does_not_lapse() -> None:
    """The test was mended in time; when it comes back later it starts where anybody would."""
    case = Case((Span(T0, day(40)), Span(day(70), None)), answers=(Answer(AnswerKind.OWN, "alice", day(31), day(60)),))
    _, taken = lived(case, 90, since=61)
    assert taken[0][1:] == (1, False)


def test_a_snooze_puts_the_next_step_off_twice_at_most() -> None:
    """With a reason, for fourteen days at most."""
    case, _ = lived(OUT, 31)
    for again in range(2):
        at = day(31 + 14 * again)
        given = snooze(
            case, until=at + timedelta(days=14), reason="waits for the new host", by="al", now=at, ladder=LADDER
        )
        case = replace(case, answers=(*case.answers, given))
    case, taken = lived(case, 60, since=45)
    assert taken == [(59, 1, False)]
    with pytest.raises(BadInput, match="2 times"):
        snooze(case, until=day(65), reason="x", by="al", now=day(60), ladder=LADDER)


@pytest.mark.parametrize(
    ("until", "reason", "said"),
    [(day(60), "x", "at most 14 days"), (day(30), "x", "date to come"), (day(35), "  ", "reason")],
)
def test_a_snooze_that_breaks_a_rule_says_which(until: datetime, reason: str, said: str) -> None:
    """Too long, over already, or without a reason."""
    with pytest.raises(BadInput, match=said):
        snooze(OUT, until=until, reason=reason, by="al", now=day(31), ladder=LADDER)


def test_an_acknowledgement_puts_nothing_off_and_keeps_the_level() -> None:
    """Somebody hears it each week: it goes on weekly, and rises to nobody else."""
    case, taken = OUT, []
    for number in range(75):
        case, here = lived(case, number + 1, since=number)
        taken += here
        if here:
            said = acknowledge(case, by="alice", now=day(number) + timedelta(hours=1), ladder=LADDER)
            case = replace(case, answers=(*case.answers, said))
    assert [level for _, level, _ in taken] == [1] * 7


def test_nothing_can_be_answered_about_a_test_that_gates_or_by_nobody() -> None:
    """An answer is about a test that is out, and somebody's."""
    back = Case((Span(T0, day(10)),))
    with pytest.raises(BadInput, match="not in quarantine"):
        acknowledge(back, by="alice", now=day(11), ladder=LADDER)
    with pytest.raises(BadInput, match="somebody"):
        take_responsibility(OUT, until=day(12), by=" ", now=day(11), ladder=LADDER)


def test_what_lies_before_the_window_is_forgotten() -> None:
    """A test that comes back after a year starts on the first level and can be snoozed."""
    old = Case(
        (Span(T0, day(120)), Span(day(400), None)),
        told=tuple(Told(n, 2, day(30 + 7 * n)) for n in range(1, 9)),
        answers=tuple(Answer(AnswerKind.SNOOZE, "al", day(30 * n), day(30 * n + 9), "x") for n in (1, 2)),
    )
    found = assess_escalation(old, LADDER, day(431)).step
    assert found is not None
    assert (found.level, found.number) == (1, 9)
    assert snooze(old, until=day(440), reason="x", by="al", now=day(431), ladder=LADDER).until == day(440)


@pytest.mark.parametrize(
    "values", [{"levels": ()}, {"levels": ((),)}, {"first_days": 0}, {"first_days": 91}, {"repeat_days": 0}]
)
def test_a_ladder_that_leads_nowhere_is_refused(values: dict[str, object]) -> None:
    """A ladder nobody could climb is no setting."""
    with pytest.raises(BadConfiguration):
        Ladder(**values)  # type: ignore[arg-type]  # that is the point


def test_a_proposal_says_what_either_would_cost() -> None:
    """Deleting loses what only it reaches; letting it gate rejects good builds."""
    told = propose(rate=0.1, builds_a_week=50, files=2, regressions=1)
    assert told.delete == (
        "2 files would be reached by no test, and 1 possible regression that it raised would go unanswered."
    )
    assert told.gate == "it would reject some 5.0 good trunk builds a week, and 10 % of the good changes that run it."
