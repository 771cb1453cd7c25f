"""Which troubles are worth a message, and which are an ordinary day."""

from datetime import UTC, datetime, timedelta

import pytest

from quarantine.policy.troubles import Streak, failing, refused, silence, spool_refusing

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
WORKDAYS = [MONDAY + timedelta(days=day) for day in (0, 1, 2, 3, 4, 7, 8, 9, 10, 11)]


def test_a_quiet_week_end_is_no_silence() -> None:
    """Twice the longest pause has to pass, so that only what is longer than any pause before is said."""
    friday = WORKDAYS[-1]
    assert silence(WORKDAYS, friday + timedelta(days=6)) is None
    trouble = silence(WORKDAYS, friday + timedelta(days=6, hours=1))
    assert trouble is not None
    assert trouble.sentence == (
        "The last report from trunk came 6 days ago, at 2026-03-13 09:00 UTC. Before that they came on 10 days, "
        "3 days apart at most."
    )


def test_two_days_are_the_least() -> None:
    """A project that reports every hour is not told of one quiet day."""
    hourly = [MONDAY + timedelta(hours=hour) for hour in range(24 * 6)]
    assert silence(hourly, hourly[-1] + timedelta(days=2)) is None
    assert silence(hourly, hourly[-1] + timedelta(days=2, minutes=1)) is not None


def test_a_project_that_hardly_reports_is_not_missed() -> None:
    """Below five days with reports nobody knows what is usual."""
    assert silence(WORKDAYS[:4], MONDAY + timedelta(days=90)) is None
    assert silence([], MONDAY) is None


@pytest.mark.parametrize("count", [0, 1, 2])
def test_one_bad_report_is_none_of_it(count: int) -> None:
    """Three in a row are."""
    assert refused(count, "It is HTML.") is None
    assert spool_refusing("unit", count, "It is HTML.") is None
    trouble = refused(3, "It is HTML.")
    assert trouble is not None
    assert trouble.sentence == "The last 3 reports from trunk could not be read. The newest: It is HTML."
    assert (spool_refusing("unit", 1200, "It is HTML.") or trouble).sentence.startswith("The last 1,200 entries ")


def test_a_job_fails_for_a_while_before_it_is_said() -> None:
    """Three times and for ten minutes: a spool ticks every second, an escalation every ten minutes."""
    later = MONDAY + timedelta(minutes=10)
    assert failing("escalation", "host", Streak(2, MONDAY, "No."), later) is None
    assert failing("escalation", "host", Streak(3, MONDAY, "No."), later - timedelta(seconds=1)) is None
    trouble = failing("escalation", "host", Streak(3, MONDAY, "No."), later)
    assert trouble is not None
    assert trouble.code == "job:escalation@host"
