"""Scratch folders of the living and of the dead."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from quarantine.client.claims import claim, claimed, scratch_folder, sweep, taken_over

ROOT = Path(__file__).parents[3]
DIES = """
import os, signal
from quarantine.client.claims import scratch_folder
with scratch_folder("agent") as one, scratch_folder("home") as other:
    (one / "kept").mkdir(mode=0o500)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that is the system's for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def test_the_folders_of_the_dead_are_swept_and_no_others(place: Path) -> None:
    """What a kill -9 left goes; a living process's folder, and whatever nobody has claimed, stays."""
    subprocess.run([sys.executable, "-c", DIES], cwd=ROOT, env=os.environ | {"TMPDIR": str(place)}, check=False)
    assert sorted(path.name.split("-")[1] for path in place.iterdir()) == ["agent", "home"]
    (place / "quarantine-agent-mine").mkdir()
    with scratch_folder("run") as living:
        assert {path.name.split("-")[1] for path in sweep()} == {"agent", "home"}
        assert sorted(path.name for path in place.iterdir()) == sorted(["quarantine-agent-mine", living.name])
    assert [path.name for path in place.iterdir()] == ["quarantine-agent-mine"]


def test_a_link_to_a_folder_with_a_claim_is_left_alone(place: Path, tmp_path: Path) -> None:
    """Whoever plants one, or a claim that is a link, gets nothing removed that lies elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "claim").write_bytes(b"scratch")
    (place / "quarantine-agent-link").symlink_to(elsewhere)
    (place / "quarantine-agent-folder").mkdir()
    (place / "quarantine-agent-folder" / "claim").symlink_to(elsewhere / "claim")
    assert sweep() == []
    assert (elsewhere / "claim").exists()
    assert (place / "quarantine-agent-folder").exists()


def test_a_claim_is_held_as_long_as_its_process_has_it(place: Path) -> None:
    """It is found under its purpose alone, and can be taken over once it is let go."""
    held = claim("quarantine-x-", place, b"one")
    assert list(claimed(place, "quarantine-x-", b"one")) == [held.folder]
    assert list(claimed(place, "quarantine-x-", b"two")) == []
    assert taken_over(held.folder) is None
    os.close(held.lock)
    again = taken_over(held.folder)
    assert again is not None
    os.close(again.lock)
