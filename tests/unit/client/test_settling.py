"""From a run to a final verdict: which reruns are made, on what, and what is said of those that are not."""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quarantine.client.build_part import build_part
from quarantine.client.head_and_base import JudgedRun
from quarantine.client.settling import Budget, settled_verdict
from quarantine.client.target import Target
from quarantine.client.tree import read_tree
from quarantine.client.verdicts import Verdict
from tests.cli.repository import Repository
from tests.fake_judge import FakeJudge, answer, judging

COMMAND = "cat shop.py | tr -d '\\n' > out.xml; echo ran >> $COUNTER"
HEAD, BASE = b"PRICE = 2", b"PRICE = 1"


@dataclass(slots=True)
class Bench:
    """A change in a clone, whose suite reports what the source says, and a daemon that judges by a script."""

    judge: FakeJudge
    repository: Repository
    counter: Path
    told: list[str] = field(default_factory=list)

    def run(self, command: str = COMMAND, **fields: Any) -> JudgedRun:
        """Return the run of what lies there now; its report lies there too."""
        root = self.repository.path
        report = root / "out.xml"
        report.write_bytes(b"the first run")
        tree = read_tree(root, leave_out=[report])
        options = {"build": "b1", "job": "unit", "change": "7", "exit_code": 1, "stream": "s", "command": command}
        part, _ = build_part(root, options=options, tree=tree, base="main~1", environment={})
        return JudgedRun(root, tree, part, command, ("out.xml",), (report,))._replace(**fields)

    def settle(self, run: JudgedRun, *answers: dict[str, Any] | int, budget: Budget = Budget()) -> Verdict:  # noqa: B008 - frozen
        """Return the final verdict when the daemon answers so in turn."""
        self.judge.answering(*answers)
        target = Target(self.judge.url, "ledger")
        return settled_verdict(target, run, {"log": "x"}, [run.root / "out.xml"], budget=budget, told=self.told.append)

    @property
    def runs(self) -> int:
        """How often the command has run."""
        return self.counter.read_text().count("ran") if self.counter.exists() else 0


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    repository = Repository.of(tmp_path / "clone", {"shop.py": "PRICE = 1\n", "sub/till.py": "T = 1\n"})
    repository.commit({"shop.py": "PRICE = 2\n"})
    counter = tmp_path / "counter"
    monkeypatch.setenv("COUNTER", str(counter))
    monkeypatch.setenv("QUARANTINE_TOKEN", "secret")
    with judging() as judge:
        yield Bench(judge, repository, counter)
    assert list(scratch.iterdir()) == []
    assert len(repository.git("worktree", "list").splitlines()) == 1


def places(bench: Bench) -> list[bytes]:
    """Return what each rerun that was sent reported, which is the source of the tree it ran on."""
    return [one.reports["out.xml"] for one in bench.judge.reruns]


def test_a_final_answer_costs_no_rerun(bench: Bench) -> None:
    """The daemon is told that reruns can be had; none is made that nobody wants."""
    verdict = bench.settle(bench.run(), answer("accept"))
    [asked] = bench.judge.asked
    assert asked.question == {"schema": 1, "log": "x", "can_rerun": True}
    assert (verdict.verdict, bench.runs, bench.told) == ("accept", 0, [])


def test_head_and_base_are_rerun_in_turn_until_it_is_final(bench: Bench) -> None:
    """Each on its own tree, told apart by the tree's hash, with all that makes it the same run again."""
    run = bench.run()
    wanted = (answer("inconclusive", head=2, base=1), answer("inconclusive", head=2), answer("inconclusive", head=1))
    verdict = bench.settle(run, *wanted, answer("reject"))
    assert (verdict.verdict, verdict.final, bench.runs) == ("reject", True, 3)
    assert places(bench) == [BASE, HEAD, HEAD]
    base, head, _ = bench.judge.reruns
    assert head.path == "verdicts/17/reruns"
    for one in (base, head):
        same = {name: one.build[name] for name in ("job", "variant", "environment_hash", "stream", "change", "command")}
        assert same == {name: run.build_part[name] for name in same}
        assert (one.build["kind"], one.build["rerun_of"], one.build["exit_code"]) == ("rerun", "b1", 0)
        assert one.question is not None
        assert one.question["timed_out"] is False
        assert one.question["runner_s"] > 0
    assert (head.build["tree"], head.build["commit"]) == (run.tree.hash, bench.repository.head)
    assert base.build["commit"] == base.build["base_commit"] == run.build_part["base_commit"]
    bench.repository.git("checkout", "-q", "main~1")
    assert base.build["tree"] == read_tree(run.root, leave_out=[run.root / "out.xml"]).hash
    assert len({one.build["build"] for one in bench.judge.reruns}) == 3
    assert [sentence.split(": ")[0] for sentence in bench.told] == [
        "Rerun 1 of at most 6, on the base",
        "Rerun 2 of at most 6, on the head",
        "Rerun 3 of at most 6, on the head",
    ]


