"""The command line as a process of its own."""

import sys

QUARANTINE = (sys.executable, "-c", "from quarantine.cli import main; main()")
"""`quarantine`, to be followed by a verb."""
