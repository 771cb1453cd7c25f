"""Running nothing but the quarantined tests."""

import pytest

from quarantine.pytest_plugin.gates import Gates

__all__ = ["Selection"]


class Selection:
    """Leaves the tests that do not gate; registered in the process that collects.

    Attributes:
        collected: how many tests there were.
        left: how many of them are quarantined.
    """

    def __init__(self, gates: Gates) -> None:
        self.gates = gates
        self.collected = 0
        self.left = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect whatever gates."""
        self.collected = len(items)
        gating = [item for item in items if not self.gates.excuse(item.nodeid)]
        items[:] = [item for item in items if self.gates.excuse(item.nodeid)]
        self.left = len(items)
        if gating:
            config.hook.pytest_deselected(items=gating)
