"""A process that uploads into a project: `python -m tests.scenarios.writers URL PROJECT NUMBER UPLOADS`.

It says `ready`, waits for a line, uploads, and prints as JSON the receipts it got: build, new, new tests.
"""

import json
import sys

from quarantine.bootstrap import build_app
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from tests.world import START, World

OUTCOMES = ("P", "P", "F", "P", "FP")


def report(number: int, upload: int) -> dict[str, str]:
    """Return what an upload of writer `number` holds: tests of its own, tests of all, and a new one each time."""
    names = [f"own-{number}-{upload % 7}", *(f"shared-{place}" for place in range(9)), f"new-{number}-{upload}"]
    return {name: OUTCOMES[(place * number + upload) % len(OUTCOMES)] for place, name in enumerate(names)}


def main(url: str, project: str, number: int, uploads: int) -> None:
    """Upload builds of our own, builds that every writer has a part of, and builds that every writer repeats."""
    app = build_app(Settings.model_validate({"database": url}), clock=FrozenClock(START))
    world = World(app, FrozenClock(START), project)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    receipts = []
    for upload in range(uploads):
        same = {"shared-0": "P", f"repeated-{upload}": OUTCOMES[upload % len(OUTCOMES)]}
        for build, tests in (
            (f"own-{number}-{upload}", report(number, upload)),
            (f"part-{upload}", report(number, upload)),
            (f"same-{upload}", same),
        ):
            receipt = world.send(build, tests, tree=None)
            receipts.append([receipt.build_seq, receipt.new, receipt.new_tests])
    sys.stdout.write(json.dumps(receipts))
    app.engine.dispose()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
