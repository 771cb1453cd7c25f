"""Settings of the daemon, from one TOML file and the environment. Unknown keys are refused."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from quarantine.errors import BadConfiguration
from quarantine.mail.letters import is_address
from quarantine.mail.sending import Security

DEFAULT_FILE = Path("quarantine.toml")
DATABASE_VARIABLE = "QUARANTINE_DATABASE"
SECRETS = {
    "QUARANTINE_SLACK_TOKEN": "token",
    "QUARANTINE_SLACK_SIGNING_SECRET": "signing_secret",
    "QUARANTINE_SLACK_WEBHOOK": "webhook",
    "QUARANTINE_SLACK_URL": "url",
}
"""Environment variables that fill in keys of `slack`, for what should not lie in a file."""
MAIL_SECRETS = {"QUARANTINE_MAIL_PASSWORD": "password"}
"""The same for `mail`."""
LaneWord = Literal["trunk", "review", "agent"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WeeklyTime = Annotated[str, Field(pattern=rf"^({'|'.join(get_args(Weekday))}) ([01]\d|2[0-3]):[0-5]\d$")]
WallTime = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]


def _plain_address(text: str) -> str:
    if not is_address(text):
        raise ValueError("this is no plain mail address, such as lead@example.org")
    return text


MailAddress = Annotated[str, AfterValidator(_plain_address)]


class Strict(BaseModel):
    """A table of the configuration file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SpoolFolder(Strict):
    """A folder whose entries are taken in as reports: what a token is elsewhere, it is here."""

    directory: Path = Field(description="The folder to watch; it is created when missing.")
    project: str = Field(description="The project its reports belong to.")
    lane: LaneWord = Field(description="The lane its reports belong to.")


class Slack(Strict):
    """How the daemon reaches Slack. A bot token can do everything; a webhook only posts."""

    token: SecretStr | None = Field(None, description="A bot token, `xoxb-...`.")
    signing_secret: SecretStr | None = Field(None, description="What Slack signs the presses of buttons with.")
    webhook: SecretStr | None = Field(None, description="An incoming webhook, where there is no bot token.")
    url: str = Field("https://slack.com/api/", description="The address of Slack's API.")
    admins: frozenset[str] = Field(frozenset(), description="Slack ids of those who may release tests.")
    members: frozenset[str] | None = Field(
        None, description="Slack ids of those who may answer escalations; none named: whoever is in the channel."
    )


class Mail(Strict):
    """How letters leave: the server that takes them from us."""

    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]+$")] | None = Field(
        None, description="The mail server; no letters are sent when there is none."
    )
    port: Annotated[int, Field(ge=1, le=65_535)] | None = Field(
        None, description="Its port: 587 for starttls, 465 for tls, 25 for none."
    )
    security: Security = Field("starttls", description="starttls, tls or none.")
    user: str | None = Field(None, description="Who we are to the server, where it asks.")
    password: SecretStr | None = Field(None, description="The user's password.")
    sender: MailAddress | None = Field(None, description="The address that letters come from.")


class Quiet(Strict):
    """Hours in which nothing is said, in the project's zone; what comes up waits until they end."""

    begin: WallTime = Field(description="When they begin, such as 18:00.")
    end: WallTime = Field(description="When they end, such as 08:00.")
    days: tuple[Weekday, ...] | None = Field(
        None, description="The days on which they begin; every day when none is named."
    )


class ProjectPeople(Strict):
    """Who is told about a project, where and when."""

    zone: str = Field("UTC", description="Time zone of its people, such as Europe/Berlin.")
    channel: str | None = Field(None, description="Slack channel, by its id; nothing is said when there is none.")
    mail: tuple[MailAddress, ...] = Field((), description="Mail addresses that reports go to.")
    digest: WallTime | None = Field(None, description="Say everything that can wait once a day, at this time.")
    quiet: Quiet | None = Field(None, description="Hours in which nothing is said.")
    escalate_after_days: Annotated[int, Field(ge=1, le=90)] = Field(
        30, description="Quarantined days of the last 90 after which the owner is told."
    )
    escalate_again_days: Annotated[int, Field(ge=1, le=90)] = Field(
        7, description="Days until the owner is told again."
    )
    weekly: WeeklyTime = Field("monday 09:00", description="When the report of the week before is due, in the zone.")
    owners: dict[str, str] = Field(
        default_factory=dict,
        description="Owners of CODEOWNERS, such as `@acme/mail`, to Slack ids of people, groups or channels.",
    )


