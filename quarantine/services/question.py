"""The question: what a client wants to know about one run, as JSON. Version 1 of the wire format, validated here.

It says nothing that could excuse a failure: which tests gate, what flakes and what the base did follow from what is
stored. It can only ask for more (tests that must be there, that must pass) or, from a person's lane, own up to tests
that are gone.
"""

import json
import zlib
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from quarantine.errors import BadInput
from quarantine.services.build_part import Commit, Line, NoNul, Sha256, Word

MAX_BYTES = 16 * 1024 * 1024
MAX_NAMES = 200_000
MAX_CHANGED_LINES = 20_000
MAX_FAILING = 10_000
M = TypeVar("M", bound=BaseModel)


def _finite(value: float) -> float:
    if not 0 <= value < 1e12:  # noqa: PLR2004 - a bound that only nonsense crosses
        raise ValueError("Input should be a finite number, not negative")
    return value


Name = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]+$")]
Names = Annotated[list[Name], Field(max_length=MAX_NAMES)]
Amount = Annotated[float, AfterValidator(_finite)]
Count = Annotated[int, Field(ge=0, lt=2**31)]


LineNumber = Annotated[int, Field(ge=1, le=100_000_000)]
OfOneLine = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]


def _in_order(lines: tuple[str, str | None, int, int]) -> tuple[str, str | None, int, int]:
    if lines[2] > lines[3]:
        raise ValueError(f"The first line, {lines[2]}, should not come after the last, {lines[3]}")
    return lines


ChangedLines = Annotated[
    tuple[OfOneLine, OfOneLine | None, LineNumber, LineNumber],
    AfterValidator(_in_order),
]


class Canary(BaseModel):
    """One test of a random name that must fail in the same run."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Name = Field(description="Its bare name, as the report has it.")
    exit_code: Annotated[int, Field(ge=0, lt=256)] = Field(
        1, description="What the runner must exit with because the canary fails."
    )


class Question(BaseModel):
    """What is asked about one run: schema 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_: Literal[1] = Field(alias="schema", description="Version of this format.")
    base_commit: Commit | None = Field(
        None, description="The trunk commit compared with; the build part's `base_commit` unless given."
    )
    base_tree: Sha256 | None = Field(None, description="SHA-256 of the base's content, when the client knows it.")
    expected: Names | None = Field(None, description="Tests every one of which must be in the reports.")
    must_pass: Names = Field(
        default_factory=list, description="Tests the change was ordered to make pass; they gate even when quarantined."
    )
    removed: Names = Field(
        default_factory=list, description="Tests that are gone or skipped on purpose. Refused from the agent lane."
    )
    changed_lines: Annotated[list[ChangedLines], Field(max_length=MAX_CHANGED_LINES)] | None = Field(
        None,
        description="`[path, function, first, last]` of the changed lines on the head's side: the function's qualified "
        "name, `<module>` for what lies in no function of a Python file, null in other files.",
    )
    canary: Canary | None = Field(None, description="A test that must fail; dropped before anything is stored.")
    can_rerun: bool = Field(
        False, description="Whether the client makes the reruns that are wanted. If not, the first answer is final."
    )
    timed_out: bool = Field(False, description="Whether the client stopped the run because it took too long.")
    ticket: Word | None = Field(
        None,
        description="The ticket whose loop asks; of an agent's token bound to a change only that change.",
    )
    attempt: Annotated[int, Field(ge=1, le=10_000)] | None = Field(None, description="Which attempt at it, from 1.")
    patch: Sha256 | None = Field(None, description="SHA-256 of the patch.")
    subset: Sha256 | None = Field(None, description="SHA-256 of the names of the tests that were selected.")
    runner_s: Amount = Field(0.0, description="Seconds the run took.")
    tokens: Count = Field(0, description="Tokens the agent spent on this attempt.")
    cost: Amount = Field(0.0, description="What it cost, in whatever currency the client counts in.")
    log: Line = Field("", description="Where the whole log lies, for the failure record.")
    root: Line = Field("", description="What frames of the tested tree begin with, for the failure record.")
    record_tokens: Annotated[int, Field(ge=100, le=100_000)] = Field(
        1000, description="The failure record's budget in tokens."
    )

    def to_bytes(self) -> bytes:
        """Return the question as it is stored, compressed; `from_bytes` is the inverse.

        Thousands of expected names are joined by NUL, which no name holds: writing them as JSON costs as much as
        judging them.
        """
        stated = self.model_copy(update={"expected": None if self.expected is None else []})
        parts = [stated.model_dump_json(by_alias=True), *(self.expected or ())]
        return zlib.compress("\0".join(parts).encode(), level=1)

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """Return the question that `to_bytes` wrote."""
        stated, *names = zlib.decompress(stored).decode().split("\0")
        question = cls.model_validate_json(stated)
        return question.model_copy(update={"expected": names}) if names else question


