"""What every service works with, put together once by bootstrap."""

import threading
from dataclasses import dataclass, field

from sqlalchemy import Engine

from quarantine.clock import Clock
from quarantine.mail.sending import MailServer
from quarantine.policy.criteria import Policy
from quarantine.services.names import NameCache
from quarantine.services.people import People
from quarantine.services.reach_index import ReachCache
from quarantine.slack.sending import Bot, Webhook
from quarantine.store.roster import Roster


@dataclass(slots=True)
class App:
    """The running product.

    Attributes:
        engine: the database.
        clock: returns the present instant, aware and in UTC.
        policy: the criteria every decision is made by.
        reach: the reach maps of each project, kept in memory between builds.
        people: who is told what, where and when.
        slack: how Slack is reached; None when it is not.
        mail: the server that takes letters; None when none does.
        names: which tests the names in clients' questions stand for.
        lock: held while a build is taken in: one at a time in this process, so that what is cached needs no other.
    """

    engine: Engine
    clock: Clock
    policy: Policy = field(default_factory=Policy)
    people: People = field(default_factory=People)
    slack: Bot | Webhook | None = None
    mail: MailServer | None = None
    reach: ReachCache = field(default_factory=ReachCache)
    names: NameCache = field(default_factory=NameCache)
    _rosters: dict[int, Roster] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def roster(self, project_id: int) -> Roster:
        """Return the cached roster of a project; use it only while holding `lock`."""
        return self._rosters.setdefault(project_id, Roster())
