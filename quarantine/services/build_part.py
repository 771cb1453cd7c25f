"""The build part: what a client says about one execution, as JSON. Version 1 of the wire format, validated here.

Nothing in it chooses the lane: that comes from the token, and so does the change when the token is bound to one.
"""

import json
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from quarantine.domain.build import Build
from quarantine.domain.identity import variant_keys
from quarantine.domain.outcome import BuildKind, Lane
from quarantine.errors import BadBuildPart

MAX_BYTES = 16 * 1024 * 1024
"""A delta against the base lists changed parts; sixteen megabytes hold some 150,000 of them."""

MAX_OWNERS_CHARACTERS = 3 * 1024 * 1024
"""GitHub reads no longer file."""


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("String should hold no NUL character")
    return text


NoNul = AfterValidator(_without_nul)
Word = Annotated[str, Field(max_length=200), NoNul]
Line = Annotated[str, Field(max_length=4000), NoNul]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{7,64}$")]
Key = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f]+$")]
Part = tuple[Line, Literal["body", "module", "blob"], Word | None]


class OwnersText(BaseModel):
    """The project's CODEOWNERS file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    path: Annotated[str, Field(min_length=1, max_length=200), NoNul] = Field(
        description="Where it lies; its dialect is told by it."
    )
    text: Annotated[str, Field(max_length=MAX_OWNERS_CHARACTERS), NoNul] = Field(description="All of it.")
    dialect: Literal["", "github", "gitlab"] = Field("", description="Whose rules it follows; empty: the text tells.")
    folder: Annotated[str, Field(max_length=1000), NoNul] = Field(
        "", description="Where the tree's root lies in its repository: the file's patterns begin at the repository's."
    )


class BuildPart(BaseModel):
    """What one execution of the suite was: schema 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_: Literal[1] = Field(alias="schema", description="Version of this format.")
    kind: Literal["run", "rerun"] = Field("run", description="`rerun` when it was ordered because of an earlier build.")
    rerun_of: Line | None = Field(None, description="The `build` that a rerun repeats.")
    build: Annotated[str, Field(min_length=1, max_length=500), NoNul] = Field(
        description="The CI system's own name for the execution: unique for a run, the same for all its jobs."
    )
    attempt: Annotated[int, Field(ge=1, le=10_000)] = Field(
        1, description="From 1. A higher attempt of one job and commit is a rerun: it confirms, and makes no trial."
    )
    job: Word = Field("", description="The CI job's name; it is part of the variant.")
    commit: Commit | None = Field(None, description="The commit checked out.")
    tree: Sha256 | None = Field(
        None,
        description="SHA-256 of the exact content tested. Without it no other build can confirm a failure of this one.",
    )
    base_commit: Commit | None = Field(None, description="The trunk commit that `changed` is relative to.")
    manifest: Sha256 | None = Field(None, description="Id of the base's manifest of part hashes.")
    changed: Annotated[list[Part], Field(max_length=200_000)] | None = Field(
        None, description="`[path, part, hash]` of every part that differs from the base; hash null when it is gone."
    )
    hash_alg: Literal["py-ast-1"] | None = Field(None, description="How part hashes were made.")
    complete: bool = Field(True, description="Whether the whole suite was meant to run and all its reports are here.")
    variant: Annotated[dict[Key, Word], Field(max_length=32)] = Field(
        default_factory=dict, description="The way the suite was run, such as os, python, browser."
    )
    stream: Word = Field("", description="Sets apart modules of one repository whose reports use the same names.")
    runner: Word = Field("", description="The machine, so that one bad host can be told.")
    change: Word | None = Field(None, description="The pull request or ticket. A token bound to a change overrules it.")
    started_at: datetime | None = Field(None, strict=False, description="When the run began, with its offset.")
    exit_code: Annotated[int, Field(ge=-(2**31), lt=2**32)] | None = Field(None, description="The runner's exit code.")
    command: Line = Field("", description="The command that ran, so that it can be run again.")
    environment_hash: Annotated[str, Field(max_length=64), NoNul] | None = Field(
        None, description="Hash of the interpreter and the installed distributions."
    )
    owners: OwnersText | None = Field(
        None, description="The commit's CODEOWNERS file. Only what trunk sends is kept: it says who is told."
    )


def parse_build_part(data: bytes | str) -> BuildPart:
    """Return the validated build part; raises BadBuildPart naming each field that is wrong and what it may be."""
    if len(data) > MAX_BYTES:
        raise BadBuildPart(
            f"The build part has {len(data):,} bytes; at most {MAX_BYTES:,} are read.",
            mend="Send `changed` against a nearer base commit.",
        )
    try:
        part = BuildPart.model_validate_json(data)
    except ValidationError as error:
        raise BadBuildPart(
            f"The build part is not schema 1: {_faults(error)}.", mend="See docs/build-part.md for every field."
        ) from error
    if part.started_at is not None:
        _check_instant(part.started_at)
    return part


def _check_instant(at: datetime) -> None:
    fault = "has no offset from UTC" if at.tzinfo is None else ""
    try:
        at.astimezone(UTC)
    except OverflowError:
        fault = "lies outside the years that are told in UTC"
    if fault:
        raise BadBuildPart(f"The build part's `started_at` {fault}.", mend="Write it like 2026-11-30T20:05:53+00:00.")


def _faults(error: ValidationError) -> str:
    shown = [f"`{'.'.join(map(str, fault['loc'])) or 'whole'}`: {fault['msg'].lower()}" for fault in error.errors()[:5]]
    more = error.error_count() - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def build_of(part: BuildPart, *, lane: Lane, bound_change: str | None, token_id: str | None) -> Build:
    """Return the build: lane and bound change from the token, the rest as the client said.

    On trunk there is no change. An agent's token that is bound to none speaks for one change of its own, so that an
    agent that claims a new change with each attempt still votes once; reviews that name no change share one.
    """
    change = bound_change or (f"token:{token_id}" if lane is Lane.AGENT else part.change) or "unnamed"
    return Build(
        build=part.build,
        attempt=part.attempt,
        job=part.job,
        kind=BuildKind(part.kind),
        rerun_of=part.rerun_of,
        lane=lane,
        change=None if lane is Lane.TRUNK else change,
        commit=part.commit,
        tree=part.tree,
        base_commit=part.base_commit,
        manifest=part.manifest,
        changed=None if part.changed is None else tuple(part.changed),
        complete=part.complete,
        variant=variant_keys(part.variant | ({"job": part.job} if part.job else {})),
        stream=part.stream,
        runner=part.runner,
        command=part.command,
        environment_hash=part.environment_hash,
        exit_code=part.exit_code,
        started_at=part.started_at,
    )


def json_schema() -> str:
    """Return the JSON Schema of the build part, as docs/build-part.v1.schema.json holds it."""
    schema = BuildPart.model_json_schema(by_alias=True)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
