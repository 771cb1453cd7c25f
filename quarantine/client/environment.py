"""The environment a suite ran in: the interpreter and what is installed for it, in one hash."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from quarantine.client.errors import ClientConfigurationError

__all__ = ["Environment", "environment_of"]

TIMEOUT_S = 60
_PROBE = """
import importlib.metadata, json, platform, sys
installed = {(d.metadata["Name"] or "?").lower().replace("_", "-") + "==" + (d.version or "?")
             for d in importlib.metadata.distributions()}
print(json.dumps([platform.python_implementation(), platform.python_version(), sys.platform, platform.machine(),
                  sorted(installed)]))
"""


class Environment(NamedTuple):
    """An interpreter and its distributions.

    Attributes:
        implementation: such as `CPython`.
        version: such as `3.11.7`.
        platform: `sys.platform`.
        machine: the processor's architecture.
        distributions: `name==version`, sorted; names in lower case with `-`.
    """

    implementation: str
    version: str
    platform: str
    machine: str
    distributions: tuple[str, ...]

    @property
    def hash(self) -> str:
        """64 hexadecimal digits: SHA-256 over the fields, one a line."""
        return hashlib.sha256("\n".join([*self[:4], *self.distributions, ""]).encode()).hexdigest()


def named(python: str) -> str:
    """Return an interpreter's path, good in every folder; a bare name is looked up on the PATH."""
    return str(Path(shutil.which(python) or python).absolute())


def asked(
    python: str, *words: str, what: str, answers: int, mend: str = "Name the interpreter that runs the tests."
) -> list[Any]:
    """Return the JSON list that an interpreter prints, asked outside of any tree so that nothing there answers for it.

    Args:
        python: the interpreter, a path or a name on the PATH.
        words: its arguments.
        what: what it is asked, as the end of a sentence.
        answers: how many values it has to answer with.
        mend: what to do when it does not say.

    Raises:
        ClientConfigurationError: it cannot be run, or does not answer within a minute.
    """
    try:
        done = subprocess.run([named(python), *words], cwd="/", capture_output=True, check=True, timeout=TIMEOUT_S)
        return _listed(json.loads(done.stdout), answers)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ClientConfigurationError(f"{python} could not be asked {what}: {error}.", mend=mend) from error


def _listed(told: Any, answers: int) -> list[Any]:
    if not isinstance(told, list) or len(told) != answers:
        raise ValueError("it answered something else")
    return told


def environment_of(python: str = sys.executable) -> Environment:
    """Return what an interpreter says of itself; raises ClientConfigurationError as `asked` does."""
    implementation, version, platform, machine, distributions = asked(
        python, "-c", _PROBE, what="what is installed for it", answers=5
    )
    return Environment(implementation, version, platform, machine, tuple(distributions))
