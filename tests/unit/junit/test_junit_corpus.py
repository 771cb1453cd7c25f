"""The recorded reports of some 65 writers, against counts that were made without this reader."""

import csv
from pathlib import Path

from quarantine.domain.identity import test_digest
from quarantine.junit import Counts, Document, counts, read_one, read_together

STATUSES = {"ok": "ok", "ok-empty": "ok", "salvage": "salvaged", "multi-doc": "salvaged"}


def rows(recorded: Path) -> list[dict[str, str]]:
    with (recorded / "open" / "manifest.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def document(recorded: Path, row: dict[str, str]) -> Document:
    return Document(row["path"], (recorded / "open" / row["path"]).read_bytes())


def comparable(numbers: tuple[int, ...], row: dict[str, str]) -> tuple[int, ...]:
    tests, passed, failed, error, skipped, flaky = numbers
    if row["ambiguous"] == "yes":
        return (tests, passed, failed + error, skipped, flaky)
    return numbers


def test_every_readable_report_gives_the_recorded_counts(recorded: Path) -> None:
    wrong = {}
    for row in rows(recorded):
        if row["expect"] not in STATUSES:
            continue
        upload = read_one(document(recorded, row))
        truth = tuple(int(row[f"truth_{field}"]) for field in Counts._fields)
        expected = (STATUSES[row["expect"]], comparable(truth, row))
        found = (upload.readings[0].status, comparable(counts(upload.runs, upload.events), row))
        if found != expected:
            wrong[row["path"]] = (found, expected)
    assert wrong == {}


def test_every_foreign_or_broken_file_is_rejected_with_a_code_and_a_look(recorded: Path) -> None:
    """A rejection never counts as an empty run, and says what the file looks like."""
    for row in rows(recorded):
        if not row["expect"].startswith("reject"):
            continue
        upload = read_one(document(recorded, row))
        reading = upload.readings[0]
        assert (reading.status, upload.runs, upload.complete) == ("rejected", (), False), row["path"]
        assert reading.code in {"not-junit", "doctype", "empty"}, row["path"]
        if reading.code == "not-junit":
            assert reading.sentence.startswith("It looks like "), row["path"]


def test_the_hashes_are_those_of_the_manifest(recorded: Path) -> None:
    for row in rows(recorded)[:40]:
        assert read_one(document(recorded, row)).readings[0].sha256 == row["sha256"], row["path"]


def test_no_rejected_report_loses_the_others(recorded: Path) -> None:
    """All recorded files in one upload: each keeps its own status, and no two runs share digest and variant."""
    everything = rows(recorded)
    upload = read_together([document(recorded, row) for row in everything])
    statuses = {reading.name: reading.status for reading in upload.readings}
    assert statuses == {row["path"]: STATUSES.get(row["expect"], "rejected") for row in everything}
    assert len({(run.digest, run.origin.variant) for run in upload.runs}) == len(upload.runs)


def test_the_digest_of_every_run_is_that_of_its_test(recorded: Path) -> None:
    """The reader prepares digests in its own way; the domain's rule is the oracle."""
    for row in rows(recorded):
        upload = read_together([document(recorded, row)], stream="api/ä")
        for run in upload.runs:
            assert run.digest == test_digest("api/ä", run.test), row["path"]


def test_the_surefire_pair_is_one_build(recorded: Path) -> None:
    """Attempt 1 and attempts 2 to 3 lie in two files; the order of the files does not matter."""
    paths = sorted((recorded / "open" / "surefire-rerun-pair").iterdir())
    documents = [Document(path.name, path.read_bytes()) for path in paths]
    forward, backward = read_together(documents), read_together(documents[::-1])
    expected = Counts(tests=15, passed=8, failed=2, error=1, skipped=2, flaky=2)
    assert counts(forward.runs, forward.events) == counts(backward.runs, backward.events) == expected
    assert {run.test.name for run in forward.runs if run.is_flaky} == {"flakyThenPasses", "flakyError"}
    assert {run.test.name for run in forward.runs if not run.origin.unique} == {"rep"}


def test_playwright_projects_are_variants_and_no_duplicates(recorded: Path) -> None:
    path = recorded / "open" / "playwright" / "launchable-playwright.xml"
    runs = read_one(Document(path.name, path.read_bytes())).runs
    assert len(runs) == 93
    assert len({run.digest for run in runs}) == 31
    assert all(run.origin.unique for run in runs)
    assert {run.origin.variant for run in runs} == {(("project", name),) for name in ("chromium", "firefox", "webkit")}
