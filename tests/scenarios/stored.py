"""What is stored of a project: every row of it, and whether its numbers follow from the outcomes it holds."""

from collections.abc import Container, Sequence

import numpy as np
from sqlalchemy import Connection, distinct, func, select

from quarantine.domain.outcome import Lane
from quarantine.policy.history import History
from quarantine.store import builds, histories, outcomes, projects
from quarantine.store.engine import reading
from quarantine.store.outcomes import Outcomes
from quarantine.store.projects import Project
from quarantine.store.tables import BUILD, TEST, metadata
from tests.world import World


def rows(world: World, *, but: Container[str] = ()) -> dict[str, list[str]]:
    """Return every stored row of the project, by table, without the columns `but`."""
    with reading(world.app.engine) as connection:
        project_id = projects.by_slug(connection, world.project).id
        return {
            name: sorted(
                repr({key: value for key, value in row.items() if key not in but})
                for row in connection.execute(
                    select(table).where(table.c["id" if name == "project" else "project_id"] == project_id)
                ).mappings()
            )
            for name, table in metadata.tables.items()
            if name != "job_run"
        }


def check_numbers(connection: Connection, project: Project) -> None:
    """Ordinals, sequence numbers and pairs are dense and given out once each; counts are those of the outcomes."""
    ordinals = connection.execute(select(TEST.c.ordinal).where(TEST.c.project_id == project.id)).scalars()
    assert sorted(ordinals) == list(range(project.tests))
    rows = {row["seq"]: row for row in builds.latest(connection, project.id, 10_000)}
    assert sorted(rows) == list(range(1, project.builds + 1))
    pairs = [int(n) for _, one in histories.every(connection, project.id) for n in one.pair if n]
    assert sorted(pairs) == list(range(1, project.pairs + 1))
    keys = connection.execute(select(func.count(distinct(BUILD.c.key))).where(BUILD.c.project_id == project.id))
    assert keys.scalar_one() == project.builds
    for seq, row in rows.items():
        totals = dict.fromkeys(builds.COUNTS, 0)
        for variant in outcomes.variants_of_build(connection, project.id, seq):
            whole = outcomes.of_build(connection, project.id, seq, variant_hash=variant, tests=project.tests)
            assert whole is not None
            for name, number in outcomes.count(whole.codes).items():
                totals[name] += number
        assert {name: row[name] for name in builds.COUNTS} == totals


def check_columns(connection: Connection, project: Project) -> None:
    """The running columns of each variant are what a loop over its uploads counts."""
    for variant, history in histories.every(connection, project.id):
        history.grow(project.tests)
        uploads = list(outcomes.of_variant(connection, project.id, variant, tests=project.tests))
        assert [upload.arrival for upload in uploads] == sorted({upload.arrival for upload in uploads})
        for test in range(project.tests):
            check_column(history, uploads, test)


def check_column(history: History, uploads: Sequence[Outcomes], test: int) -> None:
    trunk = [upload for upload in uploads if upload.counted[test] and upload.lane is Lane.TRUNK]
    failed = [int(upload.codes[test]) & 15 in (outcomes.FAILED, outcomes.ERRORED) for upload in trunk]
    streak = next((n for n, one in enumerate(reversed(failed)) if one != failed[-1]), len(failed))
    by_day: dict[object, bool] = {}
    for upload, one in zip(trunk, failed, strict=True):
        day = upload.received_at.date()
        by_day[day] = by_day.get(day, False) or one
    clean = next((n for n, one in enumerate(reversed(list(by_day.values()))) if one), len(by_day))
    wanted = {
        "trunk_trials": len(trunk),
        "pass_streak": streak if failed and not failed[-1] else 0,
        "fail_streak": streak if failed and failed[-1] else 0,
        "days": len(by_day),
        "clean_days": clean,
        "pair": min(1, len(trunk)),  # a name that only other lanes know has none
    }
    found = {name: int(getattr(history, name)[test]) for name in wanted}
    assert found | {"pair": int(np.minimum(1, found["pair"]))} == wanted