class Settings(Strict):
    """Every setting of the daemon."""

    database: str = Field("sqlite:///quarantine.db", description="Database URL: sqlite:///PATH or postgresql://...")
    host: str = Field("127.0.0.1", description="Address to bind. Anything but loopback needs tokens.")
    port: Annotated[int, Field(ge=0, le=65_535)] = Field(8321, description="Port to bind; 0 picks a free one.")
    loopback_lane: LaneWord = Field(
        "trunk", description="Lane of reports sent without a token, while no token exists and the bind is loopback."
    )
    spool: tuple[SpoolFolder, ...] = Field((), description="Folders to watch for reports.")
    policy: dict[str, Any] = Field(default_factory=dict, description="Knobs of the policy; see docs/configuration.md.")
    address: str | None = Field(
        None,
        pattern=r"^https?://[^\s]+$",
        description="Where people reach this server: links in messages begin with it.",
    )
    templates: Path | None = Field(None, description="A folder whose templates stand in for ours of the same name.")
    slack: Slack = Field(Slack.model_validate({}), description="How the daemon reaches Slack.")
    mail: Mail = Field(Mail.model_validate({}), description="How letters leave.")
    project: dict[str, ProjectPeople] = Field(
        default_factory=dict, description="For each project, who is told, where and when."
    )


def load(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings; QUARANTINE_DATABASE overrides the file's database.

    What `SECRETS` and `MAIL_SECRETS` name fills in its keys.

    Raises BadConfiguration when a named file is missing, is no TOML, or has a key that is unknown or malformed.
    """
    environment = os.environ if environment is None else environment
    values = _read(path)
    if database := environment.get(DATABASE_VARIABLE):
        values["database"] = database
    for table, secrets in (("slack", SECRETS), ("mail", MAIL_SECRETS)):
        stated = {key: environment[variable] for variable, key in secrets.items() if environment.get(variable)}
        if stated and isinstance(values.get(table, {}), dict):
            values[table] = {**values.get(table, {}), **stated}
    try:
        return Settings(**values)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"])
        where = path or DEFAULT_FILE
        if fault["type"] == "extra_forbidden":
            raise BadConfiguration(
                f"{where} has a key {key!r} that does not exist.",
                mend=f"Known keys: {', '.join(_known_beside(fault['loc']))}.",
            ) from error
        raise BadConfiguration(f"{where}: {key}: {fault['msg']}.", mend="See docs/configuration.md.") from error


_TABLES: dict[str, type[Strict]] = {"spool": SpoolFolder, "slack": Slack, "mail": Mail, "project": ProjectPeople}
_TABLES_OF_PROJECT: dict[str, type[Strict]] = {"quiet": Quiet}


def _known_beside(place: tuple[int | str, ...]) -> list[str]:
    """Return the keys there are in the table that an unknown key stands in."""
    names = [str(part) for part in place[:-1]]
    model = _TABLES.get(names[0], Settings) if names else Settings
    if model is ProjectPeople and len(names) > 2:  # noqa: PLR2004 - the table, the project's name, a table of the project
        model = _TABLES_OF_PROJECT.get(names[2], model)
    return list(model.model_fields)


def _read(path: Path | None) -> dict[str, Any]:
    chosen = path or DEFAULT_FILE
    if path is None and not chosen.exists():
        return {}
    try:
        return tomllib.loads(chosen.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadConfiguration(f"{chosen} cannot be read: {error.strerror}.", mend="Check --config.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfiguration(f"{chosen} is no TOML: {error}.", mend="Mend that line.") from error
