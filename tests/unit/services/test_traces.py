"""What a run leaves behind when its reports do not tell everything, and the canary on its way out."""

import pytest

from quarantine.junit import Document, read_one, read_together
from quarantine.services.canary import taken_out
from quarantine.services.traces import BROKE_OFF, traces_of
from tests.world import junit

WHOLE = junit({"t1": "P"})


def traces(*reports: bytes, exit_code: int | None = 1, timed_out: bool = False, has_reports: bool = False) -> list[str]:
    """Return the kinds of the traces of an upload of these reports."""
    upload = read_together([Document(f"r{number}.xml", report) for number, report in enumerate(reports)])
    found = traces_of(upload.readings, exit_code=exit_code, timed_out=timed_out, has_reports=has_reports)
    assert all(event.outcome.is_failure and event.message.endswith((".", "?")) for event in found)
    assert {event.kind for event in found} <= BROKE_OFF
    return [event.kind for event in found]


def test_each_way_of_not_telling_everything_has_its_word() -> None:
    """Nothing at all, nothing readable, half a report, a run that was stopped; a whole report leaves no trace."""
    assert traces(WHOLE) == []
    assert traces() == ["no-report"]
    assert traces(has_reports=True) == []
    assert traces(b"<html/>", junit({"t2": "P", "t3": "P"})[:-30], WHOLE) == ["unreadable-report", "truncated-report"]
    assert traces(WHOLE, timed_out=True) == ["timed-out"]
    assert traces(exit_code=None, timed_out=True) == ["no-report", "timed-out"]


def test_however_many_reports_are_damaged_a_few_are_named() -> None:
    """A thousand bad files make no thousand rows."""
    assert len(traces(*[b"<p>%d</p>" % number for number in range(200)])) == 50


@pytest.mark.parametrize(
    ("does", "state"),
    [("F", "failed"), ("E", "failed"), ("FF", "failed"), ("P", "passed"), ("FP", "passed"), ("S", "skipped")],
)
def test_the_worst_a_canary_did(does: str, state: str) -> None:
    """A canary that passed in any try is worse than one that was skipped; it is gone from the runs."""
    upload = read_one(Document("r.xml", junit({"t1": "P", "canary": does, "canary[0]": "P"})))
    runs, told = taken_out(upload.runs, "canary")
    assert told == state
    assert {run.name for run in runs} == {"t1", "canary[0]"}


def test_a_canary_in_no_report_is_absent() -> None:
    """That too is told apart from one that failed."""
    assert taken_out(read_one(Document("r.xml", WHOLE)).runs, "canary")[1] == "absent"
