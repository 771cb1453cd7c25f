"""A small project whose helper breaks some hundred and fifty tests, run for real by pytest."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from quarantine.record import Event, Failed

FILES = {
    "shop/__init__.py": "",
    "shop/money.py": """\
import logging

log = logging.getLogger("shop.money")
STEPS = {"EUR": 0.01}


def rounded(amount, currency):
    log.info("rounding %r", amount)
    return round(amount / STEPS[currency]) * STEPS[currency]
""",
    "shop/cart.py": """\
import logging

from shop.money import rounded

log = logging.getLogger("shop.cart")


def line_total(item):
    for step in range(12):
        log.debug("step %d of %r at %#x", step, item, id(item))
    return rounded(item["price"] * item["count"], "euro")


def total(items):
    return sum(line_total(item) for item in items)


def discounted_total(items, rate):
    return total(items) * (1 - rate)
""",
    "tests/conftest.py": """\
import pytest


@pytest.fixture
def items():
    return [{"name": f"thing {number}", "price": 9.99, "count": number} for number in range(1, 4)]


@pytest.fixture
def ledger(tmp_path):
    raise ConnectionError(f"no ledger at {tmp_path}/ledger.db")
""",
    "tests/test_cart.py": """\
import pytest

from shop.cart import discounted_total, total


@pytest.mark.parametrize("rate", [percent / 100 for percent in range(120)])
def test_discount(items, rate):
    print("discounting", rate)
    assert discounted_total(items, rate) == pytest.approx(59.94 * (1 - rate))


@pytest.mark.parametrize("note", ["a b", "new\\nline", 'quo"te', "br[ack]et"] * 8)
def test_total(items, note):
    assert total(items) == 59.94
""",
    "tests/test_render.py": """\
def render(letter):
    return {"title": "x" * 300 + letter + "y" * 300, "rows": list(range(40))}


def test_title():
    assert render("A")["title"] == render("B")["title"]


def test_rows():
    assert render("A")["rows"] == list(range(39)) + [99]


def test_ledger(ledger):
    assert ledger


def test_stock():
    try:
        {}["stock"]
    except KeyError as error:
        raise RuntimeError("no stock") from error
""",
    "tests/test_gone.py": "from shop.carts import nothing\n",
}

OPTIONS = (
    *("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:quarantine", "--continue-on-collection-errors"),
    *("-o", "junit_logging=all", "--log-level=DEBUG", "--junitxml=junit.xml", "tests"),
)


def _plain() -> dict[str, str]:
    """Return the variables without those by which pytest shows more or less: in CI it cuts no diff short."""
    told = ("CI", "BUILD_NUMBER", "COLUMNS")
    return {name: value for name, value in os.environ.items() if name not in told and not name.startswith("PYTEST_")}


def run_red_suite(folder: Path) -> tuple[Path, int]:
    """Write the project into an empty folder and run it; return its report and pytest's exit code."""
    for path, content in FILES.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", *OPTIONS]
    done = subprocess.run(command, cwd=folder, env=_plain(), capture_output=True, check=False, timeout=120)
    return folder / "junit.xml", done.returncode


def with_output(report: Path) -> tuple[list[Failed], list[Event]]:
    """Return the failures of a report, each with its output behind its traceback, as a terminal has it."""
    failures: list[Failed] = []
    events: list[Event] = []
    for case, result in _failed(ET.parse(report).getroot()):  # noqa: S314 - our own run wrote it
        output = [child.text or "" for child in case if child.tag.startswith("system-")]
        message, detail = result.get("message", ""), "\n".join([result.text or "", *output])
        if case.get("classname"):
            failures.append(Failed(name=f"{case.get('classname')}::{case.get('name')}", message=message, detail=detail))
        else:
            events.append(Event(kind="collection-error", where=case.get("name", ""), message=message, detail=detail))
    return failures, events


def _failed(root: ET.Element) -> Iterator[tuple[ET.Element, ET.Element]]:
    for case in root.iter("testcase"):
        for tag in ("failure", "error"):
            for result in case.iter(tag):
                yield case, result
