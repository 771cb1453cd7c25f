"""Proposals of renames: what looks like one test, what does not, and what it costs to look."""

import time

import pytest

from quarantine.policy.renames import Candidate, propose


def pairs(vanished: list[str], appeared: list[str]) -> list[tuple[str, str]]:
    """Return the pairs proposed for tests given as `place::name`, as they are given."""
    names = [*vanished, *appeared]
    tests = [Candidate(number, *name.split("::")) for number, name in enumerate(names)]
    found = propose(tests[: len(vanished)], tests[len(vanished) :])
    return [(names[one.former], names[one.present]) for one in found]


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("tests.test_ledger::test_rounds", "tests.test_money::test_rounds"),
        ("tests.test_ledger.TestSum::test_rounds", "tests.money.test_ledger.TestSum::test_rounds"),
        ("tests.test_ledger::test_rounds", "tests.test_ledger::test_rounds_down"),
        ("tests.test_ledger::test_rounds[EUR]", "tests.test_ledger::test_rounding[EUR]"),
        ("com.acme.LedgerTest::rounds()", "com.acme.money.LedgerTest::rounds()"),
    ],
)
def test_what_looks_like_one_test_is_proposed(former: str, present: str) -> None:
    """The same name elsewhere, the same class moved, a like name in the same place with the same parameters."""
    assert pairs([former], [present]) == [(former, present)]


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("tests.test_ledger::test_add", "tests.test_ledger::test_sub"),
        ("tests.test_ledger::test_rounds[EUR]", "tests.test_ledger::test_rounding[USD]"),
        ("tests.test_ledger::test_rounds", "tests.test_money::test_rounding"),
    ],
)
def test_what_is_likely_another_test_is_not(former: str, present: str) -> None:
    """Another name that is not like it, other parameters, or another name somewhere else."""
    assert pairs([former], [present]) == []


def test_each_test_is_in_one_pair_and_the_likeliest_wins() -> None:
    """A class that moved takes its own tests along."""
    vanished = ["tests.a.TestOne::test_it", "tests.a.TestTwo::test_it"]
    appeared = ["tests.b.TestTwo::test_it", "tests.b.TestOne::test_it"]
    assert sorted(pairs(vanished, appeared)) == [(vanished[0], appeared[1]), (vanished[1], appeared[0])]


def test_where_two_would_do_nobody_guesses() -> None:
    """One test split into two equal ones, or two into one: no proposal is a coin that was thrown."""
    one, two = "tests.a::test_it", ["tests.b::test_it", "tests.c::test_it"]
    assert pairs([one], two) == []
    assert pairs(two, [one]) == []


def test_the_order_they_are_given_in_changes_nothing() -> None:
    """The same pairs whoever comes first."""
    vanished = [f"tests.test_{letter}::test_{letter}_sum" for letter in "abcdef"]
    appeared = [f"tests.units.test_{letter}::test_{letter}_sum" for letter in "abcdef"]
    assert (
        set(pairs(vanished, appeared))
        == set(pairs(vanished[::-1], appeared[::-1]))
        == set(zip(vanished, appeared, strict=True))
    )


@pytest.mark.parametrize(
    "renamed",
    ["tests.new.test_{0}::test_case_{0}", "tests.old::check_case_{0}", "tests.new::test_same[{0}]"],
)
def test_a_rename_of_thousands_costs_no_more_than_its_size(renamed: str) -> None:
    """Five thousand at once take a second or two and not the minutes of every pair; a pair of one is found."""
    former = {"tests.new::test_same[{0}]": "tests.old::test_same[{0}]"}.get(renamed, "tests.old::test_case_{0}")
    vanished = [former.format(number) for number in range(5_000)]
    appeared = [renamed.format(number) for number in range(5_000)]
    began = time.process_time()
    found = pairs(vanished, appeared)
    assert time.process_time() - began < 5
    assert all(
        one.rpartition("_")[2].rpartition("[")[2] == two.rpartition("_")[2].rpartition("[")[2] for one, two in found
    )


def test_long_and_awkward_names_do_no_harm() -> None:
    """A name of a hundred thousand characters is compared by its beginning."""
    long = "x" * 100_000
    assert pairs([f"a::test_{long}"], [f"a::test_{long}y"]) == [(f"a::test_{long}", f"a::test_{long}y")]
    assert pairs(["::"], ["::"]) == [("::", "::")]
