"""What each test that did not simply pass is found to be: the table of docs/verdict.md, one row a function.

A try is one execution of the recorded command, whole, on the identical tree. The rules rest on three numbers:

- r = `1 + verdict_reruns` tries on the head settle that a test fails every time. A test that fails with chance c there
  is taken for failing always with chance c^r, which is why its base must pass before the change is blamed.
- s straight passes after the j-th failure, `(1 - q)^s <= verdict_error / 2^j`, settle a test that is random under the
  change, q = `min(1/r, share of failures up to the last one)`. Had it kept failing at a rate of q or more, that streak
  would have come after the j-th failure with a chance of at most `verdict_error / 2^j`, and after any of them with at
  most the sum, `verdict_error`: no number of lucky streaks to choose from makes the error larger. (Taking q for the
  share alone and the same level each time lets a test that fails half of the time pass in 31 of 100 verdicts.) What a
  streak cannot exclude is a rate below q.
- For a must-pass test that is known to flake (quarantined or held, or it did both on the base), q is the rate at which
  it fails *unmended*: the largest of its share of failed trials on trunk, the lower 95 % bound of what the base showed
  (Clopper and Pearson), and 0.05. s passes in a row on the head are convincing once `(1 - q)^s <= verdict_error`:
  before, the unmended test would have passed as well. The 0.05 is the cap of the exit rule's p1, and taken for the same
  reason: what is demanded has to be reachable. So s is at most `ceil(ln 0.05 / ln 0.95) = 59` with the default
  `verdict_error`. A test that fails unmended at q or more passes so often with a chance of at most `verdict_error`; one
  that does at a rate u below 0.05 passes 59 times in a row with a chance of `(1 - u)^59`, which is 30 % at u = 2 %.
"""

from dataclasses import dataclass
from typing import NamedTuple

from quarantine.domain.outcome import Status
from quarantine.domain.verdict import Effect, Finding
from quarantine.policy.criteria import Policy
from quarantine.policy.wording import percent, plural
from quarantine.stats.binomial import lower_bound
from quarantine.stats.streaks import RATE_CEILING, clean_trials_needed

__all__ = ["NO_TRIES", "Found", "TestFacts", "Tries", "find"]


class Tries(NamedTuple):
    """How often a test failed and passed on one tree, skipped tries left out; `straight` passes since it last failed.

    A run whose first try failed and whose retry passed is one failed and one passed try.
    """

    failed: int = 0
    passed: int = 0
    straight: int = 0

    @property
    def total(self) -> int:
        """All tries."""
        return self.failed + self.passed

    @property
    def is_mixed(self) -> bool:
        """Whether it did both."""
        return self.failed > 0 and self.passed > 0


NO_TRIES = Tries()


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFacts:
    """All that is known about one test that failed, is missing, turned skipped or must pass.

    Attributes:
        name: as people read it.
        head, base: its tries on either tree, in this variant and an environment that agrees.
        is_present: whether a report of the head has it, skipped or not.
        is_skipped: whether the head's reports only have it as skipped.
        is_expected: whether the client said that it must be in the reports.
        is_elsewhere: whether it is not in this variant, where it usually runs, but in another one of the same runs.
        on_base: whether a report of the base has it; None when the base has not been run.
        same_signature: whether a failure on the base looks like one on the head.
        standing: on trunk.
        is_excusable: whether its quarantine takes it out of the gating set here: the project enforces.
        must_pass: whether the change was ordered to make it pass.
        is_removed: whether the change says that it is gone or skipped on purpose.
        rate: its share of failed trials on trunk; 0 when it never failed or nobody knows.
        alarm_reruns: failed reruns in a row that its flaking does not explain, when it is quarantined.
        is_reached: whether the reach map says that the change touches it; None without a map.
        passes_on_trunk: whether its last trial on trunk passed.
    """

    __test__ = False

    name: str
    head: Tries = NO_TRIES
    base: Tries = NO_TRIES
    is_present: bool = True
    is_skipped: bool = False
    is_expected: bool = False
    is_elsewhere: bool = False
    on_base: bool | None = None
    same_signature: bool = False
    standing: Status = Status.GATING
    is_excusable: bool = False
    must_pass: bool = False
    is_removed: bool = False
    rate: float = 0.0
    alarm_reruns: int = 1
    is_reached: bool | None = None
    passes_on_trunk: bool = False

    @property
    def has_to_convince(self) -> bool:
        """Whether it must pass and is known to flake, so that a few passes are no news."""
        return self.must_pass and (self.standing in (Status.QUARANTINED, Status.HELD) or self.base.is_mixed)


