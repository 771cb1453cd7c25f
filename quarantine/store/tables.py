"""Every table, and nothing else; those about people are in `people_tables`, about renamed tests in `alias_tables`.

The project id leads every key, so that a distributed PostgreSQL can shard by it.

Rows hold what a page, a list or an explanation asks for. What changes for every test in every build lives in two
kinds of column blob instead: `outcomes` (one per upload and variant, never changed) and `history` (one per variant,
rewritten with each build). A test's place in a blob is its `ordinal`.
"""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    Text,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem
from sqlmodel import Field, SQLModel

from quarantine.store import alias_tables, people_tables
from quarantine.store.schema import Json, metadata, of_project, one_of, table_of

__all__ = ["alias_tables", "metadata", "people_tables"]


class Project(SQLModel, table=True):
    """One repository with one gating set.

    `reserve` is R, the first reserve of (test, variant) pairs; None until the first full trunk build has come in.
    `pairs`, `tests`, `builds` and `uploads` count what was given out: pair numbers, test ordinals, build sequence
    numbers and arrival numbers.
    `gating_version` grows by one with each change of the gating set or of the mode, `renames` with each alias that is
    made or ended. `retired` counts the ordinals that are further names of other tests at present.
    """

    __tablename__ = "project"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (one_of("mode", "observe", "enforce"),)

    id: int | None = Field(default=None, primary_key=True)
    slug: str = Field(max_length=100, unique=True)
    created_at: datetime
    mode: str = Field(max_length=16)
    secret: bytes = Field(sa_type=LargeBinary)
    reserve: int | None = None
    pairs: int = 0
    tests: int = 0
    builds: int = 0
    uploads: int = 0
    gating_version: int = 0
    renames: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    retired: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class Token(SQLModel, table=True):
    """An API token: only its SHA-256 is kept. `lane` and `change` bind what its reports may speak for."""

    __tablename__ = "token"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        one_of("scope", "report", "read", "admin"),
        CheckConstraint("(scope = 'report') = (lane IS NOT NULL)", name="lane_with_report"),
    )

    project_id: int = Field(primary_key=True)
    id: str = Field(primary_key=True, max_length=16)
    digest: bytes = Field(sa_type=LargeBinary, unique=True)
    label: str = Field(max_length=100)
    scope: str = Field(max_length=16)
    lane: str | None = Field(default=None, max_length=16)
    change: str | None = Field(default=None, max_length=200)
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class Test(SQLModel, table=True):
    """A test ever seen, by its dense ordinal. Append-only but for what was found out about its id and its names.

    `unique_id` is False when several tests claimed it, `stable_id` when it was another case in each process.
    `sound_builds` counts the trunk runs in a row, since the former was last seen, that told of it once.
    `carrier` is the test that this one is a further name of: reports of it are counted there. `present` is the test
    that holds this one's present name, where it has been renamed. Both repeat what the aliases in force say.
    """

    __tablename__ = "test"
    __test__: ClassVar[bool] = False
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        UniqueConstraint("project_id", "digest"),
        Index(None, "project_id", "unique_id"),
    )

    project_id: int = Field(primary_key=True)
    ordinal: int = Field(primary_key=True)
    digest: bytes = Field(sa_type=LargeBinary)
    stream: str = Field(default="", max_length=200)
    suite: Json = Field(sa_type=JSON)
    classname: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    file: str = Field(default="", sa_type=Text)
    line: int | None = None
    unique_id: bool = True
    stable_id: bool = True
    sound_builds: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    first_build: int
    carrier: int | None = None
    present: int | None = None


class Variant(SQLModel, table=True):
    """One way to run the suite: the key-value pairs under a variant hash, the CI job's name among them."""

    __tablename__ = "variant"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    hash: str = Field(primary_key=True, max_length=16)
    keys: Json = Field(sa_type=JSON)
    first_build: int


