"""The ending in words: what happened, when and why, with the daemon's own numbers, and what to try next."""

import shlex
import textwrap
from datetime import datetime
from typing import Any

from quarantine.demo.hosting import PROJECT
from quarantine.demo.ledger import Commit
from quarantine.demo.story import BROKEN, CHANGED, FLAKY, UNKNOWN, Ending
from quarantine.demo.ticket import Worked
from quarantine.demo.timeline import PlannedBuild
from quarantine.domain.outcome import Lane
from quarantine.policy.wording import listed, plural

__all__ = ["places", "story"]

WIDTH = 120
INDENT = "   "


def story(ending: Ending) -> list[str]:
    """Return the lines that tell what happened."""
    return [
        *_wrapped(_overview([sent.planned for sent in ending.sent], reruns=len(ending.reruns))),
        "",
        f"1. A flaky test: {FLAKY}",
        *_indented(_flaky(_only_variant(ending, FLAKY))),
        "",
        f"2. A broken test: {BROKEN}",
        *_indented(_broken(ending)),
        "",
        f"3. A test that a change broke: {CHANGED}",
        *_indented(_changed(ending)),
        "",
        *_gate(ending),
        *_wrapped(_recomputed(ending)),
        "",
        f"4. A ticket for an agent: {ending.worked.ticket.text.splitlines()[0]}",
        *_ticket(ending.worked),
    ]


def places(ending: Ending, program: str) -> list[str]:
    """Return the lines that say where things are while the daemon answers, and what to type next."""
    url, flaky = ending.reader.url, shlex.quote(FLAKY)
    return [
        f"The page: {url}/projects/{PROJECT} (sign in with the token below)",
        f"The database and the repository: {ending.database} and {ending.repository}",
        "To look around in another shell:",
        f"   export QUARANTINE_URL={url} QUARANTINE_PROJECT={PROJECT} QUARANTINE_TOKEN={ending.reader.token}",
        f"   {program} list",
        f"   {program} explain --recompute {flaky}",
        f"   {program} is-gating {flaky}",
        f"   {program} release {flaky} --reason 'keeps its reference' --token {ending.admin.token}",
    ]


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _indented(paragraphs: list[str]) -> list[str]:
    return [line for paragraph in paragraphs for line in _wrapped(paragraph, INDENT)]


def _only_variant(ending: Ending, test: str) -> dict[str, Any]:
    (variant,) = ending.explained[test]["variants"]
    return dict(variant)


