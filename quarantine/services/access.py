"""Who is asking, and what that lets them do. Lanes come from here and from nowhere else."""

from dataclasses import dataclass
from typing import Any

from quarantine.domain.outcome import Lane
from quarantine.errors import NotAllowed
from quarantine.store.tokens import Grant, Scope


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whoever makes a call, after their token was checked.

    Attributes:
        actor: how the audit names them, such as `token 1a2b3c4d (ci trunk)` or `shell of alice`.
        scopes: what they may do.
        lane: where the trees of their reports come from; None when they may not report.
        change: the one change they speak for; None when they name it themselves.
        answers: whether they may answer escalations without being an admin, as members do from Slack.
        project_id: the one project they may touch; None for the owner of the database.
    """

    actor: str
    scopes: frozenset[Scope]
    lane: Lane | None = None
    change: str | None = None
    token_id: str | None = None
    project_id: int | None = None
    answers: bool = False

    def reporting_lane(self) -> Lane:
        """Return the lane their reports belong to; raises NotAllowed when they may not report."""
        if Scope.REPORT not in self.scopes or self.lane is None:
            raise NotAllowed(
                "This token may not send reports.",
                mend="Use one made with `quarantine token create --project PROJECT --scope report --lane LANE`.",
            )
        return self.lane

    def require_answering(self) -> None:
        """Raise NotAllowed unless they may answer escalations: members from Slack, and admins."""
        if not self.answers:
            self.require(Scope.ADMIN)

    def to_json(self) -> dict[str, Any]:
        """Return what a caller is told of itself, schema 1."""
        return {
            "schema": 1,
            "actor": self.actor,
            "scopes": sorted(scope.value for scope in self.scopes),
            "lane": self.lane.value if self.lane else None,
            "change": self.change,
        }

    def require(self, scope: Scope) -> None:
        """Raise NotAllowed unless they have the scope."""
        if scope not in self.scopes:
            raise NotAllowed(
                f"This needs a token with the {scope.value} scope.",
                mend=f"Ask an admin for one: `quarantine token create --project PROJECT --scope {scope.value}`.",
            )


def of_grant(grant: Grant) -> Bearer:
    """Return the bearer of a token. Admin includes read; report includes reading, for a CI job needs the gating set."""
    scopes = {grant.scope, Scope.READ}
    return Bearer(
        actor=f"token {grant.token_id} ({grant.label})",
        scopes=frozenset(scopes),
        lane=grant.lane,
        change=grant.change,
        token_id=grant.token_id,
        project_id=grant.project_id,
    )


def of_loopback(lane: Lane | None) -> Bearer:
    """Return a caller on this machine without a token: reads, reports on the lane `serve` was told, is never admin."""
    scopes = {Scope.READ} | ({Scope.REPORT} if lane else set())
    return Bearer("loopback without token", frozenset(scopes), lane=lane)


def of_slack(user_id: str, user_name: str, *, is_admin: bool) -> Bearer:
    """Return whoever pressed a button in Slack: a member may answer, an admin may release too."""
    scopes = {Scope.READ} | ({Scope.ADMIN} if is_admin else set())
    return Bearer(f"slack {user_name} ({user_id})"[:120], frozenset(scopes), answers=True)


def of_shell(user: str, lane: Lane | None = None) -> Bearer:
    """Return whoever can open the database file itself: they own it, so they may do everything."""
    return Bearer(f"shell of {user}", frozenset(Scope), lane=lane)
