"""The one line that a session ends with."""

from collections.abc import Iterable

from quarantine.pytest_plugin.gates import Gates

__all__ = ["summary"]


def summary(
    *,
    excused: int,
    failed: int,
    selected: tuple[int, int] | None,
    passed_again: int,
    repeated: int,
    gates: Gates,
    endings: Iterable[str],
) -> str:
    """Return the line.

    Args:
        excused: failing tests that do not gate.
        failed: all failing tests.
        selected: of a session that runs only the quarantined tests, how many these are, and of how many; else None.
        passed_again: tests that passed when they were run again after the last test.
        repeated: tests that were run again.
        gates: what decided.
        endings: what became of reach and report; empty ones are left out.
    """
    parts = [
        _selected(selected, gates),
        _failures(excused, failed) if failed or selected is None or selected[0] else "",
        f"{passed_again} of {repeated} passed when run again" if repeated else "",
        gates.told_of_variant() if failed or selected else "",
        gates.told(),
        *endings,
    ]
    return f"quarantine: {'; '.join(part for part in parts if part)}."


def _selected(selected: tuple[int, int] | None, gates: Gates) -> str:
    if selected is None:
        return ""
    left, collected = selected
    if gates.snapshot is None:
        return "which tests are quarantined is not known, so none of them ran"
    if left == 0:
        return f"none of {collected} tests is quarantined, so there was nothing to run"
    return f"ran only the {_tests(left)} of {collected} that {'is' if left == 1 else 'are'} quarantined"


def _failures(excused: int, failed: int) -> str:
    if failed == 0:
        return "no failures"
    if excused == 0:
        return "none of the failures is quarantined" if failed > 1 else "the failure is not quarantined"
    do = "does" if excused == 1 else "do"
    is_ = "is" if excused == 1 else "are"
    return f"{excused} of {failed} failure{'s' * (failed != 1)} {is_} quarantined and {do} not fail this run"


def _tests(number: int) -> str:
    return f"{number} test{'s' * (number != 1)}"
