"""What the notices say: the first message of each kind of thread, and the follow-ups in it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Self
from urllib.parse import quote

from quarantine.domain.notice import Notice, NoticeKind, NoticeTest, Section
from quarantine.policy.causes import News
from quarantine.policy.wording import listed, named, plural

SECTIONS_SHOWN = 8
TESTS_SHOWN = 6
_SAID_CHARACTERS = 200
_GONE = (News.RELEASED, News.MENDED, News.LET_GO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One test in one variant as a thread tells of it.

    Attributes:
        test, variant: its ordinal and the variant's hash.
        id, name: the opaque id, and the name as people read it.
        cause: what it shares with others; see `policy.causes.Move`.
        said: what a failure of that cause says; "" when it is no failure.
        state: what became of it, in a word or two.
        sentence: why, with the numbers.
        by: "policy", or who did it by hand.
        at: when; aware.
    """

    test: int
    variant: str
    id: str
    name: str
    cause: str
    said: str
    state: str
    sentence: str
    by: str
    at: datetime

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes back."""
        return asdict(self) | {"at": self.at.isoformat()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the item that `to_json` wrote."""
        return cls(**{**values, "at": datetime.fromisoformat(values["at"])})


def test_path(project: str, test_id: str) -> str:
    """Return the path of a test's page."""
    return f"/projects/{quote(project, safe='')}/tests/{quote(test_id, safe='')}"


def _test(project: str, item: Item) -> NoticeTest:
    said = item.sentence.strip()
    stop = "" if said.endswith((".", "!", "?")) or not said else "."
    by = "" if item.by == "policy" else f" By {item.by}."
    return NoticeTest(
        id=item.id,
        name=item.name,
        path=test_path(project, item.id),
        state=item.state,
        sentence=f"{said}{stop}{by}",
    )