class Build(SQLModel, table=True):
    """One execution of the suite, or of a part of it, on one tree; numbered by arrival (`seq`, from 1)."""

    __tablename__ = "build"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        UniqueConstraint("project_id", "key"),
        Index(None, "project_id", "tree", "lane"),
        Index(None, "project_id", "lane", "seq"),
        Index(None, "project_id", "commit", "lane"),
        Index(None, "project_id", "received_at"),
        one_of("kind", "run", "rerun"),
        one_of("lane", "trunk", "review", "agent"),
    )

    project_id: int = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    key: str = Field(max_length=32)
    build: str = Field(sa_type=Text)
    attempt: int
    job: str = Field(sa_type=Text)
    kind: str = Field(max_length=8)
    rerun_of: str | None = Field(default=None, sa_type=Text)
    lane: str = Field(max_length=16)
    change: str | None = Field(default=None, sa_type=Text)
    commit: str | None = Field(default=None, sa_type=Text)
    tree: str | None = Field(default=None, max_length=64)
    base_commit: str | None = Field(default=None, sa_type=Text)
    manifest: str | None = Field(default=None, max_length=64)
    complete: bool
    runner: str = Field(default="", sa_type=Text)
    command: str = Field(default="", sa_type=Text)
    setting: str = Field(max_length=16)
    environment_hash: str | None = Field(default=None, max_length=64)
    stream: str = Field(default="", max_length=200)
    exit_code: int | None = None
    started_at: datetime | None = None
    received_at: datetime
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    flaky: int = 0
    run_events: int = 0
    incident: str | None = Field(default=None, max_length=32)
    token_id: str | None = Field(default=None, max_length=16)


class OutcomesRow(SQLModel, table=True):
    """The outcomes one upload reported in one variant, as compressed columns over the tests' ordinals. Append-only.

    `arrival` numbers the uploads of a project; a build that comes in several uploads has several rows. `codes` holds
    one byte a test: the first try in the low half, the last try in the high half. `counted` holds one bit a test:
    whether its first try is a counted trial. `tree` and `setting` repeat the build's, for the index that finds what
    else ran on the identical tree. `called` holds, of the tests that have several names, which one they were told by;
    None when there was no such test.
    """

    __tablename__ = "outcomes"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        ForeignKeyConstraint(["project_id", "build_seq"], ["build.project_id", "build.seq"]),
        Index(None, "project_id", "build_seq", "variant_hash"),
        Index(None, "project_id", "variant_hash", "tree"),
        Index(None, "project_id", "variant_hash", "lane", "build_seq"),
    )

    project_id: int = Field(primary_key=True)
    arrival: int = Field(primary_key=True)
    variant_hash: str = Field(primary_key=True, max_length=16)
    build_seq: int
    tree: str | None = Field(default=None, max_length=64)
    setting: str = Field(max_length=16)
    lane: str = Field(max_length=16)
    is_run: bool
    received_at: datetime
    codes: bytes = Field(sa_type=LargeBinary)
    counted: bytes = Field(sa_type=LargeBinary)
    called: bytes | None = Field(default=None, sa_type=LargeBinary)


class Report(SQLModel, table=True):
    """One accepted JUnit document of a build. The bytes as received are the evidence; they are kept compressed."""

    __tablename__ = "report"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        ForeignKeyConstraint(["project_id", "build_seq"], ["build.project_id", "build.seq"]),
    )

    project_id: int = Field(primary_key=True)
    build_seq: int = Field(primary_key=True)
    sha256: str = Field(primary_key=True, max_length=64)
    name: str = Field(sa_type=Text)
    status: str = Field(max_length=16)
    size_bytes: int
    problems: Json = Field(sa_type=JSON)
    received_at: datetime


class ReportBody(SQLModel, table=True):
    """The compressed bytes of a report, apart from its row so that lists stay cheap."""

    __tablename__ = "report_body"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    sha256: str = Field(primary_key=True, max_length=64)
    body: bytes = Field(sa_type=LargeBinary)


class RefusedReport(SQLModel, table=True):
    """A document that was refused, with its reason; the bytes stay a week, up to a cap, for debugging."""

    __tablename__ = "refused_report"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(), Index(None, "project_id", "received_at"))

    project_id: int = Field(primary_key=True)
    sha256: str = Field(primary_key=True, max_length=64)
    name: str = Field(sa_type=Text)
    code: str = Field(max_length=64)
    sentence: str = Field(sa_type=Text)
    size_bytes: int
    received_at: datetime
    token_id: str | None = Field(default=None, max_length=16)
    body: bytes | None = Field(default=None, sa_type=LargeBinary)


