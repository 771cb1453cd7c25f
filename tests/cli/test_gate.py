"""`quarantine gate`: what is asked, what is shown, which exit code; and what it does when nobody judges."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quarantine.cli import judging as cli_judging
from quarantine.client.spool import Spool
from quarantine.client.target import Target
from tests.cli.repository import Repository
from tests.cli.shell import Said, Shell
from tests.fake_judge import FakeJudge, answer, judging
from tests.world import CLASSNAME, PROJECT, junit

RED = junit({"t1": "P", "t2": "F"})
GREEN = junit({"t1": "P", "t2": "P"})
TEST = {
    "id": "v1:0",
    "name": "tests.test_ledger::t2",
    "variant": {"os": "linux"},
    "finding": "explained",
    "effect": "rejects",
    "sentence": "It failed 3 of 3 runs, and the base passes.",
    "evidence": "/projects/ledger/tests/v1:0",
    "head": {"failed": 3, "passed": 0},
    "base": {"failed": 0, "passed": 1},
}
REJECT = answer(
    "reject",
    sentence="Rejected: t2 fails.",
    causes=[{"code": "explained", "effect": "rejects", "sentence": "t2 \x1b[31mfails.", "tests": ["t2"]}],
    tests=[TEST, {**TEST, "name": "t3[a\nb]", "variant": {}, "effect": "excused", "base": {"failed": 0, "passed": 0}}],
    gating={"ran": 2, "passed": 1, "of": 4812},
    not_shown={
        "sentences": ["An exhaustive run on the merge result is still owed."],
        "unreached": [{"path": f"shop{n}.py", "parts": ["body"]} for n in range(12)],
        "exhaustive_owed": True,
    },
    record={"text": "exit code 1\nt2: assert 19 == 20\n", "tokens": 9, "failures": 1, "left_out": 0},
)
TEXT = """\
REJECT  Rejected: t2 fails.

Why
  rejects  explained  t2 fails.

Tests
  finding    effect   head        base        test
  explained  rejects  failed 3/3  failed 0/1  tests.test_ledger::t2  (os=linux)
      It failed 3 of 3 runs, and the base passes.
  explained  excused  failed 3/3  -           t3[a\\nb]
      It failed 3 of 3 runs, and the base passes.

What this does not show
  2 of 4,812 gating tests ran here, and 1 passed.
  An exhaustive run on the merge result is still owed.
