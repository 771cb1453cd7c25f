"""Keeping the harness's token from processes of the same user, as far as the system helps."""

import ctypes
import sys

__all__ = ["close_to_others"]

_PR_SET_DUMPABLE = 4


def close_to_others() -> bool:
    """Let only root read this process's memory and the environment it was started with; return whether it is so.

    What a process was started with stays readable in `/proc` for its user's other processes, whatever it removes from
    its environment later. Linux stops that for a process that is not dumpable; programs it starts are as ever.
    """
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False
