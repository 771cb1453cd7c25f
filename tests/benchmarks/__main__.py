"""Take every figure, print them as a table, and write build/bench.json."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path

import click

from quarantine.client.gating import GatingSet
from tests.benchmarks.figures import Figure, cpu_s, ratio
from tests.benchmarks.product import SLUG, Product, product
from tests.benchmarks.reports import BareReader, names_of, reach_lines, report
from tests.benchmarks.worktrees import workspace_and_git
from tests.web.crowd import crowd
from tests.world import World

CASES = 5_000
ROOT = Path(__file__).parents[2]
_PARTS: list[Callable[[], Iterator[Figure]]] = []


def part(function: Callable[[], Iterator[Figure]]) -> Callable[[], Iterator[Figure]]:
    """Register a group of figures."""
    _PARTS.append(function)
    return function


def _reports() -> Iterator[bytes]:
    """Yield reports that differ: half a percent of the cases fail, others in each."""
    number = 0
    while True:
        number += 1
        yield report(CASES, failing=frozenset((number * 7919 + step * 211) % CASES for step in range(CASES // 200)))


@part
def ingest() -> Iterator[Figure]:
    """Whole ingest, HTTP body to committed: against bare expat handlers, and with ten times the tests."""
    with product() as made:
        made.upload(report(CASES))
        fresh = _reports()
        pairs = []
        for _ in range(25):
            data = next(fresh)
            pairs.append((cpu_s(partial(made.upload, data)), cpu_s(partial(BareReader().read, data))))
        mine, bare = (statistics.median(side) for side in zip(*pairs[3:], strict=True))
        yield Figure(
            "ingest-5000-cases",
            mine / bare,
            "times bare expat",
            f"{mine * 1e3:.0f} ms against {bare * 1e3:.1f} ms",
        )
        few = report(CASES)
        large = report(CASES * 10)
        made.upload(large)
        grown = ratio(lambda: made.upload(large), lambda: made.upload(few), rounds=7)
        yield Figure("ingest-10-times-the-tests", grown, "times 5,000 cases")


@part
def verdict() -> Iterator[Figure]:
    """A verdict on a loop's run, without and with the names of the expected tests, against taking the run in alone."""
    with product() as made:
        made.prepared(report(CASES), part={"commit": "b" * 40, "tree": "b" * 64})()
        token = made.created_token("agent", "T-1")
        stated = {"base_commit": "b" * 40, "complete": False, "command": "pytest", "exit_code": 1}
        question = {"schema": 1, "can_rerun": True, "attempt": 1, "runner_s": 1.5}
        expected = {"expected": names_of(CASES)}
        fresh = _reports()
        sides: list[list[float]] = [[], [], []]
        for _ in range(25):
            data = next(fresh)
            for side, asked in zip(sides, (None, question, question | expected), strict=True):
                side.append(cpu_s(made.prepared(data, token=token, part=stated, question=asked)))
        alone, plain, named = (statistics.median(side[3:]) for side in sides)
        note = f"{plain * 1e3:.0f} ms against {alone * 1e3:.0f} ms"
        yield Figure("gate-5000-cases", plain / alone, "times the ingest alone", note)
        yield Figure("gate-5000-names", named / alone, "times the ingest alone", f"{named * 1e3:.0f} ms")


@part
def history() -> Iterator[Figure]:
    """The same ingest after 1,000 and after 100,000 builds."""
    with product() as young, product() as old:
        for made, builds in ((young, 1_000), (old, 100_000)):
            made.upload(report(CASES))
            made.seed(builds, CASES)
        fresh = _reports()

        def next_upload(made: Product) -> float:
            data = next(fresh)
            return cpu_s(lambda: made.upload(data))

        pairs = [(next_upload(old), next_upload(young)) for _ in range(25)][3:]
        value = statistics.median(one for one, _ in pairs) / statistics.median(other for _, other in pairs)
        yield Figure("ingest-at-100000-builds", value, "times at 1,000 builds")


@part
def pages() -> Iterator[Figure]:
    """The pages of a project of 20,000 tests, 2,000 of them quarantined, against the list of the one project."""
    with product() as made:
        crowd(World(made.app, made.clock, SLUG), tests=20_000, quarantined=2_000)
        token = made.created_reader()

        def seen(path: str) -> Callable[[], object]:
            if (status := made.call("GET", path, token=token)) != HTTPStatus.OK:
                raise RuntimeError(f"{path} was answered with {status}")
            return lambda: made.call("GET", path, token=token)

        for name, path in (("page-2000-quarantined", "/quarantined"), ("page-of-the-project", "")):
            mine, base = seen(f"/projects/{SLUG}{path}"), seen("/")
            note = f"{cpu_s(mine) * 1e3:.0f} ms"
            yield Figure(name, ratio(mine, base, rounds=9), "times the list of projects", note)


