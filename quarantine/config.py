"""Settings of the daemon, from one TOML file and the environment. Unknown keys are refused."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from quarantine.errors import BadConfiguration

DEFAULT_FILE = Path("quarantine.toml")
DATABASE_VARIABLE = "QUARANTINE_DATABASE"
LaneWord = Literal["trunk", "review", "agent"]


class Strict(BaseModel):
    """A table of the configuration file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SpoolFolder(Strict):
    """A folder whose entries are taken in as reports: what a token is elsewhere, it is here."""

    directory: Path = Field(description="The folder to watch; it is created when missing.")
    project: str = Field(description="The project its reports belong to.")
    lane: LaneWord = Field(description="The lane its reports belong to.")


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


def load(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings; QUARANTINE_DATABASE overrides the file's database.

    Raises BadConfiguration when a named file is missing, is no TOML, or has a key that is unknown or malformed.
    """
    environment = os.environ if environment is None else environment
    values = _read(path)
    if database := environment.get(DATABASE_VARIABLE):
        values["database"] = database
    try:
        return Settings(**values)
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"])
        where = path or DEFAULT_FILE
        if fault["type"] == "extra_forbidden":
            raise BadConfiguration(
                f"{where} has a key {key!r} that does not exist.",
                mend=f"Known keys: {', '.join(Settings.model_fields)}.",
            ) from error
        raise BadConfiguration(f"{where}: {key}: {fault['msg']}.", mend="See docs/configuration.md.") from error


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
