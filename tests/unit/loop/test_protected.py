"""What a patch may not touch."""

import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarantine.client.errors import ClientConfigurationError
from quarantine.loop.errors import BadPatch
from quarantine.loop.patch import Patch
from quarantine.loop.protected import Protected, installed_modules

GUARDED = (
    "tests/test_a.py test/data/x.json src/pkg/tests/helper.py pkg/test_x.py pkg/x_test.py conftest.py "
    "deep/conftest.py web/a.test.js web/a.test.tsx web/a.spec.mjs web/__tests__/a.js app/src/test/java/A.java "
    "pkg/a_test.go spec/a_spec.rb pytest.ini tox.ini setup.cfg setup.py sub/setup.py pyproject.toml noxfile.py "
    ".coveragerc jest.config.mjs vitest.config.ts playwright.config.ts babel.config.js .babelrc package.json "
    "web/package.json build.gradle.kts pom.xml Makefile sub/Makefile x.pth src/x.pth sitecustomize.py "
    "src/usercustomize.py pkg/__pycache__/a.cpython-311.pyc pytest.py _pytest/main.py pluggy.py coverage.py "
    "unittest/case.py json.py src/json.py json/__init__.py lib/random.so time.pyc .github/workflows/ci.yml "
    ".gitlab-ci.yml .circleci/config.yml Jenkinsfile .buildkite/pipeline.yml azure-pipelines.yml quarantine.toml "
    ".gitignore .gitattributes sub/.gitmodules .env .python-version TESTS/Test_A.PY Conftest.py PYTEST.INI "
    "Makefile json.PY .GitHub/x Setup.CFG shop-1.dist-info/METADATA src/shop-1.dist-info/entry_points.txt "
    "shop.egg-info shop.egg-info/entry_points.txt vendor/shop.egg-link shop-1.egg shop-1.egg/EGG-INFO/entry_points.txt "
    "pytest-99.DIST-INFO/METADATA argparse.py src/argparse.py lib/argparse/__init__.py "
)
OPEN = (
    "src/app.py pkg/json.py json.txt html/page.css docs/tests.md README.md contest.py latest/x.py "
    "src/attestation/key.py protest.js requirements.txt request.java pkg/testing.py pkg/pytest.py tests_are_good.py "
    "data/random/x.csv src/statistics/plot.js shop/new.py src/pkg/argparse_helpers.py shop/argparse.py "
    "backend/argparse.py shop/platformdirs/__init__.py shop/eggs.py dist-info/x.py "
)


@pytest.mark.parametrize("path", GUARDED.split())
def test_what_decides_about_the_patch_is_protected(path: str) -> None:
    """Tests, what the runner loads by itself, CI, builds and our own configuration, whatever the case."""
    assert Protected().matches(path)


@pytest.mark.parametrize("path", OPEN.split())
def test_product_code_is_not(path: str) -> None:
    """Names that only resemble protected ones may be changed."""
    assert Protected().why(path) is None


def test_a_person_can_protect_and_allow_more() -> None:
    """What is allowed wins, and globs mean what they say."""
    more = Protected().extended(
        protect=["docs/**", "secret[0-9].txt", "/root.txt"], allow=["src/test/**", "package.json"]
    )
    assert more.matches("docs/a/b.md")
    assert more.matches("deep/secret7.txt")
    assert not more.matches("deep/secretx.txt")
    assert more.matches("root.txt")
    assert not more.matches("deep/root.txt")
    assert not more.matches("src/test/product.py")
    assert more.matches("tests/test_a.py")
    assert not Protected(globs=(), shadowing=False).matches("conftest.py")


INSTALLED = frozenset({"attr", "PIL", "google", "google.cloud", "google.cloud.storage"})


SHADOWS = (
    "attr/__init__.py attr.py src/attr/__init__.py attr.cpython-311-x86_64-linux-gnu.so pil/__init__.py google.py "
    "google/__init__.py google/cloud/storage/__init__.py google/cloud/storage.py "
)
HARMLESS = "attr/more.py attr/data.txt shop/attr.py google/maps.py google/cloud/x.py attrs.py attribute.py"


@pytest.mark.parametrize("path", SHADOWS.split())
def test_what_is_found_before_an_installed_module_is_protected(path: str) -> None:
    """A module, a package, and a part of a package that has no file of its own; in any spelling."""
    assert Protected(installed=INSTALLED).why(path) == "imported in the place of a module that is installed"
    assert Protected(installed=frozenset()).why(path) is None


@pytest.mark.parametrize("path", HARMLESS.split())
def test_what_takes_the_place_of_nothing_is_not(path: str) -> None:
    """A folder without `__init__` is found after every package, and other names are other modules."""
    assert Protected(installed=INSTALLED).why(path) is None


def test_the_projects_own_modules_stay_open_though_they_are_installed() -> None:
    """But nothing is the project's own that the runner or the standard library is."""
    mine = Protected(installed=INSTALLED).extended(own=["attr", "json", "pytest"])
    assert not mine.matches("src/attr/__init__.py")
    assert mine.matches("pil/__init__.py")
    assert mine.matches("json.py")
    assert mine.matches("pytest/__init__.py")


