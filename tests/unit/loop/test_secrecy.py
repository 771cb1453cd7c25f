"""The environment the harness was started with, and who may read it."""

import subprocess
import sys

import pytest

LOOKS = """
import ctypes
from quarantine.loop.secrecy import close_to_others
dumpable = lambda: ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
print(dumpable(), close_to_others(), dumpable())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such flag")
def test_a_closed_process_is_readable_by_root_only() -> None:
    """Linux gives `/proc/PID/environ` of a process that is not dumpable to root; before, its user could read it."""
    done = subprocess.run([sys.executable, "-c", LOOKS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "True", "0"]