@part
def memory() -> Iterator[Figure]:
    """Peak memory of taking in 200,000 cases, above what the process had after a small report."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.memory"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    yield Figure("memory-200000-cases", float(done.stdout), "MiB above baseline")


@part
def gate() -> Iterator[Figure]:
    """Asking whether a test gates: in Python and over HTTP."""
    names = frozenset(f"tests.billing.test_module::test_{number}" for number in range(300))
    asked = [f"tests.billing.test_module::test_{number}" for number in range(0, 600, 3)]
    gating_set = _snapshot_of(names)

    def plain(test_id: str) -> bool:
        return test_id not in names

    def many(function: Callable[[str], bool]) -> Callable[[], None]:
        def work() -> None:
            for _ in range(200):
                for name in asked:
                    function(name)

        return work

    value = ratio(many(gating_set.is_gating), many(plain), rounds=15)
    yield Figure("client-is-gating", value, "times a frozenset look-up")
    with product() as made:
        made.upload(report(100))

        def requests(path: str) -> Callable[[], None]:
            def work() -> None:
                for _ in range(300):
                    made.call("GET", path)

            return work

        test = "tests.billing.pkg0.test_module_1::test_discount_is_applied_21[0-customer]"
        value = ratio(requests(f"/v1/projects/{SLUG}/gating/{test}"), requests(f"/v1/projects/{SLUG}/empty"), rounds=21)
        yield Figure("http-is-gating", value, "times an empty route")


def _snapshot_of(names: frozenset[str]) -> GatingSet:
    """Return a client that has this snapshot, from a server of its own."""
    from tests.benchmarks.snapshot_server import served

    return served(names)


@part
def impacted() -> Iterator[Figure]:
    """Which of 4,812 tests a patch of five files can touch, with the map in memory: the whole call."""
    tests, files = 4_812, 1_200
    with product() as made:
        made.upload(report(tests))
        made.send_reach(reach_lines(tests, files))
        changed = [
            [f"src/m{number * 211 % files}.py", part, "0" * 32] for number in range(5) for part in ("body", "module")
        ]
        body = json.dumps({"changed": changed, "base_commit": None}).encode()
        path = f"/v1/projects/{SLUG}/impacted"
        answers = [made.call("POST", path, body, "application/json") for _ in range(3)]
        if answers != [200] * 3:
            raise RuntimeError(f"the question was answered with {answers}")
        taken = statistics.median(cpu_s(partial(made.call, "POST", path, body, "application/json")) for _ in range(21))
        yield Figure("impacted-5-files", taken * 1e3, "ms of CPU", f"{tests:,} tests, {files:,} files")


@part
def start() -> Iterator[Figure]:
    """Starting up: an import, and the shell's question, against a bare interpreter, compiled as when installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(*arguments: str) -> Callable[[], float]:
        def work() -> float:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(arguments, cwd="/", env=environment, capture_output=True, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

        return work

    bare = run(sys.executable, "-c", "pass")
    script = str(Path(sys.executable).with_name("quarantine"))
    ask = ("is-gating", "t", "--url", "http://127.0.0.1:9", "--project", "p")
    for name, work in (
        ("import-quarantine", run(sys.executable, "-c", "import quarantine")),
        ("shell-is-gating", run(script, *ask)),
    ):
        work(), bare()
        pairs = [(work(), bare()) for _ in range(25)]
        value = statistics.median(one for one, _ in pairs) / statistics.median(other for _, other in pairs)
        yield Figure(name, value, "times bare python")


@part
def loop() -> Iterator[Figure]:
    """A patch applied and rolled back in a workspace of 10,000 files, against git alone, children included."""
    mine, plain = workspace_and_git(files=10_000, rounds=21)
    note = f"{mine * 1e3:.0f} ms against {plain * 1e3:.0f} ms"
    yield Figure("loop-workspace", mine / plain, "times git apply, checkout", note)


@click.command()
@click.option("--only", multiple=True, help="Only the groups of these names; repeatable.")
def main(only: tuple[str, ...]) -> None:
    """Take the figures; exit 1 when one is above its limit."""
    figures: list[Figure] = []
    for group in _PARTS:
        if only and group.__name__ not in only:
            continue
        begun = time.monotonic()
        for figure in group():
            figures.append(figure)
            verdict = f"{'ok' if figure.value <= figure.limit else 'ABOVE':5}  {figure.note}"
            click.echo(f"{figure.name:28} {figure.value:8.2f}  at most {figure.limit:<6g} {figure.unit:24} {verdict}")
        click.echo(f"  ({group.__name__}: {time.monotonic() - begun:.0f} s)", err=True)
    target = ROOT / "build" / "bench.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({figure.name: figure.to_json() for figure in figures}, indent=2) + "\n")
    sys.exit(any(figure.value > figure.limit for figure in figures))


if __name__ == "__main__":
    main()