@dataclass(frozen=True, slots=True)
class Found:
    """What a test is found to be, what that does, why, and what more runs would say more.

    Attributes:
        head, base: further runs of either tree that are wanted before this is settled; 0 when it is.
    """

    finding: Finding
    effect: Effect
    sentence: str
    head: int = 0
    base: int = 0


def find(test: TestFacts, policy: Policy, *, can_rerun: bool) -> Found | None:
    """Return what the test is found to be; None when it simply passed, or is skipped on the base as well.

    Args:
        test: what is known about it.
        policy: the criteria.
        can_rerun: whether further runs can be had. Without them a failure that nothing excuses rejects as it is.
    """
    if not test.is_present or test.is_skipped:
        return _absent(test)
    if test.must_pass:
        return _must_pass(test, policy, can_rerun=can_rerun)
    if not test.head.failed:
        return None
    if test.is_excusable:
        return _quarantined(test, can_rerun=can_rerun)
    if test.head.is_mixed:
        return _mixed(test, policy, can_rerun=can_rerun)
    return _failing(test, policy, can_rerun=can_rerun)


def _absent(test: TestFacts) -> Found | None:
    """Return the finding for a test that the head does not have, or only as skipped."""
    what = "is skipped" if test.is_skipped else "is in no report"
    what += " of this variant" if test.is_elsewhere else ""
    if test.must_pass:
        return Found(Finding.MUST_PASS, Effect.REJECTS, f"It must pass, but it {what}.")
    if test.is_removed:
        return Found(Finding.REMOVED, Effect.IGNORED, f"It {what}, and the change says that this is meant.")
    if test.base.total:
        did = "passed" if test.base.passed else "failed"
        gone = Finding.TURNED_SKIPPED if test.is_skipped else Finding.VANISHED
        return Found(gone, Effect.REJECTS, f"It ran on the base, where it {did}, and {what} here.")
    runs_on_trunk = test.is_skipped and test.on_base is None and test.passes_on_trunk
    if not (test.is_expected or runs_on_trunk) or (test.is_skipped and test.on_base):
        return None
    if test.is_elsewhere:
        return Found(Finding.VANISHED, Effect.REJECTS, f"It {what}, where trunk runs it, though it is in another one.")
    return _expected(test, what)


def _expected(test: TestFacts, what: str) -> Found:
    """Return the finding for a test expected to run, or that runs on trunk, of which the base says nothing."""
    if test.is_skipped:
        on_base = "the base has not been run" if test.on_base is None else "the base's reports do not have it"
        why = "was expected" if test.is_expected else "passes on trunk"
        said, wanted = f"It {why} and {what}; {on_base}.", 1 if test.on_base is None else 0
        return Found(Finding.TURNED_SKIPPED, Effect.UNDECIDED, said, base=wanted)
    if test.on_base is False:
        said = f"It was expected and {what}, but the base's reports do not have it either: is the name right?"
        return Found(Finding.MISSING, Effect.UNDECIDED, said)
    on_base = "the base has it as skipped" if test.on_base else "the base has not been run"
    return Found(Finding.MISSING, Effect.REJECTS, f"It was expected and {what}; {on_base}.")