class RerunNote(BaseModel):
    """What a client says of one rerun."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)

    canary: Canary | None = None
    timed_out: bool = False
    runner_s: Amount = 0.0


class SessionQuestion(BaseModel):
    """What a session asks about its failing tests before it tries them again: schema 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_: Literal[1] = Field(alias="schema")
    variant: Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
    failing: Annotated[list[Name], Field(max_length=MAX_FAILING)]
    worker: Annotated[int, Field(ge=0)] = 0
    workers: Annotated[int, Field(ge=1, le=10_000)] = 1

    @model_validator(mode="after")
    def _counts_from_nought(self) -> Self:
        if self.worker >= self.workers:
            raise ValueError(f"Worker {self.worker} is none of {self.workers}, which are counted from 0")
        return self


class LoopEnd(BaseModel):
    """How the loop on a ticket ended: schema 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    schema_: Literal[1] = Field(alias="schema")
    ticket: Annotated[str, Field(min_length=1, max_length=200), NoNul]
    end: Literal["accepted", "exhausted", "inconclusive", "suspect"]
    attempts: Annotated[int, Field(ge=0, le=10_000)]
    sentence: Line = ""
    verdict: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,8}$")] | None = None


def parse_question(data: bytes | None) -> Question:
    """Return the validated question; raises BadInput naming each field that is wrong and what it may be."""
    if data is None:
        raise BadInput("The upload has no `question` part.", mend='The least is {"schema": 1}.', code="bad-question")
    return _parsed(Question, data)


def parse_rerun_note(data: bytes | None) -> RerunNote:
    """Return what is said of a rerun, nothing when there is no such part; raises as `parse_question`."""
    return RerunNote() if data is None else _parsed(RerunNote, data)


def parse_session_question(data: bytes) -> SessionQuestion:
    """Return what a session asks; raises as `parse_question`."""
    return _parsed(SessionQuestion, data, mend='See docs/http.md, "Reruns inside a session".')


def parse_loop_end(data: bytes) -> LoopEnd:
    """Return how a loop ended; raises as `parse_question`."""
    return _parsed(LoopEnd, data)


def _parsed(model: type[M], data: bytes, mend: str = "See docs/question.v1.schema.json for every field.") -> M:
    if len(data) > MAX_BYTES:
        raise BadInput(
            f"The question has more than {MAX_BYTES:,} bytes.", mend="Name fewer tests.", code="bad-question"
        )
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        raise BadInput(
            f"The question is not schema 1: {_faults(error)}.",
            mend=mend,
            code="bad-question",
        ) from error


def _faults(error: ValidationError) -> str:
    shown = [f"`{'.'.join(map(str, fault['loc'])) or 'whole'}`: {fault['msg'].lower()}" for fault in error.errors()[:5]]
    more = error.error_count() - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def json_schema() -> str:
    """Return the JSON Schema of the question, as docs/question.v1.schema.json holds it."""
    schema = Question.model_json_schema(by_alias=True)
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
