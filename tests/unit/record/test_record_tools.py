"""What tools of other languages write is understood: the cause, expected and actual, the frames in the repository."""

from typing import NamedTuple

import pytest

from quarantine.record.places import repository_frames, repository_path
from quarantine.record.reading import NOTHING_SAID, read


class Told(NamedTuple):
    """A failure as a tool reports it, and what must be read from it."""

    kind: str
    message: str
    detail: str
    headline: str
    kept: list[str]
    places: list[str]
    test: str = "a::b"


TOLD = {
    "junit": Told(
        "org.opentest4j.AssertionFailedError",
        "expected: <1> but was: <2>",
        "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n"
        "\tat org.junit.jupiter.api.Assertions.fail(Assertions.java:138)\n"
        "\tat app//com.shop.Cart$Line.total(Cart.java:12)\n"
        "\tat com.shop.CartTest.adds up(CartTest.kt:40)\n"
        "\tat java.base/java.lang.reflect.Method.invoke(Method.java:569)\n"
        "\tat jdk.internal.reflect.X.invoke0(Native Method)\n\t... 12 more\n",
        "org.opentest4j.AssertionFailedError: expected: <1> but was: <2>",
        [],
        ["com/shop/CartTest.kt:40", "com/shop/Cart.java:12"],
        "com.shop.CartTest::adds up",
    ),
    "java cause": Told(
        "java.lang.IllegalStateException",
        "outer",
        "java.lang.IllegalStateException: outer\n\tat org.acme.A.a(A.java:1)\n"
        "Caused by: java.lang.NullPointerException: inner\n\tat org.other.B.b(B.java:2)\n\tat org.acme.A.c(A.java:3)\n",
        "java.lang.IllegalStateException: outer",
        [],
        ["org/acme/A.java:1"],
        "org.acme.ATest::t",
    ),
    "hamcrest": Told(
        "java.lang.AssertionError",
        " Expected: is <Present>      but: was <Empty>",
        "java.lang.AssertionError:\n        Expected: is <Present>\n        but: was <Empty>\n"
        "        at org.hamcrest.MatcherAssert.assertThat(MatcherAssert.java:20)\n"
        "        at shop.CartTest.t(CartTest.java:99)\n",
        "java.lang.AssertionError: Expected: is <Present>",
        ["but: was <Empty>"],
        ["shop/CartTest.java:99"],
        "shop.CartTest::t",
    ),
    "jest": Told(
        "",
        "Error: expect(received).toBe(expected) // Object.is equality",
        "Error: expect(received).toBe(expected) // Object.is equality\n\nExpected: 99\nReceived: 2\n\n"
        "      2 | test('x', () => {\n    > 3 |   expect(total()).toBe(99);\n        |                   ^\n"
        "    at Object.<anonymous> (/trees/1/src/cart.test.js:3:19)\n"
        "    at run (/trees/1/node_modules/jest-circus/build/run.js:10:2)\n"
        "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)\n",
        "Error: expect(received).toBe(expected) // Object.is equality",
        ["Expected: 99", "Received: 2", "> expect(total()).toBe(99);"],
        ["src/cart.test.js:3"],
    ),
    "mocha": Told(
        "AssertionError",
        "Expected values to be strictly equal:  3 !== 99 ",
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n3 !== 99\n\n"
        "    at Context.<anonymous> (test/t.js:4:40)\n    at process.processImmediate (node:internal/timers:483:21)\n\n"
        "      + expected - actual\n\n      -3\n      +99\n",
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 3 !== 99",
        ["-3", "+99"],
        ["test/t.js:4"],
    ),
    "playwright": Told(
        "Error",
        "locator.click: Test timeout of 300ms exceeded.",
        "Error: locator.click: Test timeout of 300ms exceeded.\nCall log:\n  - waiting for getByRole('button')\n\n"
        "    at /trees/1/tests/a.spec.ts:4:94\n    at /trees/1/node_modules/playwright/lib/x.js:1:1\n",
        "Error: locator.click: Test timeout of 300ms exceeded.",
        ["  - waiting for getByRole('button')"],
        ["tests/a.spec.ts:4"],
    ),
    "vitest": Told(
        "AssertionError",
        "expected 1 to be 2 // Object.is equality",
        "\nAssertionError: expected 1 to be 2 // Object.is equality\n\n- Expected\n+ Received\n\n- 2\n+ 1\n\n"
        " \N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} total src/cart.mjs:9:3\n"
        " \N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} a.test.mjs:5:56\n",
        "AssertionError: expected 1 to be 2 // Object.is equality",
        ["- 2", "+ 1"],
        ["a.test.mjs:5", "src/cart.mjs:9"],
    ),
    "go": Told(
        "",
        "Failed",
        "=== RUN   TestTotal\n"
        "    cart_test.go:50: total: got 3, want 4\n        in the second cart\n--- FAIL: TestTotal (0.00s)\n",
        "total: got 3, want 4",
        ["in the second cart"],
        ["cart_test.go:50"],
    ),
    "testify": Told(
        "",
        "Failed",
        "    cart_test.go:12: \n        \tError Trace:\t/trees/1/cart_test.go:12\n        \tError:      \tNot equal: \n"
        "        \t            \texpected: 1\n        \t            \tactual  : 2\n        \tTest:       \tTestTotal\n",
        "Error:       Not equal: expected: 1",
        ["             actual  : 2"],
        ["cart_test.go:12"],
    ),
    "go panic": Told(
        "",
        "Failed",
        "panic: runtime error: index out of range [3] with length 2\n\ngoroutine 7 [running]:\n"
        "testing.tRunner.func1.2({0x1, 0x2})\n\t/usr/local/go/src/testing/testing.go:1396 +0x24e\n"
        "example.com/shop.Total(...)\n\t/trees/1/shop/cart.go:9\n"
        "example.com/shop.TestTotal(0xc000007860)\n\t/trees/1/shop/cart_test.go:6 +0x27\n"
        "created by testing.(*T).Run\n\t/usr/local/go/src/testing/testing.go:1486 +0x35f\nexit status 2\n",
        "panic: runtime error: index out of range [3] with length 2",
        [],
        ["shop/cart_test.go:6", "shop/cart.go:9"],
    ),
    "rust": Told(
        "test failure",
        "thread 'tests::totals' panicked at src/cart.rs:154:5:",
        "printed before\nthread 'tests::totals' (5475) panicked at src/cart.rs:154:5:\n"
        "assertion `left == right` failed: of the cart\n  left: 0\n right: 1\nstack backtrace:\n"
        "   0: __rustc::rust_begin_unwind\n             at /rustc/59807616/library/std/src/panicking.rs:689:5\n"
        "   1: shop::total\n             at ./src/lib.rs:12:9\n"
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
        "assertion `left == right` failed: of the cart",
        ["  left: 0", " right: 1", "printed before"],
        ["src/lib.rs:12", "src/cart.rs:154"],
    ),
    "dotnet": Told(
        "failure",
        "  Expected: 1\n  But was:  2\n",
        "  Expected: 1\n  But was:  2\n\n"
        "   at NUnit.Framework.Assert.That(Object actual)\n"
        "   at Shop.Tests.CartTest.Adds() in C:\\trees\\1\\Shop.Tests\\CartTest.cs:line 12\n"
        "   at System.Reflection.MethodBase.Invoke(Object obj)\n",
        "Expected: 1",
        ["But was:  2"],
        ["Shop.Tests/CartTest.cs:12"],
    ),
    "phpunit": Told(
        "PHPUnit\\Framework\\ExpectationFailedException",
        "",
        "CartTest::testAdds with data set #3 (1, 1, 3)\nFailed asserting that 2 matches expected 3.\n\n"
        "/trees/1/vendor/phpunit/phpunit/src/Framework/Constraint.php:10\n/trees/1/tests/CartTest.php:9\n",
        "PHPUnit\\Framework\\ExpectationFailedException: Failed asserting that 2 matches expected 3.",
        ["CartTest::testAdds with data set #3 (1, 1, 3)"],
        ["tests/CartTest.php:9"],
    ),
    "rspec": Told(
        "RSpec::Expectations::ExpectationNotMetError",
        " expected: 250 got: 500 (compared using eql?) ",
        "Failure/Error: expect(account.limit).to eql(250)\n\n  expected: 250\n       got: 500\n\n"
        "./spec/account_spec.rb:78:in `block (3 levels)'\n/usr/lib/ruby/gems/3.0/gems/rspec/lib/x.rb:3:in `run'\n",
        "RSpec::Expectations::ExpectationNotMetError: Failure/Error: expect(account.limit).to eql(250)",
        ["  expected: 250", "       got: 500"],
        ["spec/account_spec.rb:78"],
    ),
    "googletest": Told(
        "",
        "cart.cc:11",
        "src/cart.cc:11: Failure\nValue of: total()\n  Actual: 3\nExpected: 4\n",
        "Value of: total()",
        ["  Actual: 3", "Expected: 4"],
        ["src/cart.cc:11"],
    ),
    "only a message": Told("", "assert_eq failed at line 3", "", "assert_eq failed at line 3", [], []),
    "message and kind": Told("ValueError", "no such row", "", "ValueError: no such row", [], []),
    "message beside a bare stack": Told(
        "org.junit.ComparisonFailure",
        "expected mullet, but got bream",
        "\tat shop.FishTest.t(FishTest.java:48)\n",
        "org.junit.ComparisonFailure: expected mullet, but got bream",
        [],
        ["shop/FishTest.java:48"],
        "shop.FishTest::t",
    ),
    "nothing at all": Told("", "", "", NOTHING_SAID, [], []),
    "only a label": Told("", "Failed", "", "Failed", [], []),
    "unknown": Told("", "", "+ echo one\none\n+ exit 1", "+ echo one", ["one", "+ exit 1"], []),
}


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_the_cause_what_was_expected_and_the_frames_are_read(told: Told) -> None:
    """Frames innermost last; those of tools, libraries and language are left out."""
    root = "C:\\trees\\1" if "C:\\trees" in told.detail else "/trees/1"
    first = read(told.kind, told.message, told.detail).chain[0]
    assert first.headline == told.headline
    details = [line.strip() for line in first.details]
    assert [line for line in told.kept if line.strip() not in details] == []
    assert [frame.place for frame in repository_frames(first.frames, root, told.test)] == told.places


