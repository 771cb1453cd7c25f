"""The composition root: settings in, a running product out. Everything that is chosen is chosen here."""

from datetime import time
from typing import cast
from zoneinfo import ZoneInfo

from quarantine.clock import Clock, system_clock
from quarantine.config import ProjectPeople, Quiet, Settings, Weekday
from quarantine.policy.calendar import QuietHours, WeeklySchedule, zone_of
from quarantine.policy.criteria import Policy
from quarantine.policy.escalation import Ladder
from quarantine.services import people as services
from quarantine.services.app import App
from quarantine.services.people import People
from quarantine.slack.sending import Bot, Webhook
from quarantine.store import migrations
from quarantine.store.engine import open_engine


def policy_of(settings: Settings) -> Policy:
    """Return the policy the settings ask for; raises BadConfiguration naming the knob."""
    return Policy.from_json(settings.policy)


def people_of(settings: Settings) -> People:
    """Return who is told what, where and when; raises BadConfiguration for a time zone that there is none of."""
    slack = settings.slack
    return People(
        projects={slug: _people_of_project(people) for slug, people in settings.project.items()},
        address=(settings.address or "").rstrip("/"),
        admins=slack.admins,
        members=slack.members,
        signing_secret=slack.signing_secret.get_secret_value() if slack.signing_secret else None,
    )


def _people_of_project(people: ProjectPeople) -> services.ProjectPeople:
    zone = zone_of(people.zone)
    return services.ProjectPeople(
        zone=zone,
        channel=people.channel,
        digest=time.fromisoformat(people.digest) if people.digest else None,
        quiet=_quiet(people.quiet, zone) if people.quiet else None,
        ladder=Ladder(first_days=people.escalate_after_days, repeat_days=people.escalate_again_days),
        owners={owner.casefold(): slack for owner, slack in people.owners.items()},
        weekly=_weekly(people.weekly, zone),
    )


def _quiet(quiet: Quiet, zone: ZoneInfo) -> QuietHours:
    days = frozenset(map(_DAYS.index, quiet.days or _DAYS))
    return QuietHours(time.fromisoformat(quiet.begin), time.fromisoformat(quiet.end), zone, days)


def _weekly(due: str, zone: ZoneInfo) -> WeeklySchedule:
    day, _, at = due.partition(" ")
    wall = time.fromisoformat(at)
    return WeeklySchedule(zone, _DAYS.index(cast("Weekday", day)), wall.hour, wall.minute)


_DAYS: tuple[Weekday, ...] = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def slack_of(settings: Settings, clock: Clock) -> Bot | Webhook | None:
    """Return how Slack is reached: by the bot where there is a token, else by the webhook, else not at all."""
    if settings.slack.token is not None:
        return Bot(settings.slack.token.get_secret_value(), settings.slack.url, clock)
    if settings.slack.webhook is not None:
        return Webhook(settings.slack.webhook.get_secret_value(), clock)
    return None


def build_app(settings: Settings, *, clock: Clock = system_clock, migrate: bool = False) -> App:
    """Return the product on its database.

    Args:
        settings: from `config.load`.
        clock: the one clock everything is told the time by.
        migrate: bring the database to the newest revision first, as the embedded default does.

    Raises:
        BadConfiguration: the policy is incoherent, a time zone is none, or the database is not at the revision this
            version needs.
    """
    policy, people = policy_of(settings), people_of(settings)
    engine = open_engine(settings.database)
    if migrate:
        migrations.upgrade(engine)
    else:
        migrations.require_current(engine)
    return App(engine, clock, policy, people, slack_of(settings, clock))
