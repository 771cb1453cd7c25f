"""Removing what code that is not trusted has left: any depth, any mode, never following a link.

Folders are moved up next to each other before they are emptied, so that neither a path that is too long nor a recursion
that is too deep can keep them; sockets, pipes and nested repositories go like everything else.
"""

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

__all__ = ["remove"]

_OWN = stat.S_IRWXU


def remove(path: str, trash: Path) -> None:
    """Remove a file, link or folder, whatever lies in it; nothing happens when there is none.

    Args:
        path: what to remove.
        trash: a folder on the same file system that nothing else uses; folders are taken apart in there.

    Raises:
        OSError: something of it cannot be removed, such as a mount point, or what another user owns.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            os.unlink(path)  # noqa: PTH108 - paths are plain strings here
            return
        waiting = [_moved(path, trash)]
        while waiting:
            folder = waiting.pop()
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(_moved(entry.path, trash))
                    else:
                        os.unlink(entry.path)  # noqa: PTH108 - the same
            os.rmdir(folder)  # noqa: PTH106 - the same


def _moved(folder: str, trash: Path) -> str:
    """Move a folder to a new name in the trash, made readable; return where it is."""
    target = f"{trash}/{uuid.uuid4().hex}"
    os.chmod(folder, _OWN)  # noqa: PTH101 - the same; it is a folder, no link
    os.rename(folder, target)  # noqa: PTH104 - the same
    return target
