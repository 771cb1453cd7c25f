"""The static import closure: what it finds, in which layouts, and what it leaves alone."""

import pytest

from quarantine.client.imports import ImportGraph

PROJECT = {
    "src/shop/__init__.py": "from shop.version import VERSION\n",
    "src/shop/version.py": "VERSION = 1\n",
    "src/shop/cart.py": "import os, json\nfrom . import price\nfrom .money.euro import Euro as E\n",
    "src/shop/price.py": "def price():\n    from shop import tax\n",
    "src/shop/tax.py": "x = 1\n",
    "src/shop/json.py": "x = 1\n",
    "src/shop/money/__init__.py": "",
    "src/shop/money/euro.py": "from .. import tax\nfrom ..rates import *\n",
    "src/shop/rates.py": "x = 1\n",
    "src/shop/fast.cpython-311-x86_64-linux-gnu.so": "\x7fELF",
    "src/shop/lonely.py": "x = 1\n",
    "src/spaces/plugins/one.py": "x = 1\n",
    "tests/conftest.py": "import helpers\npytest_plugins = ['spaces.plugins.one']\n",
    "tests/helpers.py": "x = 1\n",
    "tests/test_cart.py": "from shop.cart import Cart\n",
    "tools/run.py": "import common\n",
    "tools/common.py": "x = 1\n",
    "tools/__init__.py": "",
    "broken.py": "def (:\n",
    "readme.txt": "import shop\n",
}


def graph() -> ImportGraph:
    return ImportGraph.of_files({path: text.encode() for path, text in PROJECT.items()})


def imports_of(source: str, path: str = "probe.py") -> set[str]:
    """What one file imports when it lies at the given path, `src/` left out of the answers."""
    files = PROJECT | {path: source}
    found = ImportGraph.of_files({name: text.encode() for name, text in files.items()}).imports(path)
    return {name.removeprefix("src/") for name in found}


INIT = "shop/__init__.py"
MONEY = {INIT, "shop/money/__init__.py"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import shop", {INIT}),
        ("import shop.tax", {INIT, "shop/tax.py"}),
        ("import shop.money.euro as e", MONEY | {"shop/money/euro.py"}),
        ("from shop import tax", {INIT, "shop/tax.py"}),
        ("from shop import name", {INIT}),
        ("from shop.money import *", MONEY),
        ("from shop.tax import x as y", {INIT, "shop/tax.py"}),
        ("import shop.nothing", {INIT}),
        ("from shop import fast", {INIT, "shop/fast.cpython-311-x86_64-linux-gnu.so"}),
        ("import spaces.plugins.one", {"spaces/plugins/one.py"}),
        ("import json, os.path", set()),
        ("import helpers", {"tests/helpers.py"}),
        ("import tests.helpers", {"tests/helpers.py"}),
        ("def f():\n    import shop.tax", {INIT, "shop/tax.py"}),
        ("if x:\n    import shop.tax\nelse:\n    import helpers", {INIT, "shop/tax.py", "tests/helpers.py"}),
        ("if TYPE_CHECKING:\n    from shop import tax", {INIT, "shop/tax.py"}),
        ("try:\n    import shop.tax\nexcept ImportError:\n    pass", {INIT, "shop/tax.py"}),
        ("importlib.import_module('shop.tax')", {INIT, "shop/tax.py"}),
        ("import_module('helpers')", {"tests/helpers.py"}),
        ("__import__('shop')", {INIT}),
        ("pytest.importorskip('broken')", {"broken.py"}),
        ("importlib.import_module(name)", set()),
        ("mock.patch('shop.tax.x')", {"shop/tax.py"}),
        ("APPS = ['shop.money']", {"shop/money/__init__.py"}),
        ("ENTRY = 'shop.cart:main'", {"shop/cart.py"}),
        ("x = 'shop'", set()),
        ("x = 'shop.tax is a module'", set()),
        ("x = f'{a}'", set()),
    ],
)
def test_what_one_import_loads(source: str, expected: set[str]) -> None:
    """Each way to import a module loads it and the packages it lies in."""
    assert imports_of(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from . import tax", {"shop/tax.py"}),
        ("from .tax import x", {"shop/tax.py"}),
        ("from .money import euro", {"shop/money/__init__.py", "shop/money/euro.py"}),
        ("from .. import anything", set()),
        ("import json", set()),
        ("import lonely", {"shop/lonely.py"}),
        ("importlib.import_module('.tax', __package__)", {"shop/tax.py"}),
    ],
)
def test_imports_inside_a_package(source: str, expected: set[str]) -> None:
    """Relative imports count from the file's own package, which is loaded too."""
    found = imports_of(source, "src/shop/probe.py")
    assert found - {"shop/json.py"} == expected | {INIT}


def test_the_closure() -> None:
    """The closure follows imports to their end, with every package passed on the way, and nothing else."""
    closure = {path.removeprefix("src/shop/") for path in graph().closure("tests/test_cart.py")}
    assert closure == {
        "tests/test_cart.py",
        "__init__.py",
        "version.py",
        "cart.py",
        "json.py",
        "price.py",
        "tax.py",
        "money/__init__.py",
        "money/euro.py",
        "rates.py",
    }


def test_a_circle_of_imports_ends() -> None:
    """Files that import each other have one closure."""
    circle = ImportGraph.of_files({"a.py": b"import b", "b.py": b"import c", "c.py": b"import a"})
    assert circle.closure("a.py") == circle.closure("c.py") == {"a.py", "b.py", "c.py"}


def test_neighbours_of_a_script() -> None:
    """A file run as a script finds its neighbours, even inside a package."""
    assert graph().imports("tools/run.py") == {"tools/common.py", "tools/__init__.py"}


def test_files_that_cannot_be_read_import_nothing() -> None:
    """What is no Python, or cannot be parsed, is in its own closure only."""
    assert graph().closure("broken.py") == {"broken.py"}
    assert graph().closure("readme.txt") == {"readme.txt"}
    assert graph().closure("not-there.py") == {"not-there.py"}


def test_conftest_names_its_plugins() -> None:
    """A plugin named in a list is loaded by it."""
    assert graph().imports("tests/conftest.py") == {"tests/helpers.py", "src/spaces/plugins/one.py"}