class Failure(SQLModel, table=True):
    """A run with a failed try. `trial` is its trial index when the first try is a counted trial.

    `already_failing` says whether the test's last trunk trial before this build had failed in this variant.
    """

    __tablename__ = "failure"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        ForeignKeyConstraint(["project_id", "build_seq"], ["build.project_id", "build.seq"]),
        Index(None, "project_id", "variant_hash", "test", "build_seq"),
    )

    project_id: int = Field(primary_key=True)
    build_seq: int = Field(primary_key=True)
    variant_hash: str = Field(primary_key=True, max_length=16)
    test: int = Field(primary_key=True)
    is_trunk: bool
    received_at: datetime
    outcome: str = Field(max_length=8)
    tries: int
    passed_on_retry: bool
    trial: int | None = None
    already_failing: bool
    signature: str = Field(max_length=40)
    kind: str = Field(sa_type=Text)
    message: str = Field(sa_type=Text)
    detail: str = Field(sa_type=Text)


class RunEventRow(SQLModel, table=True):
    """A record that is no test: it makes the build red and can never be quarantined."""

    __tablename__ = "run_event"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        ForeignKeyConstraint(["project_id", "build_seq"], ["build.project_id", "build.seq"]),
    )

    project_id: int = Field(primary_key=True)
    build_seq: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    kind: str = Field(max_length=40)
    where: str = Field(sa_type=Text)
    outcome: str = Field(max_length=8)
    message: str = Field(sa_type=Text)
    detail: str = Field(sa_type=Text)


class HeadRow(SQLModel, table=True):
    """A head: see `quarantine.domain.evidence.Head`. `life` counts how often the evidence has been restarted."""

    __tablename__ = "head"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        ForeignKeyConstraint(["project_id", "build_seq"], ["build.project_id", "build.seq"]),
        Index(None, "project_id", "variant_hash", "tree"),
        Index(None, "project_id", "build_seq"),
        Index(None, "project_id", "confirmed_at", "arrived_at"),
    )

    project_id: int = Field(primary_key=True)
    variant_hash: str = Field(primary_key=True, max_length=16)
    test: int = Field(primary_key=True)
    life: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    trial: int
    build_seq: int
    arrived_at: datetime
    lane: str = Field(max_length=16)
    change: str | None = Field(default=None, sa_type=Text)
    tree: str | None = Field(default=None, max_length=64)
    setting: str = Field(max_length=16)
    fingerprint: int = Field(sa_type=BigInteger)
    signature: str = Field(max_length=40)
    confirmed_at: datetime | None = None
    confirmed_by: int | None = None
    reruns_failed: int = 0
    trunk_trials: int
    trunk_days: int
    incident: str | None = Field(default=None, max_length=32)
    company: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class HistoryRow(SQLModel, table=True):
    """The running columns of one variant over the tests' ordinals: see `quarantine.policy.history`."""

    __tablename__ = "history"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    variant_hash: str = Field(primary_key=True, max_length=16)
    trunk_builds: int = 0
    columns: bytes = Field(sa_type=LargeBinary)


class StandingRow(SQLModel, table=True):
    """The present standing of a (test, variant) that ever had a head: see `quarantine.domain.standing`.

    The window of a quarantine begins with the first onset of its entry: `window_onsets`, `window_trials` and
    `window_days` count it up to the entry, which came with build `entry_build` after `entry_trunk_trials` trunk trials
    on `entry_trunk_days` days. `streaks` numbers the present streak of passes since the entry, from 1.
    """

    __tablename__ = "standing"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        Index(None, "project_id", "status"),
        one_of("status", "gating", "quarantined", "broken", "held"),
    )

    project_id: int = Field(primary_key=True)
    variant_hash: str = Field(primary_key=True, max_length=16)
    test: int = Field(primary_key=True)
    status: str = Field(max_length=16)
    since: datetime
    life: int = 0
    streaks: int = 1
    entry_build: int | None = None
    window_onsets: int = 0
    window_trials: int = 0
    window_days: int = 0
    window_build: int | None = None
    entry_trunk_trials: int = 0
    entry_trunk_days: int = 0
    by_hand: bool = False
    expires_at: datetime | None = None
    reason: str = Field(default="", sa_type=Text)


