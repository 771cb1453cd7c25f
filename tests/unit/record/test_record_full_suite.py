"""From a real full-suite failure of far more than 30,000 tokens the record keeps what a fix needs."""

from pathlib import Path

import pytest

from quarantine.record import Event, Failed, Record, estimate_tokens, failure_record
from tests.study.red_suite import run_red_suite, with_output

NEEDED = {
    "the helper": (
        "| KeyError: 'euro'\n"
        "| at shop/money.py:9 in rounded: return round(amount / STEPS[currency]) * STEPS[currency]\n"
    ),
    "how many it broke": "[2] tests.test_cart::test_discount[0.01] and 151 more for the same reason\n",
    "the way to it": (
        "[2] called from, innermost last:\n"
        "| tests/test_cart.py:9 in test_discount: "
        "assert discounted_total(items, rate) == pytest.approx(59.94 * (1 - rate))\n"
        "| shop/cart.py:19 in discounted_total: return total(items) * (1 - rate)\n"
    ),
    "the module that is gone": (
        "[1] tests.test_gone (collection error)\n| ModuleNotFoundError: No module named 'shop.carts'\n"
        "| at tests/test_gone.py:1 in <module>: from shop.carts import nothing\n"
    ),
    "the fixture": (
        "(in setup)\n| ConnectionError: no ledger at <tmp>/test_ledger0/ledger.db\n"
        "| at tests/conftest.py:11 in ledger: "
    ),
    "expected and actual": "| - xxxxxxxxxxByyyyyyyyy\n| ?           ^\n| + xxxxxxxxxxAyyyyyyyyy\n",
    "which element differs": "| At index 39 diff: 39 != 99\n",
    "the assertion as written": 'assert render("A")["rows"] == list(range(39)) + [99]\n',
    "the cause behind the error": "[5] caused by:\n| KeyError: 'stock'\n",
}


class Run:
    """A real run: what failed, and its root."""

    def __init__(self, folder: Path) -> None:
        report, self.exit_code = run_red_suite(folder)
        self.failures, self.events = with_output(report)
        self.root = str(folder)

    def record(self, budget: int = 1000, failures: list[Failed] | None = None) -> Record:
        """Return its record."""
        return failure_record(
            self.failures if failures is None else failures,
            self.events,
            exit_code=self.exit_code,
            root=self.root,
            log="out/test.log",
            budget_tokens=budget,
        )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the run, made once."""
    return Run(tmp_path_factory.mktemp("red").resolve())


def test_the_run_is_as_long_as_it_should_be(run: Run) -> None:
    """Else the other tests show nothing."""
    sources: list[Failed | Event] = [*run.failures, *run.events]
    assert sum([estimate_tokens(one.detail) for one in sources]) >= 30_000
    assert (len(run.failures), len(run.events), run.exit_code) == (156, 1, 1)


@pytest.mark.parametrize("need", NEEDED)
def test_what_a_fix_needs_is_kept(run: Run, need: str) -> None:
    """In a thousand tokens."""
    record = run.record()
    assert NEEDED[need] in f"{record.text}\n"
    assert record.tokens <= 1000


def test_ids_with_blanks_line_feeds_quotes_and_brackets_can_be_copied(run: Run) -> None:
    """Given the room, every one of the ids is there, as pytest's report spells it."""
    text = run.record(12_000).text
    assert '- "tests.test_cart::test_total[a b0]"\n' in text
    assert '- "tests.test_cart::test_total[new\\\\nline0]"\n' in text
    assert '- "tests.test_cart::test_total[quo\\"te0]"\n' in text
    assert "- tests.test_cart::test_total[br[ack]et0]\n" in text
    assert run.record(12_000).left_out == 0


def test_noise_of_the_machine_is_not_in_it(run: Run) -> None:
    """No root, no temporary folder, no address, no library's frame; the log is named."""
    text = run.record(12_000).text
    assert run.root not in text
    assert "site-packages" not in text
    assert "0x7f" not in text
    assert "Whole log: out/test.log\n" in text


def test_the_same_run_in_another_order_gives_the_same_record(run: Run) -> None:
    """Deterministic to the character."""
    assert run.record(failures=run.failures[::-1]) == run.record()


def test_the_documented_example_is_what_really_comes_out(run: Run) -> None:
    """The headings and places on the page are those of the run."""
    page = (Path(__file__).parents[3] / "docs" / "failure-record.md").read_text(encoding="utf-8")
    example = page.split("```text\n")[1].split("```")[0].splitlines()
    headings = [line for line in example if line.startswith(("[", "| at "))]
    assert len(headings) > 15
    assert [line for line in headings if line not in run.record().text.splitlines()] == []
