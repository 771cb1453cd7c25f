"""Every combination of standing and findings, and what a person may do by hand."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane, Mode, Status
from quarantine.domain.standing import Standing, Transition
from quarantine.errors import BadInput
from quarantine.policy.broken import BrokenAssessment, FailedTrial, assess_broken
from quarantine.policy.cap import assess_cap
from quarantine.policy.criteria import Policy
from quarantine.policy.entry import EntryAssessment, assess_entry
from quarantine.policy.evidence import recompute
from quarantine.policy.exit import ExitAssessment, Streak, assess_exit
from quarantine.policy.probation import assess_probation
from quarantine.policy.transitions import LEGAL_MOVES, Findings, gates, next_transition, transition_by_hand

POLICY = Policy()
NOW = datetime(2026, 3, 20, tzinfo=UTC)
G, Q, B, H = Status.GATING, Status.QUARANTINED, Status.BROKEN, Status.HELD


def _entry(*, met: bool) -> EntryAssessment:
    heads = [
        Head(
            number=i,
            index=10 * i,
            arrived_at=NOW - timedelta(days=10 - i),
            lane=Lane.TRUNK,
            change=None,
            build=f"b{i}",
            tree=f"t{i}",
            fingerprint=i,
            confirmed_at=NOW if met else None,
            confirmed_by="r" if met else None,
        )
        for i in range(1, 7)
    ]
    found = assess_entry(heads, 60, 1e-5, POLICY)
    assert found.is_met is met
    return found


def _broken(*, met: bool, ended: bool) -> BrokenAssessment:
    trial = FailedTrial(build="b", commit="c", tree="t", reruns_failed=2)
    return assess_broken([trial] * 3 if met else [], 3 if ended else 0, POLICY)


def _exit(*, met: bool) -> ExitAssessment:
    streak = Streak(
        failures=4,
        trials=40,
        clean_trials=900 if met else 3,
        clean_days=90,
        failing_days=4,
        days=9,
        longest_gap_days=2,
        presence=1.0,
    )
    return assess_exit(streak, 1e-5, POLICY)


ENTRY = {met: _entry(met=met) for met in (True, False)}
EXIT = {met: _exit(met=met) for met in (True, False)}
BROKEN = {
    "none": _broken(met=False, ended=False),
    "met": _broken(met=True, ended=False),
    "ended": _broken(met=False, ended=True),
}
ROOM = assess_cap(9, 100, POLICY)
FULL = assess_cap(10, 100, POLICY)


def _expected(
    status: Status, *, entry: bool, broken: str, leaving: bool, room: bool, never: bool, hold: bool
) -> Status | None:
    """The table of the design, written once more and otherwise."""
    free = room and not never and not hold
    table: dict[Status, list[tuple[bool, Status | None]]] = {
        G: [(broken == "met", B), (entry and free, Q), (entry, H)],
        H: [(broken == "met", B), (leaving, G), (entry and free, Q), (not entry, G)],
        B: [(broken == "ended", G)],
        Q: [(never, H), (leaving, G)],
    }
    return next((to for holds, to in table[status] if holds), None)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("mode", Mode)
def test_every_combination_of_findings(status: Status, mode: Mode) -> None:
    """Each of 2 x 4 x 96 gives the move of the table: legal, reasoned, recomputable, and the same in both modes."""
    flags = (True, False)
    for entry, broken, leaving, room, never, hold in product(flags, BROKEN, flags, flags, flags, flags):
        findings = Findings(
            cap=ROOM if room else FULL,
            entry=ENTRY[entry],
            broken=BROKEN[broken],
            exit=EXIT[leaving],
            never="It matches security/*." if never else None,
            hold="The flake came with an agent's change." if hold else None,
        )
        expected = _expected(status, entry=entry, broken=broken, leaving=leaving, room=room, never=never, hold=hold)
        move = next_transition(Standing(status=status), findings, mode=mode, now=NOW, policy=POLICY)
        if expected is None:
            assert move is None
            continue
        assert move is not None
        assert (move.from_status, move.to_status) == (status, expected)
        _check(move, mode)
        if status is Q:
            assert move.to_status is not B
        if move.to_status is Q:
            assert entry
            assert broken != "met"
            assert status in (G, H)


def _check(move: Transition, mode: Mode) -> None:
    assert (move.from_status, move.to_status) in LEGAL_MOVES
    assert (move.at, move.mode, move.by, move.policy_version) == (NOW, mode, "policy", POLICY.version)
    assert move.reason.endswith(".")
    assert move.restarts is (move.evidence["kind"] == "exit")
    if move.evidence["kind"] != "rule":
        assert recompute(move.evidence) == ()


@pytest.mark.parametrize("status", Status)
def test_nothing_found_moves_nothing(status: Status) -> None:
    """Without an assessment everything stays where it is."""
    assert (
        next_transition(Standing(status=status), Findings(cap=ROOM), mode=Mode.ENFORCE, now=NOW, policy=POLICY) is None
    )


@pytest.mark.parametrize("status", [G, H, B])
def test_a_deterministic_test_cannot_be_quarantined(status: Status) -> None:
    """Failures without a pass of their own tree lead to quarantine from nowhere, whatever else was found."""
    for broken, room in product(BROKEN.values(), (ROOM, FULL)):
        findings = Findings(cap=room, entry=ENTRY[False], broken=broken, exit=EXIT[False])
        move = next_transition(Standing(status=status), findings, mode=Mode.ENFORCE, now=NOW, policy=POLICY)
        assert move is None or move.to_status is not Q


def test_held_names_its_obstacle() -> None:
    """The reason holds the evidence and what stands in the way."""
    findings = Findings(cap=FULL, entry=ENTRY[True])
    move = next_transition(Standing(), findings, mode=Mode.ENFORCE, now=NOW, policy=POLICY)
    assert move is not None
    assert move.to_status is H
    assert move.reason.endswith("Held, still gating: 10 of the 10 slots for a suite of 100 tests are taken.")
    assert move.evidence["obstacle"] == FULL.sentence


def test_probation_sends_a_test_back() -> None:
    """A test let out that flakes again at its old rate goes back without the whole entry being proved anew."""
    findings = Findings(cap=ROOM, entry=ENTRY[False], probation=assess_probation(3, 60, 4, 0.05, POLICY))
    move = next_transition(Standing(), findings, mode=Mode.ENFORCE, now=NOW, policy=POLICY)
    assert move is not None
    assert (move.to_status, move.evidence["kind"]) == (Q, "probation")


def test_a_quarantine_by_hand_ends_at_its_date() -> None:
    """Not before; its evidence does not restart."""
    standing = Standing(status=Q, by_hand=True, expires_at=NOW)
    early = next_transition(
        standing, Findings(cap=ROOM), mode=Mode.ENFORCE, now=NOW - timedelta(seconds=1), policy=POLICY
    )
    assert early is None
    move = next_transition(standing, Findings(cap=ROOM), mode=Mode.ENFORCE, now=NOW, policy=POLICY)
    assert move is not None
    assert (move.to_status, move.restarts) == (G, False)


def test_only_quarantine_takes_a_test_out_of_the_gating_set_and_only_when_enforced() -> None:
    """Held and broken tests gate; in observe mode everything does."""
    assert [status for status in Status if not gates(status, Mode.ENFORCE)] == [Q]
    assert all(gates(status, Mode.OBSERVE) for status in Status)


def _by_hand(
    status: Status,
    to: Status,
    *,
    reason: str = "known, ticket 12",
    days: float | None = 7,
    never: str | None = None,
) -> Transition:
    return transition_by_hand(
        Standing(status=status),
        to,
        reason=reason,
        by="ada",
        expires_at=None if days is None else NOW + timedelta(days=days),
        mode=Mode.ENFORCE,
        now=NOW,
        policy=POLICY,
        never=never,
    )


def test_by_hand_every_pair_of_standings() -> None:
    """A person may quarantine what gates or is held, and release what is quarantined or held; nothing else."""
    allowed = {(G, Q), (H, Q), (Q, G), (H, G)}
    for status, to in product(Status, Status):
        if (status, to) in allowed:
            move = _by_hand(status, to)
            assert (move.from_status, move.to_status, move.by) == (status, to, "ada")
            assert (move.expires_at is not None, move.restarts) == (to is Q, to is G)
        else:
            with pytest.raises(BadInput):
                _by_hand(status, to)


def test_by_hand_needs_reason_and_expiry_and_respects_the_globs() -> None:
    """Each refusal says what is missing."""
    with pytest.raises(BadInput, match="needs a reason"):
        _by_hand(G, Q, reason="  ")
    for days in (None, 0):
        with pytest.raises(BadInput, match="needs an expiry in the future"):
            _by_hand(G, Q, days=days)
    with pytest.raises(BadInput, match="always gates: it matches"):
        _by_hand(G, Q, never="it matches security/*.")
    with pytest.raises(BadInput, match="A broken test is not a flaky one"):
        _by_hand(B, Q)
