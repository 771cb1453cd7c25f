"""Run as a process of its own: print how many MiB of peak memory 200,000 cases cost above a small report."""

import sys
import tempfile
from pathlib import Path

from quarantine.domain.outcome import Lane
from quarantine.junit import Document
from quarantine.services.access import Bearer
from quarantine.services.build_part import parse_build_part
from quarantine.services.ingest import ingest
from quarantine.store.tokens import Scope
from tests.benchmarks.product import SLUG, product
from tests.benchmarks.reports import HEAD, case, report

CASES = 200_000


def memory_mib(field: str) -> float:
    """Return VmRSS (resident now) or VmHWM (the most so far) of this process, as Linux tells it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(f"{field}:"))


def forget_peak() -> None:
    """Let VmHWM begin anew at what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Write the report to disk piece by piece, take it in from there as the server does, and print the difference."""
    bearer = Bearer("bench", frozenset({Scope.REPORT}), lane=Lane.TRUNK)
    with tempfile.TemporaryDirectory() as folder, product() as made:
        made.upload(report(5_000))
        path = Path(folder) / "large.xml"
        with path.open("wb") as opened:
            opened.write(HEAD % CASES)
            for start in range(0, CASES, 1_000):
                cases = (case(number, failed=number % 997 == 0, tag="z" * 60) for number in range(start, start + 1_000))
                opened.write("".join(cases).encode())
            opened.write(b"</testsuite></testsuites>")
        forget_peak()
        before = memory_mib("VmRSS")
        with path.open("rb") as opened:
            part = parse_build_part('{"schema": 1, "build": "large"}')
            ingest(made.app, SLUG, bearer, part, [Document(path.name, opened)])
        sys.stderr.write(f"report of {path.stat().st_size / 1024**2:.0f} MiB, baseline {before:.0f} MiB\n")
        sys.stdout.write(f"{memory_mib('VmHWM') - before:.1f}\n")


if __name__ == "__main__":
    main()
