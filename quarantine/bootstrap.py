"""The composition root: settings in, a running product out. Everything that is chosen is chosen here."""

from quarantine.clock import Clock, system_clock
from quarantine.config import Settings
from quarantine.policy.criteria import Policy
from quarantine.services.app import App
from quarantine.store import migrations
from quarantine.store.engine import open_engine


def policy_of(settings: Settings) -> Policy:
    """Return the policy the settings ask for; raises BadConfiguration naming the knob."""
    return Policy.from_json(settings.policy)


def build_app(settings: Settings, *, clock: Clock = system_clock, migrate: bool = False) -> App:
    """Return the product on its database.

    Args:
        settings: from `config.load`.
        clock: the one clock everything is told the time by.
        migrate: bring the database to the newest revision first, as the embedded default does.

    Raises:
        BadConfiguration: the policy is incoherent, or the database is not at the revision this version needs.
    """
    policy = policy_of(settings)
    engine = open_engine(settings.database)
    if migrate:
        migrations.upgrade(engine)
    else:
        migrations.require_current(engine)
    return App(engine, clock, policy)
