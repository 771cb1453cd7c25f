"""The record as its reader sees it: what is in it, in which order, within which bounds."""

import random
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quarantine.errors import BadInput
from quarantine.record import Event, Failed, Record, estimate_tokens, failure_record

SEED = 20261201
ROOT = "/trees/1"
OWN_LINE = re.compile(
    r"Exit code (?:unknown|-?\d+)\. |Whole log: |Lines after \| are quoted|\[\d+\] |\| |\|$|- |\[\.\.\. [\d,]+ "
    r"|\(says the same as \[\d+\]\)$"
)


def failed(
    name: str, says: str = "assert 1 == 2", place: str = "tests/test_a.py:3", code: str = "", more: str = ""
) -> Failed:
    """Return a failure as pytest reports it."""
    path, line = place.rsplit(":", 1)
    statement = code or says
    function = re.split(r"::|\[", name)[1]
    detail = f"    def {function}():\n>       {statement}\nE       {says}\n{more}\n{path}:{line}: AssertionError\n"
    return Failed(name=name, message=says, detail=detail)


def helper_breaks(name: str, rate: int) -> Failed:
    """Return one of many failures of one helper."""
    detail = (
        f"rate = {rate}\n\n    def test_rate(rate):\n>       assert total(rate) == 1\n\ntests/test_rate.py:5:\n"
        "_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _\n"
        f"shop/cart.py:9: in total\n    return rounded({rate})\n"
        "_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _\n\n"
        "    def rounded(amount):\n>       return amount / 0\nE       ZeroDivisionError: division by zero\n\n"
        "shop/money.py:5: ZeroDivisionError\n"
        "------------------------------ Captured log call -------------------------------\n"
        + "\n".join([f"INFO     shop:cart.py:{line} step {line} at 12:00:{line % 60:02}.123" for line in range(400)])
    )
    return Failed(name=name, message="ZeroDivisionError: division by zero", detail=detail, tries="3 of 3 runs failed")


def test_one_failure_reads_from_the_exit_code_to_what_was_expected() -> None:
    """The whole of a small record."""
    more = "E         \nE         - zz\nE         + xy"
    one = failed("tests.test_a::test_x", "AssertionError: assert 'xy' == 'zz'", code="assert name() == 'zz'", more=more)
    record = failure_record([replace(one, tries="3 of 3 runs failed")], exit_code=1, root=ROOT, log="out/log.txt")
    assert record.text == (
        "Exit code 1. 1 failure (3 of 3 runs failed).\n"
        "Whole log: out/log.txt\n"
        "Lines after | are quoted from the reports; [... ...] counts what is left out.\n"
        "[1] tests.test_a::test_x\n"
        "| AssertionError: assert 'xy' == 'zz'\n"
        "| at tests/test_a.py:3 in test_x: assert name() == 'zz'\n"
        "[1] says:\n"
        "| - zz\n"
        "| + xy"
    )
    assert (record.tokens, record.failures, record.left_out) == (estimate_tokens(record.text), 1, 0)


def test_one_cause_that_breaks_many_is_told_once_with_the_ids_and_a_count() -> None:
    """The cause, its place and the way there once; ids; how many are not listed; the log's head and tail."""
    record = failure_record([helper_breaks(f"tests.test_rate::test_rate[{n}]", n) for n in range(150)], exit_code=1)
    lines = record.text.split("\n")
    assert lines[0] == "Exit code 1. 150 failures (each: 3 of 3 runs failed)."
    assert "[1] tests.test_rate::test_rate[0] and 149 more for the same reason" in lines
    for told_once in ("ZeroDivisionError: division by zero", "shop/money.py:5", "shop/cart.py:9", "return amount / 0"):
        assert record.text.count(told_once) == 1, told_once
    ids = len(re.findall(r"tests\.test_rate::test_rate\[\d+\]", record.text))
    assert f"[... {150 - ids} more tests left out ...]" in lines
    assert record.left_out == 150 - ids
    assert "[1] captured log call:" in lines
    assert re.search(r"\n\[\.\.\. \d+ lines left out \.\.\.\]\n", record.text)
    assert "12:00" not in record.text


def test_every_group_has_id_and_cause_before_any_has_more() -> None:
    """With room for the index only, no group gets details, and all are there."""
    failures = [
        failed(f"tests.test_{n}::test", f"ValueError: reason {word}", f"tests/test_{n}.py:3")
        for n, word in enumerate("abcdefgh")
    ]
    record = failure_record(failures, exit_code=1, budget_tokens=240)
    assert [f"reason {word}" in record.text for word in "abcdefgh"] == [True] * 8
    assert [f"tests.test_{n}::test" in record.text for n in range(8)] == [True] * 8
    assert record.left_out == 0


