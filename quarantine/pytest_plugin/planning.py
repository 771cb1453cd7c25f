"""How often each failing test of this process is tried again: the daemon plans it, for it knows what a try is worth."""

from collections.abc import Mapping

from quarantine.client.session_plan import NoPlan, ask_session_plan
from quarantine.client.target import Target
from quarantine.pytest_plugin.gates import junit_name

__all__ = ["Planning"]


class Planning:
    """Asks the daemon once, when the last test of this process is done; it never fails a session.

    Args:
        target: whom to ask; None when nobody named a daemon.
        variant: the hash of the session's variant.
        prefix: what `--junit-prefix` puts before each classname.
        most: tries of one test, at most, and how many there are without a plan; None leaves it to the plan alone.
        worker: which worker of how many this is, from 0.

    Attributes:
        remark: what is worth saying about the plan; empty for nothing.
    """

    def __init__(
        self, target: Target | None, variant: str, prefix: str, *, most: int | None, worker: tuple[int, int]
    ) -> None:
        self.target = target
        self.variant = variant
        self.prefix = prefix
        self.most = most
        self.worker = worker
        self.remark = ""

    def most_of(self, made: Mapping[str, int]) -> dict[str, int]:
        """Return how often each test is tried again, given the tries after the first that the session itself made.

        Those count as made where there is a plan: pytest-rerunfailures has then done a part of it.
        """
        if not made:
            return {}
        without = dict.fromkeys(made, self.most or 0)
        if self.target is None:
            return without
        names = {nodeid: "::".join(junit_name(nodeid, self.prefix)) for nodeid in made}
        try:
            plan = ask_session_plan(self.target, self.variant, list(names.values()), worker=self.worker)
        except NoPlan as trouble:
            self.remark = f"Nobody planned what to run again, for {self.target.url} {trouble}: {self._instead()}."
            return without
        self.remark = plan.sentence
        planned = {nodeid: plan.most.get(name, 0) - made[nodeid] for nodeid, name in names.items()}
        return {nodeid: max(0, most if self.most is None else min(most, self.most)) for nodeid, most in planned.items()}

    def _instead(self) -> str:
        if not self.most:
            return "no failing test is"
        return f"each failing test is, up to {self.most} time{'s' * (self.most != 1)}"
