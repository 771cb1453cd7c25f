"""Several processes that upload into one project at once: nothing is lost, nothing is counted twice."""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from quarantine.store import projects
from quarantine.store.engine import reading
from tests.scenarios.stored import check_columns, check_numbers
from tests.scenarios.writers import report
from tests.world import World

WRITERS, UPLOADS = 2, 9
CHECKOUT = Path(__file__).parents[2]


def written(url: str, project: str) -> list[list[list[int]]]:
    """Let the writers upload at once, and return the receipts of each."""
    with ExitStack() as running:
        writers = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.scenarios.writers", url, project, str(number), str(UPLOADS)],
                    cwd=CHECKOUT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(1, WRITERS + 1)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin is not None
            writer.stdin.write("go\n")
            writer.stdin.flush()
        said = [writer.communicate(timeout=60)[0] for writer in writers]
        assert [writer.returncode for writer in writers] == [0] * WRITERS
    return [json.loads(text) for text in said]


def test_two_processes_write_into_one_project(world: World, database_url: str) -> None:
    """Counts are exact, ordinals and numbers dense, a repeated upload is taken once, and every count can be derived."""
    receipts = [receipt for one in written(database_url, world.project) for receipt in one]
    own = own_names()
    with reading(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        check_numbers(connection, project)
        check_columns(connection, project)
    assert project.tests == len(own)
    assert project.builds == UPLOADS * (WRITERS + 2)
    assert project.uploads == UPLOADS * (WRITERS * 2 + 1)
    assert sum(bool(new) for _, new, _ in receipts) == project.uploads
    assert sum(new_tests for *_, new_tests in receipts) == project.tests
    assert {seq for seq, *_ in receipts} == set(range(1, project.builds + 1))
    assert world.disagreements(sorted(own)) == []
    [shared] = world.explain("shared-3")["variants"]
    assert shared["trials"] == UPLOADS * (WRITERS + 1)  # a build's second part is no trial of a test it has already
    [repeated] = world.explain("repeated-4")["variants"]
    assert repeated["trials"] == 1


def own_names() -> set[str]:
    """Return every test the writers name."""
    names = {name for number in range(1, WRITERS + 1) for upload in range(UPLOADS) for name in report(number, upload)}
    return names | {f"repeated-{upload}" for upload in range(UPLOADS)}