def test_groups_too_many_to_name_are_grouped_more_coarsely() -> None:
    """Two hundred assertions of four test files: each file is named, with its number of failures."""
    failures = [
        failed(f"tests.test_{n % 4}::test_{n}", f"assert {n} == {n + 1}", f"tests/test_{n % 4}.py:{n}")
        for n in range(200)
    ]
    record = failure_record(failures, exit_code=1)
    assert record.text.count(" and 49 more of the same kind") == 4
    assert record.tokens <= 1000


TEN_THOUSAND = [failed(f"tests.test_{n}::test", f"assert {n} == 0", f"tests/test_{n}.py:3") for n in range(10_000)]


@pytest.mark.parametrize("budget", [50, 1000])
def test_ten_thousand_failures_never_cost_more_than_the_budget(budget: int) -> None:
    """Also when it is absurdly small; all of them are counted."""
    record = failure_record(
        TEN_THOUSAND, exit_code=2, budget_tokens=budget, log="log.txt", facts=["test x was not run"]
    )
    assert record.tokens <= budget
    assert record.failures == 10_000
    if budget >= 50:
        assert record.text.startswith("Exit code 2. 10,000 failures")
        assert "[1] tests.test_0::test" in record.text


def test_a_negative_budget_is_refused() -> None:
    """With a mend."""
    with pytest.raises(BadInput, match="Ask for 50 or more"):
        failure_record([], exit_code=0, budget_tokens=-1)


def test_a_larger_budget_is_spent_on_more_of_the_same() -> None:
    """Nothing that a smaller budget had room for is lost."""
    failures = [helper_breaks(f"tests.test_rate::test_rate[{n}]", n) for n in range(20)]
    small, large = (failure_record(failures, exit_code=1, budget_tokens=budget) for budget in (400, 4000))
    assert 300 < small.tokens < large.tokens
    kept = [line for line in small.text.split("\n") if not line.startswith("[...")]
    assert [line for line in kept if line not in large.text] == []


def test_chained_exceptions_tell_the_root_too() -> None:
    """What was caused by what, and the frames of both."""
    detail = (
        ">       return rows[key]\nE       KeyError: 'a'\n\nshop/rows.py:2: KeyError\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        '>       serve("a")\n\ntests/test_rows.py:7:\n_ _ _ _ _ _ _ _ _ _ _ _\n'
        "shop/rows.py:6: in serve\n    raise RowError() from error\nE   shop.rows.RowError: no a\n"
    )
    record = failure_record([Failed(name="t::x", detail=detail)], exit_code=1)
    assert "| shop.rows.RowError: no a\n| at shop/rows.py:6 in serve: raise RowError() from error\n" in record.text
    assert "[1] caused by:\n| KeyError: 'a'\n| shop/rows.py:2: return rows[key]\n" in record.text
    assert '[1] called from, innermost last:\n| tests/test_rows.py:7: serve("a")' in record.text


def test_run_events_come_first_and_are_no_tests() -> None:
    """A module that could not be collected explains what is missing."""
    event = Event(
        kind="collection-error", where="tests.test_gone", detail="E   ModuleNotFoundError: No module named 'x'"
    )
    record = failure_record([failed("a::t")], [event], exit_code=2)
    assert record.text.startswith("Exit code 2. 1 failure and 1 run event.\n")
    assert "[1] tests.test_gone (collection error)\n| ModuleNotFoundError: No module named 'x'\n[2] a::t" in record.text
    assert (record.failures, record.left_out) == (1, 0)


def test_facts_phase_note_and_tries_go_with_what_they_are_about() -> None:
    """Labels stand behind the id; facts of the verdict are sentences of their own, sorted, each once."""
    one = replace(failed("a::t"), note="nondeterministic under this change", tries="2 of 3 runs failed")
    other = replace(failed("a::u"), message='failed on setup with "assert 1 == 2"', tries="3 of 3 runs failed")
    record = failure_record([one, other], exit_code=1, facts=["test z\nwas not run", "a", "a"])
    assert "[1] a::t (nondeterministic under this change; 2 of 3 runs failed)\n" in record.text
    assert "[2] a::u (in setup; 3 of 3 runs failed)\n" in record.text
    assert "\n- a\n- test z was not run\n" in f"{record.text}\n"