def _must_pass(test: TestFacts, policy: Policy, *, can_rerun: bool) -> Found:
    head, base, full = test.head, test.base, 1 + policy.verdict_reruns
    if not head.passed:
        as_before = base.failed and not base.passed and test.same_signature
        if as_before or head.failed >= full or not can_rerun:
            how = "It fails as it does on the base" if as_before else f"It failed {_of(head)}"
            return Found(Finding.MUST_PASS, Effect.REJECTS, f"{how}, and must pass.")
        return Found(
            Finding.MUST_PASS,
            Effect.UNDECIDED,
            f"It failed {_of(head)}, and must pass.",
            head=full - head.failed,
            base=0 if base.total else 1,
        )
    unmended = _unmended_rate(test)
    needed = clean_trials_needed(unmended, policy.verdict_error) if unmended else 1
    needed = max(needed, _streak_needed(head, policy)) if head.failed else needed
    did = f"It must pass, and passed {plural(head.straight, 'time')} in a row"
    why = _why_convincing(test, unmended) if unmended else "it also failed here"
    if head.straight >= needed:
        return Found(Finding.MUST_PASS, Effect.PASSES, f"{did}." if needed == 1 else f"{did}, which settles it: {why}.")
    said = f"{did}; it takes {needed} to show that it is mended, for {why}."
    return Found(Finding.MUST_PASS, Effect.UNDECIDED, said, head=needed - head.straight)


def _why_convincing(test: TestFacts, unmended: float) -> str:
    if unmended > RATE_CEILING:
        return f"it fails {percent(unmended)} of the time unmended"
    known = f" ({percent(test.rate)} of the time on trunk)" if test.rate else ""
    return f"it flakes unmended{known}, and a rate of {percent(RATE_CEILING)} is what is ruled out"


def _unmended_rate(test: TestFacts) -> float:
    """Return q of a must-pass test that is known to flake; 0 for one that is not: there one pass is a mend."""
    if not test.has_to_convince:
        return 0.0
    shown = lower_bound(test.base.failed, test.base.total, 0.05) if test.base.total else 0.0
    return min(_LARGEST_RATE, max(test.rate, shown, RATE_CEILING))


_LARGEST_RATE = 0.95
"""However often a test has failed, one pass alone never shows that it is mended."""


def _streak_needed(head: Tries, policy: Policy) -> int:
    """Return s, the straight passes that settle a test which failed on the head; see the module's docstring."""
    rate = min(1 / (1 + policy.verdict_reruns), head.failed / (head.total - head.straight))
    return clean_trials_needed(rate, policy.verdict_error / 2**head.failed)


def _quarantined(test: TestFacts, *, can_rerun: bool) -> Found:
    head, base = test.head, test.base
    flakes = "It is quarantined" + (f" (it fails {percent(test.rate)} of the time on trunk)" if test.rate else "")
    if head.passed:
        return Found(Finding.QUARANTINED, Effect.EXCUSED, f"{flakes}, and it passed on this tree too.")
    if base.failed and not base.passed:
        return Found(Finding.QUARANTINED, Effect.EXCUSED, f"{flakes}, and it fails on the base as well.")
    missing = 1 + test.alarm_reruns - head.failed
    if missing > 0 or not base.passed:
        not_rerun = "" if can_rerun else "; it was not rerun, so a real failure would not be seen"
        return Found(
            Finding.QUARANTINED,
            Effect.EXCUSED,
            f"{flakes}, and it failed {_of(head)}{not_rerun}.",
            head=max(0, missing),
            base=0 if base.total else 1,
        )
    return Found(
        Finding.POSSIBLE_REGRESSION,
        Effect.REJECTS,
        f"{flakes}, but {plural(head.failed, 'failure')} in a row are more than that explains, and the base passes.",
    )


def _mixed(test: TestFacts, policy: Policy, *, can_rerun: bool) -> Found:
    head, base = test.head, test.base
    did = f"It failed {_of(head)} on the identical tree"
    if base.failed:
        also = "both fails and passes" if base.passed else "fails"
        return Found(Finding.FLAKY, Effect.EXCUSED, f"{did}, and on the base it {also} too.")
    needed = _streak_needed(head, policy)
    on_base = "while the base passes" if base.passed else "and the base has not run it"
    if head.straight >= needed:
        settled = f"it then passed {plural(head.straight, 'time')} in a row, and {needed} settle it"
        return Found(Finding.NONDETERMINISTIC, Effect.EXCUSED, f"{did}, {on_base}; {settled}.")
    return Found(
        Finding.NONDETERMINISTIC,
        Effect.UNDECIDED,
        f"{did}, {on_base}: it is random under this change until it passes {needed} times in a row "
        f"({head.straight} so far).",
        head=needed - head.straight,
        base=0 if base.total or test.on_base is False or not can_rerun else 1,
    )


