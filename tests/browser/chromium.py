"""The browser that pages are looked at in: the chromium of this machine, never one that is downloaded."""

import os
import shutil
from pathlib import Path

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REQUIRED = "QUARANTINE_BROWSER"
"""The environment variable that turns a missing browser from a warning into a failure when it says `required`."""
MISSING = (
    "there is no chromium on this machine, so no page was looked at in a browser (Debian: apt-get install chromium)"
)


def chromium() -> Path | None:
    """Return the browser of this machine; None when there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    return Path(found) if found else None


def is_required() -> bool:
    """Return whether its absence is a failure, as it is in CI."""
    return os.environ.get(REQUIRED) == "required"
