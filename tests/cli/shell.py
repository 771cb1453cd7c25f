"""Running `quarantine` inside this process: the whole command line, its exit code and what it said."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quarantine.cli import main
from quarantine.client.providers import PROVIDERS

UNSET = (
    *("QUARANTINE_URL", "QUARANTINE_PROJECT", "QUARANTINE_TOKEN", "QUARANTINE_DATABASE"),
    *(provider.marker for provider in PROVIDERS),
)


@dataclass(frozen=True, slots=True)
class Said:
    """What became of one call."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed, as the one JSON document it must be."""
        return json.loads(self.out)


@dataclass(slots=True)
class Shell:
    """A person at a shell: a folder, variables, and a home that is nobody's."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str | Path, code: int | None = 0, **variables: str) -> Said:
        """Run `quarantine` with these words, and check its exit code unless it is None."""
        with self.monkeypatch.context() as patch:
            for name in UNSET:
                patch.delenv(name, raising=False)
            for name, value in (self.variables | variables).items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["quarantine", *map(str, words)])
            patch.chdir(self.folder)
            self.capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
        said = Said(_code(ended.value), *self.capsys.readouterr())
        assert code is None or said.code == code, said
        return said

    def refused(self, *words: str | Path, code: int = 2, **variables: str) -> str:
        """Run `quarantine`, check that it did nothing but say one line on stderr, and return that line."""
        said = self.run(*words, code=code, **variables)
        assert said.out == ""
        [line] = said.err.splitlines()
        assert line.startswith("quarantine: ")
        return line.removeprefix("quarantine: ")


def _code(ended: SystemExit) -> int:
    return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
