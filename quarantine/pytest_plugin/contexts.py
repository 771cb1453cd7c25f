"""Running coverage.py where nobody else does, and keeping what it recorded.

With `pytest --cov` the recording is pytest-cov's, and nothing but the contexts is ours. Otherwise coverage.py starts
here, before the first file of the project is imported, configured by the project's own file. Workers of pytest-xdist
write a file each, and the session joins them.
"""

import os
import sys
import warnings
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from quarantine.client.errors import MapError
from quarantine.client.fixture_map import FixtureMap, united, write_fixture_map

if TYPE_CHECKING:
    from coverage import Coverage

__all__ = ["begin", "data_file", "finish", "joined", "own_recording", "put_map", "recording_here", "switch"]

_OWN = pytest.StashKey["Coverage"]()
_CONTEXTS_BROKEN_FROM = (3, 12)
"""From this Python on coverage.py may choose a core that reports each line once, whoever runs it."""


def begin(early_config: Any) -> None:
    """Start coverage.py in a process where tests run, unless pytest-cov does; raises pytest.UsageError without it."""
    asked = early_config.known_args_namespace
    if sys.version_info >= _CONTEXTS_BROKEN_FROM:
        os.environ.setdefault("COVERAGE_CORE", "ctrace")
    is_distributed = getattr(asked, "numprocesses", None) or getattr(asked, "dist", "no") != "no"
    worker = os.environ.get("PYTEST_XDIST_WORKER") if is_distributed else None
    if _is_measured_by_pytest_cov(asked) or (is_distributed and not worker):
        return
    try:
        recording = _recording(f".quarantine-{worker}" if worker else "")
    except ImportError as error:
        raise pytest.UsageError("quarantine: --quarantine-reach needs coverage.py. Install `coverage`.") from error
    recording.erase()
    recording.start()
    early_config.stash[_OWN] = recording


def _is_measured_by_pytest_cov(asked: Any) -> bool:
    return bool(getattr(asked, "cov_source", None)) and not getattr(asked, "no_cov", False)


def _recording(suffix: str) -> "Coverage":
    from coverage import Coverage  # noqa: PLC0415 - only where reach is recorded

    named = Coverage().get_option("run:data_file")
    recording = Coverage(data_file=os.path.abspath(f"{named}{suffix}"))  # noqa: PTH100 - `..` through a link stays
    recording.set_option("run:parallel", value=False)
    omitted = recording.get_option("run:omit")
    ours = str(Path(__file__).parent / "*")  # a file no map has seen is reached by every test
    recording.set_option("run:omit", [*(omitted if isinstance(omitted, list) else ()), ours])
    recording.set_option("run:context", "")  # a name for the whole run would be taken for a test's
    return recording


def data_file() -> Path | None:
    """Return the file that pytest-cov's recording will end up in; None when none is under way."""
    from coverage import Coverage  # noqa: PLC0415 - only where reach is recorded

    current = Coverage.current()
    return Path(str(current.get_option("run:data_file"))).absolute() if current else None


def own_recording(config: pytest.Config) -> "Coverage | None":
    """Return the recording that was begun here; None when pytest-cov makes it."""
    return config.stash.get(_OWN, None)


def recording_here(config: pytest.Config) -> "Coverage | None":
    """Return whichever recording is under way in this process, ours or pytest-cov's."""
    from coverage import Coverage  # noqa: PLC0415 - only where reach is recorded

    return own_recording(config) or Coverage.current()


def switch(recording: "Coverage", context: str) -> None:
    """Charge what follows to a context."""
    from coverage.exceptions import CoverageException  # noqa: PLC0415 - only where reach is recorded

    with suppress(CoverageException):  # a test may have stopped it
        recording.switch_context(context)


def finish(recording: "Coverage") -> Path:
    """Stop a recording of ours, and return the file it was written to."""
    with _unwarned():
        recording.stop()
        recording.save()
    return Path(str(recording.get_option("run:data_file")))


def joined(files: Iterable[Path]) -> Path | None:
    """Make one data file of what the workers wrote, and return it; None when they recorded nothing."""
    from coverage.exceptions import CoverageException  # noqa: PLC0415 - only where reach is recorded

    whole = _recording("")
    try:
        with _unwarned():
            whole.combine([str(file) for file in files if file.is_file()], strict=True)
            whole.save()
    except CoverageException:
        return None
    return Path(str(whole.get_option("run:data_file")))


def put_map(file: Path | None, maps: list[FixtureMap], *, is_appended: bool) -> str:
    """Put the fixture map into the data file, and return what came of it, as a sentence's part."""
    if file is None or not file.is_file():
        return "no reach was recorded"
    if is_appended:
        return f"reach is in {file.name}, without a fixture map, because it was appended to other data"
    try:
        write_fixture_map(file, united(maps))
    except MapError as error:
        return f"reach is in {file.name}, without a fixture map: {error.message}"
    return f"reach is in {file.name}"


@contextmanager
def _unwarned() -> Generator[None]:
    """A run that recorded nothing is told in our own words; where warnings are errors it must not become one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
