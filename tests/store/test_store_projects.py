"""Projects, their tokens, and the record of who did what."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import Connection, Engine, LargeBinary, select

from quarantine.domain.outcome import Lane, Mode
from quarantine.errors import BadInput, Conflict, NotFound
from quarantine.store import audit, jobs, projects, tokens
from quarantine.store.engine import reading, writing
from quarantine.store.projects import Project
from quarantine.store.tables import metadata
from quarantine.store.tokens import Scope
from tests.world import PROJECT, START


def test_a_project_begins_observing_and_empty(project: Project) -> None:
    """A new project observes, has given out no number, and has a secret of its own."""
    counters = (project.pairs, project.tests, project.builds, project.uploads, project.gating_version)
    assert (project.slug, project.mode, project.reserve, counters) == (PROJECT, Mode.OBSERVE, None, (0,) * 5)
    assert len(project.secret) == 32


def test_a_name_is_taken_once(engine: Engine, project: Project) -> None:
    """A second project of the same name is a conflict, and leaves the first as it was."""
    with pytest.raises(Conflict, match="already a project"), writing(engine) as connection:
        projects.create(connection, PROJECT, START)
    with reading(engine) as connection:
        assert projects.every(connection) == [project]


def test_of_many_who_create_one_project_one_does(engine: Engine) -> None:
    """Whoever comes second gets a conflict, never an error of the database, however close they are."""

    def created(_thread: int) -> bool:
        try:
            with writing(engine) as connection:
                projects.create(connection, PROJECT, START)
        except Conflict:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(created, range(8))) == 1


def test_a_missing_project_says_how_to_make_one(connection: Connection) -> None:
    """Looking for a project that is not there raises NotFound with the command that creates it."""
    with pytest.raises(NotFound, match=r"no project 'other' here\. Create it with `quarantine project create`"):
        projects.by_slug(connection, "other", lock=True)
    assert projects.gating_version(connection, "other") is None


def test_switching_the_mode_changes_the_gating_set(connection: Connection, project: Project) -> None:
    """A switch is stored and makes snapshots be taken anew."""
    projects.set_mode(connection, project, Mode.ENFORCE)
    now = projects.by_slug(connection, PROJECT)
    assert (now.mode, now.gating_version) == (Mode.ENFORCE, 1)
    assert projects.slug_of(connection, project.id) == PROJECT


def token(connection: Connection, project: Project, **values: object) -> str:
    chosen = {"scope": Scope.REPORT, "lane": Lane.REVIEW, "change": None, "label": "ci", "expires_at": None}
    return tokens.create(connection, project.id, now=START, **(chosen | values))  # type: ignore[arg-type]  # the defaults above


def test_a_token_is_kept_as_a_hash_only(connection: Connection, project: Project) -> None:
    """The secret is handed out once: no column of any table holds it or a part of it that would do."""
    secret = token(connection, project)
    stored = [
        bytes(value) if isinstance(column.type, LargeBinary) else str(value).encode()
        for table in metadata.tables.values()
        for row in connection.execute(select(table))
        for column, value in zip(table.columns, row, strict=True)
        if value is not None
    ]
    assert tokens.digest(secret) in stored
    assert not [value for value in stored if secret[3:].encode() in value or secret.encode() in value]


def test_a_token_grants_what_it_was_made_for(connection: Connection, project: Project) -> None:
    """Looking a token up gives its project, scope, lane and change."""
    assert not tokens.exist(connection)
    secret = token(connection, project, change="PR-7")
    found = tokens.find(connection, secret, START)
    assert found is not None
    assert (found.project_id, found.scope, found.lane, found.change) == (project.id, Scope.REPORT, Lane.REVIEW, "PR-7")
    assert tokens.find(connection, secret + "x", START) is None
    assert tokens.exist(connection)


def test_a_token_ends_when_it_expires(connection: Connection, project: Project) -> None:
    """A token works until the instant of its expiry, that instant left out."""
    secret = token(connection, project, expires_at=START + timedelta(hours=1))
    assert tokens.find(connection, secret, START + timedelta(minutes=59, seconds=59))
    assert tokens.find(connection, secret, START + timedelta(hours=1)) is None


def test_a_revoked_token_is_dead_and_listed(connection: Connection, project: Project) -> None:
    """A revoked token grants nothing any more; the list says when it was revoked and shows no secret."""
    secret, other = token(connection, project), token(connection, project)
    (one,) = [row for row in tokens.every(connection, project.id) if row["id"] == id_of(connection, secret)]
    tokens.revoke(connection, project.id, one["id"], START)
    assert tokens.find(connection, secret, START) is None
    assert tokens.find(connection, other, START) is not None
    listed = tokens.every(connection, project.id)
    assert sorted(row["revoked_at"] is None for row in listed) == [False, True]
    assert not {"digest", "secret"} & listed[0].keys()


def id_of(connection: Connection, secret: str) -> str:
    found = tokens.find(connection, secret, START)
    assert found is not None
    return found.token_id


def test_revoking_what_is_not_there(connection: Connection, project: Project) -> None:
    """A token of another project cannot be revoked from this one."""
    other = projects.create(connection, "other", START)
    secret = token(connection, other)
    with pytest.raises(NotFound, match="no token"):
        tokens.revoke(connection, project.id, id_of(connection, secret), START)


@pytest.mark.parametrize(
    "values",
    [
        {"scope": Scope.REPORT, "lane": None},
        {"scope": Scope.READ, "lane": Lane.TRUNK},
        {"scope": Scope.ADMIN, "lane": Lane.AGENT},
        {"lane": Lane.TRUNK, "change": "PR-7"},
        {"change": "x" * 201},
    ],
)
def test_a_token_that_contradicts_itself_is_refused(
    connection: Connection, project: Project, values: dict[str, object]
) -> None:
    """A lane belongs to report tokens, and a change to lanes other than trunk."""
    with pytest.raises(BadInput):
        token(connection, project, **values)
    assert not tokens.exist(connection)


def test_the_audit_is_numbered_and_newest_first(connection: Connection, project: Project) -> None:
    """Rows are numbered from 1 within their project, whatever their detail; a long actor is cut, not refused."""
    other = projects.create(connection, "other", START)
    details: tuple[object, ...] = ({}, {"nested": [1, None, "\u0000\U0001f40d"]}, [])
    for detail in details:
        audit.record(connection, project.id, at=START, actor="a" * 500, action="report", detail=detail)
    audit.record(connection, other.id, at=START, actor="b", action="report", detail={})
    rows = audit.latest(connection, project.id)
    assert [row["number"] for row in rows] == [3, 2, 1]
    assert rows[1]["detail"] == {"nested": [1, None, "\u0000\U0001f40d"]}
    assert rows[0]["actor"] == "a" * 120
    assert [row["number"] for row in audit.latest(connection, other.id)] == [1]


def test_a_period_of_a_job_has_exactly_one_winner(engine: Engine) -> None:
    """Of threads that claim the same period one wins; the next period is claimed anew."""

    def claims(number: int) -> tuple[str, bool]:
        period = f"2026-01-05T{number % 3:02}"
        with writing(engine) as connection:
            return period, jobs.claim(connection, "prune", period, START)

    with ThreadPoolExecutor(6) as threads:
        won = [period for period, mine in threads.map(claims, range(36)) if mine]
    assert sorted(won) == ["2026-01-05T00", "2026-01-05T01", "2026-01-05T02"]


def test_a_claim_that_is_undone_can_be_made_again(engine: Engine) -> None:
    """A daemon that dies in the claim's own transaction has not claimed anything."""

    def claimed_then_failed() -> None:
        with writing(engine) as connection:
            assert jobs.claim(connection, "prune", "now", START)
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        claimed_then_failed()
    with writing(engine) as connection:
        assert jobs.claim(connection, "prune", "now", START)
        assert not jobs.claim(connection, "prune", "now", START)
        assert jobs.claim(connection, "other", "now", START)
