"""What became of an upload, on the wire."""

from typing import Any

from quarantine.services.ingest import Receipt


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """Return the wire form of a receipt."""
    return {
        "build": receipt.build_seq,
        "new": receipt.new,
        **receipt.counts,
        "run_events": receipt.run_events,
        "new_tests": receipt.new_tests,
        "transitions": list(receipt.transitions),
        "reports": [
            {
                "name": reading.name,
                "status": reading.status,
                "code": reading.code,
                "sentence": reading.sentence,
                "sha256": reading.sha256,
                "problems": [{"code": problem.code, "message": problem.message} for problem in reading.problems],
            }
            for reading in receipt.readings
        ],
    }
