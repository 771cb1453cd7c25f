"""The entry rule on heads: its conditions, its sentences, its evidence, its monotony and its cost."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane
from quarantine.policy.criteria import Policy
from quarantine.policy.entry import EntryAssessment, assess_entry, head_from_json, head_to_json
from quarantine.policy.evidence import recompute

POLICY = Policy()
ALPHA = 1e-5
START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def _head(number: int, index: int, hours: float, lane: Lane = Lane.TRUNK, *, confirmed: bool = True) -> Head:
    at = START + timedelta(hours=hours)
    return Head(
        number=number,
        index=index,
        arrived_at=at,
        lane=lane,
        change=None if lane is Lane.TRUNK else f"{lane}-{number}",
        build=f"b{number}",
        tree=f"t{number}",
        fingerprint=2**64 - number,
        runner="host-1",
        signature="AssertionError",
        confirmed_at=at + timedelta(minutes=5) if confirmed else None,
        confirmed_by=f"r{number}" if confirmed else None,
        trunk_trials=index,
        trunk_days=int(hours // 24) + 1,
    )


def _became_flaky(hours: Sequence[float], lanes: Sequence[Lane] | None = None) -> list[Head]:
    """A 10 % flake after 5,000 clean trials."""
    return [_head(i + 1, 5_010 + 10 * i, h, Lane.TRUNK if lanes is None else lanes[i]) for i, h in enumerate(hours)]


def _assess(heads: Sequence[Head], policy: Policy = POLICY) -> EntryAssessment:
    return assess_entry(heads, heads[-1].index + 3 if heads else 500, ALPHA, policy)


def test_an_entry_says_what_it_rests_on() -> None:
    """Five onsets of a 10 % flake over four days enter by the look-back, with binomtest's p-value and all figures."""
    found = _assess(_became_flaky([0, 24, 48, 72, 96]))
    assert found.is_met
    assert found.window is not None
    assert (found.window.start, found.window.count, found.window.charge, found.window.trials) == (1, 4, 5, 40)
    assert found.window.p_value == stats.binomtest(4, 40, 0.001, alternative="greater").pvalue
    assert found.window.limit == pytest.approx(ALPHA * 0.3 / 20)
    assert found.rate == 0.1
    assert found.interval == pytest.approx((0.0279, 0.2366), abs=1e-4)
    assert [onset.number for onset in found.onsets] == [2, 3, 4, 5]
    assert found.lacking == ()
    assert found.sentence == (
        "The identical tree both failed and passed: 4 onsets in 40 trials since head 1 (10 %, 95 % interval 2.79 % to "
        "23.7 %); p = 8.9e-08 for 4 or more at the tolerated 0.1 %, at most the limit 1.5e-07."
    )


def test_a_deterministic_test_has_no_evidence() -> None:
    """Any number of failures whose trees never pass is no onset at all, however improbable."""
    heads = [replace(head, confirmed_at=None, confirmed_by=None) for head in _became_flaky(range(0, 2_400, 24))]
    found = assess_entry(heads, heads[-1].index, 0.9, POLICY)
    assert not found.is_met
    assert found.window is None
    assert found.nearness == math.inf
    assert (found.counted, found.pending) == (0, 100)
    assert found.sentence.endswith("and a passing rerun of 100 pending heads.")


def test_no_heads_at_all() -> None:
    """A test that never failed lacks onsets and nothing else."""
    found = _assess([])
    assert not found.is_met
    assert found.sentence == "0 counted onsets in 500 trials; lacking: at least 4 more onsets."


def test_an_incident_of_two_days_is_harmless() -> None:
    """Eight onsets within 71 hours do not enter; the sentence says what they span since the nearest window began."""
    found = _assess(_became_flaky([10 * i for i in range(8)]))
    assert not found.is_met
    assert found.window is not None
    assert found.window.is_met
    assert found.lacking == ("an onset at least 72 h after the first (they span 60.0 h so far)",)
    assert "within the limit" in found.sentence


def test_exactly_72_hours_suffice() -> None:
    """The span counts from the first to the last onset of the window, bound included."""
    assert _assess(_became_flaky([-24, 0, 24, 48, 72])).is_met
    assert not _assess(_became_flaky([0, 1, 24, 48, 71.9])).is_met


def test_two_onsets_on_trunk_are_needed() -> None:
    """However many are asked for, what others saw does not stand in for them; the last one of trunk decides."""
    policy = replace(POLICY, entry_trunk_onsets=4)
    lanes = [Lane.TRUNK, Lane.AGENT] * 3 + [Lane.TRUNK] * 2
    heads = _became_flaky([24 * i for i in range(8)], lanes)
    lacking = assess_entry(heads[:6], heads[5].index, ALPHA, policy)
    assert not lacking.is_met
    assert lacking.lacking == ("2 more onsets on trunk",)
    assert assess_entry(heads, heads[7].index, ALPHA, policy).is_met


def test_what_is_lacking_is_just_enough() -> None:
    """As many onsets as the sentence asks for, coming at once, suffice when the conditions hold; one fewer does not."""
    free = replace(POLICY, entry_span_hours=0.0, entry_trunk_onsets=1, onset_spacing_hours=0.0)
    heads = [_head(1, 5_010, 0), _head(2, 5_400, 24), _head(3, 9_000, 48)]
    found = _assess(heads, free)
    assert found.lacking == ("at least 3 more onsets",)
    more = [_head(4 + i, heads[-1].index + 4 + i, 72 + 24 * i) for i in range(3)]
    assert not assess_entry([*heads, *more[:2]], more[1].index, ALPHA, free).is_met
    assert assess_entry([*heads, *more], more[2].index, ALPHA, free).is_met


