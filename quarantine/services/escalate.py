"""Escalation: who has to be told that a test has been out of the gating set for too long, and what there is to say.

A step that is taken is a row, stored with the message in one transaction, so that it is taken once however often and by
however many daemons the ladder is walked.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from quarantine.domain.notice import Action, Notice, NoticeKind, NoticeTest, Section
from quarantine.domain.outcome import Mode, Status
from quarantine.policy.escalation import Answer, Proposal, Step, assess_escalation, propose
from quarantine.policy.history import History
from quarantine.policy.wording import listed, named, plural
from quarantine.services import assess, naming
from quarantine.services.app import App
from quarantine.services.birth import birth_of
from quarantine.services.news import Desk
from quarantine.services.news_wording import Item, test_path
from quarantine.services.ownership import Owned, Owners, owners_of
from quarantine.services.standing_time import cases_of
from quarantine.services.strength import Strength, strength_of
from quarantine.store import answers, builds, histories, jobs, projects, raised, roster, standings
from quarantine.store.engine import writing

TESTS_SHOWN = 6
"""Tests of one owner that a message tells of with buttons; the page has the others."""
_FILES_SHOWN = 5
NOBODY = "nobody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """A test whose owner is to be told now.

    Attributes:
        test: its roster row.
        step: the step of the ladder, with the days.
        owned: whose it is.
        guards: files that it alone reaches; None when no reach map says.
        failures: trunk trials it failed since it was quarantined.
        regressions: possible regressions that are open.
        lacking: what would release it, as phrases, in the variant that lacks most.
        reason: the sentence of its quarantine.
        proposal: what deleting it or letting it gate would cost; None unless it has come to that.
        lapsed: who had taken responsibility; "" for nobody.
        birth: among which commits it began to flake, as `birth.birth_of` tells; None where nothing is known.
    """

    test: dict[str, Any]
    step: Step
    owned: Owned
    guards: tuple[str, ...] | None
    failures: int
    regressions: int
    lacking: tuple[str, ...]
    reason: str
    proposal: Proposal | None
    lapsed: str
    birth: Mapping[str, Any] | None = None


def escalate(app: App, slug: str, *, once_a_day: bool = False) -> int:
    """Take every step of the ladder that is due in a project; return how many tests somebody is told of.

    A project that observes has taken nothing out, so nobody is told. With `once_a_day` nothing is done when any daemon
    has walked the ladder on this day of the project's zone: an owner then hears of all their tests in one message.

    Raises NotFound.
    """
    people = app.people.of(slug)
    if people.channel is None:
        return 0
    with app.lock, writing(app.engine) as connection:  # in this order, as an ingest takes them
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        if project.mode is not Mode.ENFORCE:
            return 0
        if once_a_day and not jobs.claim(connection, "escalate", f"{project.id}:{people.today(now)}", now):
            return 0
        return _walk(Desk(app, connection, project, people, people.channel, now))


def _walk(desk: Desk) -> int:
    connection, project = desk.connection, desk.project
    rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in standings.with_status(connection, project.id, Status.QUARANTINED):
        rows[row["test"]].append(row)
    assessed = {
        test: assess_escalation(case, desk.people.ladder, desk.now)
        for test, case in cases_of(connection, project, rows).items()
    }
    due = [(test, found.step, found.responsible) for test, found in assessed.items() if found.step is not None]
    if not due:
        return 0
    tests = roster.rows(connection, project.id, [test for test, _, _ in due])
    gathering = _Gathering(
        desk=desk,
        strength=strength_of(desk.app, connection, project, set(rows)),
        owners=owners_of(connection, project, desk.people),
        columns=histories.of_variants(
            connection,
            project.id,
            {row["variant_hash"] for test, _, _ in due for row in rows[test]},
            tests=project.tests,
        ),
    )
    by_owner: dict[tuple[str, ...], list[Overdue]] = defaultdict(list)
    for test, step, responsible in due:
        one = gathering.of(tests[test], rows[test], step, responsible)
        by_owner[one.owned.owners].append(one)
    for owners, theirs in by_owner.items():
        _tell(desk, owners, sorted(theirs, key=lambda one: -one.step.days))
    return len(due)


@dataclass(frozen=True, slots=True)
class _Gathering:
    """Gathers what there is to say about each test."""

    desk: Desk
    strength: Strength
    owners: Owners
    columns: Mapping[str, History]

    def of(
        self, test: dict[str, Any], rows: Sequence[dict[str, Any]], step: Step, responsible: Answer | None
    ) -> Overdue:
        ordinal = test["ordinal"]
        failures, trials = self._since_entry(rows)
        regressions = len(raised.open_ones(self.desk.connection, self.desk.project.id, ordinal))
        guards = self.strength.only_by.get(ordinal, ()) if self.strength.files else None
        proposal = None
        if step.is_proposal:
            a_week = trials / max(step.days / 7, 1 / 7)
            rate = failures / trials if trials else 0.0
            proposal = propose(rate=rate, builds_a_week=a_week, files=len(guards or ()), regressions=regressions)
        return Overdue(
            test=test,
            step=step,
            owned=self.owners.of(test),
            guards=guards,
            failures=failures,
            regressions=regressions,
            lacking=self._lacking(rows),
            reason=str(rows[0]["reason"]),
            proposal=proposal,
            lapsed=responsible.by if responsible and step.is_proposal else "",
            birth=birth_of(self.desk.connection, self.desk.project, self.columns[rows[0]["variant_hash"]], rows[0]),
        )

    def _since_entry(self, rows: Sequence[dict[str, Any]]) -> tuple[int, int]:
        """Return (failed trunk trials, trunk trials) of a test since it was quarantined, over its variants."""
        failed = trials = 0
        for row in rows:
            failures = builds.failed_trunk_trials(
                self.desk.connection,
                self.desk.project.id,
                row["variant_hash"],
                row["test"],
                since=row["entry_build"] or 0,
            )
            failed += len(failures)
            trunk_trials = self.columns[row["variant_hash"]].trunk_trials[row["test"]]
            trials += int(trunk_trials) - int(row["entry_trunk_trials"])
        return failed, max(trials, failed)

    def _lacking(self, rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
        """Return what would release it, in the variant that lacks most."""
        desk = self.desk
        exits = [
            assess.exit_of(desk.connection, desk.project, desk.app.policy, self.columns[row["variant_hash"]], row)
            for row in rows
        ]
        return max((leave.lacking for leave in exits if leave), key=len, default=())


def _tell(desk: Desk, owners: tuple[str, ...], overdue: Sequence[Overdue]) -> None:
    """Write down the steps and say so: one message of this walk for each owner, in the channels the ladder names."""
    mapped = tuple(dict.fromkeys(slack for one in overdue for slack in one.owned.reached_at))
    channels = _channels(desk, mapped, overdue)
    for one in overdue:
        answers.escalated(
            desk.connection,
            desk.project.id,
            test=one.test["ordinal"],
            step=one.step.number,
            level=one.step.level,
            days=one.step.days,
            owners=list(owners),
            channels=list(channels),
            is_proposal=one.step.is_proposal,
            at=desk.now,
        )
    notice = escalation_notice(desk.project.slug, owners, mapped, overdue)
    for channel in channels:
        there = replace(desk, channel=channel)
        there.tell(
            there.thread_id(NoticeKind.ESCALATION, f"{','.join(owners)}\x00{desk.now.isoformat()}"),
            NoticeKind.ESCALATION,
            [_item(one, desk) for one in overdue],
            partial(_as_it_is, notice),
            mark="",
        )


def _as_it_is(notice: Notice, _day: str, _items: Sequence[Item]) -> Notice:
    return notice


def _channels(desk: Desk, mapped: Sequence[str], overdue: Sequence[Overdue]) -> tuple[str, ...]:
    """Return where it is said: to the owners whom Slack can address by themselves, and to the project's channel.

    A group has no channel of its own, so it is called in the project's; so is an owner whom no setting maps.
    """
    own = [slack for slack in mapped if slack[:1] in ("C", "G", "D", "U", "W")]
    calls_fallback = not own or any("fallback" in one.step.audience for one in overdue)
    return tuple(dict.fromkeys([*own, *([desk.channel] if calls_fallback else ())]))


def _item(one: Overdue, desk: Desk) -> Item:
    return Item(
        test=one.test["ordinal"],
        variant="",
        id=naming.id_of(one.test),
        name=naming.display_of(one.test),
        cause="",
        said="",
        state=f"{one.step.days:.0f} days",
        sentence=one.reason,
        by="policy",
        at=desk.now,
    )


def escalation_notice(project: str, owners: Sequence[str], mapped: Sequence[str], overdue: Sequence[Overdue]) -> Notice:
    """Return what an owner is told about tests of theirs, those that are out the longest first."""
    whose = listed(list(owners)) if owners else NOBODY
    longest = max(one.step.days for one in overdue)
    tests = plural(len(overdue), "test")
    is_proposal = any(one.step.is_proposal for one in overdue)
    title = f"{project}: {tests} of {whose} in quarantine, {longest:.0f} of the last 90 days"
    lead = (
        "Somebody took responsibility until a date that has passed. Either delete the test, or let it gate again."
        if is_proposal
        else "Mend it, delete it, or take responsibility for it until a date; it is told again every week until then."
    )
    small = tuple(dict.fromkeys(one.owned.sentence for one in overdue[:TESTS_SHOWN]))
    unmapped = sorted({owner for one in overdue for owner in one.owned.unmapped})
    if unmapped:
        small += (f"No setting says how {named(unmapped)} can be reached in Slack.",)
    return Notice(
        kind=NoticeKind.ESCALATION,
        project=project,
        title=title,
        lead=lead,
        sections=(*map(partial(_section, project), overdue[:TESTS_SHOWN]), *_rest(overdue[TESTS_SHOWN:])),
        path=f"/projects/{quote(project, safe='')}/quarantined?sort=age",
        mentions=tuple(slack for slack in mapped if slack[:1] in ("U", "W", "S")),
        small=small[:3],
    )


def _rest(overdue: Sequence[Overdue]) -> tuple[Section, ...]:
    return (Section(title=f"And {plural(len(overdue), 'other test')}", left_out=len(overdue)),) if overdue else ()


def _section(project: str, one: Overdue) -> Section:
    test_id, name = naming.id_of(one.test), naming.display_of(one.test)
    shown = NoticeTest(
        id=test_id,
        name=name,
        path=test_path(project, test_id),
        state=f"{one.step.days:.0f} days",
        sentence=one.reason,
    )
    facts = [
        ("guards", _guarded(one.guards)),
        ("has hidden", _hidden(one)),
        *((("came with", _came_with(one.birth)),) if one.birth and one.birth["commits"] else ()),
        ("leaves after", listed(list(one.lacking)) if one.lacking else "the next clean trunk build"),
        ("level", str(one.step.level)),
    ]
    if former := naming.formerly(one.test):
        facts.append(("formerly", named(former)))
    text: tuple[str, ...] = ()
    if one.proposal is not None:
        text = (f"Delete it: {one.proposal.delete}", f"Let it gate again: {one.proposal.gate}")
        facts.insert(0, ("was answered for by", one.lapsed or "nobody any more"))
    return Section(
        text=text,
        tests=(shown,),
        facts=tuple(facts),
        answers=(Action.ACKNOWLEDGE, Action.SNOOZE, Action.OWN, Action.RELEASE),
    )


def _guarded(guards: tuple[str, ...] | None) -> str:
    if guards is None:
        return "unknown: no reach map was uploaded"
    if not guards:
        return "no file that another test does not reach as well"
    return f"{named(guards, _FILES_SHOWN)}: no other test reaches {'it' if len(guards) == 1 else 'them'}"


def _came_with(birth: Mapping[str, Any]) -> str:
    """Return the commits that its flaking came with: one, or the range, with 99 % confidence."""
    commits = [str(commit)[:12] for commit in birth["commits"]]
    count = len(commits) + birth["left_out"]
    if count == 1:
        return f"commit {commits[0]}"
    after = f" after {str(birth['after'])[:12]}" if birth["after"] else ""
    return f"one of {count:,} commits{after}, the last {commits[-1]}"


def _hidden(one: Overdue) -> str:
    said = plural(one.failures, "failed trunk run")
    if one.regressions:
        said += f", and {plural(one.regressions, 'possible regression')} nobody has answered"
    return said
