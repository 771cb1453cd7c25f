"""Verdicts: reports in, an answer out, in one call and one transaction; reruns of either tree come in as evidence.

The answer is judged anew from what is stored with every rerun. Nothing in it rests on what the client says of a test:
a client can ask for more, and from a person's lane own up to tests that are gone.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.build import Build, ChangedPart
from quarantine.domain.outcome import BuildKind, Lane
from quarantine.domain.verdict import Effect, Finding, Verdict
from quarantine.errors import BadInput, Conflict, NotAllowed, NotFound
from quarantine.junit import Document
from quarantine.policy.verdict import Judgement, judge
from quarantine.services import raising
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.build_part import BuildPart, build_of
from quarantine.services.facts import Case, Subject, View, subjects_of, views_of
from quarantine.services.ingest import Receipt, Taken, take_in
from quarantine.services.instruction import record_of
from quarantine.services.not_shown import not_shown_by
from quarantine.services.question import Canary, Question, RerunNote
from quarantine.services.run_facts import gating_of, run_facts_of
from quarantine.services.sides import base_of, head_of
from quarantine.services.verdict_answer import answer_of
from quarantine.store import audit, builds, projects, verdicts
from quarantine.store.engine import reading
from quarantine.store.projects import Project

Answer = tuple[dict[str, Any], Receipt]
"""The wire form of a verdict, and what became of the upload it came with."""

_PREVENTING = frozenset({Finding.QUARANTINED, Finding.FLAKY, Finding.PRE_EXISTING, Finding.NONDETERMINISTIC})
_HEAD, _BASE = "head", "base"
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


def ask(
    app: App, slug: str, bearer: Bearer, part: BuildPart, question: Question, *, documents: Sequence[Document]
) -> Answer:
    """Take a run in and return the verdict on it.

    The same question about the same build is answered by the same verdict, so that a call can be repeated.

    Raises:
        NotFound: there is no such project.
        NotAllowed: the bearer may not report, or not for this ticket.
        BadInput: the question contradicts itself, or asks what this lane may not.
        Conflict: the build came in before, on another tree.
        Busy: the database cannot take it now; nothing was stored.
    """
    lane = bearer.reporting_lane()
    _check(lane, part, question)
    ticket = ticket_of(bearer, question.ticket)
    canary = question.canary

    def asked(taken: Taken) -> Answer:
        judged = _stored(taken)
        row = _known(taken, question)
        if row is None:
            row = _new_row(taken, question, ticket)
            row["number"] = verdicts.add(taken.connection, taken.project.id, row)
        _add_run(taken, row["number"], _HEAD, canary, question.runner_s)
        return _decided(app, taken, row, judged, question), taken.receipt

    return take_in(
        app, slug, bearer, part, documents, then=asked, may_be_empty=True,
        canary_name=canary.name if canary else None, timed_out=question.timed_out,
    )  # fmt: skip


def add_rerun(
    app: App, slug: str, bearer: Bearer, part: BuildPart, note: RerunNote, *, number: str, documents: Sequence[Document]
) -> Answer:
    """Take a rerun of either tree in and return the verdict as it stands now.

    Raises as `ask`, and:
        NotFound: there is no such verdict.
        NotAllowed: it was asked on another lane, or for another change.
        BadInput: it is no rerun of the judged build or of its base; the field that differs is named.
    """
    build = build_of(part, lane=bearer.reporting_lane(), bound_change=bearer.change, token_id=bearer.token_id)
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        row = _row(connection, project, number)
        side = _side(connection, project, row, build)

    def rerun(taken: Taken) -> Answer:
        _stored(taken)
        if side == _BASE and row["base_tree"] is None:
            verdicts.rewrite(taken.connection, taken.project.id, row["number"], {"base_tree": build.tree})
            row["base_tree"] = build.tree
        _add_run(taken, row["number"], side, note.canary, note.runner_s)
        judged = builds.get(taken.connection, taken.project.id, [row["build_seq"]])[row["build_seq"]]
        return _decided(app, taken, row, judged, Question.from_bytes(row["question"])), taken.receipt

    return take_in(
        app, slug, bearer, part, documents, then=rerun, may_be_empty=True,
        canary_name=note.canary.name if note.canary else None, timed_out=note.timed_out,
    )  # fmt: skip


def get(app: App, slug: str, number: str) -> dict[str, Any]:
    """Return a verdict as it stands; raises NotFound when there is no such project or verdict."""
    with reading(app.engine) as connection:
        answer: dict[str, Any] = _row(connection, projects.by_slug(connection, slug), number)["answer"]
    return answer


def ticket_of(bearer: Bearer, stated: str | None) -> str | None:
    """Return the ticket a caller speaks for; raises NotAllowed when an agent's token is bound to another change."""
    bound = bearer.change if bearer.lane is Lane.AGENT else None
    if bound is not None and stated not in (None, bound):
        raise NotAllowed(
            f"This token speaks for {bound!r}, not for the ticket {stated!r}.",
            mend="Use the token that was made for this ticket's change.",
        )
    return stated if bound is None else bound


