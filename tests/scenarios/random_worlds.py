"""Random histories of a project, the same for the same seed: everything that may come in, in any order it may come."""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from quarantine.domain.outcome import Lane
from quarantine.errors import Conflict, NotFound
from quarantine.services import aliases, decisions
from tests.world import OWNER, World, commit, junit, tree

POLICY = {
    "p0": 0.05,
    "budget": 100.0,
    "reserve_factor": 1,
    "exit_ratio": 0.9,
    "onset_spacing_hours": 1.0,
    "entry_span_hours": 6.0,
    "entry_trunk_onsets": 1,
    "broken_failures": 2,
    "broken_reruns": 1,
    "broken_passes": 2,
    "exit_days": 1,
    "exit_days_most": 2,
    "exit_gaps": 1,
    "exit_presence": 0.1,
    "cap_slots": 2,
}
"""So lenient that tests enter and leave within a few dozen builds."""

RATES = {"steady": 0.0, "rare": 0.03, "flaky": 0.3, "wild": 0.5, "broken": 0.05}
SUITE = [*RATES, "late", "doubled", *(f"calm{number}" for number in range(6))]
STORMED = SUITE[-6:]
RENAMED = ("flaky", "wild")
VARIANTS = ({"os": "linux"}, {"os": "mac"})


def base(name: str) -> str:
    """Return what a test was called first: each rename appends a mark and a number."""
    return name.partition("~")[0]


@dataclass(slots=True)
class Past:
    """A build that came in: what a rerun, a replay or a later upload of it needs, and who was renamed by then."""

    name: str
    sent: dict[str, Any]
    reports: list[dict[str, str] | bytes]
    called: dict[str, str]


