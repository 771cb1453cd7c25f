"""What the tests of migrations share: an engine on an empty database, and a later version of the product."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from quarantine.shipped import resource
from quarantine.store.engine import open_engine


@pytest.fixture
def engine(empty_database_url: str) -> Iterator[Engine]:
    """Return an engine on a database without tables, on SQLite and on PostgreSQL in turn."""
    engine = open_engine(empty_database_url)
    yield engine
    engine.dispose()


class LaterVersion:
    """The migrations of a later version of the product: ours, and one more."""

    def __init__(self, folder: Path) -> None:
        self.scripts = folder / "later"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(resource("alembic"), self.scripts, ignore=ignored)

    def migrate(self, upgrade: str) -> Path:
        """Give revision `later` this body, and return the folder of migrations."""
        text = (
            '"""A later revision."""\n\nimport sqlalchemy as sa\nfrom alembic import op\n\n'
            f'revision = "later"\ndown_revision = "{newest()}"\n\n\ndef upgrade():\n'
        )
        lines = [f"    {line}\n" for line in upgrade.strip().splitlines()]
        (self.scripts / "versions" / "9999_later.py").write_text(text + "".join(lines), encoding="utf-8")
        return self.scripts


@pytest.fixture
def later(tmp_path: Path) -> LaterVersion:
    """Return a later version of the product, whose one further migration the test writes."""
    return LaterVersion(tmp_path)


def newest() -> str:
    """Return the newest revision of ours."""
    names = sorted(path.name for path in (resource("alembic") / "versions").glob("[0-9]*.py"))
    return names[-1].partition("_")[0]
