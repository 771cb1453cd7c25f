"""The verb `quarantine demo`, as far as it can be tried without playing the story."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from quarantine.cli.demo import command
from quarantine.errors import BadInput


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    """The demo never writes among somebody's files."""
    (tmp_path / "thesis.txt").write_text("draft", encoding="utf-8")
    with pytest.raises(BadInput, match="is not empty"):
        CliRunner().invoke(command, ["--once", "--keep", str(tmp_path)], catch_exceptions=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