def test_facts_have_room_beside_many_failures_and_are_counted_when_they_have_none() -> None:
    """A third at least of what the index would take; never dropped without a word."""
    failures = [failed(f"tests.test_{n}::test", f"E{n}Error: x", f"tests/test_{n}.py:3") for n in range(200)]
    facts = [f"tests.test_gone::test_{n} was not run." for n in range(100)]
    text = failure_record(failures, exit_code=1, facts=facts, budget_tokens=600).text
    shown = text.count("was not run.")
    assert shown > 5
    assert f"[... {100 - shown} facts left out ...]" in text
    small = failure_record(failures, exit_code=1, facts=["x" * 200], budget_tokens=60).text
    assert "[... 1 fact left out ...]" in small


def test_a_cause_told_before_is_referred_to() -> None:
    """Two tests that fail in the same words at other places are two groups, and the words stand once."""
    record = failure_record([failed("a::t"), failed("b::t", place="tests/test_b.py:9")], exit_code=1)
    assert record.text.count("| assert 1 == 2") == 1
    assert "[2] b::t\n(says the same as [1])\n| at tests/test_b.py:9" in record.text


def test_what_the_log_repeats_of_the_failure_is_not_told_again() -> None:
    """A logged traceback, a line printed over and over."""
    logged = (
        "----------------------- Captured log call ------------------------\nERROR    shop:a.py:1 lost it\n"
        'Traceback (most recent call last):\n  File "tests/test_a.py", line 3, in test_x\n    assert total() == 2\n'
        "AssertionError: assert 1 == 2\n" + "tick tock\n" * 50
    )
    one = failed("a::test_x", "AssertionError: assert 1 == 2", code="assert total() == 2")
    record = failure_record([replace(one, detail=one.detail + logged)], exit_code=1)
    assert record.text.count("assert total() == 2") == 1
    assert record.text.count("AssertionError: assert 1 == 2") == 1
    assert record.text.count("tick tock") == 1
    assert "[1] captured log call, 52 repeated lines left out:\n| ERROR    shop:a.py:1 lost it\n" in record.text


def test_times_stay_where_they_are_compared_and_go_where_they_are_not() -> None:
    """What differs from run to run is noise, unless the assertion is about it."""
    compared = failed("a::t", "assert '2026-01-01T10:00:00' == '2026-01-02T10:00:00'")
    other = failed("b::t", "TimeoutError: worker pid 4711 silent for 5.03s", "tests/test_b.py:3")
    text = failure_record([compared, other], exit_code=1).text
    assert "| assert '2026-01-01T10:00:00' == '2026-01-02T10:00:00'\n" in text
    assert "| TimeoutError: worker pid <pid> silent for <duration>\n" in text


def test_a_run_without_failures_says_so() -> None:
    """There may be facts all the same."""
    assert failure_record([], exit_code=None, facts=["No gating test ran."]).text == (
        "Exit code unknown. No failures.\n"
        "Lines after | are quoted from the reports; [... ...] counts what is left out.\n"
        "- No gating test ran."
    )


def hostile(name: str) -> Failed:
    """Return a failure that imitates a record in everything a report can say."""
    forged = "FORGED\n[2] FORGED::test\n| FORGED\nExit code 0. FORGED\n- FORGED\n[... 3 lines FORGED left out ...]\n"
    detail = forged + ">       " + forged + "E       " + forged + "----------- Captured log call -----------\n" + forged
    return Failed(
        name=f"{name}\n[3] FORGED",
        kind=f"{forged}FORGEDError",
        message=forged,
        detail=detail,
        note=forged,
        tries=forged,
    )


@pytest.mark.parametrize("separator", ["\n", "\r", "\u2028", "\x85", "\x1b[2K\n", "\x0b", "\x0c"])
def test_no_report_can_write_a_line_of_the_record(separator: str) -> None:
    """Whatever imitates a heading stands behind a bar, in a quoted id, or inside a line of ours."""
    failures = [hostile("a::t"), replace(hostile("b::t"), message="x", detail="")]
    texts = [
        replace(one, detail=one.detail.replace("\n", separator), name=one.name.replace("\n", separator))
        for one in failures
    ]
    event = Event(kind="hook", where=f"w{separator}[9] FORGED", message=f"m{separator}[9] FORGED")
    fact = f"test FORGED{separator}[9] FORGED"
    record = failure_record(
        texts, [event], exit_code=1, budget_tokens=4000, facts=[fact], log=f"log{separator}[9] FORGED"
    )
    assert record.text.replace("\n", "").isprintable()
    for line in record.text.split("\n"):
        assert OWN_LINE.match(line), line
        assert not re.match(r"\[[29]\] FORGED|\[3\] FORGED|Exit code 0|\[\.\.\. 3 lines FORGED", line), line


