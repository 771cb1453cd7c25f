"""A small project with a failing test, a daemon that knows it, and short words for loops on it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quarantine.bootstrap import build_app
from quarantine.client.environment import Environment, environment_of
from quarantine.client.target import Target
from quarantine.clock import FrozenClock
from quarantine.config import Settings as DaemonSettings
from quarantine.loop.agent import ScriptedAgent
from quarantine.loop.ends import End
from quarantine.loop.runner import CommandRunner
from quarantine.loop.setup import Settings
from quarantine.loop.solve import solve
from quarantine.loop.ticket import Ticket
from quarantine.loop.workspace import Workspace
from quarantine.services import decisions, reaching
from tests.cli.hosting import hosted
from tests.cli.repository import Repository
from tests.world import OWNER, PROJECT, START, World, sender

TICKET = "SHOP-7"
COMMAND = f"{Path(sys.executable).name} -m pytest -q -p no:cacheprovider {{tests}} --junitxml={{report}}"

QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

FILES = {
    "shop/__init__.py": "",
    "shop/pricing.py": '''\
"""Prices."""

from shop.tax import with_tax


def total(prices: list[int], discount: int = 0) -> int:
    """Return what is due, in cents."""
    return sum(with_tax(price) for price in prices)
''',
    "shop/tax.py": '''\
"""Taxes."""

RATE = 20


def with_tax(price: int) -> int:
    """Return the price with tax."""
    return price + price * RATE // 100
''',
    "tests/test_pricing.py": """\
from shop.pricing import total


def test_nothing_costs_nothing():
    assert total([]) == 0


def test_prices_are_added():
    assert total([100, 200]) == 360


def test_a_discount_is_taken_off():
    assert total([100, 200], discount=10) == 324
""",
    "tests/test_tax.py": """\
from shop.tax import with_tax


def test_tax_is_added():
    assert with_tax(100) == 120
""",
    ".gitignore": "*.log\n",
}
MUST_PASS = "tests/test_pricing.py::test_a_discount_is_taken_off"
REACH = {
    "tests/test_pricing.py::test_nothing_costs_nothing": ["shop/pricing.py", "shop/tax.py"],
    "tests/test_pricing.py::test_prices_are_added": ["shop/pricing.py", "shop/tax.py"],
    MUST_PASS: ["shop/pricing.py", "shop/tax.py"],
    "tests/test_tax.py::test_tax_is_added": ["shop/tax.py"],
}


@dataclass(slots=True)
class Shop:
    """The project in a repository, and a daemon on loopback that trunk has told of it."""

    world: World
    repository: Repository
    url: str
    folder: Path
    said: list[str] = field(default_factory=list)
    agent: ScriptedAgent = field(default_factory=lambda: ScriptedAgent([]))

    def target(self, ticket: str = TICKET) -> Target:
        """Return the project as a harness sees it: with a token of the agent lane, bound to the ticket."""
        secret = decisions.create_token(
            self.world.app, PROJECT, scope="report", lane="agent", change=ticket, label="", lifetime=None, bearer=OWNER
        )
        return Target(self.url, PROJECT, secret)

    def settings(self, **more: Any) -> Settings:
        """Return how its tests are run: quickly, for nothing but pytest itself is loaded."""
        stated: dict[str, Any] = {
            "job": "unit",
            "import_paths": (".",),
            "timeout_s": 60.0,
            "logs": self.folder / "logs",
        }
        return Settings(**stated | {"variables": QUICK} | more)

    def runner(self, command: str = COMMAND, *, target: Target | None = None, **more: Any) -> CommandRunner:
        """Return the reference runner."""
        return CommandRunner(command, target or self.target(), self.settings(**more), told=self.said.append)

    def workspace(self) -> Workspace:
        """Return a workspace on the trunk's head."""
        return Workspace.open(self.repository.path, folder=self.folder / "work")

    def solve(self, *answers: Any, runner: CommandRunner | None = None, text: str = "Mend it.", **more: Any) -> End:
        """Let a scripted agent try the ticket and return how that ended."""
        self.agent = ScriptedAgent(answers)
        ticket = Ticket(TICKET, text, (MUST_PASS,))
        with self.workspace() as workspace:
            return solve(ticket, workspace, self.agent, runner or self.runner(), progress=self.said.append, **more)

    @property
    def environment(self) -> Environment:
        """The environment that its tests run in."""
        return environment_of(sys.executable)

    def told_by_trunk(self, build: str = "trunk-1", *, variables: Mapping[str, str] | None = None, **more: Any) -> None:
        """Let trunk run its head for real, report it, and send what each test reaches."""
        here = self.environment
        variant = {"os": here.platform, "python": ".".join(here.version.split(".")[:2])}
        with self.workspace() as workspace:
            report = self.folder / "trunk.xml"
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"],
                cwd=workspace.path,
                env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | QUICK | dict(variables or {}),
                check=False,
                capture_output=True,
            )
            self.world.send(
                build, report.read_bytes(), commit=workspace.base_commit, tree=workspace.base_tree,
                variant=variant, environment_hash=here.hash, command="python -m pytest", exit_code=1, **more,
            )  # fmt: skip
        lines = [json.dumps({"test": test, "files": files}).encode() for test, files in REACH.items()]
        reaching.add_reach(self.world.app, PROJECT, sender(), lines, tree=None)


@contextmanager
def shop(folder: Path, database: str) -> Iterator[Shop]:
    """Yield the project, known to a running daemon."""
    clock = FrozenClock(START)
    app = build_app(DaemonSettings.model_validate({"database": database}), clock=clock)
    try:
        world = World(app, clock).created()
        repository = Repository.of(folder / "shop", FILES)
        with hosted(app) as url:
            made = Shop(world, repository, url, folder)
            made.told_by_trunk()
            yield made
    finally:
        app.engine.dispose()


def edit(path: str, old: str, new: str) -> Callable[[str, Path], None]:
    """Return an answer of an agent that edits one file in its folder."""

    def answer(_prompt: str, folder: Path) -> None:
        content = (folder / path).read_text(encoding="utf-8")
        assert old in content
        (folder / path).write_text(content.replace(old, new), encoding="utf-8")

    return answer


def files(written: Mapping[str, str]) -> Callable[[str, Path], None]:
    """Return an answer of an agent that writes whole files in its folder."""

    def answer(_prompt: str, folder: Path) -> None:
        for path, content in written.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")

    return answer


SUM = "return sum(with_tax(price) for price in prices)"
MENDED = "return sum(with_tax(price) for price in prices) * (100 - discount) // 100"
MENDS = edit("shop/pricing.py", SUM, MENDED)
BREAKS = edit("shop/pricing.py", SUM, f"{SUM} - 36")
"""The test that must pass does, and two others no longer."""