def _moves(variant: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a test's transitions, the first one first."""
    return sorted(variant["transitions"], key=lambda move: int(move["number"]))


def _move(move: dict[str, Any]) -> str:
    return f"{_day(move['at'])}: {move['from']} -> {move['to']}. {move['reason']}"


def _day(instant: datetime | str) -> str:
    at = datetime.fromisoformat(instant) if isinstance(instant, str) else instant
    return f"{at.day} {at:%B}"


def _named(commit: Commit) -> str:
    return f'{commit.hash[:12]} "{commit.subject}" ({commit.author}, {_day(commit.at)})'


def _overview(builds: list[PlannedBuild], *, reruns: int) -> str:
    trunk = sum(build.lane is Lane.TRUNK for build in builds)
    requests, tickets = (
        len({build.change for build in builds if build.lane is lane}) for lane in (Lane.REVIEW, Lane.AGENT)
    )
    began, ended = builds[0].commit.at, builds[-1].commit.at
    return (
        f"The ledger, {_day(began)} to {_day(ended)} {ended.year}: {plural(trunk, 'commit')} on trunk, "
        f"{plural(requests, 'pull request')}, {plural(tickets, 'ticket')} of an agent. In each of their {len(builds)} "
        f"builds pytest ran, and {plural(reruns, 'time')} more because the daemon asked to see a tree again."
    )


def _flaky(variant: dict[str, Any]) -> list[str]:
    entry, heads = variant["entry"]["result"], len(variant["heads"])
    message = variant["failures"][-1]["message"].splitlines()[0].removeprefix("AssertionError: ")
    by_the_end = (
        f"By the end: {plural(heads, 'failure')} right after a pass in {plural(variant['trials'], 'trial')}, of which "
        f"{entry['counted']} count, for their own tree passed too."
    )
    cause = (
        f"It says {message}. A second try takes a new reference, and that holds the second of the wall clock. "
        "When one ends between the tries, they differ."
    )
    return [*map(_move, _moves(variant)), by_the_end, cause]


def _broken(ending: Ending) -> list[str]:
    variant = _only_variant(ending, BROKEN)
    trunk = [sent.planned.commit for sent in ending.sent if sent.planned.lane is Lane.TRUNK]
    failing = [trial["commit"] for move in _moves(variant) for trial in move["evidence"]["inputs"]["failing"]]
    return [
        *(f"Broken by {_named(commit)}" for commit in trunk if commit.hash in failing[:1]),
        f"Mended by {_named(trunk[-variant['pass_streak']])}",
        *map(_move, _moves(variant)),
    ]


def _changed(ending: Ending) -> list[str]:
    variant = _only_variant(ending, CHANGED)
    planned = {sent.answer["build"]: sent.planned for sent in ending.sent}
    builds = [planned[failure["build_seq"]] for failure in variant["failures"]]
    return [
        *(f"Failed in build {build.name}: {_named(build.commit)}, which edits what it reaches." for build in builds),
        f"On trunk: {variant['sentence']}",
    ]


def _gate(ending: Ending) -> list[str]:
    left_out = plural(sum(row["would_not_gate"] for row in ending.observed), "test")
    said = {True: "gates", False: "does not gate"}
    return [
        f"The project observed: {left_out} would have been left out. Now it enforces. The client says, then and now:",
        *(
            f"{INDENT}{said[ending.gating_observed[test]]:15}{said[ending.gating_enforced[test]]:15}{test}"
            + (" (never reported)" if test == UNKNOWN else "")
            for test in (FLAKY, BROKEN, CHANGED, UNKNOWN)
        ),
    ]


def _ticket(worked: Worked) -> list[str]:
    """Return what became of the ticket: a sentence for each attempt, what the agent read, and what counted for what."""
    lines: list[str] = []
    for number, verdict in enumerate(worked.verdicts[: worked.end.attempts], 1):
        flaked = [cause for cause in verdict["causes"] if cause["effect"] in ("excused", "ignored")]
        said = f"Attempt {number}, {verdict['gating']['ran']} gating tests impacted: {verdict['sentence']}"
        lines += _indented([said, *(f"Does not count: {cause['sentence']}" for cause in flaked)])
        lines += [f"{INDENT}   {line}" for line in _told_to_agent(verdict)]
    figures = worked.attempts
    plain = figures["by_ticket"][0]["plainly_solved_on"]
    said = "would have accepted none of them" if plain is None else f"would have accepted attempt {plain}"
    whole = worked.verdicts[-1]["gating"]
    every = f" after a run of every test, of which {whole['passed']} gating ones passed" if worked.is_full else ""
    ended = f"The end: {worked.end.word} with attempt {worked.end.attempts},{every}."
    because = ": the flaky test failed beside the right patch too" if figures["prevented"]["rejections"] else ""
    plainly = f"A harness without quarantine, reruns and a base to compare with {said}{because}."
    return [*lines, *_indented([ended, plainly])]


def _told_to_agent(verdict: dict[str, Any]) -> list[str]:
    """Return the part of a failure record that holds the failures, as the agent read it."""
    record = verdict["record"]
    lines: list[str] = record["text"].splitlines() if record else []
    return [line for line in lines if line.startswith(("[", "| "))]


def _recomputed(ending: Ending) -> str:
    differing = [phrase for test in ending.explained for phrase in _only_variant(ending, test)["disagreements"]]
    if differing:
        return f"What is stored contradicts itself: {listed(differing)}."
    return "Derived once more from the stored outcomes, all three came to the same heads and the same decisions."
