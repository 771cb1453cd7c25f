"""What loads inside other people's test runs: the standard library only, and nothing else of the product.

Importing this package costs next to nothing; each public name is loaded on first use.
"""

TYPE_CHECKING = False  # type checkers read the name; importing `typing` for it would cost more than the rest
if TYPE_CHECKING:
    from quarantine.client.errors import ClientConfigurationError as ClientConfigurationError
    from quarantine.client.errors import ClientError as ClientError
    from quarantine.client.errors import Refused as Refused
    from quarantine.client.gating import GatingSet as GatingSet
    from quarantine.client.gating import is_gating as is_gating
    from quarantine.client.head_and_base import JudgedRun as JudgedRun
    from quarantine.client.settling import Budget as Budget
    from quarantine.client.settling import settled_verdict as settled_verdict
    from quarantine.client.target import Target as Target
    from quarantine.client.verdicts import Verdict as Verdict
    from quarantine.client.verdicts import ask_verdict as ask_verdict
    from quarantine.client.verdicts import send_rerun as send_rerun
    from quarantine.client.wire import Unreachable as Unreachable

__all__ = [
    "Budget",
    "ClientConfigurationError",
    "ClientError",
    "GatingSet",
    "JudgedRun",
    "Refused",
    "Target",
    "Unreachable",
    "Verdict",
    "ask_verdict",
    "is_gating",
    "send_rerun",
    "settled_verdict",
]

_HOMES = {
    "Budget": "settling",
    "ClientConfigurationError": "errors",
    "ClientError": "errors",
    "GatingSet": "gating",
    "JudgedRun": "head_and_base",
    "Refused": "errors",
    "Target": "target",
    "Unreachable": "wire",
    "Verdict": "verdicts",
    "ask_verdict": "verdicts",
    "is_gating": "gating",
    "send_rerun": "verdicts",
    "settled_verdict": "settling",
}


def __getattr__(name: str) -> object:
    """Load the module a public name lives in, and keep the name here for the next time."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - the import budget of `import quarantine.client`

    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
