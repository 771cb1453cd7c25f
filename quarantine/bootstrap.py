"""The composition root: settings in, a running product out. Everything that is chosen is chosen here."""

from datetime import time
from typing import cast
from zoneinfo import ZoneInfo

from quarantine.clock import Clock, system_clock
from quarantine.config import Mail, ProjectPeople, Quiet, Settings, Weekday
from quarantine.errors import BadConfiguration
from quarantine.mail.sending import PORTS, MailServer
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
        mail=people.mail,
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


def mail_of(settings: Settings) -> MailServer | None:
    """Return how letters leave, None for not at all; raises BadConfiguration naming the key that is missing."""
    mail = settings.mail
    readers = [slug for slug, people in settings.project.items() if people.mail]
    if mail.host is None:
        if readers:
            raise _missing(
                "mail.host", f"project.{readers[0]}.mail names who is written to", "Name the server in [mail]."
            )
        if mail.sender is not None or mail.user is not None or mail.port is not None:
            raise _missing("mail.host", "[mail] has other keys", "Name the server there, or leave [mail] out.")
        return None
    if mail.sender is None:
        raise _missing("mail.sender", "mail.host is there", "Name the address that letters come from.")
    _check_user(mail)
    return MailServer(
        host=mail.host,
        port=mail.port or PORTS[mail.security],
        security=mail.security,
        sender=mail.sender,
        user=mail.user,
        password=mail.password.get_secret_value() if mail.password else None,
    )


def _check_user(mail: Mail) -> None:
    if mail.user is not None and mail.password is None:
        raise _missing("mail.password", "mail.user is there", "Set QUARANTINE_MAIL_PASSWORD.")
    if mail.user is None and mail.password is not None:
        raise _missing("mail.user", "there is a password", "Name the user, or unset QUARANTINE_MAIL_PASSWORD.")
    if mail.user is not None and mail.security == "none":
        raise BadConfiguration(
            "mail.security is none, so the password would be sent in the clear.",
            mend="Set mail.security to starttls or tls.",
        )


def _missing(key: str, why: str, mend: str) -> BadConfiguration:
    return BadConfiguration(f"{key} is missing, though {why}.", mend=mend)


def build_app(settings: Settings, *, clock: Clock = system_clock, migrate: bool = False) -> App:
    """Return the product on its database.

    Args:
        settings: from `config.load`.
        clock: the one clock everything is told the time by.
        migrate: bring the database to the newest revision first, as the embedded default does.

    Raises:
        BadConfiguration: the policy is incoherent, a time zone is none, the settings of mail do not fit each other, or
            the database is not at the revision this version needs.
    """
    policy, people, mail = policy_of(settings), people_of(settings), mail_of(settings)
    engine = open_engine(settings.database)
    if migrate:
        migrations.upgrade(engine)
    else:
        migrations.require_current(engine)
    return App(engine, clock, policy, people, slack_of(settings, clock), mail)
