"""quarantine: keeps a flaky test suite usable as a verifier."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quarantine.client import is_gating as is_gating

__all__ = ["is_gating"]


def __getattr__(name: str) -> object:
    """Load the client on first use, so that importing the package costs next to nothing."""
    if name == "is_gating":
        from quarantine.client import is_gating  # noqa: PLC0415 - the import budget of `import quarantine`

        return is_gating
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