"""


@pytest.fixture
def judge() -> Iterator[FakeJudge]:
    with judging() as judge:
        yield judge


@pytest.fixture
def repository(shell: Shell) -> Repository:
    """Return a clone in the folder the shell is in, with a change on its trunk, and a red report in it."""
    os.rmdir(shell.folder)  # noqa: PTH106 - it is made again
    repository = Repository.of(shell.folder, {"shop.py": "PRICE = 1\n", "sub/till.py": "T = 1\n"})
    repository.commit({"shop.py": "PRICE = 2\n"})
    (shell.folder / "r.xml").write_bytes(RED)
    return repository


def gate(shell: Shell, url: str, *words: str | Path, code: int | None = 0, report: str = "r.xml") -> Said:
    """Run `quarantine gate` on a report of a run that ended with 1."""
    at = ("--report", report, "--exit-code", "1", "--build", "b1", "--base", "main~1")
    return shell.run("gate", *at, *words, "--url", url, "--project", PROJECT, code=code)


CHANGED = {"changed_lines": [["shop.py", "<module>", 1, 1]]}
"""What the question says of the change that the fixture makes."""


def snapshot_of(*names: str, mode: str = "enforce") -> dict[str, Any]:
    """Return a gating set in which these tests do not gate."""
    return {
        "schema": 1,
        "project": PROJECT,
        "snapshot": "s1",
        "mode": mode,
        "taken_at": "",
        "max_age_s": 86400,
        "refresh_s": 60,
        "not_gating": dict.fromkeys(names),
    }


@pytest.mark.parametrize(("word", "code"), [("accept", 0), ("reject", 1), ("inconclusive", 3)])
def test_the_exit_code_is_the_verdict(
    shell: Shell, judge: FakeJudge, repository: Repository, word: str, code: int
) -> None:
    """And the first line says it; the tree is the one in the folder, the report left out."""
    judge.answering(answer(word))
    said = gate(shell, judge.url, code=code)
    assert said.out.startswith(f"{word.upper()}  It is {word}.\n")
    [asked] = judge.asked
    assert (asked.build["build"], asked.build["exit_code"], asked.reports) == ("b1", 1, {"r.xml": RED})
    assert asked.build["commit"] == repository.head
    assert [part[0] for part in asked.build["changed"]] == ["shop.py"]
    assert asked.question == {"schema": 1, "can_rerun": False, "root": str(repository.path), **CHANGED}


def test_the_whole_answer_can_be_read(shell: Shell, judge: FakeJudge, repository: Repository) -> None:
    """What it is, why, each test, what it does not show, the record; nothing in it acts on the terminal."""
    judge.answering(REJECT)
    said = gate(shell, judge.url, "--record", "record.txt", code=1)
    unreached = [*(f"  not reached: shop{n}.py (body)" for n in range(10)), "  not reached: 2 more places", ""]
    record = ["", "For whoever mends it", "  exit code 1", "  t2: assert 19 == 20", ""]
    end = f"\nEvidence: {judge.url}/projects/ledger/verdicts/17\n"
    assert said.out == TEXT + "\n".join([*unreached[:-1], *record]) + end
    assert (repository.path / "record.txt").read_text() == REJECT["record"]["text"]
    assert gate(shell, judge.url, "--json", code=1).json == REJECT
    judge.answering(answer())
    gate(shell, judge.url, "--record", "record.txt", "--leave-out", "record.txt")
    assert (repository.path / "record.txt").read_text() == ""


def test_what_is_asked_for_is_asked(shell: Shell, judge: FakeJudge, repository: Repository) -> None:
    """Expected names one a line, with whatever characters; must-pass, removed, the log."""
    names = ["tests/test a.py::t[x y]", "t2", "Ünïcode::t[\u2028\x0c]"]
    (repository.path.parent / "names").write_text("\n".join([*names, "", ""]), encoding="utf-8")
    (repository.path.parent / "names.json").write_text(json.dumps(["a\nb"]))
    words = ("--expect", "../names", "--must-pass", "a", "--must-pass", "b", "--removed", "c", "--log", "out/log")
    gate(shell, judge.url, *words, "--command", "true")
    assert judge.asked[0].question == {
        "schema": 1,
        "can_rerun": True,
        "root": str(repository.path),
        "expected": names,
        "must_pass": ["a", "b"],
        "removed": ["c"],
        "log": "out/log",
        **CHANGED,
    }
    gate(shell, judge.url, "--expect", "../names.json")
    assert (judge.asked[1].question or {})["expected"] == ["a\nb"]
    gate(shell, judge.url, "--command", "true", "--no-reruns")
    assert judge.asked[2].question == {"schema": 1, "can_rerun": False, "root": str(repository.path), **CHANGED}


def test_lines_that_were_not_reached_are_told(shell: Shell, judge: FakeJudge, repository: Repository) -> None:
    """The changed lines go with the question; those the daemon names come out one a line, as text and no more."""
    (repository.path / "shop.py").write_text("def price():\n    return 2\n\n\ndef rebate():\n    return 1\n")
    pieces = [{"text": "lines 5-6 (in rebate; new, no map has seen it)"}, {"text": "line 2 (in a\nb)"}]
    unreached = [{"path": "shop.py", "parts": ["body"], "pieces": pieces}]
    judge.answering(answer(not_shown={"sentences": [], "unreached": unreached, "exhaustive_owed": True}))
    said = gate(shell, judge.url)
    assert "  not reached: shop.py lines 5-6 (in rebate; new, no map has seen it)\n" in said.out
    assert "  not reached: shop.py line 2 (in a\\nb)\n" in said.out
    told = (judge.asked[0].question or {})["changed_lines"]
    assert ["shop.py", "rebate", 5, 6] in told


def test_reruns_are_told_as_they_are_made(shell: Shell, judge: FakeJudge, repository: Repository) -> None:
    """On stderr, so that what is printed stays the verdict; the command begins in the folder we are in."""
    shell.folder = repository.path / "sub"
    judge.answering(answer("inconclusive", head=1, base=1), answer("inconclusive", head=1), answer())
    said = gate(shell, judge.url, "--command", "cp till.py ../r.xml", "--json", report="../r.xml")
    assert said.json == answer()
    assert "on the base: exit code 0" in said.err
    assert "on the head: exit code 0" in said.err
    assert [one.reports for one in judge.reruns] == [{"r.xml": b"T = 1\n"}] * 2
    assert judge.asked[0].build["command"] == "cd sub && cp till.py ../r.xml"


@pytest.mark.usefixtures("repository")
def test_a_report_that_is_none_is_never_dropped(shell: Shell, judge: FakeJudge) -> None:
    """Not there, empty, or of yesterday: named, and sent as no report, or as an empty one beside others."""
    (shell.folder / "void.xml").touch()
    (shell.folder / "old.xml").write_bytes(GREEN)
    os.utime(shell.folder / "old.xml", (1e9, 1e9))
    since = ("--since", "2020-01-01T00:00:00+00:00")
    for name, reason in (("absent.xml", "Nothing is at absent.xml"), ("void.xml", "is empty"), ("old.xml", "before")):
        said = gate(shell, judge.url, *since, report=name)
        assert reason in said.err
        assert judge.asked[-1].reports == {}
        assert judge.asked[-1].build["exit_code"] == 1
        gate(shell, judge.url, *since, "--report", name)
        assert judge.asked[-1].reports == {"r.xml": RED, name: b""}
    gate(shell, judge.url, "--since", "1000000", report="old.xml")
    assert judge.asked[-1].reports == {"old.xml": GREEN}
    gate(shell, judge.url, report="*.xml")
    assert set(judge.asked[-1].reports) == {"r.xml", "old.xml", "void.xml"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--report", "r.xml"), "--exit-code"),
        (("--exit-code", "0"), "--report"),
        (("--report", "r.xml", "--exit-code", "0", "--since", "yesterday"), "no instant"),
        (("--report", "r.xml", "--exit-code", "0", "--since", "nan"), "'nan' is no instant"),
        (("--report", "r.xml", "--exit-code", "0", "--since", "inf"), "'inf' is no instant"),
        (("--report", "r.xml", "--exit-code", "0", "--since", "1e999"), "no instant"),
        (("--report", "r.xml", "--exit-code", "0", "--since", "-1"), "'-1' is no instant"),
        (("--report", "r.xml", "--exit-code", "0", "--since", "1960-01-01"), "no instant"),
        (("--report", "r.xml", "--exit-code", "0", "--expect", "empty"), "names no test"),
        (("--report", "r.xml", "--exit-code", "0", "--expect", "latin"), "latin is not UTF-8 in line 2. Give a text"),
        (("--report", "r.xml", "--exit-code", "0", "--expect", "nul"), "nul has a NUL in name 2"),
        (("--report", "r.xml", "--exit-code", "0", "--expect", "sub"), "sub is a folder"),
        (("--report", "r.xml", "--exit-code", "0", "--expect", "huge"), "huge is longer than 67,108,864 bytes"),
        (("--report", "r.xml", "--exit-code", "0", "--expect", "deep.json"), "deep.json is no JSON"),
        (("--report", "r.xml", "--exit-code", "0", "--expect", "absent"), "absent"),
        (("--report", "r.xml", "--exit-code", "0", "--expect", "no.json"), "no JSON"),
        (("--report", "r.xml", "--exit-code", "0", "--reruns", "-1"), "--reruns"),
        (("--report", "r.xml", "--exit-code", "0", "--variant", "os"), "KEY=VALUE"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_wrong_usage_is_2(shell: Shell, judge: FakeJudge, words: tuple[str, ...], said: str) -> None:
    """Nothing is asked then."""
    (shell.folder / "empty").write_text("\n \n")
    (shell.folder / "no.json").write_text("t1")
    (shell.folder / "deep.json").write_text("[" * 100_000)
    (shell.folder / "latin").write_bytes(b"t1\nt\xe9\n")
    (shell.folder / "nul").write_bytes(b"t1\nt\0\n")
    (shell.folder / "huge").touch()
    os.truncate(shell.folder / "huge", 10**9)
    told = shell.run("gate", *words, "--url", judge.url, "--project", PROJECT, code=2)
    assert said in " ".join(told.err.split())
    assert (told.out, judge.asked) == ("", [])


@pytest.mark.usefixtures("repository")
def test_a_question_that_is_refused_is_2(shell: Shell, judge: FakeJudge) -> None:
    """No snapshot answers what the daemon calls wrong."""
    judge.answering(422)
    said = gate(shell, judge.url, "--removed", "t1", code=2)
    assert said.err.splitlines()[-1] == "quarantine: That is refused. Do better."
    assert said.out == ""


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("status", [401, 403, 404, 413, 500, 503])
def test_a_daemon_that_gives_no_verdict_is_not_waited_for(shell: Shell, judge: FakeJudge, status: int) -> None:
    """It is decided here by the gating set, in one line on stderr, and the run waits in the spool."""
    judge.answering(status)
    judge.gating = snapshot_of(f"{CLASSNAME}::t2")
    said = gate(shell, judge.url, "--json", code=1)
    assert (said.json["id"], said.json["causes"][0]["code"]) == (None, "unsettled")
    assert "nothing compared with the base" in said.err
    assert "The run waits in" in said.err
    assert len(said.err.splitlines()) == 1


def local(shell: Shell, url: str, *words: str, code: int) -> dict[str, Any]:
    """Return the verdict that is decided without the daemon."""
    found: dict[str, Any] = gate(shell, url, *words, "--json", code=code).json
    return found


@pytest.mark.usefixtures("repository")
def test_without_a_daemon_a_failing_gating_test_rejects(shell: Shell) -> None:
    """With no snapshot every test gates; the answer has the shape of the daemon's."""
    told = local(shell, "http://127.0.0.1:9", code=1)
    assert told.keys() == answer().keys()
    assert (told["id"], told["final"], told["gating"]) == (None, True, {"ran": 2, "passed": 1, "of": 2})
    [test] = told["tests"]
    assert test.keys() == TEST.keys()
    assert (test["name"], test["finding"], test["effect"]) == (f"{CLASSNAME}::t2", "unsettled", "rejects")
    assert "was not asked" in told["not_shown"]["sentences"][0]
    shown = gate(shell, "http://127.0.0.1:9", code=1)
    assert shown.out.startswith(f"REJECT  Rejected: {CLASSNAME}::t2: it failed 1 of 1 run")
    assert "with every test gating" in shown.err


