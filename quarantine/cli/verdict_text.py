"""A verdict as text for people: what it is, why, each test, what it does not show, the record."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["unknown_variant", "verdict_text"]

_PLACES_SHOWN = 10
_Answer = Mapping[str, Any]


def verdict_text(answer: _Answer, url: str) -> str:
    """Return the answer of the daemon, or one like it that was made here, as lines of text."""
    sections = (
        [f"{str(answer['verdict']).upper()}  {_one_line(answer['sentence'])}", *_not_final(answer), *_variant(answer)],
        _section("Why", _causes(answer["causes"])),
        _section("Tests", _tests(answer["tests"])),
        _section("What this does not show", _not_shown(answer)),
        _section("For whoever mends it", _record(answer)),
        [f"Evidence: {url}{answer['evidence']}"] if answer.get("evidence") else [],
    )
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _not_final(answer: _Answer) -> Iterator[str]:
    if not answer["final"]:
        why = answer["wanted"].get("why") or "further reruns would say more."
        yield f"This is not final: {why}"


def _variant(answer: _Answer) -> Iterator[str]:
    """Yield that trunk never ran the variant, if so: then little of what is known of the tests bore on the verdict."""
    if said := unknown_variant(answer):
        yield _one_line(said)


def unknown_variant(answer: _Answer) -> str:
    """Return what is said of a variant that trunk never ran; empty when it ran it."""
    return str(answer["not_shown"].get("variant") or "")


def _section(title: str, lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return [title, *(f"  {line}" for line in found)] if found else []


def _causes(causes: Sequence[_Answer]) -> Iterator[str]:
    """Yield a line for each cause, the strongest first as they come."""
    rows = [(str(cause["effect"]), str(cause["code"]), _one_line(cause["sentence"])) for cause in causes]
    yield from _aligned(rows)


def _one_line(text: Any) -> str:
    """Return text with its line ends spelt out: names may hold some."""
    return str(text).replace("\r", "\\r").replace("\n", "\\n")


def _tests(tests: Sequence[_Answer]) -> Iterator[str]:
    """Yield a table of the tests, each with its reason below it."""
    if not tests:
        return
    heading = ("finding", "effect", "head", "base", "test")
    rows = [heading, *(_row(test) for test in tests)]
    lines = list(_aligned(rows))
    yield lines[0]
    for line, test in zip(lines[1:], tests, strict=True):
        yield line
        yield f"    {_one_line(test['sentence'])}"


def _row(test: _Answer) -> tuple[str, ...]:
    variant = " ".join(f"{key}={value}" for key, value in sorted((test.get("variant") or {}).items()))
    name = _one_line(f"{test['name']}  ({variant})" if variant else test["name"])
    return str(test["finding"]), str(test["effect"]), _tries(test["head"]), _tries(test["base"]), name


def _tries(tries: _Answer) -> str:
    """Return how often it failed of how many tries, such as `2/3`; a dash when it was not run."""
    total = tries["failed"] + tries["passed"]
    return f"failed {tries['failed']}/{total}" if total else "-"


def _not_shown(answer: _Answer) -> Iterator[str]:
    gating = answer["gating"]
    ran = f"{gating['ran']:,} of {gating['of']:,} gating test"
    yield f"{ran}{'s' if gating['of'] != 1 else ''} ran here, and {gating['passed']:,} passed."
    told, said_above = answer["not_shown"], unknown_variant(answer)
    yield from (one for one in told["sentences"] if one != said_above and not one.startswith(ran))
    places = [place for file in told["unreached"] for place in _places(file)]
    yield from (f"not reached: {_one_line(place)}" for place in places[:_PLACES_SHOWN])
    if len(places) > _PLACES_SHOWN:
        yield f"not reached: {len(places) - _PLACES_SHOWN:,} more places"


def _places(file: _Answer) -> Iterator[str]:
    """Yield what of a file was not reached: its lines where they are known, else its parts."""
    pieces = file.get("pieces") or ()
    yield from (f"{file['path']} {piece['text']}" for piece in pieces)
    if not pieces:
        parts = ", ".join(map(str, file.get("parts") or ()))
        yield f"{file['path']} ({parts})" if parts else str(file["path"])


def _record(answer: _Answer) -> Iterator[str]:
    record = answer.get("record")
    if answer["verdict"] == "reject" and record:
        yield from str(record["text"]).splitlines()


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield the rows with all cells but the last padded to the width of their column."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)] if rows else []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        yield "  ".join([*cells, row[-1]]).rstrip()