def _failing(test: TestFacts, policy: Policy, *, can_rerun: bool) -> Found:
    """Return the finding for a gating test that failed every time on the head."""
    head, base, full = test.head, test.base, 1 + policy.verdict_reruns
    did = f"It failed {_of(head)}"
    if base.is_mixed:
        return _failing_on_flaky_base(test, policy, can_rerun=can_rerun)
    alike = _failing_alike(test, did, is_settled=head.failed >= full, can_rerun=can_rerun)
    if alike is not None:
        return alike
    if head.failed < full and can_rerun:
        return Found(
            Finding.UNSETTLED,
            Effect.UNDECIDED,
            f"{did}; {plural(full - head.failed, 'rerun')} will say whether it always does.",
            head=full - head.failed,
            base=0 if base.total or test.on_base is False else 1,
        )
    if base.total or test.on_base is False:
        return _explained(test, did) if head.failed >= full else _not_rerun(did, _base_of(test), _no_more(head))
    if can_rerun:
        return Found(Finding.UNSETTLED, Effect.UNDECIDED, f"{did}; the base has not been run.", base=1)
    missing = _no_more(head) if head.total == 1 else "no run of the base could be had"
    return _not_rerun(did, "the base has not been run", missing)


def _failing_alike(test: TestFacts, did: str, *, is_settled: bool, can_rerun: bool) -> Found | None:
    """Return the finding where the base only fails, and in the same way; None where it does not, or where it may wait.

    `is_settled` says whether the test is known to fail always on the head.
    """
    if not test.base.failed or not test.same_signature:
        return None
    convicts = test.base.failed > 1 or (is_settled and not test.passes_on_trunk)
    if test.standing is Status.BROKEN or convicts or not can_rerun:
        return Found(Finding.PRE_EXISTING, Effect.IGNORED, f"{did}, and on the base it fails just the same.")
    if is_settled:
        said = f"{did}; on the base it failed once, though trunk passes it: a second run of the base will tell."
        return Found(Finding.UNSETTLED, Effect.UNDECIDED, said, base=1)
    return None


def _not_rerun(did: str, on_base: str, missing: str) -> Found:
    return Found(Finding.UNSETTLED, Effect.REJECTS, f"{did}, and {on_base}; {missing}, so nothing excuses it.")


def _no_more(head: Tries) -> str:
    return "no further run was made" if head.total == 1 else "no more runs could be had"


def _explained(test: TestFacts, did: str) -> Found:
    unexpected = ", though the reach map has the change nowhere near it" if test.is_reached is False else ""
    return Found(Finding.EXPLAINED, Effect.REJECTS, f"{did}, and {_base_of(test)}{unexpected}.")


def _base_of(test: TestFacts) -> str:
    if test.base.failed:
        return "on the base it fails in another way"
    return "the base passes" if test.base.passed else "the base does not have it"


def _failing_on_flaky_base(test: TestFacts, policy: Policy, *, can_rerun: bool) -> Found:
    """Return the finding for a test that flakes on the base and failed every time here: is it more than flaking?

    With the base failing at a rate of at most c (what it showed, one more failure added), n failures in a row have a
    chance of c^n; the change is blamed once that is at most `verdict_error`.
    """
    head, base = test.head, test.base
    rate = (base.failed + 1) / (base.total + 1)
    needed = clean_trials_needed(1 - min(rate, _LARGEST_RATE), policy.verdict_error)
    did = f"It failed {_of(head)}; the base fails {base.failed} of {base.total}"
    if head.failed >= needed:
        return Found(Finding.EXPLAINED, Effect.REJECTS, f"{did}, which does not explain so many in a row.")
    if not can_rerun:
        return Found(Finding.FLAKY, Effect.UNDECIDED, f"{did}: it may be its usual flaking; {_no_more(head)}.")
    return Found(
        Finding.UNSETTLED,
        Effect.UNDECIDED,
        f"{did}: {plural(needed, 'failure')} in a row would be more than its flaking.",
        head=needed - head.failed,
    )


def _of(tries: Tries) -> str:
    return f"{tries.failed} of {plural(tries.total, 'run')}"
