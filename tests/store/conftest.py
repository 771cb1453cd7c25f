"""What the storage tests share: an engine on a fresh database of either kind, a project in it, and builds to store."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Connection, Engine

from quarantine.domain.build import Build
from quarantine.domain.outcome import Lane
from quarantine.services.build_part import build_of
from quarantine.store import builds, projects
from quarantine.store.engine import open_engine, writing
from quarantine.store.projects import Project
from tests.world import PROJECT, START, build_part


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """Return an engine on a fresh database, on SQLite and on PostgreSQL in turn."""
    engine = open_engine(database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def project(engine: Engine) -> Project:
    """Return a project that is stored."""
    with writing(engine) as connection:
        return projects.create(connection, PROJECT, START)


@pytest.fixture
def connection(engine: Engine, project: Project) -> Iterator[Connection]:
    """Return one open transaction that writes, beside a stored project."""
    assert project.id
    with writing(engine) as connection:
        yield connection


BuildOf = Callable[..., Build]


@pytest.fixture
def store_build(connection: Connection, project: Project) -> BuildOf:
    """Return a function that stores a build under a sequence number; other fields are those of the build part."""

    def stored(seq: int, *, lane: Lane = Lane.TRUNK, **fields: object) -> Build:
        build = build_of(build_part(seq, **fields), lane=lane, bound_change=None, token_id=None)
        build = replace(build, started_at=START)
        builds.insert(connection, project.id, seq, build, now=START, token_id=None)
        return build

    return stored
