"""What the daemon is asked before anything is run or sent: may this harness work on this ticket, in this variant?

A token of another lane would file an agent's patches as what people, or trunk itself, ran. A variant that trunk never
ran has no evidence of what is flaky, so each failure in it would be rerun in vain.
"""

from collections.abc import Mapping
from typing import Any

from quarantine.client.errors import ClientConfigurationError, ClientError
from quarantine.client.target import Target
from quarantine.loop.daemon import get
from quarantine.loop.ticket import Ticket

__all__ = ["require_agent", "strange_variant"]

_AGENT = "agent"


def require_agent(target: Target, ticket: Ticket) -> None:
    """Refuse a caller that does not speak for this ticket on the agent lane.

    Raises:
        ClientConfigurationError: the token, or this machine without one, has another lane, or is bound to another
            change.
        Refused: the daemon does not know the token or the project.
        DaemonLost: it gives no answer.
    """
    caller = get(target, "whoami")
    whose = "The token" if target.token else "A caller without a token"
    lane, change = caller.get("lane"), caller.get("change")
    make = (
        f"Make one: `quarantine token create --project {target.project} --scope report --lane agent "
        f"--change {ticket.id}`, and set QUARANTINE_TOKEN to what it prints."
    )
    if lane is None:
        raise ClientConfigurationError(f"{whose} may not report, and the loop has to.", mend=make)
    if lane != _AGENT:
        raise ClientConfigurationError(
            f"{whose} belongs to the {lane} lane: an agent's patches would be filed there as what {_whose(lane)} ran.",
            mend=make if target.token else f"{make} {_FIRST}",
        )
    if change is not None and change != ticket.id:
        raise ClientConfigurationError(
            f"The token speaks for the change {change!r}, and the ticket is {ticket.id!r}.",
            mend=f"Name the ticket so, by --id {change}; or use a token of its own. {make}",
        )


_FIRST = "(From the first token on nobody is served without one, so trunk's CI then needs one of its own lane.)"


def _whose(lane: object) -> str:
    return "trunk" if lane == "trunk" else "people"


def strange_variant(target: Target, keys: Mapping[str, str]) -> str:
    """Return a sentence that says trunk never ran this variant and which comes nearest; empty when it did.

    Args:
        target: the daemon.
        keys: of the variant, the job among them.

    Raises:
        Refused, DaemonLost: as `get`.
        ClientError: the answer is not understood.
    """
    try:
        ran = [dict(one["keys"]) for one in get(target, "variants")["variants"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ClientError(
            "The daemon's answer about variants is not understood.", mend="Do its versions match?"
        ) from error
    if dict(keys) in ran:
        return ""
    if not ran:
        return "Trunk has not reported any run yet, so nothing is known of which tests are flaky."
    nearest = min(ran, key=lambda one: (_apart(one, keys), _spelled(one)))
    return (
        f"Trunk has never run the variant {_spelled(keys)}, so nothing that is known of flaky tests counts in it; the "
        f"nearest it has run is {_spelled(nearest)}. Name yours as trunk does, by --job, --variant or --python."
    )


def _apart(one: Mapping[str, str], other: Mapping[str, Any]) -> int:
    return sum(one.get(key) != other.get(key) for key in {*one, *other})


def _spelled(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={keys[key]}" for key in sorted(keys)) or "without any key"
