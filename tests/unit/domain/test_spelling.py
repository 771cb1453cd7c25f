"""Raw names and opaque ids must find the same test."""

from quarantine.domain.identity import TestName
from quarantine.domain.spelling import spellings


def test_a_pytest_node_id_is_an_accepted_spelling() -> None:
    """The node id that pytest prints finds the test whose report says classname and name."""
    found = spellings(TestName((), "tests.billing.test_invoice.TestTotals", "test_rounding[0.5-half]"))
    assert "tests/billing/test_invoice.py::TestTotals::test_rounding[0.5-half]" in found
    assert "tests.billing.test_invoice.TestTotals::test_rounding[0.5-half]" in found
    assert "tests.billing.test_invoice.TestTotals.test_rounding[0.5-half]" in found


def test_the_reported_file_settles_where_the_module_ends() -> None:
    """With a file there is one node id and no guess."""
    found = spellings(TestName((), "tests.test_a.TestB", "test_c"), "tests/test_a.py")
    assert {spelling for spelling in found if ".py::" in spelling} == {"tests/test_a.py::TestB::test_c"}


def test_names_without_classname_keep_their_suites() -> None:
    """A name alone would stand for too many tests; its suites are part of the spelling."""
    found = spellings(TestName(("suite", "inner"), "", "does a thing"))
    assert found == {"suite::inner::does a thing", "suite/inner::does a thing"}


def test_foreign_class_names_are_not_taken_for_python() -> None:
    """A JavaScript title is no module path."""
    assert not any(".py" in spelling for spelling in spellings(TestName((), "App renders > the list", "shows 3 rows")))
