"""The criteria are refused where they are incoherent, and versioned by what they say."""

import dataclasses
import json
from typing import Any

import pytest

from quarantine.errors import BadConfiguration
from quarantine.policy.criteria import Policy


def test_the_defaults_are_those_of_the_design() -> None:
    """A policy without settings tolerates 0.1 %, spends half a false quarantine, and asks ten times more of an exit."""
    policy = Policy()
    assert (policy.p0, policy.budget, policy.exit_ratio) == (0.001, 0.5, 0.1)
    assert (policy.entry_span_hours, policy.onset_spacing_hours, policy.entry_trunk_onsets) == (72, 6, 2)
    assert (policy.cap_slots, policy.cap_share, policy.rerun_hours) == (10, 0.02, (0.0, 1.0, 24.0))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("p0", 0),
        ("p0", 0.2),
        ("p0", True),
        ("p0", float("nan")),
        ("budget", -1),
        ("exit_ratio", 1),
        ("exit_ratio", 1.5),
        ("exit_ratio", 0),
        ("onset_spacing_hours", -1),
        ("entry_trunk_onsets", 0),
        ("entry_trunk_onsets", 1.5),
        ("broken_failures", 1),
        ("exit_days", 0),
        ("exit_days_most", 3),
        ("exit_presence", 0),
        ("hand_rate", 0.0001),
        ("probation_ratio", 1),
        ("storm_tests", 1),
        ("storm_hours", 0),
        ("storm_chance", 1),
        ("cap_slots", 0),
        ("cap_share", 0),
        ("cap_share", 2),
        ("rerun_hours", ()),
        ("rerun_hours", (1.0, 0.0)),
        ("rerun_hours", (0.0, "1")),
        ("reruns_per_day", -1),
        ("must_pass_reruns_most", -1),
        ("must_pass_reruns_most", 1.5),
        ("never_quarantine", ("",)),
        ("never_quarantine", "tests/*"),
    ],
)
def test_an_incoherent_knob_is_refused_by_name(key: str, value: object) -> None:
    """The sentence names the key and the mend says what to set."""
    knobs: dict[str, Any] = {key: value}
    with pytest.raises(BadConfiguration) as refused:
        Policy(**knobs)
    assert f"policy.{key}" in refused.value.message
    assert f"policy.{key}" in refused.value.mend


def test_an_exit_that_is_easier_than_the_entry_is_refused_in_words() -> None:
    """Promise 3 is checked when the policy is loaded."""
    with pytest.raises(BadConfiguration, match="leaving quarantine takes stronger evidence than entering it"):
        Policy(exit_ratio=1.0)


def test_versions_differ_exactly_when_a_knob_does() -> None:
    """Equal knobs give equal versions; every single knob changes the version."""
    base = Policy()
    assert base.version == Policy().version
    assert len(base.version) <= 40
    changed: dict[str, object] = {"never_quarantine": ("a*",), "rerun_hours": (0.0,), "exit_presence": 0.5}
    for field in dataclasses.fields(Policy):
        value = changed.get(field.name)
        if value is None:
            default = getattr(base, field.name)
            value = default + 1 if isinstance(default, int) else default * 0.9
            if field.name == "hand_rate":
                value = 0.04
        knobs: dict[str, Any] = {field.name: value}
        assert Policy(**knobs).version != base.version, field.name


def test_json_round_trip_and_unknown_keys() -> None:
    """A policy survives JSON; a key that is no setting is refused with those that are."""
    policy = Policy(never_quarantine=("tests/security/*",), rerun_hours=(0.0, 2.0))
    assert Policy.from_json(json.loads(json.dumps(policy.to_json()))) == policy
    with pytest.raises(BadConfiguration, match=r"policy\.pO is no setting") as refused:
        Policy.from_json({"pO": 0.1})
    assert "p0" in refused.value.mend


def test_never_quarantine_globs_match_any_name_of_a_test() -> None:
    """The first glob that matches a name is named; case matters."""
    policy = Policy(never_quarantine=("*::test_login*", "security.*"))
    assert policy.barring_glob("tests/a.py::test_login_twice") == "*::test_login*"
    assert policy.barring_glob("x", "security.Tokens") == "security.*"
    assert policy.barring_glob("tests/a.py::Test_login") is None
