"""Running failing tests again after the last one, in the same process.

What comes of it is evidence for the daemon and changes nothing here: a test that failed in the session has failed.
Nothing is left set up after the last test, so that each further try sets up everything anew.

A test with subtests is not repeated. They are reported while it runs, and to everyone, so that a further try of it
could not be kept out of the session; and the test itself is reported as passed when its subtests failed.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from quarantine.pytest_plugin.planning import Planning
from quarantine.pytest_plugin.tries import Tries, try_of

__all__ = ["Repeats"]


class Repeats:
    """Runs the failing tests of this process again, each until it passes.

    Args:
        tries: knows which tests failed, and is told what came of it.
        planning: says how often each is tried.
    """

    def __init__(self, tries: Tries, planning: Planning) -> None:
        self.tries = tries
        self.planning = planning
        self._reports: list[Any] | None = None

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Wait for the last test, then go on. A loop that was stopped raises, but in a worker, where it only ends."""
        result = yield
        if not (session.config.option.collectonly or session.shouldfail or session.shouldstop):
            failing = set(self.tries.failing())
            items = [item for item in session.items if item.nodeid in failing and self._can_run_again(item)]
            made = {item.nodeid: len(self.tries.in_session(item.nodeid)) - 1 for item in items}
            most = self.planning.most_of(made)
            for item in items:
                self._repeat(item, most.get(item.nodeid, 0))
        return result

    def _can_run_again(self, item: pytest.Item) -> bool:
        """Return whether a test leaves itself as it was (a doctest clears its own names), and reports only itself."""
        names = getattr(item, "fixturenames", ())
        return not (
            isinstance(item, pytest.DoctestItem) or item.nodeid in self.tries.with_subtests or "subtests" in names
        )

    def _repeat(self, item: pytest.Item, most: int) -> None:
        for _ in range(most):
            _forget_instance(item)
            self._reports = []
            try:
                with _subtests_kept_back(item) as subtests:
                    item.ihook.pytest_runtest_protocol(item=item, nextitem=None)
                made = try_of(self._reports)
            finally:
                self._reports = None
            if subtests or item.nodeid in self.tries.with_subtests:  # it came further than before: what it is, is open
                self.tries.repeats.pop(item.nodeid, None)
                return
            self.tries.repeats[item.nodeid].append(made)
            if not made.is_failure:
                return

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Run a further try without reporting it, inside whatever other plugins put around a test.

        Time-outs and explained assertions are such wrappers; that another plugin runs the test instead is not wanted.
        """
        if self._reports is None:
            return None
        self._reports += runtestprotocol(item, log=False, nextitem=None)
        return True


@contextmanager
def _subtests_kept_back(item: Any) -> Generator[list[object]]:
    """Yield those that a test of unittest has while this lasts; pytest, which would report them, is not told."""
    subtests: list[object] = []
    if not hasattr(item, "addSubTest"):
        yield subtests
        return
    item.addSubTest = lambda _case, subtest, _error: subtests.append(subtest)
    try:
        yield subtests
    finally:
        del item.addSubTest


def _forget_instance(item: Any) -> None:
    """Let pytest make another instance of the test's class: it keeps the one that a test ran on."""
    if getattr(getattr(item, "_obj", None), "__self__", None) is not None:
        item._obj = None  # noqa: SLF001 - pytest has no other way, and does so itself when a unittest is over
        item.__dict__.pop("_instance", None)
