"""Whether a test has stopped passing on trunk. Broken is never quarantined: entry waits until it passes again."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from quarantine.policy.criteria import Policy
from quarantine.policy.wording import listed, plural

__all__ = ["BrokenAssessment", "FailedTrial", "assess_broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTrial:
    """A failed trunk trial, whatever its fingerprint, and what the reruns of its tree came to.

    Attributes:
        build: the key of the build.
        commit: the trunk commit; "" when unknown.
        tree: the exact content tested.
        reruns_failed: reruns of the identical tree in which the test failed again.
        reruns_passed: reruns in which it passed.
    """

    build: str
    commit: str
    tree: str
    reruns_failed: int = 0
    reruns_passed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenAssessment:
    """The broken rule applied to the failures since the last pass.

    Attributes:
        is_met: the test is broken: its trees fail, run after run.
        has_ended: it has passed often enough in a row to end a broken standing.
        unproved: failed trials whose trees still need failed reruns; what `reruns` asks for.
        sentence: the answer with its numbers.
        failing, passes, policy: what was assessed.
    """

    is_met: bool
    has_ended: bool
    unproved: tuple[FailedTrial, ...]
    sentence: str
    failing: tuple[FailedTrial, ...]
    passes: int
    policy: Policy

    def to_json(self) -> dict[str, Any]:
        """Return inputs, policy and result as JSON values, enough to recompute the decision from."""
        return {
            "kind": "broken",
            "policy_version": self.policy.version,
            "policy": self.policy.to_json(),
            "inputs": {"failing": [asdict(trial) for trial in self.failing], "passes": self.passes},
            "result": {"is_met": self.is_met, "has_ended": self.has_ended, "sentence": self.sentence},
        }


def assess_broken(failing: Sequence[FailedTrial], passes: int, policy: Policy) -> BrokenAssessment:
    """Assess one (test, variant) on trunk.

    A tree that passed a rerun is a flake's: the count begins anew after it.

    Args:
        failing: the failed trunk trials since the last passed one, oldest first; empty when the last one passed.
        passes: trunk trials passed in a row since the last failed one; 0 when `failing` is not empty.
        policy: the criteria.
    """
    if failing and passes:
        raise ValueError(f"a test cannot have both {len(failing)} failures and {passes} passes since its last change")
    recent = list(failing)
    flaked = [place for place, trial in enumerate(recent) if trial.reruns_passed]
    recent = recent[flaked[-1] + 1 :] if flaked else recent
    proved = [trial.reruns_failed >= policy.broken_reruns for trial in recent]
    is_met = _longest_run(proved) >= policy.broken_failures
    has_ended = passes >= policy.broken_passes
    return BrokenAssessment(
        is_met=is_met,
        has_ended=has_ended,
        unproved=() if is_met else tuple(trial for trial, sure in zip(recent, proved, strict=True) if not sure),
        sentence=_sentence(recent, proved, passes, policy, is_met=is_met, has_ended=has_ended),
        failing=tuple(failing),
        passes=passes,
        policy=policy,
    )


def _longest_run(flags: Sequence[bool]) -> int:
    longest = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        longest = max(longest, run)
    return longest


def _sentence(
    recent: Sequence[FailedTrial], proved: Sequence[bool], passes: int, policy: Policy, *, is_met: bool, has_ended: bool
) -> str:
    if is_met:
        sure = [trial.tree for trial, is_proved in zip(recent, proved, strict=True) if is_proved]
        return (
            f"Failed {plural(len(recent), 'trunk trial')} in a row{_where(recent)}, and {_proof(sure, policy)}: it is "
            "broken, not flaky."
        )
    if has_ended:
        return f"Passed {plural(passes, 'trunk trial')} in a row: no longer broken."
    if not recent:
        return f"Passed {passes} of the {policy.broken_passes} trunk trials in a row that end a broken standing."
    lacking = []
    if len(recent) < policy.broken_failures:
        lacking.append(plural(policy.broken_failures - len(recent), "more failed trunk trial"))
    if not all(proved):
        unproved = {trial.tree or trial.build for trial, sure in zip(recent, proved, strict=True) if not sure}
        trees = plural(len(unproved), "tree")
        lacking.append(f"{plural(policy.broken_reruns, 'failed rerun')} each of {trees}")
    return f"Failed {plural(len(recent), 'trunk trial')} in a row; to be broken it lacks {listed(lacking)}."


def _where(recent: Sequence[FailedTrial]) -> str:
    first, last = recent[0].commit[:12], recent[-1].commit[:12]
    if not first:
        return ""
    return f" at commit {first}" if first == last else f" from commit {first} to {last}"


def _proof(trees: Sequence[str], policy: Policy) -> str:
    """Return what the trees of the proved trials came to; other trunk builds of a tree are its reruns."""
    if len(trees) == len(set(trees)):
        return f"the trees of {len(trees)} of them failed at least {plural(policy.broken_reruns, 'rerun')} each"
    which, each = ("the one tree", "") if len(set(trees)) == 1 else (f"the {len(set(trees))} trees", " each")
    builds = plural(1 + policy.broken_reruns, "build")
    return f"{which} of {len(trees)} of them failed in at least {builds}{each}, any of which is a rerun of the others"