def test_the_first_runs_report_is_put_back(bench: Bench) -> None:
    """What a CI system shows afterwards is the run that was judged, and its time stamp; nothing else stays."""
    run = bench.run("cat shop.py > out.xml; cp out.xml more.xml", patterns=("*.xml",))
    before = (run.root / "out.xml").stat().st_mtime_ns
    bench.settle(run, answer("inconclusive", head=2), answer("inconclusive", head=1), answer())
    assert [set(one.reports) for one in bench.judge.reruns] == [{"out.xml", "more.xml"}] * 2
    assert (run.root / "out.xml").read_bytes() == b"the first run"
    assert (run.root / "out.xml").stat().st_mtime_ns == before
    assert not (run.root / "more.xml").exists()


def test_a_tree_that_changed_is_not_rerun(bench: Bench) -> None:
    """Neither before nor after may a byte differ; the file is named, and the daemon asked to answer without."""
    run = bench.run()
    bench.repository.write({"shop.py": "PRICE = 3\n"})
    verdict = bench.settle(run, answer("inconclusive", head=1), answer("reject"))
    assert (verdict.verdict, bench.runs, bench.judge.reruns) == ("reject", 0, [])
    [said] = bench.told
    assert said.startswith("No rerun on the head. The tree is no longer the one that was judged: shop.py.")
    assert [one.question for one in bench.judge.asked] == [
        {"schema": 1, "log": "x", "can_rerun": True},
        {"schema": 1, "log": "x"},
    ]


def test_a_rerun_that_changes_the_tree_says_nothing(bench: Bench) -> None:
    """It ran, and is not sent."""
    run = bench.run("echo x > litter.txt; echo ran >> $COUNTER; cp shop.py out.xml")
    bench.settle(run, answer("inconclusive", head=2), answer("reject"))
    assert (bench.runs, bench.judge.reruns) == (1, [])
    assert "The rerun changed the tree that is judged, so it says nothing about it: litter.txt." in bench.told[0]
    assert "--leave-out" in bench.told[0]


def test_what_a_run_writes_can_be_left_out(bench: Bench) -> None:
    """By name; then it is part of neither tree."""
    run = bench.run("date +%N > litter.txt; cp shop.py out.xml", leave_out=())
    litter = run.root / "litter.txt"
    run = run._replace(leave_out=(run.root / "out.xml", litter))
    bench.settle(run, answer("inconclusive", head=2, base=1), answer("inconclusive", head=1), answer())
    assert len(bench.judge.reruns) == 2


def test_a_report_that_was_there_is_no_report_of_a_rerun(bench: Bench) -> None:
    """A rerun that writes none is sent as one that wrote none, with its exit code."""
    run = bench.run("exit 5")
    bench.settle(run, answer("inconclusive", head=1), answer())
    [rerun] = bench.judge.reruns
    assert (rerun.reports, rerun.build["exit_code"]) == ({}, 5)
    assert "it wrote no report" in bench.told[0]


def test_a_rerun_whose_time_is_up_is_evidence(bench: Bench) -> None:
    """It is sent as timed out, without an exit code."""
    run = bench.run("sleep 60")
    bench.settle(run, answer("inconclusive", head=1), answer(), budget=Budget(timeout_s=0.05))
    [rerun] = bench.judge.reruns
    assert rerun.question is not None
    assert rerun.question["timed_out"] is True
    assert "exit_code" not in rerun.build


def test_the_budget_bounds_reruns(bench: Bench) -> None:
    """By number, and by time: what the budget itself cuts short is no evidence. Then the answer without is final."""
    wanted = answer("inconclusive", head=9)
    verdict = bench.settle(bench.run(), wanted, wanted, wanted, answer("reject"), budget=Budget(most=2))
    assert (verdict.verdict, bench.runs) == ("reject", 2)
    assert bench.told[-1] == "The budget for reruns is spent after 2; t1 failed once."
    bench.judge.asked.clear()
    bench.settle(bench.run("sleep 60"), wanted, answer("reject"), budget=Budget(seconds=0.05))
    assert bench.judge.reruns == []
    assert bench.told[-1].startswith("The budget for reruns is spent after 0;")


def test_a_must_pass_test_that_flakes_may_have_more_reruns_than_others_unless_a_number_was_said(bench: Bench) -> None:
    """As long as the daemon wants passes of it; what other tests want is bounded as ever."""

    def wanting(must_pass: int) -> dict[str, Any]:
        wanted = {"head": 9, "base": 0, "must_pass": must_pass, "why": "it has to convince."}
        return answer("inconclusive", head=9, wanted=wanted)

    verdict = bench.settle(bench.run(), *[wanting(9)] * 9, answer("accept"))
    assert (verdict.verdict, len(bench.judge.reruns)) == ("accept", 9)
    assert bench.told[-1].startswith("Rerun 9 of at most 70, on the head")
    for budget, answers, made in ((Budget(), [wanting(0)] * 10, 6), (Budget(most=2), [wanting(9)] * 3, 2)):
        bench.judge.asked.clear()
        bench.settle(bench.run(), *answers, answer("inconclusive"), budget=budget)
        assert len(bench.judge.reruns) == made
        assert bench.told[-1].startswith(f"The budget for reruns is spent after {made};")


