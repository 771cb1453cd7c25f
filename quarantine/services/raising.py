"""Possible regressions of quarantined tests, written down as they are found, so that people are told of them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from quarantine.domain.verdict import Finding, Verdict
from quarantine.errors import BadInput, Conflict
from quarantine.policy.verdict import Judgement
from quarantine.services import naming
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.facts import Subject
from quarantine.services.ingest import Taken
from quarantine.store import audit, projects, raised
from quarantine.store.engine import writing
from quarantine.store.sql import storable

_REASON_CHARACTERS = 2_000


class Was(StrEnum):
    """What a person says that a possible regression was."""

    REGRESSION = "regression"
    FLAKE = "flake"


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


def answer(app: App, slug: str, name: str, number: int, *, was: Was, bearer: Bearer, reason: str) -> dict[str, Any]:
    """Close an open possible regression with what it was, and return what follows from it as a sentence.

    How the test stands does not change by it: that takes a release, or what broke it mended.

    Raises:
        NotFound: there is no such project, or not exactly one such test.
        NotAllowed: the bearer may not answer.
        Conflict: the test has no such possible regression, or none that is open.
        BadInput: there is no reason.
    """
    bearer.require_answering()
    reason = storable(reason).strip()[:_REASON_CHARACTERS]
    if not reason:
        raise BadInput("An answer to a possible regression needs a reason.", mend="Say how you know what it was.")
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        test = naming.find(connection, project, name)
        if number not in {row["number"] for row in raised.open_ones(connection, project.id, test["ordinal"])}:
            raise Conflict(
                f"{naming.display_of(test)} has no open possible regression {number}.",
                mend="Somebody answered it, or its change was accepted meanwhile.",
            )
        by = storable(bearer.actor)[:120]
        raised.close(connection, project.id, [number], state=was.value, by=by, why=reason, now=now)
        detail = {"test": naming.id_of(test), "raised": number, "was": was.value, "reason": reason}
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="answer-regression", detail=detail)
    shown = naming.display_of(test)
    return {"test": naming.id_of(test), "name": shown, "sentence": f"Noted. What {shown} raised was a {was.value}."}