def test_a_java_cause_follows_what_was_reported() -> None:
    """`Caused by` begins another exception, with its own frames."""
    told = TOLD["java cause"]
    cause = read(told.kind, told.message, told.detail).chain[1]
    assert (cause.relation, cause.headline) == ("caused by", "java.lang.NullPointerException: inner")
    assert [frame.place for frame in repository_frames(cause.frames, "", told.test)] == ["org/acme/A.java:3"]


def test_the_same_words_are_never_said_twice_by_one_failure() -> None:
    """Several failed tries in one text, a message that repeats the text."""
    again = TOLD["vitest"].detail * 3
    first = read("AssertionError", TOLD["vitest"].message, again).chain[0]
    assert [first.headline, *first.details].count("AssertionError: expected 1 to be 2 // Object.is equality") == 1
    assert list(first.details).count("+ 1") == 1


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("tests/test_a.py", "tests/test_a.py"),
        ("./tests/test_a.py", "tests/test_a.py"),
        ("/trees/1/shop/a.py", "shop/a.py"),
        ("/private/trees/1/shop/a.py", "shop/a.py"),
        ("file:///trees/1/src/a.mjs", "src/a.mjs"),
        ("http://localhost:9876/base/src/a.js?v=12", "base/src/a.js"),
        ("webpack:///src/a.ts", "src/a.ts"),
        ("/trees/10/shop/a.py", "/trees/10/shop/a.py"),
        ("/trees/1/.venv/lib/python3.11/site-packages/x.py", None),
        ("/root/.pyenv/versions/3.11.7/lib/python3.11/ast.py", None),
        ("/usr/lib/python3/dist-packages/x.py", None),
        ("/usr/include/c++/12/vector.h", None),
        ("node_modules/jest/x.js", None),
        ("../node_modules/jest/x.js", None),
        ("vendor/acme/x.php", None),
        ("/root/go/pkg/mod/github.com/x/y.go", None),
        ("/rustc/abc/library/core/panic.rs", None),
        ("/root/.cargo/registry/src/x/lib.rs", None),
        ("node:internal/timers", None),
        ("<frozen importlib._bootstrap>", None),
    ],
)
def test_a_path_is_the_repositorys_or_a_librarys(path: str, inside: str | None) -> None:
    """Relative paths and those below the root are inside; known libraries never are."""
    assert repository_path(path, "/trees/1")[0] == inside


def test_a_tree_that_lies_in_a_librarys_place_is_still_the_repository() -> None:
    """Only what is below the root is looked at."""
    assert repository_path("/usr/vendor/app/src/a.py", "/usr/vendor/app") == ("src/a.py", True)
