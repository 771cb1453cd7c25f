"""Recomputing a stored decision: pure, from the JSON that was kept with it."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from quarantine.policy.broken import FailedTrial, assess_broken
from quarantine.policy.criteria import Policy
from quarantine.policy.entry import assess_entry, head_from_json
from quarantine.policy.exit import Streak, assess_exit
from quarantine.policy.probation import assess_probation

__all__ = ["differences", "recompute"]

_Inputs = Mapping[str, Any]


def recompute(evidence: Mapping[str, Any]) -> tuple[str, ...]:
    """Assess again what `evidence` (an assessment's `to_json`) holds; return how the results differ, empty if nowhere.

    Raises ValueError for evidence of an unknown kind. Numbers agree when they do to nine digits, for the libraries
    beneath may round the last ones otherwise.
    """
    assess = _ASSESSORS.get(evidence.get("kind", ""))
    if assess is None:
        raise ValueError(f"evidence of kind {evidence.get('kind')!r} cannot be recomputed: not one of {[*_ASSESSORS]}")
    policy = Policy.from_json(evidence["policy"])
    again = assess(evidence["inputs"], policy)
    kept = {"policy_version": evidence["policy_version"], **evidence["result"]}
    return differences(kept, {"policy_version": policy.version, **again["result"]})


def differences(stored: Any, again: Any, place: str = "") -> tuple[str, ...]:
    """Return one phrase for each place at which two JSON values differ."""
    if isinstance(stored, dict) and isinstance(again, dict):
        keys = [*stored, *(key for key in again if key not in stored)]
        found = [differences(stored.get(key), again.get(key), f"{place}.{key}".lstrip(".")) for key in keys]
        return tuple(phrase for phrases in found for phrase in phrases)
    if isinstance(stored, list) and isinstance(again, list) and len(stored) == len(again):
        pairs = enumerate(zip(stored, again, strict=True))
        return tuple(phrase for at, (one, two) in pairs for phrase in differences(one, two, f"{place}[{at}]"))
    return () if _agree(stored, again) else (f"{place}: stored {stored!r}, recomputed {again!r}",)


def _agree(stored: Any, again: Any) -> bool:
    if isinstance(stored, float) and isinstance(again, float):
        return math.isclose(stored, again, rel_tol=1e-9, abs_tol=0.0)
    return bool(stored == again)


def _entry(inputs: _Inputs, policy: Policy) -> dict[str, Any]:
    heads = [head_from_json(head) for head in inputs["heads"]]
    return assess_entry(heads, inputs["trials"], inputs["alpha"], policy, p0=inputs["p0"]).to_json()


def _broken(inputs: _Inputs, policy: Policy) -> dict[str, Any]:
    return assess_broken([FailedTrial(**trial) for trial in inputs["failing"]], inputs["passes"], policy).to_json()


def _exit(inputs: _Inputs, policy: Policy) -> dict[str, Any]:
    return assess_exit(Streak(**inputs["streak"]), inputs["alpha"], policy).to_json()


def _probation(inputs: _Inputs, policy: Policy) -> dict[str, Any]:
    return assess_probation(inputs["onsets"], inputs["trials"], inputs["days"], inputs["rate"], policy).to_json()


_ASSESSORS: dict[str, Callable[[_Inputs, Policy], dict[str, Any]]] = {
    "entry": _entry,
    "broken": _broken,
    "exit": _exit,
    "probation": _probation,
}
