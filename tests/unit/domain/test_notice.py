"""A notice comes back from what is stored."""

import json

from quarantine.domain.chart import SizeChart, SizeWeek
from quarantine.domain.notice import Action, Notice, NoticeKind, NoticeTest, Section

TEST = NoticeTest(id="v1:0", name="t", path="/t", state="quarantined", sentence="It flakes.")
NOTICE = Notice(
    kind=NoticeKind.WEEKLY,
    project="ledger",
    title="The week",
    sections=(Section(tests=(TEST,), facts=(("age", "3 days"),), answers=(Action.OWN,)),),
    small=("small",),
    chart=SizeChart("Ledger", (SizeWeek("5 Jan", 1, 1, 0),)),
)


def test_a_notice_comes_back_from_json() -> None:
    """Sections, answers and the chart are what they were."""
    assert Notice.from_json(json.loads(json.dumps(NOTICE.to_json()))) == NOTICE


def test_a_notice_stored_before_there_were_charts_has_none() -> None:
    """What an earlier version put into the outbox is still read."""
    stored = NOTICE.to_json()
    del stored["chart"]
    assert Notice.from_json(stored).chart is None