@dataclass(slots=True)
class RandomWorld:
    """A project to which things happen by chance.

    Attributes:
        past: the builds that came in, the oldest first.
        owed: uploads of builds that are still to come.
        is_broken: whether the test `broken` fails deterministically just now.
        called: the present names of tests that were renamed.
        by_tree: what they were called in each tree of trunk, by its number.
        renames: (former, present) of every rename, the oldest first.
        naming: the chance that names depend on, of its own so that it changes nothing else.
    """

    world: World
    chance: random.Random
    past: list[Past] = field(default_factory=list)
    owed: list[Past] = field(default_factory=list)
    is_broken: bool = False
    called: dict[str, str] = field(default_factory=dict)
    by_tree: dict[int, dict[str, str]] = field(default_factory=dict)
    renames: list[tuple[str, str]] = field(default_factory=list)
    naming: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Let names depend on the world alone."""
        self.naming = random.Random(self.world.project)  # noqa: S311 - the same world for the same seed is the point

    def play(self, steps: int) -> None:
        """Let `steps` things happen."""
        self.run()
        for _ in range(steps):
            happens = self.chance.choices(list(HAPPENINGS), list(HAPPENINGS.values()))[0]
            happens(self)
            self.naming.choices([RandomWorld.leave, RandomWorld.rename, RandomWorld.alias], [11, 2, 7])[0](self)
            self.world.wait(hours=self.chance.choice([0, 0, 0.2, 1, 3, 8, 30]))

    def outcome(self, name: str, *, again: bool = False) -> str:
        """Return what a test does by chance; a deterministic failure fails again."""
        if base(name) == "broken" and self.is_broken:
            return self.chance.choice(["F", "F", "FF", "E"])
        if self.chance.random() < RATES.get(base(name), 0.01):
            return self.chance.choice(["F", "E", "FF", "F"] if again else ["F", "E", "FP", "FF", "FP"])
        return "S" if self.chance.random() < 0.03 else "P"

    def suite(self, called: dict[str, str] | None = None) -> dict[str, str]:
        """Return one run of the suite, by present names or those given; now and then a part of it is missing."""
        called = self.called if called is None else called
        names = [name for name in SUITE if name != "late" or len(self.past) > 20]
        if self.chance.random() < 0.1:
            names = self.chance.sample(names, self.chance.randint(1, len(names)))
        return {called.get(name, name): self.outcome(name) for name in names}

    def send(self, name: str, reports: list[dict[str, str] | bytes], **sent: Any) -> None:
        """Send one upload and remember it."""
        self.world.send(name, *reports, **sent)
        self.past.append(Past(name, sent, reports, dict(self.called)))

    def run(self) -> None:
        """A run on trunk, of a new tree or once more of the last one, in one or more uploads."""
        number = len(self.past)
        of = number if self.chance.random() < 0.8 or not self.past else number - 1
        sent: dict[str, Any] = {
            "tree": tree(of),
            "commit": commit(of),
            "variant": self.chance.choices(VARIANTS, [3, 1])[0],
        }
        if self.chance.random() < 0.1:
            sent["command"] = self.chance.choice(["pytest", "pytest -x"])
        if self.chance.random() < 0.05:
            sent["tree"] = None
        suite = self.suite(self.by_tree.setdefault(of, dict(self.called)))
        names = list(suite)
        cut = self.chance.choice([0, 0, 0, self.chance.randint(0, len(names))])
        parts = [part for part in (names[:cut], names[cut:]) if part]
        reports = [{name: suite[name] for name in part} for part in parts]
        if len(reports) > 1 and self.chance.random() < 0.5:
            self.owed.append(Past(f"b{number}", sent, [reports.pop()], dict(self.called)))
        self.send(f"b{number}", list(reports), **sent)

    def calm(self, builds: int = 8) -> None:
        """Some quiet days: trunk runs in which everything passes."""
        for _ in range(builds):
            number = len(self.past)
            sent = {"tree": tree(number), "commit": commit(number), "variant": VARIANTS[0]}
            self.send(f"b{number}", [{self.called.get(name, name): "P" for name in SUITE}], **sent)
            self.world.wait(hours=12)

    def deliver(self) -> None:
        """An upload of an earlier build that comes late."""
        if self.owed:
            late = self.owed.pop(self.chance.randrange(len(self.owed)))
            self.world.send(late.name, *late.reports, **late.sent)

    def retry(self) -> None:
        """A second upload of a recent build: the tests that failed in it, tried again; perhaps with others."""
        build = self.chance.choice(self.past[-3:])
        names = sorted({name for report in build.reports if isinstance(report, dict) for name in report})
        again = [name for name in names if self.chance.random() < 0.4 or base(name) in ("flaky", "wild", "broken")]
        if again:
            changed = {"tree": tree("edited")} if self.chance.random() < 0.1 else {}
            changed |= {"command": "pytest --lf"} if self.chance.random() < 0.3 else {}
            outcomes = {name: self.outcome(name, again=True) for name in again}
            self.world.send(build.name, outcomes, **(build.sent | {"said": "again"} | changed))

    def rerun(self) -> None:
        """A rerun of a recent tree, ordered or as a higher attempt, of everything or of a few tests."""
        build = self.chance.choice(self.past[-6:])
        names = SUITE if self.chance.random() < 0.7 else self.chance.sample(SUITE, 4)
        outcomes: list[dict[str, str] | bytes] = [
            {build.called.get(name, name): self.outcome(name, again=True) for name in names}
        ]
        if self.chance.random() < 0.5:
            how = {"kind": "rerun", "rerun_of": build.name}
            self.world.send(f"{build.name}-again-{self.chance.random()}", *outcomes, **(build.sent | how))
        else:
            self.world.send(build.name, *outcomes, **(build.sent | {"attempt": self.chance.randint(2, 4)}))

    def change(self) -> None:
        """A build of a change, on a tree of its own or on one that trunk has seen."""
        number = len(self.past)
        build = self.chance.choice(self.past)
        own = self.chance.random() < 0.5
        lane = self.chance.choice([Lane.REVIEW, Lane.AGENT])
        sent = build.sent | {"lane": lane, "change": f"PR-{self.chance.randint(1, 4)}"}
        self.send(f"b{number}", [self.suite()], **(sent | ({"tree": tree(f"own {number}")} if own else {})))

    def storm(self) -> None:
        """A few unrelated builds within the hour in which the same tests fail alike."""
        for number in range(self.chance.randint(2, 3)):
            name = f"b{len(self.past)}"
            outcomes = self.suite() | dict.fromkeys(STORMED, "F")
            lane = Lane.TRUNK if number == 0 else Lane.REVIEW
            sent: dict[str, Any] = {"lane": lane, "variant": VARIANTS[0], "tree": tree(self.past[-1].name)}
            sent |= {"change": f"PR-{number}"} if number else {}
            self.send(name, [outcomes], **(sent | {"said": "the network is down"}))
            self.world.wait(minutes=10)

    def replay(self) -> None:
        """The very bytes of an earlier upload once more."""
        build = self.chance.choice(self.past)
        self.world.send(build.name, *build.reports, **build.sent)

    def double(self) -> None:
        """A report in which one id stands for two tests."""
        body = b"<testsuite name='suite'>" + b"<testcase classname='tests.test_ledger' name='doubled'/>" * 2
        failed = b"<testcase classname='tests.test_ledger' name='flaky'><failure/></testcase></testsuite>"
        self.send(f"b{len(self.past)}", [body + failed], variant=VARIANTS[0])

    def release(self) -> None:
        """A person lets a test out, if it is in."""
        name = self.chance.choice(["flaky", "wild", "rare", "broken"])
        with suppress(Conflict, NotFound):
            decisions.release(self.world.app, self.world.project, name, bearer=OWNER, reason="mended")

    def crash(self) -> None:
        """A run on trunk that leaves no report, or half of one."""
        name = f"b{len(self.past)}"
        sent: dict[str, Any] = {"tree": tree(name), "commit": commit(name), "variant": VARIANTS[0], "exit_code": 139}
        cut = junit(self.suite())
        self.send(name, [cut[: len(cut) - 40]] if self.chance.random() < 0.5 else [], **sent)

    def judge(self) -> None:
        """A loop asks for a verdict on a change to a recent build, and makes some of the reruns that are wanted."""
        base = self.chance.choice(self.past[-4:])
        lane = self.chance.choice([Lane.REVIEW, Lane.AGENT])
        who: dict[str, Any] = {"lane": lane, "change": f"PR-{self.chance.randint(1, 4)}", "variant": VARIANTS[0]}
        name, again = f"asked-{self.chance.random()}", tree(self.chance.choice(["asked", "asked again"]))
        base_tree = base.sent.get("tree")
        question: dict[str, Any] = {"base_commit": base.sent.get("commit"), "base_tree": base_tree, "can_rerun": True}
        question |= {"canary": {"name": "canary"}} if self.chance.random() < 0.5 else {}
        run = self.suite() | ({"canary": "F"} if "canary" in question else {})
        verdict = self.world.ask(name, run, question=question, tree=again, exit_code=1, **who)
        for number in range(self.chance.randint(0, 3)):
            of = {"tree": (verdict["wanted"]["base"] and base_tree) or again, "exit_code": None}
            verdict = self.world.answer(verdict, name, self.suite(), number=number, **(who | of))

    def turn(self) -> None:
        """Trunk breaks, or is mended."""
        self.is_broken = not self.is_broken

    def leave(self) -> None:
        """Names stay as they are."""

    def rename(self) -> None:
        """A test is called something else from the next run on."""
        name = self.naming.choice(RENAMED)
        former, present = self.called.get(name, name), f"{name}~{len(self.renames)}"
        if len(self.past) < 15:  # a history that nobody carries on proves nothing
            return
        self.called[name] = present
        self.renames.append((former, present))

    def alias(self) -> None:
        """A person says that it is one test, or takes that back; whatever cannot be is refused."""
        if self.renames:
            former, present = self.renames[-1] if self.naming.random() < 0.8 else self.naming.choice(self.renames)
            decide = aliases.alias if self.naming.random() < 0.85 else aliases.end
            with suppress(Conflict, NotFound):
                decide(self.world.app, self.world.project, former, present, bearer=OWNER, reason="renamed")

    def enforce(self) -> None:
        """The project is switched, one way or the other."""
        mode = self.chance.choice(["enforce", "observe"])
        decisions.set_mode(self.world.app, self.world.project, mode, bearer=OWNER)


HAPPENINGS: dict[Callable[[RandomWorld], None], int] = {
    RandomWorld.run: 40,
    RandomWorld.rerun: 18,
    RandomWorld.retry: 8,
    RandomWorld.deliver: 8,
    RandomWorld.change: 8,
    RandomWorld.replay: 5,
    RandomWorld.storm: 2,
    RandomWorld.calm: 1,
    RandomWorld.double: 2,
    RandomWorld.crash: 2,
    RandomWorld.judge: 5,
    RandomWorld.release: 4,
    RandomWorld.turn: 3,
    RandomWorld.enforce: 2,
}
"""What may happen, and how often."""
