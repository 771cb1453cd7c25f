"""What a patch may not touch."""

import pytest

from quarantine.loop.errors import BadPatch
from quarantine.loop.patch import Patch
from quarantine.loop.protected import Protected

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
    "Makefile json.PY .GitHub/x Setup.CFG "
)
OPEN = (
    "src/app.py pkg/json.py json.txt html/page.css docs/tests.md README.md contest.py latest/x.py "
    "src/attestation/key.py protest.js requirements.txt request.java pkg/testing.py pkg/pytest.py tests_are_good.py "
    "data/random/x.csv src/statistics/plot.js "
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