class TransitionRow(SQLModel, table=True):
    """A change of standing with all its evidence. Append-only.

    `arrival` is the number of the last upload that had come in when it was decided, so that a replay knows its place.
    """

    __tablename__ = "transition"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        Index(None, "project_id", "variant_hash", "test", "number"),
    )

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    variant_hash: str = Field(max_length=16)
    test: int
    from_status: str = Field(max_length=16)
    to_status: str = Field(max_length=16)
    at: datetime
    reason: str = Field(sa_type=Text)
    evidence: Json = Field(sa_type=JSON)
    actor: str = Field(max_length=120)
    policy_version: str = Field(max_length=40)
    mode: str = Field(max_length=16)
    arrival: int
    build_seq: int | None = None


class Incident(SQLModel, table=True):
    """A storm: builds whose failures share one cause outside the tests."""

    __tablename__ = "incident"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(), Index(None, "project_id", "last_at"))

    project_id: int = Field(primary_key=True)
    id: str = Field(primary_key=True, max_length=32)
    first_at: datetime
    last_at: datetime
    builds: Json = Field(sa_type=JSON)
    tests: Json = Field(sa_type=JSON)
    sentence: str = Field(sa_type=Text)
    evidence: Json = Field(sa_type=JSON)


class ReachMapRow(SQLModel, table=True):
    """One uploaded reach map; what tests reach is the union over the newest ones. `tree` is what it was recorded on."""

    __tablename__ = "reach_map"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    received_at: datetime
    tree: str | None = Field(default=None, max_length=64)
    tests: int
    columns: int
    body: bytes = Field(sa_type=LargeBinary)


class ManifestRow(SQLModel, table=True):
    """The part hashes of one trunk commit, named by their content."""

    __tablename__ = "manifest"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    id: str = Field(primary_key=True, max_length=64)
    received_at: datetime
    parts: int
    body: bytes = Field(sa_type=LargeBinary)


class VerdictRow(SQLModel, table=True):
    """One verdict on one build: what was asked, what was answered, and what it cost. Rewritten as its reruns come in.

    `key` names what was judged: the patch (or the tree), the base, the environment and the subset. `question` is as
    `quarantine.services.question` writes it; `changed` holds the build part's changed parts, compressed JSON, so that
    what the green does not show can be said again after each rerun.
    `plain_rejects` says whether a harness with neither quarantine nor reruns would have rejected the first run, and
    `prevented` counts its failures that were excused. `is_random` says whether a test that is random under the change
    leaves it undecided. `runner_s` sums over the first run and every rerun.
    """

    __tablename__ = "verdict"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        ForeignKeyConstraint(["project_id", "build_seq"], ["build.project_id", "build.seq"]),
        Index(None, "project_id", "build_seq"),
        Index(None, "project_id", "ticket"),
        one_of("outcome", "accept", "reject", "inconclusive"),
    )

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    build_seq: int
    lane: str = Field(max_length=16)
    change: str | None = Field(default=None, sa_type=Text)
    ticket: str | None = Field(default=None, max_length=200)
    attempt: int | None = None
    key: str = Field(max_length=64)
    patch: str | None = Field(default=None, max_length=64)
    base_commit: str | None = Field(default=None, sa_type=Text)
    base_tree: str | None = Field(default=None, max_length=64)
    environment_hash: str | None = Field(default=None, max_length=64)
    subset: str | None = Field(default=None, max_length=64)
    question: bytes = Field(sa_type=LargeBinary)
    changed: bytes | None = Field(default=None, sa_type=LargeBinary)
    outcome: str = Field(max_length=16)
    final: bool
    suspect: bool
    sentence: str = Field(sa_type=Text)
    answer: Json = Field(sa_type=JSON)
    plain_rejects: bool
    prevented: int
    is_random: bool
    runner_s: float
    tokens: int
    cost: float
    asked_at: datetime
    decided_at: datetime