def test_missing_heads_crash() -> None:
    """Heads are numbered without gaps from 1; leaving the first out would shift every start."""
    with pytest.raises(ValueError, match="some are missing"):
        _assess(_became_flaky([0, 24, 48])[1:])


def test_drift_is_the_entry_rule_at_a_known_rate() -> None:
    """With the tolerance raised to a known 10 %, five onsets in fifty trials are no news."""
    heads = _became_flaky([0, 24, 48, 72, 96])
    assert not assess_entry(heads, heads[-1].index, ALPHA, POLICY, p0=0.15).is_met


@st.composite
def _histories(draw: st.DrawFn) -> list[Head]:
    """Heads a slot apart and of distinct changes, so that the spacing rule has nothing to choose."""
    index, hours, heads = draw(st.sampled_from([0, 0, 2_000])), 0.0, []
    for number in range(1, draw(st.integers(1, 12)) + 1):
        index += draw(st.integers(1, 60))
        hours += draw(st.floats(6, 40))
        lane = draw(st.sampled_from([Lane.TRUNK, Lane.TRUNK, Lane.REVIEW, Lane.AGENT]))
        heads.append(_head(number, index, hours, lane, confirmed=draw(st.booleans()) or draw(st.booleans())))
    return heads


def _is_closer(one: EntryAssessment, two: EntryAssessment) -> bool:
    return one.is_met and not two.is_met


@settings(max_examples=400)
@given(_histories(), st.data())
def test_dropping_an_onset_never_brings_a_test_closer(heads: list[Head], data: st.DataObject) -> None:
    """With span and trunk conditions in force: what does not enter still does not with an onset taken away."""
    which = data.draw(st.integers(0, len(heads) - 1))
    fewer = [replace(head, confirmed_at=None) if at == which else head for at, head in enumerate(heads)]
    before, after = (assess_entry(each, heads[-1].index, 1e-3, POLICY) for each in (heads, fewer))
    assert not _is_closer(after, before)
    assert after.nearness >= before.nearness * (1 - 1e-9) or before.is_met


@settings(max_examples=300)
@given(_histories(), st.integers(0, 2_500), st.integers(1, 200))
def test_more_clean_trials_never_bring_a_test_closer(heads: list[Head], after: int, clean: int) -> None:
    """Clean trials put in anywhere never turn a test that does not enter into one that does."""
    later = [replace(head, index=head.index + clean) if head.index > after else head for head in heads]
    assert not _is_closer(
        assess_entry(later, later[-1].index, 1e-3, POLICY), assess_entry(heads, heads[-1].index, 1e-3, POLICY)
    )


def test_the_properties_see_both_answers() -> None:
    """The histories of the property tests hold entries and non-entries, so that the properties can fail."""
    assert assess_entry([_head(i, 10 * i, 20 * i) for i in range(1, 7)], 60, 1e-3, POLICY).is_met
    assert not assess_entry([_head(i, 60 * i, 40 * i) for i in range(1, 3)], 120, 1e-3, POLICY).is_met


@settings(max_examples=60)
@given(_histories())
def test_evidence_survives_json_and_recomputes(heads: list[Head]) -> None:
    """What is stored with a decision is JSON, and gives the same decision again."""
    stored = json.loads(json.dumps(assess_entry(heads, heads[-1].index, 1e-3, POLICY).to_json()))
    assert recompute(stored) == ()
    assert [head_from_json(head_to_json(head)) for head in heads] == heads


def test_tampered_evidence_is_found_out() -> None:
    """A changed p-value, onset or policy shows as a difference that names its place."""
    stored = _assess(_became_flaky([0, 24, 48, 72, 96])).to_json()
    stored["result"]["window"]["p_value"] *= 1.001
    assert [phrase.split(":")[0] for phrase in recompute(stored)] == ["window.p_value"]
    stored = _assess(_became_flaky([0, 24, 48, 72, 96])).to_json()
    stored["inputs"]["heads"][4]["confirmed_at"] = None
    assert any(phrase.startswith("is_met: stored True") for phrase in recompute(stored))
    stored = _assess(_became_flaky([0, 24, 48, 72, 96])).to_json()
    stored["policy"]["p0"] = 0.002
    assert any(phrase.startswith("policy_version") for phrase in recompute(stored))
    with pytest.raises(ValueError, match="cannot be recomputed"):
        recompute({"kind": "hearsay"})


def test_what_is_lacking_counts_every_onset_since_the_windows_start() -> None:
    """A window whose numbers suffice among later onsets too close together still says what is missing."""
    heads = [_head(1, 2_001, 0), *[_head(1 + i, 2_020 + i, 6.5 * i) for i in range(1, 7)]]
    found = assess_entry(heads, heads[-1].index, 1e-3, POLICY)
    assert not found.is_met
    assert found.lacking == ("an onset at least 72 h after the first (they span 32.5 h so far)",)


@settings(max_examples=300)
@given(_histories())
def test_what_does_not_enter_always_says_what_is_lacking(heads: list[Head]) -> None:
    """There is no history without an answer: it enters, or it says what would change that."""
    found = assess_entry(heads, heads[-1].index, 1e-3, POLICY)
    assert found.is_met != bool(found.lacking)