def _check(lane: Lane, part: BuildPart, question: Question) -> None:
    """Refuse what contradicts itself, and what an agent's lane may not ask."""
    if part.kind == "rerun":
        raise BadInput(
            "The build part is of a rerun, and a verdict is asked on a run.",
            mend="Send reruns to verdicts/{id}/reruns of the verdict that wants them.",
            code="bad-question",
        )
    if question.removed and lane is Lane.AGENT:
        raise BadInput(
            "The question names tests that are `removed`, and only a person's change may say that.",
            mend="Leave `removed` out; a test that is gone rejects an agent's change.",
            code="removed-by-agent",
        )
    if question.base_tree is not None and question.base_tree == part.tree:
        raise BadInput(
            "The base's tree is the very tree that was tested: the change changes nothing.",
            mend="Compare with the tree without the change; a patch that changes nothing needs no run.",
            code="no-change",
        )


def _stored(taken: Taken) -> dict[str, Any]:
    """Return the build's row.

    Raises Conflict when the build of this name is of another tree: one tree's outcomes would speak for the other.
    """
    stored = builds.get(taken.connection, taken.project.id, [taken.seq])[taken.seq]
    if stored["tree"] != taken.build.tree:
        raise Conflict(
            f"Build {taken.build.build!r} came in before, on another tree.",
            mend="Give every execution a name of its own.",
        )
    return stored


def _known(taken: Taken, question: Question) -> dict[str, Any] | None:
    """Return the verdict that answers this very question about this build; None when there is none."""
    rows = verdicts.of_build(taken.connection, taken.project.id, taken.seq)
    return next((row for row in rows if Question.from_bytes(row["question"]) == question), None)


def _new_row(taken: Taken, question: Question, ticket: str | None) -> dict[str, Any]:
    """Return the columns of a verdict that is still to be decided."""
    build = taken.build
    base_commit = question.base_commit or build.base_commit
    return {
        "build_seq": taken.seq,
        "lane": build.lane.value,
        "change": build.change,
        "ticket": ticket,
        "attempt": question.attempt,
        "key": _key(build, question, base_commit),
        "patch": question.patch,
        "base_commit": base_commit,
        "base_tree": question.base_tree,
        "environment_hash": build.environment_hash,
        "subset": question.subset,
        "question": question.to_bytes(),
        "changed": None if build.changed is None else _packed(build.changed),
        "outcome": Verdict.INCONCLUSIVE.value,
        "final": False,
        "suspect": False,
        "sentence": "",
        "answer": {},
        "plain_rejects": False,
        "prevented": 0,
        "is_random": False,
        "runner_s": 0.0,
        "tokens": question.tokens,
        "cost": question.cost,
        "asked_at": taken.now,
        "decided_at": taken.now,
    }