def test_more_import_roots_can_be_named() -> None:
    """Spelled with or without a slash; those that are usual stay."""
    for root in ("backend", "./backend/", "Backend", "web/../backend"):
        more = Protected(installed=INSTALLED).extended(roots=[root])
        assert more.matches("backend/argparse.py")
        assert more.matches("backend/attr/__init__.py")
        assert more.matches("argparse.py")
        assert not more.matches("backend/shop/argparse.py")
        assert not more.matches("backends/argparse.py")


def test_this_interpreters_plugins_and_packages_are_known() -> None:
    """Plugins, single modules and packages are in, submodules are not; what is in cannot be shadowed."""
    known = installed_modules()
    assert {"xdist", "pytest_timeout", "pluggy", "click", "typing_extensions"} <= known
    assert not {"xdist.plugin", "click.core"} & known
    assert Protected().matches("click/__init__.py")
    assert Protected().matches("src/typing_extensions.py")


def _installed(folder: Path, name: str, files: dict[str, str]) -> None:
    info = f"{name}-1.dist-info"
    files = {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"} | files
    for path, text in (files | {f"{info}/RECORD": "".join(f"{path},,\n" for path in files)}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder in which distributions are found, and nowhere else."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.setattr("sys.path", [str(folder), str(tmp_path)])
    installed_modules.cache_clear()
    yield folder
    installed_modules.cache_clear()


def test_what_somebody_works_on_is_left_out(site: Path) -> None:
    """Installed as editable, or with its metadata beside its sources; but not what only looks so."""
    editable = '{"url": "file:///x", "dir_info": {"editable": true}}'
    _installed(site, "mine", {"mine/__init__.py": "", "mine-1.dist-info/direct_url.json": editable})
    _installed(site, "theirs", {"theirs/__init__.py": "", "theirs-1.dist-info/direct_url.json": "{broken"})
    old = site.parent / "old.egg-info"
    old.mkdir()
    (old / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: old\nVersion: 1\n", encoding="utf-8")
    (old / "SOURCES.txt").write_text("old/__init__.py\n", encoding="utf-8")
    (old / "top_level.txt").write_text("old\n", encoding="utf-8")
    assert installed_modules() == {"theirs"}


def test_what_a_distribution_provides_is_read_from_its_files(site: Path) -> None:
    """Packages, modules, parts of open packages and plugins; neither scripts nor bytecode."""
    _installed(
        site,
        "many",
        {
            "one.py": "",
            "two/__init__.py": "",
            "two/deep/__init__.py": "",
            "open/part/__init__.py": "",
            "open/single.py": "",
            "fast.abi3.so": "",
            "__pycache__/one.cpython-311.pyc": "",
            "many-1.dist-info/entry_points.txt": "[pytest11]\nx = elsewhere.plugin\n[console_scripts]\ny = s:x\n",
        },
    )
    assert installed_modules() == {"one", "two", "open", "open.part", "open.single", "fast", "elsewhere"}


def test_another_interpreter_is_asked_for_its_own(tmp_path: Path) -> None:
    """What is installed for the interpreter of the tests is protected, and nothing of this one's beside it."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(tmp_path / "other")
    [site] = (tmp_path / "other" / "lib").glob("python*/site-packages")
    _installed(site, "theirs", {"theirs/__init__.py": ""})
    known = installed_modules(str(tmp_path / "other" / "bin" / "python"))
    assert {"theirs", "json"} <= known
    assert "xdist" not in known
    assert Protected(installed=known).matches("src/theirs.py")
    assert not Protected().matches("src/theirs.py")


def test_an_interpreter_that_does_not_answer_is_a_mistake_in_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not there, no Python, or silent: it is named, with what to do."""
    monkeypatch.setattr("quarantine.client.environment.TIMEOUT_S", 0.1)
    for number, line in enumerate(("exit 1", "echo no", "exec sleep 600")):
        (tmp_path / f"python{number}").write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / f"python{number}").chmod(0o755)
    for name in ("python0", "python1", "python2", "absent"):
        with pytest.raises(ClientConfigurationError, match=f"{name} could not be asked.* Name the interpreter"):
            installed_modules(str(tmp_path / name))


RENAMED = "diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n"


@pytest.mark.parametrize(
    ("diff", "path"),
    [
        ("--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-a\n+b\n", "tests/test_a.py"),
        ("--- a/tests/test_a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "tests/test_a.py"),
        ("--- /dev/null\n+++ b/conftest.py\n@@ -0,0 +1 @@\n+a\n", "conftest.py"),
        (RENAMED.format(old="tests/test_a.py", new="src/old.py"), "tests/test_a.py"),
        (RENAMED.format(old="src/a.py", new="src/conftest.py"), "src/conftest.py"),
        (RENAMED.format(old="src/a.py", new="src/conftest.py").replace("rename", "copy"), "src/conftest.py"),
        ("diff --git a/Makefile b/Makefile\nold mode 100644\nnew mode 100755\n", "Makefile"),
    ],
)
def test_a_patch_that_touches_them_is_refused_with_the_reason(diff: str, path: str) -> None:
    """Changed, removed, made, renamed from or to: the record names the path and why it is protected."""
    with pytest.raises(BadPatch, match=path) as refused:
        Protected().check(Patch.parse(diff))
    assert refused.value.code == "protected-path"
    assert "(" in refused.value.sentence


def test_other_patches_pass() -> None:
    """A patch of product code is checked without a word."""
    Protected().check(Patch.parse("--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-a\n+b\n"))