class VerdictRunRow(SQLModel, table=True):
    """One run that a verdict rests on and its client made: the judged build itself, or a rerun of either tree.

    `canary` is what the canary did in it and `canary_exit_code` what the runner then had to exit with; both None when
    there was none.
    """

    __tablename__ = "verdict_run"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        ForeignKeyConstraint(["project_id", "verdict"], ["verdict.project_id", "verdict.number"]),
        ForeignKeyConstraint(["project_id", "build_seq"], ["build.project_id", "build.seq"]),
        Index(None, "project_id", "build_seq"),
        one_of("side", "head", "base"),
    )

    project_id: int = Field(primary_key=True)
    verdict: int = Field(primary_key=True)
    build_seq: int = Field(primary_key=True)
    side: str = Field(max_length=8)
    canary: str | None = Field(default=None, max_length=8)
    canary_exit_code: int | None = None
    runner_s: float


class BaseResultRow(SQLModel, table=True):
    """How a test did on a base, by its reach fingerprint there: a later base that it reaches alike needs no run.

    `environment_hash` is empty when nobody stated it, `signature` when it did not fail. `lane` is the least trusted one
    of the runs it rests on: it says nothing to more trusted ones.
    """

    __tablename__ = "base_result"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(), one_of("lane", "trunk", "review", "agent"))

    project_id: int = Field(primary_key=True)
    variant_hash: str = Field(primary_key=True, max_length=16)
    test: int = Field(primary_key=True)
    fingerprint: int = Field(primary_key=True, sa_type=BigInteger)
    environment_hash: str = Field(primary_key=True, max_length=64)
    lane: str = Field(primary_key=True, max_length=16)
    failed: int
    passed: int
    signature: str = Field(max_length=40)
    last_at: datetime


class LoopEndRow(SQLModel, table=True):
    """How the loop on a ticket ended, the last time it did."""

    __tablename__ = "loop_end"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        one_of("ended", "accepted", "exhausted", "inconclusive", "suspect"),
    )

    project_id: int = Field(primary_key=True)
    ticket: str = Field(primary_key=True, max_length=200)
    ended: str = Field(max_length=16)
    attempts: int
    sentence: str = Field(sa_type=Text)
    verdict: int | None = None
    at: datetime


class Audit(SQLModel, table=True):
    """Who did what: uploads, tokens, human decisions. Append-only."""

    __tablename__ = "audit"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    at: datetime
    actor: str = Field(max_length=120)
    action: str = Field(max_length=40)
    detail: Json = Field(sa_type=JSON)


class JobRun(SQLModel, table=True):
    """A period of a scheduled job that some daemon has claimed."""

    __tablename__ = "job_run"

    job: str = Field(primary_key=True, max_length=40)
    period: str = Field(primary_key=True, max_length=40)
    claimed_at: datetime


PROJECT = table_of(Project)
TOKEN = table_of(Token)
TEST = table_of(Test)
VARIANT = table_of(Variant)
BUILD = table_of(Build)
OUTCOMES = table_of(OutcomesRow)
REPORT = table_of(Report)
REPORT_BODY = table_of(ReportBody)
REFUSED_REPORT = table_of(RefusedReport)
FAILURE = table_of(Failure)
RUN_EVENT = table_of(RunEventRow)
HEAD = table_of(HeadRow)
HISTORY = table_of(HistoryRow)
STANDING = table_of(StandingRow)
TRANSITION = table_of(TransitionRow)
INCIDENT = table_of(Incident)
REACH_MAP = table_of(ReachMapRow)
MANIFEST = table_of(ManifestRow)
VERDICT = table_of(VerdictRow)
VERDICT_RUN = table_of(VerdictRunRow)
BASE_RESULT = table_of(BaseResultRow)
LOOP_END = table_of(LoopEndRow)
AUDIT = table_of(Audit)
JOB_RUN = table_of(JobRun)