@pytest.mark.parametrize(("command", "most"), [("", 6), (COMMAND, 0)])
def test_without_a_command_or_a_budget_none_is_promised(bench: Bench, command: str, most: int) -> None:
    """The daemon is told so, and its first answer is taken."""
    bench.settle(bench.run(command), answer("inconclusive", head=1), budget=Budget(most=most))
    [asked] = bench.judge.asked
    assert asked.question is not None
    assert asked.question["can_rerun"] is False


def test_a_base_that_cannot_be_had_is_said(bench: Bench, tmp_path: Path) -> None:
    """None known, not in the clone, a shallow clone, no such folder: each its own sentence; the head goes on."""
    run = bench.run()
    unknown = dict(run.build_part)
    del unknown["base_commit"]
    shallow = tmp_path / "shallow"
    bench.repository.git("clone", "-q", "--depth", "1", f"file://{run.root}", str(shallow))
    new = run.root / "sub" / "new"
    reasons = {
        "No base is known to compare with": run._replace(build_part=unknown),
        "is not in this clone, so fetch it": run._replace(build_part={**run.build_part, "base_commit": "0" * 40}),
        "which is shallow: fetch the history (depth 0)": run._replace(root=shallow, tree=read_tree(shallow)),
        "has no folder sub/new/": run._replace(root=new),
    }
    for reason, one in reasons.items():
        bench.told.clear()
        if one.root == new:
            new.mkdir()
            shutil.copy(run.root / "shop.py", new)
            one = one._replace(tree=read_tree(new))  # noqa: PLW2901 - it is there only now
        (one.root / "out.xml").touch()
        one_less = one._replace(leave_out=(one.root / "out.xml",))
        bench.settle(one_less, answer("inconclusive", base=1, head=1), answer("inconclusive", base=1), answer("reject"))
        assert reason in bench.told[0]
        assert bench.told[0].startswith("No rerun on the base. ")
        assert bench.told[1].startswith("Rerun 1 of at most 6, on the head: ")


def test_a_suite_below_the_repositorys_top_is_run_there_on_the_base(bench: Bench) -> None:
    """The worktree is entered at the same folder."""
    run = bench.run()
    root = run.root / "sub"
    bench.repository.write({"sub/till.py": "T = 2\n", "sub/out.xml": ""})
    part = {**run.build_part, "tree": read_tree(root, leave_out=[root / "out.xml"]).hash}
    below = JudgedRun(root, read_tree(root, leave_out=[root / "out.xml"]), part, "cp till.py out.xml", ("out.xml",), ())
    bench.settle(below, answer("inconclusive", base=1), answer())
    assert places(bench) == [b"T = 1\n"]


def test_the_command_sees_no_token(bench: Bench) -> None:
    """On neither tree: the code that is tested cannot report."""
    run = bench.run("env > out.xml")
    bench.settle(run, answer("inconclusive", base=1, head=1), answer("inconclusive", head=1), answer())
    assert len(places(bench)) == 2
    assert all(b"QUARANTINE_TOKEN" not in seen and b"COUNTER" in seen for seen in places(bench))


def test_a_daemon_that_is_lost_on_the_way_leaves_the_verdict(bench: Bench) -> None:
    """What it said last stands, not final, and that is said."""
    verdict = bench.settle(bench.run(), answer("inconclusive", head=2), 503)
    assert (verdict.verdict, verdict.final) == ("inconclusive", False)
    assert bench.told[-1].startswith("The daemon was lost on the way, so the verdict stays as it was: ")


def test_a_base_without_reports_is_not_run_again(bench: Bench) -> None:
    """That it writes none is told once; more of the same would tell nothing."""
    run = bench.run("test -f only-here && cp shop.py out.xml")
    bench.repository.write({"only-here": ""})
    run = run._replace(tree=read_tree(run.root, leave_out=run.leave_out))
    wanted = answer("inconclusive", head=1, base=1)
    bench.settle(run, wanted, wanted, wanted, answer("reject"), budget=Budget(most=2))
    assert [one.reports for one in bench.judge.reruns] == [{}, {"out.xml": b"PRICE = 2\n"}]


def test_a_rerun_that_is_refused_is_given_up(bench: Bench) -> None:
    """Its place is; the other goes on."""
    wanted = answer("inconclusive", head=1, base=1)
    verdict = bench.settle(bench.run(), wanted, 422, answer("inconclusive", base=1), answer("reject"))
    assert (verdict.verdict, places(bench)) == ("reject", [BASE, HEAD])
    assert bench.told[1] == "It is not taken: That is refused. Do better."


def test_a_base_that_is_the_tree_itself_is_no_base(bench: Bench) -> None:
    """There is nothing to compare with then, as on trunk when nobody names another base."""
    run = bench.run()
    run = run._replace(build_part={**run.build_part, "base_commit": bench.repository.head})
    bench.settle(run, answer("inconclusive", base=1), answer("reject"))
    assert "The base is the very tree that was tested" in bench.told[0]
    assert bench.runs == 0
