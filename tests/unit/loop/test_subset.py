"""Which tests run for a patch, and how they get into the command."""

from pathlib import Path
from typing import Any

import pytest

from quarantine.client.errors import ClientError
from quarantine.loop.command import MAX_BYTES, Command
from quarantine.loop.subset import EVERYTHING, Impact, choose, collected_ids

FILES = {"tests/test_a.py", "tests/deep/test_b.py", "src/app.py"}
RUNS = Command("pytest {tests} --junitxml={report}")
ANSWER = {
    "impacted": ["tests/test_a.py::test_one"],
    "unknown": ["tests.deep.test_b.TestCase::test_two"],
    "untouched": ["tests/test_a.py::test_three"],
    "everything": False,
    "why": "2 of 3 tests.",
}


def chosen(answer: dict[str, Any] | None = None, command: Command = RUNS, **more: Any) -> tuple[str, ...] | None:
    """Return the tests that run for an answer of the daemon."""
    stated: dict[str, Any] = {"must_pass": (), "files": FILES} | more
    return choose(command, Impact.of(ANSWER | (answer or {})), **stated).tests


def test_impacted_unknown_and_must_pass_tests_run() -> None:
    """A display name is turned into what pytest takes; tests that nothing touches stay out."""
    assert chosen() == ("tests/deep/test_b.py::TestCase::test_two", "tests/test_a.py::test_one")
    assert chosen(must_pass=("tests/test_a.py::test_three",)) == (
        "tests/deep/test_b.py::TestCase::test_two",
        "tests/test_a.py::test_one",
        "tests/test_a.py::test_three",
    )


@pytest.mark.parametrize(
    ("answer", "more", "why"),
    [
        ({"everything": True, "why": "conftest.py is global."}, {}, "conftest.py is global."),
        ({"unknown": ["com.acme.PriceTest::discounts"]}, {}, "com.acme.PriceTest::discounts"),
        ({"impacted": ["tests/gone.py::test_x"]}, {}, "tests/gone.py::test_x"),
        ({"impacted": [], "unknown": []}, {}, "No test is known to reach the change"),
        ({}, {"command": Command("pytest --junitxml={report}")}, "takes no selection"),
        ({"impacted": [f"tests/test_a.py::test_{'x' * 500}{n}" for n in range(400)]}, {}, "{tests_file} takes them"),
    ],
)
def test_what_cannot_be_selected_runs_everything(answer: dict[str, Any], more: dict[str, Any], why: str) -> None:
    """And the sentence says what it was."""
    command = more.pop("command", RUNS)
    subset = choose(command, Impact.of(ANSWER | answer), must_pass=(), files=FILES, **more)
    assert subset.tests is None
    assert why in subset.why
    assert subset.sha256 == EVERYTHING.sha256 == ""


def test_a_file_of_tests_takes_any_number() -> None:
    """Only the command line is bounded."""
    many = [f"tests/test_a.py::test_{'x' * 500}{n}" for n in range(400)]
    tests = chosen({"impacted": many}, Command("pytest @{tests_file}"))
    assert tests is not None
    assert len(tests) == 401


def test_a_listing_adds_what_the_daemon_never_heard_of_and_drops_what_is_gone() -> None:
    """New tests always run; a test that trunk had and this tree has not is not asked for."""
    listed = ("tests/test_a.py::test_one", "tests/test_a.py::test_three", "tests/test_a.py::test_new")
    assert chosen(collected=listed) == ("tests/test_a.py::test_new", "tests/test_a.py::test_one")
    assert chosen({"impacted": ["FooTest"]}, collected=("FooTest", "BarTest")) == ("BarTest", "FooTest")


def test_the_order_of_an_answer_does_not_matter() -> None:
    """The same tests have the same name, whoever lists them first."""
    two = ["tests/test_a.py::test_one", "tests/test_a.py::test_three"]
    subsets = [
        choose(RUNS, Impact.of(ANSWER | {"impacted": some}), must_pass=(), files=FILES) for some in (two, two[::-1])
    ]
    assert subsets[0] == subsets[1]
    assert len(subsets[0].sha256) == 64


@pytest.mark.parametrize("answer", [{}, {"impacted": []}, ANSWER | {"untouched": None}])
def test_an_answer_that_is_none_is_an_error(answer: dict[str, Any]) -> None:
    """Another version of the daemon is not guessed at."""
    with pytest.raises(ClientError, match="versions"):
        Impact.of(answer)


def test_a_listing_ends_at_the_first_empty_line() -> None:
    """As pytest prints it, and as anybody would."""
    pytest_said = "tests/a.py::test_x[a b]\ntests/a.py::test_y\n\n2 tests collected in 0.01s\n"
    assert collected_ids(pytest_said) == ("tests/a.py::test_x[a b]", "tests/a.py::test_y")
    assert collected_ids("warming up\ntests/a.py::test_x\n") == ("tests/a.py::test_x",)
    assert collected_ids("\nFooTest\nBarTest\nFooTest\n") == ("FooTest", "BarTest")
    assert collected_ids("") == ()


def test_names_are_quoted_for_the_shell() -> None:
    """Spaces, quotes and what the shell would read itself arrive as they are; names are not searched for places."""
    tests = ["tests/a.py::test_x[a b]", "tests/a.py::test_y['$(rm -rf ~)']", "tests/a.py::test_z[{report}]"]
    line = RUNS.line(tests, tests_file=Path("t.txt"), report=Path("/tmp/a b/junit.xml"))  # noqa: S108 - no file of ours
    assert line == (
        "pytest 'tests/a.py::test_x[a b]' 'tests/a.py::test_y['\"'\"'$(rm -rf ~)'\"'\"']'"
        " 'tests/a.py::test_z[{report}]' --junitxml='/tmp/a b/junit.xml'"
    )


def test_what_is_recorded_holds_nothing_random() -> None:
    """Two runs of the same tests agree in it, and those of other tests do not; braces of the shell are left alone."""
    command = Command("A=${B} pytest {tests} --junitxml={report}")
    assert command.recorded("ab" * 32) == "A=${B} pytest {tests:abababababababab} --junitxml={report}"
    assert command.recorded("") == "A=${B} pytest {tests:all} --junitxml={report}"
    long = [Command(f"pytest {'x' * 5000}{end}").recorded("") for end in "ab"]
    assert [len(line) for line in long] == [4000, 4000]
    assert long[0] != long[1]


def test_a_line_has_a_longest_length() -> None:
    """One argument of a process can be no longer than 128 KiB."""
    assert Command("pytest {tests}").fits(["x" * (MAX_BYTES - 2)])
    assert not Command("pytest {tests}").fits(["x" * MAX_BYTES])
    assert Command("pytest @{tests_file}").fits(["x" * MAX_BYTES])