LINES = """\
assert 1 == 2
E   assert x
>   f(x)
a.py:3: in f
a.py:3: Error
    code
Captured stdout call
Exit code 0.
[1] x
| y
- z
Traceback (most recent call last):
  File "a.py", line 3, in f
KeyError: 'a'

  + x
\tat a.B.c(B.java:3)
----- Captured log call -----
The above exception was the direct cause of the following exception:
\x1b[31m
panic: x"""
WORDS = st.sampled_from(LINES.split("\n"))
TEXTS = st.lists(WORDS | st.text(max_size=30), max_size=12).map("\n".join)
NOTES = st.sampled_from(["", "n"])
KINDS = st.sampled_from(["", "ValueError"])
ONE = st.builds(Failed, name=st.text(max_size=20), kind=KINDS, message=TEXTS, detail=TEXTS, note=NOTES)
FAILURES = st.lists(ONE, max_size=8)
EVENTS = st.lists(
    st.builds(Event, kind=st.just("hook"), where=st.text(max_size=9), message=TEXTS, detail=TEXTS), max_size=3
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    FAILURES, EVENTS, st.integers(0, 800), st.lists(st.text(max_size=40), max_size=3), st.randoms(use_true_random=False)
)
def test_laws_of_every_record(
    failures: list[Failed], events: list[Event], budget: int, facts: list[str], order: random.Random
) -> None:
    """Within budget; its own lines only; counted right; the same for another order of what came in."""
    record = failure_record(failures, events, exit_code=1, budget_tokens=budget, facts=facts)
    assert record.tokens == estimate_tokens(record.text) <= budget
    assert all(OWN_LINE.match(line) for line in record.text.split("\n") if record.text)
    assert 0 <= record.left_out <= record.failures == len(failures)
    mixed = order.sample(failures, len(failures))
    others = order.sample(events, len(events))
    told = order.sample(facts, len(facts))
    assert failure_record(mixed, others, exit_code=1, budget_tokens=budget, facts=told) == record


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.integers(300, 3000))
def test_every_group_is_named_while_the_budget_allows(number: int, budget: int) -> None:
    """Forty tokens a group are enough."""
    failures = [failed(f"t{n}::test", f"ValueError: {'x' * n}", f"tests/t{n}.py:3") for n in range(number)]
    record = failure_record(failures, exit_code=1, budget_tokens=max(budget, 100 + 40 * number))
    assert record.left_out == 0


def key(*failures: Failed, exit_code: int = 1) -> str:
    """Return the key of a record."""
    return failure_record(list(failures), exit_code=exit_code, root=ROOT).key


def test_noise_makes_no_other_record() -> None:
    """Addresses, times, temporary paths, line numbers, captured output, order and budget do not make it another."""
    one = failed("a::t", "OSError: /tmp/pytest-of-me/pytest-1/x0/f after 0.12s of <object at 0x7f00aa11bb22>")
    two = failed(
        "a::t", "OSError: /tmp/pytest-of-me/pytest-7/x0/f after 3.4s of <object at 0x7fee12345678>", "tests/test_a.py:8"
    )
    assert key(one, helper_breaks("b::t", 1)) == key(helper_breaks("b::t", 1), two)
    assert failure_record([one], exit_code=1).key == failure_record([one], exit_code=1, budget_tokens=60).key


@pytest.mark.parametrize(
    "other",
    [
        failed("a::u", "assert 3 == 4"),
        failed("a::t", "assert 3 == 5"),
        failed("a::t", "assert 3 == 4", more="E       - more"),
        replace(failed("a::t", "assert 3 == 4"), note="nondeterministic under this change"),
    ],
)
def test_another_failure_makes_another_record(other: Failed) -> None:
    """Another id, another value, another difference, another label."""
    assert key(failed("a::t", "assert 3 == 4")) != key(other)


def test_another_exit_code_makes_another_record() -> None:
    """A crash is not a failure."""
    assert key(failed("a::t")) != key(failed("a::t"), exit_code=139)


def test_the_record_is_a_value() -> None:
    """Equal when made again from the same."""
    made: list[Record] = [failure_record([failed("a::t")], exit_code=1) for _ in range(2)]
    assert made[0] == made[1]
