"""quarantine: keeps a flaky test suite usable as a verifier."""

TYPE_CHECKING = False  # type checkers read the name; importing `typing` for it would cost more than the rest
if TYPE_CHECKING:
    from quarantine.client import is_gating as is_gating

__all__ = ["is_gating"]


def __getattr__(name: str) -> object:
    """Load the client on first use, so that importing the package costs next to nothing."""
    if name == "is_gating":
        from quarantine.client import is_gating  # noqa: PLC0415 - the import budget of `import quarantine`

        return is_gating
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