@pytest.mark.usefixtures("repository")
def test_a_fork_without_secrets_is_judged_with_every_test_gating(shell: Shell) -> None:
    """No daemon is named: that is said in one line, and nothing is kept."""
    at = ("--project", PROJECT, "--report", "r.xml", "--base", "main~1", "--exit-code")
    said = shell.run("gate", *at, "1", code=1)
    assert said.err == (
        "quarantine: No daemon is named (--url and QUARANTINE_URL are empty). Decided here, with every test gating.\n"
    )
    assert said.out.startswith("REJECT")
    (shell.folder / "r.xml").write_bytes(GREEN)
    assert shell.run("gate", *at, "0", "--json", QUARANTINE_URL=" ").json["verdict"] == "accept"
    assert not (shell.folder.parent / "home").exists()
    ran = shell.run(
        "run", "--project", PROJECT, "--base", "main~1", "--report-only", "--", "sh", "-c", "exit 7", code=7
    )
    assert "so nothing is sent" in ran.err


@pytest.mark.usefixtures("repository")
def test_the_last_snapshot_excuses_until_it_is_too_old(shell: Shell, judge: FakeJudge) -> None:
    """A quarantined failure is excused by it; must-pass it is not, nor in observe mode, nor after its maximum age."""
    report_id = local(shell, "http://127.0.0.1:9", code=1)["tests"][0]["id"]
    judge.answering(503)
    judge.gating = snapshot_of(report_id)
    assert local(shell, judge.url, code=0)["tests"][0]["finding"] == "quarantined"
    assert local(shell, judge.url, "--must-pass", f"{CLASSNAME}::t2", code=1)["tests"][0]["finding"] == "must-pass"
    judge.gating = snapshot_of(report_id, mode="observe")
    assert local(shell, judge.url, code=1)["verdict"] == "reject"
    judge.gating = snapshot_of(report_id) | {"max_age_s": 100}
    assert local(shell, judge.url, code=0)["verdict"] == "accept"
    judge.gating = None
    assert "by snapshot s1" in gate(shell, judge.url, code=0).err
    cache = next((shell.folder.parent / "home").glob("quarantine/gating-*.json"))
    record = json.loads(cache.read_text())
    cache.write_text(json.dumps(record | {"confirmed_s": record["confirmed_s"] - 200}))
    assert "with every test gating" in gate(shell, judge.url, code=1).err


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("report", "exit_code", "words", "code", "cause"),
    [
        (GREEN, 0, (), 0, None),
        (GREEN, 1, (), 1, "exit-code"),
        (GREEN, 139, (), 3, "crash"),
        (b"", 0, (), 3, "no-report"),
        (b"<html/>", 0, (), 3, "unreadable-report"),
        (GREEN[:-40], 0, (), 3, "truncated-report"),
        (junit({"t1": "S"}), 0, (), 3, "nothing-gated"),
        (GREEN, 0, ("--expect", "names"), 1, "missing"),
        (GREEN, 0, ("--expect", "names", "--removed", "t9"), 0, "removed"),
        (GREEN, 0, ("--must-pass", "t9"), 1, "must-pass"),
        (GREEN, 0, ("--must-pass", "tests/test_ledger.py::t2"), 0, "must-pass"),
        (junit({"t1": "P", "t2": "FP"}), 0, (), 3, "nondeterministic"),
    ],
)
def test_the_same_rules_decide_here(
    shell: Shell, report: bytes, *, exit_code: int, words: tuple[str, ...], code: int, cause: str | None
) -> None:
    """Whatever is red by the table of the docs is red without the daemon too."""
    (shell.folder / "r.xml").write_bytes(report)
    (shell.folder / "names").write_text("t1\nt9\n")
    told = local(shell, "http://127.0.0.1:9", "--exit-code", str(exit_code), *words, code=code)
    assert (told["causes"][0]["code"] if told["causes"] else None) == cause


