"""The daemon's answer about a project's gating set, and its copy on disk.

Paths are text here: pathlib is a good part of what a question in a shell costs.
"""

from __future__ import annotations

import json
import os
from urllib.parse import quote
from zlib import crc32

__all__ = ["Snapshot", "SnapshotCache", "read_answer", "variant_hash"]

TYPE_CHECKING = False  # as in the package: importing `typing` is a good part of what a question costs
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from quarantine.client.target import Target

ANSWER_SCHEMA = 1
CACHE_SCHEMA = 1
FUTURE_TOLERANCE_S = 5.0
"""A copy confirmed later than now by more than this is not believed: a clock was set back, or somebody wrote it."""

_PRIVATE_FOLDER = 0o700
_WRITABLE_BY_OTHERS = 0o022
_MAX_CACHE_BYTES = 64 * 1024 * 1024
_NAME_CHARACTERS = 150
_MODES = ("observe", "enforce")


class Snapshot:
    """One gating set as the daemon stated it.

    Attributes:
        name: the snapshot's id, which is also its ETag.
        max_age_s: seconds after the last confirmation for which it may be used; at least 0.
        refresh_s: seconds between two questions to the daemon; at least 1.
        never: names that are out of the gating set as a whole: asked for without a variant, they do not gate.
        by_variant: per name, the hashes of the variants in which it does not gate. In any other it gates, for nothing
            was seen of it there. A name of `never` that is not here, as an older daemon answers, gates in none.
        variants: hashes of the variants that trunk has run; None when the daemon does not say.
    """

    __slots__ = ("by_variant", "max_age_s", "name", "never", "refresh_s", "variants")

    def __init__(
        self,
        *,
        name: str,
        max_age_s: float,
        refresh_s: float,
        never: frozenset[str],
        by_variant: dict[str, frozenset[str]],
        variants: frozenset[str] | None = None,
    ) -> None:
        self.name = name
        self.max_age_s = max_age_s
        self.refresh_s = refresh_s
        self.never = never
        self.by_variant = by_variant
        self.variants = variants

    def not_gating_in(self, variant: str) -> frozenset[str]:
        """Return the names that do not gate in the variant of this hash."""
        here = frozenset(name for name, variants in self.by_variant.items() if variant in variants)
        return here | (self.never - self.by_variant.keys())


def variant_hash(keys: Mapping[str, str]) -> str:
    """Return 16 hexadecimal digits that name a variant, equal to what the daemon computes for the same pairs."""
    import hashlib  # noqa: PLC0415 - it loads OpenSSL, and most questions name no variant

    canonical = json.dumps(dict(keys), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_answer(answer: Any, project: str) -> Snapshot:
    """Return the snapshot that a parsed answer holds. In observe mode nothing is left out of the gating set.

    Raises:
        ValueError: the answer is not of schema 1, or a field is missing or of another shape; the text names it.
    """
    _require(isinstance(answer, dict) and answer.get("schema") == ANSWER_SCHEMA, "schema")
    _require(answer.get("project") == project, "project")
    _require(isinstance(answer.get("snapshot"), str) and answer["snapshot"], "snapshot")
    _require(answer.get("mode") in _MODES, "mode")
    names: Any = answer.get("not_gating")
    _require(isinstance(names, dict) and all(map(_is_variants, names.values())), "not_gating")
    exactly = answer.get("quarantined_in", {})
    _require(isinstance(exactly, dict) and all(map(_is_list_of_text, exactly.values())), "quarantined_in")
    known = answer.get("variants")
    _require(known is None or _is_list_of_text(known), "variants")
    if answer["mode"] == "observe":
        names = exactly = {}
    lists = {name: variants for name, variants in names.items() if variants is not None} | exactly
    return Snapshot(
        name=answer["snapshot"],
        max_age_s=_seconds(answer, "max_age_s", least=0.0),
        refresh_s=_seconds(answer, "refresh_s", least=1.0),
        never=frozenset(name for name, variants in names.items() if variants is None),
        by_variant={name: frozenset(variants) for name, variants in lists.items()},
        variants=None if known is None else frozenset(known),
    )


class SnapshotCache:
    """The last confirmed answer of one target, in a file that only this user can write.

    Args:
        target: whose answers.
        folder: where the file lies; made on first use. None means `$XDG_CACHE_HOME/quarantine`, or
            `~/.cache/quarantine`.
    """

    def __init__(self, target: Target, folder: str | os.PathLike[str] | None = None) -> None:
        self.target = target
        key = f"{target.url} {target.project}"
        name = f"gating-{quote(key, safe='')[:_NAME_CHARACTERS]}-{crc32(key.encode()):08x}.json"
        self.path = os.path.join(
            _folder(folder), name
        )  # whose file it is, the record inside says; the name only tells them apart

    def load(self, now_s: float) -> tuple[dict[str, Any], float] | None:
        """Return the answer and when it was confirmed, in seconds since 1970.

        None when there is no file, or when it belongs to somebody else, may be written by others, is damaged, speaks
        of another target or comes from the future.
        """
        try:
            text = _read_private(self.path)
            record = json.loads(text)
            _require(isinstance(record, dict) and record.get("schema") == CACHE_SCHEMA, "schema")
            _require((record.get("url"), record.get("project")) == (self.target.url, self.target.project), "target")
            confirmed_s = _seconds(record, "confirmed_s", least=0.0)
            _require(confirmed_s <= now_s + FUTURE_TOLERANCE_S, "confirmed_s")
            read_answer(record.get("answer"), self.target.project)
        except (OSError, ValueError, RecursionError):
            return None
        return record["answer"], confirmed_s

    def save(self, answer: dict[str, Any], confirmed_s: float) -> None:
        """Write the answer in one step. A disk that does not take it costs nothing but the copy."""
        record = {
            "schema": CACHE_SCHEMA,
            "url": self.target.url,
            "project": self.target.project,
            "confirmed_s": confirmed_s,
            "answer": answer,
        }
        try:
            _write_private(self.path, json.dumps(record).encode())
        except OSError:
            return


def _write_private(path: str, content: bytes) -> None:
    """Replace a file in one step by one that only this user can read or write; raises OSError."""
    import tempfile  # noqa: PLC0415 - a new answer is rare, a question is not

    folder = os.path.dirname(path)
    os.makedirs(folder, mode=_PRIVATE_FOLDER, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")  # made with mode 0600
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def _read_private(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(stream.fileno())
        if hasattr(os, "geteuid"):
            _require(status.st_uid == os.geteuid(), "owner")
            _require(not status.st_mode & _WRITABLE_BY_OTHERS, "mode")
        _require(status.st_size <= _MAX_CACHE_BYTES, "size")
        return stream.read(_MAX_CACHE_BYTES)


def _folder(folder: str | os.PathLike[str] | None) -> str:
    if folder is not None:
        return os.fspath(folder)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "quarantine")


def _seconds(record: dict[str, Any], field: str, *, least: float) -> float:
    value = record.get(field)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
    _require(usable, field)
    return max(least, float(record[field]))


def _is_variants(value: object) -> bool:
    return value is None or _is_list_of_text(value)


def _is_list_of_text(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _require(holds: object, field: str) -> None:
    if not holds:
        raise ValueError(f"field {field!r} is not as agreed")
