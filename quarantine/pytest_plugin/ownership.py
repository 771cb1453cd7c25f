"""Whose error it is that pytest charges to a test: its own, or that of something that several tests share.

What a class, a module, a package or the session shares is set up with the first test that needs it and torn down with
the last one, and pytest charges an error in it to that test, quarantined or not.
"""

from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

__all__ = ["Ownership", "is_shared"]

_MARK = "quarantine_shared"
"""An attribute of a report; pytest-xdist takes it to the session as it takes all plain ones."""


def is_shared(report: Any) -> bool:
    """Return whether the error in a report may be one of something that several tests share."""
    return bool(getattr(report, _MARK, False))


class Ownership:
    """Marks the reports of such errors; registered where tests run.

    Args:
        session: of this process.
    """

    def __init__(self, session: pytest.Session) -> None:
        self.session = session
        self._errors: list[BaseException] = []  # what a fixture failed with is raised again in every test that needs it
        self._has_shared_end = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        """Begin with a new test."""
        self._has_shared_end = False
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """Keep what a fixture that several tests may share fails with."""
        try:
            return (yield)
        except BaseException as error:
            if fixturedef.scope != "function":
                self._errors.append(error)
            raise

    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        """A shared fixture may end while a test is set up, when its parameter changes."""
        if fixturedef.scope != "function":
            self._has_shared_end = True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch what ends beside the test itself."""
        self._has_shared_end = False
        for finalizers, _ in self._around(item):
            finalizers[:] = [one if isinstance(one, _Watched) else _Watched(one, self._errors) for one in finalizers]
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Mark the report of an error that is not certainly the test's own."""
        report = yield
        if report.failed and call.excinfo is not None and self._is_shared(item, call.when, call.excinfo.value):
            setattr(report, _MARK, True)
        return report

    def _is_shared(self, item: pytest.Item, when: str, error: BaseException) -> bool:
        if when == "setup" and (self._has_shared_end or any(failed for _, failed in self._around(item))):
            return True
        return any(one is known for one in _parts(error) for known in self._errors)

    def _around(self, item: pytest.Item) -> list[tuple[list[Callable[[], object]], object]]:
        """Return the finalizers of each node that is set up around a test, and what its own set-up failed with."""
        stack = self.session._setupstate.stack  # noqa: SLF001 - pytest tells nobody else what ends with a test
        return [known for node, known in stack.items() if node is not item]


class _Watched:
    """A finalizer that keeps what it fails with."""

    def __init__(self, finalizer: Callable[[], object], errors: list[BaseException]) -> None:
        self.finalizer = finalizer
        self.errors = errors

    def __call__(self) -> object:
        try:
            return self.finalizer()
        except BaseException as error:
            self.errors.append(error)
            raise


def _parts(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, those it groups, and those it came from."""
    known: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or any(one is other for other in known):
            continue
        known.append(one)
        yield one
        waiting += [one.__cause__, one.__context__]
        waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
