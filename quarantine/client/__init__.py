"""What loads inside other people's test runs: the standard library only, and nothing else of the product.

Importing this package costs next to nothing; each public name is loaded on first use.
"""

TYPE_CHECKING = False  # type checkers read the name; importing `typing` for it would cost more than the rest
if TYPE_CHECKING:
    from quarantine.client.errors import ClientConfigurationError as ClientConfigurationError
    from quarantine.client.errors import ClientError as ClientError
    from quarantine.client.gating import GatingSet as GatingSet
    from quarantine.client.gating import is_gating as is_gating
    from quarantine.client.target import Target as Target

__all__ = ["ClientConfigurationError", "ClientError", "GatingSet", "Target", "is_gating"]

_HOMES = {
    "ClientConfigurationError": "errors",
    "ClientError": "errors",
    "GatingSet": "gating",
    "Target": "target",
    "is_gating": "gating",
}


def __getattr__(name: str) -> object:
    """Load the module a public name lives in, and keep the name here for the next time."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the import budget of `import quarantine.client`

    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
