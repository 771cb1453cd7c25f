"""Which tests of this session do not gate: asked once, so that one snapshot decides over the whole session."""

from collections.abc import Mapping
from typing import NamedTuple

from _pytest.junitxml import mangle_test_address

from quarantine.client.gating import GatingSet
from quarantine.client.instants import monotonic_s
from quarantine.client.snapshot import variant_hash
from quarantine.client.target import Target

__all__ = ["Gates", "ask", "junit_name"]


class Gates(NamedTuple):
    """What one answer says about this session's variant.

    Attributes:
        not_gating: every way to write a test that does not gate.
        prefix: what `--junit-prefix` puts before each classname; empty for nothing.
        snapshot: the snapshot's id; None when every test gates for want of one.
        confirmed_s: when the daemon last confirmed it, on the monotonic clock.
        trouble: why it is not what the daemon says now, as a part of a sentence; empty when it is.
        never_ran: the pairs of this session's variant, when trunk never ran it; empty when it did or nobody knows.
    """

    not_gating: frozenset[str]
    prefix: str
    snapshot: str | None = None
    confirmed_s: float = 0.0
    trouble: str = ""
    never_ran: str = ""

    def excuse(self, nodeid: str) -> bool:
        """Return whether a failure of the test does not count.

        The report's own spelling is what the daemon learnt the test by; the node id is as good where nothing is put
        before the classname.
        """
        if "::".join(junit_name(nodeid, self.prefix)) in self.not_gating:
            return True
        return not self.prefix and nodeid in self.not_gating

    def told(self) -> str:
        """Return where the answer is from, as a part of a sentence."""
        because = f", for {self.trouble}" if self.trouble else ""
        if self.snapshot is None:
            return f"every test gates{because}"
        return f"snapshot {self.snapshot[:12]}, {monotonic_s() - self.confirmed_s:.0f} s old{because}"

    def told_of_variant(self) -> str:
        """Return that trunk never ran this variant and what to do, as a part of a sentence; empty when it did."""
        if not self.never_ran:
            return ""
        return (
            f"trunk never ran this variant ({self.never_ran}), so every test gates in it; to go by a job of CI, add "
            "its pairs, such as --quarantine-variant job=NAME"
        )


def junit_name(nodeid: str, prefix: str) -> tuple[str, str]:
    """Return classname and name as pytest writes them into a JUnit file."""
    *module_and_classes, name = mangle_test_address(nodeid)
    return ".".join([prefix, *module_and_classes] if prefix else module_and_classes), name


class _Question(GatingSet):
    """A gating set that is asked once, and says what is wrong to us instead of to stderr."""

    trouble = ""

    def _fall_back(self, what: str) -> None:
        self.trouble = f"{self.target.url} {what}"
        super()._fall_back(what)

    def _refuse(self, what: str) -> None:
        self.trouble = f"{self.target.url} {what}"
        super()._refuse(what)

    def _say(self, key: str, sentence: str) -> None:
        """Say nothing: the session's last line does."""

    def answer(self, variant: Mapping[str, str], prefix: str) -> Gates:
        snapshot, key = self._current().snapshot, variant_hash(variant)
        if snapshot is None:
            return Gates(frozenset(), prefix, trouble=self.trouble)
        is_known = key in (snapshot.variants or (key,))
        return Gates(
            snapshot.not_gating_in(key),
            prefix,
            snapshot.name,
            monotonic_s() - self._age_s(),
            self.trouble,
            "" if is_known else " ".join(f"{name}={value}" for name, value in variant.items()),
        )


def ask(target: Target | None, variant: Mapping[str, str], prefix: str, *, excuses: bool = True) -> Gates:
    """Return what the daemon says, or the last snapshot while it is young enough; else every test gates.

    Without `excuses` nobody is asked.
    """
    if not excuses:
        return Gates(frozenset(), prefix, trouble="`quarantine` is set to false")
    if target is None:
        return Gates(frozenset(), prefix, trouble="no daemon is named (QUARANTINE_URL)")
    return _Question(target.url, target.project, target.token).answer(variant, prefix)
