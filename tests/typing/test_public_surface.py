"""The public surfaces are typed: mypy reads this folder with everything else, and pyright reads them here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SURFACES = ("quarantine/client", "quarantine/loop", "quarantine/pytest_plugin", "tests/typing/public_surface.py")


def errors_of(folder: Path, *included: Path) -> list[str]:
    """Return what pyright, in its standard mode, has against these files."""
    settings = {
        "include": [str(path) for path in included],
        "extraPaths": [str(ROOT)],
        "pythonVersion": "3.11",
        "typeCheckingMode": "standard",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert told["summary"]["filesAnalyzed"] >= len(included)
    return [
        f"{Path(found['file']).name}:{found['range']['start']['line'] + 1}: {found['message']}"
        for found in told["generalDiagnostics"]
        if found["severity"] == "error"
    ]


@pytest.mark.timeout(600)
def test_pyright_has_nothing_against_the_public_surfaces(tmp_path: Path) -> None:
    """Neither against them nor against what users write."""
    assert errors_of(tmp_path, *(ROOT / name for name in SURFACES)) == []


def test_pyright_sees_a_wrong_use(tmp_path: Path) -> None:
    """The check can fail: `is_gating` takes no number, and a verdict has no such attribute."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from quarantine.client import Verdict, is_gating\n\n"
        "def wrong(verdict: Verdict) -> bool:\n"
        "    return is_gating(3) or verdict.finished\n",
        encoding="utf-8",
    )
    assert len(errors_of(tmp_path, wrong)) == 2