def _key(build: Build, question: Question, base_commit: str | None) -> str:
    """Return what is judged, as 64 hexadecimal digits: the patch or the tree, the base, the environment, the subset."""
    parts = [
        question.patch or build.tree,
        question.base_tree or base_commit,
        build.environment_hash,
        question.subset,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _add_run(taken: Taken, number: int, side: str, canary: Canary | None, runner_s: float) -> None:
    run = {
        "verdict": number,
        "build_seq": taken.seq,
        "side": side,
        "canary": taken.canary,
        "canary_exit_code": canary.exit_code if canary else None,
        "runner_s": runner_s,
    }
    verdicts.add_run(taken.connection, taken.project.id, run)


def _row(connection: Connection, project: Project, number: str) -> dict[str, Any]:
    row = verdicts.get(connection, project.id, int(number)) if _NUMBER.fullmatch(number) else None
    if row is None:
        raise NotFound(f"{project.slug} has no verdict {number!r}.", mend="Its id is in the answer to POST verdicts.")
    return row


def _side(connection: Connection, project: Project, row: Mapping[str, Any], build: Build) -> str:
    """Return which tree of a verdict a rerun is of; raises NotAllowed or BadInput when it is none of its reruns."""
    if (build.lane.value, build.change) != (row["lane"], row["change"]):
        raise NotAllowed(
            f"Verdict {row['number']} was asked on the {row['lane']} lane for {row['change']!r}.",
            mend="Send its reruns with the token that asked for it.",
        )
    judged = builds.get(connection, project.id, [row["build_seq"]])[row["build_seq"]]
    wanted = {
        "kind": "rerun",
        "rerun_of": judged["build"],
        "job": judged["job"],
        "command": judged["command"],
        "environment_hash": judged["environment_hash"],
        "stream": judged["stream"],
    }
    differing = [name for name, value in wanted.items() if getattr(build, name) != value]
    as_judged = replace(build, build=judged["build"], job=judged["job"], attempt=judged["attempt"], kind=BuildKind.RUN)
    if as_judged.key != judged["key"]:
        differing.append("variant")
    if differing:
        raise BadInput(
            f"This is no rerun of build {judged['build']!r}: `{'`, `'.join(differing)}` differ.",
            mend="Run the recorded command again, whole, in the same environment, as kind `rerun`.",
            code="foreign-rerun",
        )
    if build.tree is not None and build.tree == judged["tree"]:
        return _HEAD
    stated = {row["base_tree"]} - {None, judged["tree"]}
    known = stated.union(_base_trees(connection, project, row, judged["tree"]))
    at_base = not known and row["base_commit"] is not None and build.commit == row["base_commit"]
    if build.tree is not None and (build.tree in known or at_base):
        return _BASE
    raise BadInput(
        f"The rerun is of tree {str(build.tree)[:12]}, which is neither the head's nor the base's of verdict "
        f"{row['number']}.",
        mend="Rerun the byte-identical tree; name the base's as `base_tree` in the question.",
        code="foreign-rerun",
    )


def _base_trees(connection: Connection, project: Project, row: Mapping[str, Any], tree: str | None) -> list[str]:
    """Return the trees that may speak for the base: those trunk ran, and those that were run as the base.

    The tree that the question states is not believed by itself: it could be any, one that fails alike among them. One
    that was run for an earlier verdict on this change need not be run again. The head's own is none of them.
    """
    commit, stated = row["base_commit"], row["base_tree"]
    found = verdicts.base_trees_run(connection, project.id, row)
    if stated:
        found &= {stated}
    if commit:
        found |= verdicts.trunk_trees(connection, project.id, commit, unchanged=_packed([]))
    if stated and builds.trunk_tree_exists(connection, project.id, stated):
        found.add(stated)
    return sorted(found - {tree})


def _decided(
    app: App, taken: Taken, row: Mapping[str, Any], judged: Mapping[str, Any], question: Question
) -> dict[str, Any]:
    """Judge a verdict from what is stored now, store what it came to, and return the answer."""
    connection, project, number = taken.connection, taken.project, row["number"]
    runs = verdicts.runs_of(connection, project.id, number)
    base_reruns = frozenset(run["build_seq"] for run in runs if run["side"] == _BASE)
    case = _case(app, taken, row, judged=judged, question=question, base_reruns=base_reruns)
    views = views_of(case)
    gating = gating_of(case, views)
    subjects = {id(one.facts): one for one in subjects_of(case, views)}
    judgement = judge(run_facts_of(case, views, runs, gating), [one.facts for one in subjects.values()], app.policy)
    answer = answer_of(
        case,
        number,
        judgement,
        subjects,
        gating=gating,
        not_shown=not_shown_by(
            case, views, gating, is_base_known=any(one.facts.base.total for one in subjects.values())
        ),
        record=record_of(case, judgement, subjects),
        key=row["key"],
        variants=builds.variants(connection, project.id),
    )
    verdicts.rewrite(
        connection,
        project.id,
        number,
        {
            "outcome": judgement.verdict.value,
            "final": judgement.is_final,
            "suspect": bool(judgement.suspicions),
            "sentence": judgement.sentence,
            "answer": answer,
            "plain_rejects": _plain_rejects(case),
            "prevented": _prevented(judgement, subjects, views),
            "is_random": any(
                one.found.finding is Finding.NONDETERMINISTIC and one.found.effect is Effect.UNDECIDED
                for one in judgement.tests
            ),
            "runner_s": sum(run["runner_s"] for run in runs),
            "decided_at": taken.now,
        },
    )
    raising.note(taken, row, judgement, subjects)
    told = {name: row[name] for name in ("lane", "change", "ticket", "attempt")}
    detail = {"verdict": number, "build": taken.seq, "outcome": judgement.verdict, "final": judgement.is_final, **told}
    audit.record(connection, project.id, at=taken.now, actor=taken.actor, action="verdict", detail=detail)
    return answer


def _case(
    app: App,
    taken: Taken,
    row: Mapping[str, Any],
    *,
    judged: Mapping[str, Any],
    question: Question,
    base_reruns: frozenset[int],
) -> Case:
    connection, project = taken.connection, taken.project
    named = [*question.must_pass, *(question.expected or ()), *question.removed]
    trees = _base_trees(connection, project, row, judged["tree"])
    head = head_of(connection, project.id, judged, project.tests)
    return Case(
        connection=connection,
        project=project,
        policy=app.policy,
        question=question,
        judged=judged,
        names=app.names.resolve(connection, project, named),
        changed=_changed(row["changed"]),
        index=app.reach.of(connection, project, project.tests),
        functions=app.reach.functions_of(connection, project, project.tests) if question.changed_lines else None,
        head=head,
        base=base_of(
            connection,
            project.id,
            judged,
            variants=head.uploads,
            trees=trees,
            reruns=base_reruns,
            tests=project.tests,
        ),
        base_trees=trees,
        base_reruns=base_reruns,
        now=taken.now,
    )


def _changed(stored: bytes | None) -> list[ChangedPart] | None:
    return None if stored is None else [(path, part, found) for path, part, found in _unpacked(stored)]


def _plain_rejects(case: Case) -> bool:
    """Return whether the first run would have been rejected by a harness that only looks at it."""
    judged, seq = case.judged, case.judged["seq"]
    if judged["failed"] or case.head.events.get(seq) or case.head.broke_off(seq):
        return True
    return judged["exit_code"] not in (None, 0, case.head.canary_codes.get(seq, 0))


def _prevented(judgement: Judgement, subjects: Mapping[int, Subject], views: Sequence[View]) -> int:
    """Return how many failures of the first run were excused rather than held against the change."""
    first = {view.variant_hash: view.first for view in views}
    count = 0
    for one in judgement.tests:
        subject = subjects[id(one.test)]
        if one.found.finding in _PREVENTING and one.found.effect in (Effect.EXCUSED, Effect.IGNORED):
            count += subject.test is not None and bool(first[subject.variant_hash].failed[subject.test])
    return count


def _packed(value: Any) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":")).encode(), level=1)


def _unpacked(stored: bytes) -> Any:
    return json.loads(zlib.decompress(stored))
