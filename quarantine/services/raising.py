"""Possible regressions of quarantined tests, written down as they are found, so that people are told of them."""

from collections.abc import Mapping
from typing import Any

from quarantine.domain.verdict import Finding, Verdict
from quarantine.policy.verdict import Judgement
from quarantine.services.facts import Subject
from quarantine.services.ingest import Taken
from quarantine.store import raised


def note(taken: Taken, verdict: Mapping[str, Any], judgement: Judgement, subjects: Mapping[int, Subject]) -> None:
    """Write down what a settled verdict raises; where it accepts, what its change had raised before is answered.

    A verdict that is judged anew raises each test once.

    Args:
        taken: the upload that settled it, its transaction open.
        verdict: its row.
        judgement: what it came to.
        subjects: by the identity of the facts that were judged.
    """
    if not judgement.is_final:
        return
    for one in judgement.tests:
        subject = subjects[id(one.test)]
        if one.found.finding is Finding.POSSIBLE_REGRESSION and subject.test is not None:
            raised.note(
                taken.connection,
                taken.project.id,
                test=subject.test,
                variant_hash=subject.variant_hash,
                verdict=verdict["number"],
                build_seq=verdict["build_seq"],
                change=verdict["change"],
                at=taken.now,
                sentence=one.found.sentence,
            )
    if judgement.verdict is Verdict.ACCEPT and verdict["change"]:
        before = raised.open_ones(taken.connection, taken.project.id)
        mended = [row["number"] for row in before if row["change"] == verdict["change"]]
        why = f"The same change was accepted by verdict {verdict['number']}."
        raised.close(taken.connection, taken.project.id, mended, state="passed", by="policy", why=why, now=taken.now)