@pytest.mark.usefixtures("repository")
def test_what_was_kept_is_sent_with_the_next_verdict(shell: Shell, judge: FakeJudge) -> None:
    """The run of the time without a daemon is not lost."""
    judge.answering(503)
    gate(shell, judge.url, code=1)
    judge.asked.clear()
    judge.answering(answer())
    gate(shell, judge.url, code=0)
    assert [one.path for one in judge.asked] == ["verdicts", "reports"]
    assert judge.asked[1].reports == {"r.xml": RED}
    folder = shell.folder.parent / "home" / "quarantine" / "spool"
    assert list(Spool(Target(judge.url, PROJECT), folder).waiting()) == []


@pytest.mark.usefixtures("repository")
def test_a_mistake_of_ours_is_no_verdict(shell: Shell, judge: FakeJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with 2, for 1 would reject; so does a record that cannot be written, and Ctrl-C with 130."""
    assert "cannot be used" in gate(shell, judge.url, "--record", "no/such/folder", code=2).err

    def raising(error: BaseException) -> None:
        def broken(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(cli_judging, "_show", broken)

    raising(KeyError("x"))
    assert "a mistake of quarantine's own" in gate(shell, judge.url, code=2).err
    raising(KeyboardInterrupt())
    gate(shell, judge.url, code=130)


@pytest.mark.usefixtures("repository")
def test_a_terminal_that_takes_no_text_changes_no_verdict(
    shell: Shell, judge: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A closed pipe does not turn an acceptance into a rejection."""

    def broken(_text: str) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(cli_judging, "say", broken)
    monkeypatch.setattr(cli_judging, "drop_stdout", lambda: None)
    said = gate(shell, judge.url, code=0)
    assert "The verdict is accept; it could not be printed: Broken pipe." in said.err


STRANGE = "Trunk has never run the variant os=linux, so nothing is quarantined in it."


@pytest.mark.usefixtures("repository")
def test_a_variant_that_trunk_never_ran_is_said_at_the_top(shell: Shell, judge: FakeJudge) -> None:
    """Right below the verdict and once only; on stderr where JSON is printed."""
    told = {"sentences": [STRANGE, "2 of 4,812 gating tests ran.", "More."], "unreached": [], "exhaustive_owed": True}
    judge.answering(answer(gating={"ran": 2, "passed": 1, "of": 4812}, not_shown={**told, "variant": STRANGE}))
    lines = gate(shell, judge.url).out.splitlines()
    assert lines[:2] == ["ACCEPT  It is accept.", STRANGE]
    where = lines.index("What this does not show")
    assert lines[where + 1 : where + 3] == ["  2 of 4,812 gating tests ran here, and 1 passed.", "  More."]
    said = gate(shell, judge.url, "--json")
    assert f"quarantine: {STRANGE}\n" in said.err
    assert said.json["not_shown"]["variant"] == STRANGE
    judge.answering(answer())
    assert gate(shell, judge.url, "--json").err == ""


@pytest.mark.usefixtures("repository")
def test_a_report_that_was_typed_wrongly_is_wrong_usage_after_a_green_run(shell: Shell, judge: FakeJudge) -> None:
    """Every path is named and nothing is asked; after a red run it is a run without a report, as ever."""
    words = ("gate", "--report", "typo.xml", "--report", "out/*.xml", "--url", judge.url, "--project", PROJECT)
    said = shell.run(*words, "--exit-code", "0", code=2)
    assert "Nothing is at 'typo.xml' and 'out/*.xml', though the run ended with 0." in said.err
    assert judge.asked == []
    assert "Nothing is at typo.xml" in shell.run(*words, "--exit-code", "1").err
    assert judge.asked[0].reports == {}
    shell.run(*words, "--report", "r.xml", "--exit-code", "0")
    assert judge.asked[1].reports["r.xml"] == RED


@pytest.mark.parametrize("verb", [("gate", "--report", "r.xml", "--exit-code", "1"), ("run",)])
def test_a_base_that_is_no_revision_is_wrong_usage(
    shell: Shell, judge: FakeJudge, repository: Repository, verb: tuple[str, ...]
) -> None:
    """Nothing is run or asked; in a shallow clone the advice is to fetch the history."""
    words = (*verb, "--base", "nope", "--url", judge.url, "--project", PROJECT)
    command = ("--", "touch", "ran") if verb == ("run",) else ()
    assert "there is no revision nope here.\n" in shell.run(*words, *command, code=2).err
    (repository.path / ".git/shallow").write_text(f"{repository.head}\n")
    assert "This clone is shallow: fetch the history (depth 0)." in shell.run(*words, *command, code=2).err
    assert (judge.asked, (repository.path / "ran").exists()) == ([], False)


@pytest.mark.usefixtures("repository")
def test_a_missing_project_is_said_with_where_it_can_come_from(shell: Shell) -> None:
    """By the option or by the environment."""
    said = shell.run("gate", "--report", "r.xml", "--exit-code", "1", code=2).err
    assert "Missing option '--project'. Name the project, or set QUARANTINE_PROJECT." in said
