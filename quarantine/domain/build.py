"""A build as the rest of the product knows it: the build part after validation, its lane and change from the token."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from quarantine.domain.identity import VariantKeys
from quarantine.domain.outcome import BuildKind, Lane

ChangedPart = tuple[str, str, str | None]
"""(path, part, hash) that differs from the base; the hash is None when the part is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One execution of (a part of) the suite on one tree.

    Attributes:
        build: the CI system's name for the execution; with `job`, `attempt`, `kind` and the variant it identifies it.
        attempt: from 1. A higher attempt of the same job and commit is a rerun whatever `kind` says.
        job: the CI job; part of the variant.
        kind: run, or rerun when it was ordered because of an earlier build.
        rerun_of: the build that ordered it, for a rerun.
        tree: SHA-256 of the exact content tested, uncommitted edits included; None when nobody computed it, and then
            no other build can confirm its failures.
        changed: parts that differ from `base_commit`; triage only, never proof. None when not known.
        complete: whether the whole suite was meant to run and every report is in.
        variant: the pairs, `job` among them.
        lane, change: from the token, never from the request alone.
    """

    build: str
    attempt: int
    job: str
    kind: BuildKind
    rerun_of: str | None
    lane: Lane
    change: str | None
    commit: str | None
    tree: str | None
    base_commit: str | None
    manifest: str | None
    changed: tuple[ChangedPart, ...] | None
    complete: bool
    variant: VariantKeys
    stream: str
    runner: str
    command: str
    environment_hash: str | None
    exit_code: int | None
    started_at: datetime | None

    @property
    def is_rerun(self) -> bool:
        """Whether it can confirm but makes no trials."""
        return self.kind is BuildKind.RERUN or self.attempt > 1

    @property
    def key(self) -> str:
        """32 hexadecimal digits that identify the build within its project; no agent shares one with another's."""
        whose = [self.change or ""] if self.lane is Lane.AGENT else []
        return _digest(self.build, self.job, str(self.attempt), self.kind, self.lane, repr(self.variant), *whose)

    @property
    def setting(self) -> str:
        """16 hexadecimal digits over what must agree, beside tree and variant, for one build to confirm another."""
        return _digest(self.environment_hash or "", self.command, self.stream)[:16]


def _digest(*parts: str) -> str:
    lengths = ",".join(str(len(part)) for part in parts)
    return hashlib.blake2b(f"{lengths}:{''.join(parts)}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
