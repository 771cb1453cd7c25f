"""The environment a suite ran in: the interpreter and what is installed for it, in one hash."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

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


def environment_of(python: str = sys.executable) -> Environment:
    """Return what an interpreter says of itself, asked outside the tree so that nothing in there answers for it.

    Raises:
        ClientConfigurationError: it cannot be run, or does not answer within a minute.
    """
    command = [named(python), "-c", _PROBE]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, check=True, timeout=TIMEOUT_S, text=True)
        implementation, version, platform, machine, distributions = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ClientConfigurationError(
            f"{python} could not be asked what is installed for it: {error}.",
            mend="Name the interpreter that runs the tests.",
        ) from error
    return Environment(implementation, version, platform, machine, tuple(distributions))
