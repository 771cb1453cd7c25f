"""Does a mutant ever break a test whose reach it does not touch? `python -m tests.study [--mutants N] [NAME ...]`.

For each subject: record a reach map with coverage's contexts, make mutants, run the whole suite on each, and compare
the tests that break with those the map says the mutant can touch. Writes build/study.json, where subjects that are not
named keep their figures, prints a table, and ends with 1 when a single broken test was out of the map's reach.
"""

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quarantine.client.coverage_data import phase_of, read_lines
from quarantine.client.parts import file_parts
from quarantine.client.reach_map import reach_of_coverage, to_json_lines
from quarantine.client.tree import read_tree
from quarantine.reach.json_lines import read_json_lines
from quarantine.reach.reach_map import ReachMap, touched
from tests.study.mutation import Mutant, mutants_of
from tests.study.subject import SUBJECTS, Workshop

SEED = 20261130
MUTANTS = 80


@dataclass(frozen=True)
class Trial:
    """What became of one mutant.

    Attributes:
        path, line, in_body, edit: where it is and what it is.
        broke: how many tests passed without it and did not pass with it.
        missed: those of them that the map says it cannot touch.
        missed_by_lines: how many of them no line of the mutant's file ran in: what a plain coverage map would miss.
        untouched: the share of tests that the map says it cannot touch.
    """

    path: str
    line: int
    in_body: bool
    edit: str
    broke: int
    missed: list[str]
    missed_by_lines: int
    untouched: float


def main() -> int:
    """Study the subjects named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.study", description=__doc__)
    parser.add_argument("names", nargs="*", help="subjects; all when none is named")
    parser.add_argument("--mutants", type=int, default=MUTANTS)
    arguments = parser.parse_args()
    folder = Path("build") / "study"
    written = folder.parent / "study.json"
    studied: dict[str, dict[str, Any]] = json.loads(written.read_text()) if written.exists() else {}
    for subject in SUBJECTS:
        if not arguments.names or subject.name in arguments.names:
            studied[subject.name] = study(Workshop(subject, folder.resolve()), arguments.mutants)
    written.write_text(json.dumps(studied, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(table(studied))
    return int(any(trial["missed"] for one in studied.values() for trial in one["trials"]))


def study(workshop: Workshop, count: int) -> dict[str, Any]:
    """Return the figures of one subject."""
    workshop.set_up()
    options = ["--cov", "--cov-context=test", "--cov-report=", f"--cov-config={_coverage_settings(workshop)}"]
    passed = _passed(workshop.outcomes(*options))
    reading = reach_of_coverage(workshop.coverage_file, read_tree(workshop.root))
    users = _users(workshop)
    reach = read_json_lines(to_json_lines(reading)).reach
    passed &= _passed(workshop.outcomes())  # a test that does not pass twice says nothing about mutants
    trials = [_trial(workshop, reach, passed, mutant, users) for mutant in mutants_of(workshop.sources(), count, SEED)]
    return {
        "version": workshop.subject.version,
        "tests": len(passed),
        "in_map": len(passed & set(reach.tests)),
        "columns": len(reach.columns),
        "bytes": len(reach.to_bytes()),
        "trials": [asdict(trial) for trial in trials],
    }


def _coverage_settings(workshop: Workshop) -> Path:
    """Measure the package and the tests, whatever the subject's own settings are."""
    settings = workshop.folder / "coveragerc"
    settings.write_text(f"[run]\nsource =\n    {workshop.subject.package}\n    tests\n", encoding="utf-8")
    return settings


def _passed(outcomes: dict[str, str]) -> set[str]:
    return {test for test, outcome in outcomes.items() if outcome == "passed"}


def _users(workshop: Workshop) -> dict[str, set[str]]:
    """Return, per file of the package, the tests in whose own contexts any line of it ran."""
    users: dict[str, set[str]] = {path: set() for path in workshop.sources()}
    for context, files in read_lines(workshop.coverage_file).items():
        phase = phase_of(context)
        for recorded in files if phase else ():
            path = Path(recorded).relative_to(workshop.root).as_posix()
            if phase and path in users:
                users[path].add(phase.test)
    return users


def _trial(workshop: Workshop, reach: ReachMap, passed: set[str], mutant: Mutant, users: dict[str, set[str]]) -> Trial:
    file = workshop.root / mutant.path
    original = file.read_bytes()
    before = {part[:2]: part.hash for part in file_parts(mutant.path, original)}
    changed = [part[:2] for part in file_parts(mutant.path, mutant.content.encode()) if before[part[:2]] != part.hash]
    hit = touched(reach, changed)
    in_reach = {test for test, is_hit in zip(reach.tests, hit, strict=True) if is_hit} | (passed - set(reach.tests))
    try:
        file.write_text(mutant.content, encoding="utf-8")
        broke = passed - _passed(workshop.outcomes())
    finally:
        file.write_bytes(original)
    trial = Trial(
        mutant.path,
        mutant.line,
        mutant.in_body,
        mutant.edit,
        len(broke),
        sorted(broke - in_reach),
        len(broke - users[mutant.path]),
        1.0 - len(in_reach & passed) / len(passed),
    )
    sys.stderr.write(
        f"{workshop.subject.name} {trial.path}:{trial.line} broke {trial.broke} missed {len(trial.missed)}\n"
    )
    return trial


def table(studied: dict[str, dict[str, Any]]) -> str:
    """Return the figures as a Markdown table."""
    heads = ["project", "tests", "mutants", "killed", "tests broken", "of them out of reach"]
    heads += ["out of a plain coverage map", "untouched"]
    rows = [f"| {' | '.join(heads)} |\n", f"| {' | '.join(['---'] * len(heads))} |\n"]
    for name, one in studied.items():
        trials = one["trials"]
        shares = [
            float(np.mean([trial["untouched"] for trial in trials if trial["in_body"] is inside] or [np.nan]))
            for inside in (True, False)
        ]
        rows.append(
            f"| {name} {one['version']} | {one['tests']} | {len(trials)}"
            f" | {sum(trial['broke'] > 0 for trial in trials)} | {sum(trial['broke'] for trial in trials)}"
            f" | {sum(len(trial['missed']) for trial in trials)} | {sum(trial['missed_by_lines'] for trial in trials)}"
            f" | {shares[0]:.0%} in bodies, {shares[1]:.0%} at module level |\n"
        )
    return "".join(rows)


if __name__ == "__main__":
    sys.exit(main())