def _by_cause(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items by cause, the largest group first; those without a cause are a group each."""
    order = sorted(items, key=lambda item: (item.cause, item.test, item.variant))
    grouped = [list(group) for _, group in groupby(order, key=lambda item: item.cause or f"\x00{item.test}")]
    return sorted(grouped, key=lambda group: (-len(_names(group)), group[0].at, group[0].test))


def _names(items: Sequence[Item]) -> list[str]:
    """Return the tests' names, each once, in order."""
    return list({item.test: item.name for item in items}.values())


def _sections(project: str, items: Sequence[Item], title_of_shared: str) -> tuple[Section, ...]:
    """Return a section for each cause, the last one saying what is left out."""
    groups = _by_cause(items)
    shown = [_section(project, group, title_of_shared) for group in groups[:SECTIONS_SHOWN]]
    rest = [item for group in groups[SECTIONS_SHOWN:] for item in group]
    if rest:
        count = len(_names(rest))
        shown.append(Section(title=f"And {plural(count, 'test')} of other causes", left_out=count))
    return tuple(shown)


def _section(project: str, group: Sequence[Item], title_of_shared: str) -> Section:
    tests = list({item.test: item for item in group}.values())
    shared = title_of_shared.format(tests=plural(len(tests), "test")) if len(tests) > 1 else ""
    said = group[0].said[:_SAID_CHARACTERS].strip()
    return Section(
        title=shared,
        text=(said,) if said else (),
        tests=tuple(_test(project, item) for item in tests[:TESTS_SHOWN]),
        left_out=max(0, len(tests) - TESTS_SHOWN),
    )


def _states(items: Sequence[Item]) -> str:
    """Return how many tests stand how: `3 entered quarantine, 1 released`."""
    worst = {item.test: item.state for item in items}
    counts = Counter(worst.values())
    return ", ".join(f"{count} {state}" for state, count in counts.most_common())


def entries(project: str, day: str, items: Sequence[Item]) -> Notice:
    """Return the message about one day's changes of quarantine."""
    entered = [item for item in items if item.state in (News.ENTERED, News.RETURNED)]
    released = [item for item in items if item.state == News.RELEASED]
    said = []
    if entered:
        said.append(f"{plural(len(_names(entered)), 'test')} in quarantine since {day}")
    if released:
        said.append(f"{plural(len(_names(released)), 'test')} released")
    returned = _names([item for item in items if item.state == News.RETURNED])
    lead = "They go on running and being reported, and no longer fail a build by themselves." if entered else ""
    if returned:
        lead = f"{lead} {named(returned)} had been released before.".strip()
    return Notice(
        kind=NoticeKind.ENTRIES,
        project=project,
        title=f"{project}: {listed(said)}",
        lead=lead,
        sections=_sections(project, items, "{tests} fail alike"),
        path=f"/projects/{quote(project, safe='')}/quarantined",
    )


def held(project: str, day: str, items: Sequence[Item]) -> Notice:
    """Return the message about tests that would be in quarantine but for the cap or a rule."""
    kept = _names([item for item in items if item.state == News.HELD])
    what = f"{plural(len(kept), 'flaky test')} held, still gating" if kept else "no flaky test is held any more"
    return Notice(
        kind=NoticeKind.HELD,
        project=project,
        title=f"{project}: {what} ({day})",
        lead="The evidence for quarantine is there. Until something makes room they go on rejecting good changes."
        if kept
        else "",
        sections=_sections(project, items, "{tests} for the same reason"),
        path=f"/projects/{quote(project, safe='')}",
    )


def broken(project: str, _day: str, items: Sequence[Item]) -> Notice:
    """Return the message about tests that one range of commits broke on trunk."""
    names = _names([item for item in items if item.state not in _GONE])
    cause = next((item.cause for item in items if item.cause), "")
    since = f" since commit {cause[:12]}" if cause else ""
    what = f"{plural(len(names), 'test')} broken on trunk{since}" if names else f"trunk passes again{since}"
    return Notice(
        kind=NoticeKind.BROKEN,
        project=project,
        title=f"{project}: {what}",
        lead="Broken is not flaky: it is never quarantined, and rejects until it is mended or reverted."
        if names
        else "",
        sections=_sections(project, items, "{tests} broke together"),
        path=f"/projects/{quote(project, safe='')}",
    )


def regression(project: str, verdict: int, _day: str, items: Sequence[Item]) -> Notice:
    """Return the message about a failure that a test's flaking does not explain."""
    item = items[-1]
    where = f" in {item.cause}" if item.cause else ""
    return Notice(
        kind=NoticeKind.REGRESSION,
        project=project,
        title=f"{project}: possible regression{where}",
        lead="A quarantined test stopped passing where the base still passes it. Its flaking does not explain that, so "
        "the change was rejected.",
        sections=_sections(project, items, "{tests} at once"),
        path=f"/projects/{quote(project, safe='')}/verdicts/{verdict}",
    )


def storm(
    project: str,
    incident: Mapping[str, Any],
    tests: Sequence[tuple[str, str]],
    builds: Sequence[str],
    _day: str,
    _items: Sequence[Item],
) -> Notice:
    """Return the message about one incident; tests are (id, name)."""
    shown = tuple(
        NoticeTest(id=test, name=name, path=test_path(project, test), state="failed in it", sentence="")
        for test, name in tests[:TESTS_SHOWN]
    )
    section = Section(tests=shown, left_out=max(0, len(tests) - TESTS_SHOWN), facts=(("builds", named(builds, 5)),))
    return Notice(
        kind=NoticeKind.STORM,
        project=project,
        title=f"{project}: storm, {plural(len(tests), 'test')} failed together in {plural(len(builds), 'build')}",
        lead=f"{incident['sentence']} None of these failures counts as evidence about a test.",
        sections=(section,),
        path=f"/projects/{quote(project, safe='')}/incidents/{quote(str(incident['id']), safe='')}",
    )


def follow_up(kind: NoticeKind, project: str, items: Sequence[Item]) -> Notice:
    """Return what is said in a thread when there is news of its cause."""
    return Notice(
        kind=kind,
        project=project,
        title=f"{project}: {_states(items)}",
        sections=_sections(project, items, "{tests} alike"),
    )
