"""The paths a patch may not touch: what decides whether the patch is right must not come from the patch.

Why each group is here; the first column is the reason a refusal gives.

- **a test**: who may edit the test needs no fix. Also what tests read as truth: snapshots, mocks, test data.
- **loaded by the test runner by itself**: a conftest, an ini or toml file, a plugin, a set-up script can turn, deselect
  or forge results without a line of product code. So can a folder of metadata (`.dist-info`) that names a plugin, and
  a module at an import root that is found before one of the runner, the standard library, or what is installed.
- **loaded by every interpreter**: `.pth` files, site and user customisation, bytecode that is run in a source's place.
- **part of the build**: says what is compiled, with which flags, and which command "test" means.
- **part of CI**, **part of git's rules**, **part of quarantine's configuration**: decide what is run and what counts.
- **a choice of environment**: variables and interpreter versions that tools pick up from the folder.

Doctests in product files are product files: a patch may edit them, and green on them alone shows little. Lock and
requirement files are not protected: the loop's environment is pinned, so changing them changes no verdict.

A project in which such a path is the product (a package called `test`, a pytest plugin) allows it explicitly. Case
never counts, nor how an accent is composed: where the file system folds them, another spelling is the same file. So a
few innocent names, such as `Latest.java`, are protected too.
"""

import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.metadata import Distribution, distributions
from pathlib import PurePath
from posixpath import normpath
from typing import NamedTuple, Self

from quarantine.client.environment import asked
from quarantine.loop.errors import BadPatch
from quarantine.loop.patch import Patch

__all__ = ["DEFAULT", "ROOTS", "Protected", "installed_modules"]

_GROUPS: dict[str, tuple[str, ...]] = {
    "a test, or what tests read as truth": (
        *("**/tests/**", "**/test/**", "**/__tests__/**", "spec/**", "**/e2e/**", "**/cypress/**"),
        *(
            "test_*.py",
            "*_test.py",
            "tests.py",
            "test.py",
            "*_test.go",
            "*_test.rs",
            "*_spec.rb",
            "*_test.rb",
            "*_test.exs",
        ),
        *("*.test.[jt]s*", "*.test.[cm][jt]s", "*.spec.[jt]s*", "*.spec.[cm][jt]s"),
        *(
            "**/src/androidTest/**",
            "**/src/integrationTest/**",
            "**/src/testFixtures/**",
            "*Test.java",
            "*Tests.java",
            "*TestCase.java",
            "*Test.kt",
            "*Tests.kt",
        ),
        *("*Spec.scala", "*Test.scala", "*Tests.cs", "*Test.cs", "*Test.php", "*Tests.swift", "**/*.Tests/**"),
        *("*_test.c", "*_test.cc", "*_test.cpp", "*_unittest.cc", "*_test.dart", "*.t"),
        *("**/__snapshots__/**", "*.snap", "**/__mocks__/**", "**/__fixtures__/**", "**/testdata/**"),
    ),
    "loaded by the test runner by itself": (
        *(
            "conftest.py",
            "pytest.ini",
            ".pytest.ini",
            "pytest.toml",
            ".pytest.toml",
            "tox.ini",
            "tox.toml",
            "setup.cfg",
        ),
        *("setup.py", "pyproject.toml", "noxfile.py", ".coveragerc", ".coveragerc.toml", "unittest.cfg", "nose2.cfg"),
        *("jest.config.*", "jest.setup.*", "jest-*.config.*", "setupTests.*", "vitest.*", "vite.config.*"),
        *("playwright.config.*", "playwright-ct.config.*", "babel.config.*", ".babelrc*", ".swcrc", "karma.conf.*"),
        *(".mocharc*", "ava.config.*", "cypress.config.*", "wdio.conf.*", ".nycrc*", ".c8rc*", "nyc.config.*"),
        *("tsconfig*.json", "jsconfig.json", "bunfig.toml", "deno.json*", ".rspec", "phpunit.xml*", "phpunit.dist.xml"),
        *("**/.config/nextest.toml", "nextest.toml", "*.runsettings", "xunit.runner.json", "junit-platform.properties"),
        *("testng.xml", "*.jestrc*", "test-setup.*", "test_helper.*", "spec_helper.*"),
        *("**/*.dist-info/**", "**/*.egg-info/**", "**/*.egg/**", "*.dist-info", "*.egg-info", "*.egg"),
    ),
    "loaded by every interpreter": (
        *("*.pth", "*.egg-link", "sitecustomize.py", "usercustomize.py", "**/sitecustomize/**", "**/usercustomize/**"),
        *("*.pyc", "**/__pycache__/**", "python*._pth", "pyvenv.cfg"),
    ),
    "part of the build": (
        *("Makefile", "GNUmakefile", "*.mk", "justfile", ".justfile", "Taskfile.y*ml", "Rakefile", "Gemfile"),
        *(
            "package.json",
            "package-lock.json",
            "npm-shrinkwrap.json",
            "yarn.lock",
            "pnpm-lock.yaml",
            ".npmrc",
            ".yarnrc*",
        ),
        *(".pnp.*", "**/.yarn/**", "pnpm-workspace.yaml", "**/node_modules/**"),
        *("build.gradle*", "settings.gradle*", "gradle.properties", "gradlew*", "**/gradle/**", "**/buildSrc/**"),
        *(
            "pom.xml",
            "mvnw*",
            "**/.mvn/**",
            "build.xml",
            "build.sbt",
            "**/project/*.sbt",
            "**/project/build.properties",
        ),
        *("Cargo.toml", "**/.cargo/**", "build.rs", "rust-toolchain*", "go.mod", "go.work", "*.csproj", "*.sln"),
        *(
            "Directory.Build.*",
            "global.json",
            "CMakeLists.txt",
            "BUILD",
            "BUILD.bazel",
            "WORKSPACE",
            "WORKSPACE.bazel",
            "MODULE.bazel",
        ),
        *(".bazelrc", "*.bzl", "meson.build", "composer.json", "mix.exs", "hatch.toml", "pdm.toml", "hatch_build.py"),
    ),
    "part of CI": (
        *(".github/**", ".gitlab-ci.y*ml", ".gitlab/**", ".circleci/**", "Jenkinsfile*", ".buildkite/**", ".ci/**"),
        *("azure-pipelines*.y*ml", ".azure-pipelines/**", ".travis.yml", "bitbucket-pipelines.yml", ".drone.y*ml"),
        *(".woodpecker*", ".woodpecker/**", "appveyor.yml", ".appveyor.yml", ".cirrus.y*ml", ".teamcity/**"),
        *(".semaphore/**", "cloudbuild.y*ml", ".pre-commit-config.yaml", "CODEOWNERS", "codecov.yml", ".codecov.yml"),
    ),
    "part of git's rules": (".git*", "**/.git/**"),
    "part of quarantine's configuration": ("quarantine.toml", "**/.quarantine/**"),
    "a choice of environment": (
        *(".env", ".env.*", ".envrc", ".python-version", ".tool-versions", ".nvmrc", ".node-version", "mise.toml"),
    ),
}
DEFAULT: tuple[str, ...] = tuple(dict.fromkeys(glob for globs in _GROUPS.values() for glob in globs))

ROOTS: tuple[str, ...] = (".", "src", "lib", "python")
"""Folders that tests usually import from."""
_RUNNERS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "pytest_cov", "xdist", "execnet", "pytest_timeout"}
    | {"pytest_rerunfailures", "pytest_asyncio", "hypothesis", "_hypothesis_pytestplugin", "nose", "nose2", "unittest2"}
    | {"quarantine", "unittest", "doctest", "pytest_mock", "pytest_randomly", "pytest_xdist", "pytest_django"}
)
_TAKEN = _RUNNERS.union(sys.stdlib_module_names, {"packaging", "pygments", "py", "colorama", "exceptiongroup", "tomli"})
_MODULE_SUFFIXES = frozenset({"py", "pyc", "pyd", "so", "pyw"})


class Protected(NamedTuple):
    """Globs of paths that a patch may not touch.

    Attributes:
        globs: `*` and `?` stay within one name, `[...]` is a set of characters, `**` is any number of folders. A glob
            without `/` is for the last name of a path, wherever it lies; others begin at the repository's root.
        allowed: globs of paths that may be touched all the same.
        shadowing: whether modules that would be imported instead of the runner, the standard library, or what is
            installed are protected.
        roots: folders that the tests import from, from the repository's root.
        installed: dotted names of the modules that are installed where the tests run; None for those of this
            interpreter, as `installed_modules` finds them.
        own: top-level names of modules that are the project's, installed or not.
    """

    globs: tuple[str, ...] = DEFAULT
    allowed: tuple[str, ...] = ()
    shadowing: bool = True
    roots: tuple[str, ...] = ROOTS
    installed: frozenset[str] | None = None
    own: frozenset[str] = frozenset()

    def extended(
        self,
        *,
        protect: Iterable[str] = (),
        allow: Iterable[str] = (),
        roots: Iterable[str] = (),
        own: Iterable[str] = (),
    ) -> Self:
        """Return these with more globs, import roots and names of the project's own; what is allowed wins."""
        return self._replace(
            globs=(*self.globs, *protect),
            allowed=(*self.allowed, *allow),
            roots=(*self.roots, *roots),
            own=self.own.union(own),
        )

    def matches(self, path: str) -> bool:
        """Whether a path, from the root and with `/`, is protected."""
        return self.why(path) is not None

    def why(self, path: str) -> str | None:
        """Return what the path is that it is protected; None when it is not."""
        folded = _folded(path)
        if self.allowed and _regex(self.allowed).fullmatch(folded):
            return None
        if _regex(self.globs).fullmatch(folded):
            return next((why for why, globs in _GROUPS.items() if _regex(globs).fullmatch(folded)), "protected here")
        names = list(_below(folded, self.roots)) if self.shadowing else []
        if any(map(_shadows, names)):
            return "imported in the place of a module that the test runner loads"
        if any(map(self._is_installed, names)):
            return "imported in the place of a module that is installed"
        return None

    def _is_installed(self, path: str) -> bool:
        """Whether a (folded) path below an import root would be imported instead of something installed."""
        module = _module(path)
        if module is None or module.partition(".")[0] in _all_folded(self.own):
            return False
        return module in _all_folded(installed_modules() if self.installed is None else self.installed)

    def check(self, patch: Patch) -> None:
        """Raise BadPatch (`protected-path`) when the patch names such a path, before or after."""
        touched = [(path, why) for path in patch.paths if (why := self.why(path)) is not None]
        if touched:
            listed = "; ".join(f"{path} ({why})" for path, why in touched[:_SHOWN])
            more = f"; and {len(touched) - _SHOWN} more" if len(touched) > _SHOWN else ""
            raise BadPatch(
                "protected-path",
                f"The patch touches what it may not: {listed}{more}.",
                "Mend the product code and leave these as they are; nothing of the patch was run.",
            )


_SHOWN = 10


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def _below(path: str, roots: tuple[str, ...]) -> Iterator[str]:
    """Yield what a (folded) path is called from each import root that it lies below."""
    return (path.removeprefix(folder) for folder in _folders(roots) if path.startswith(folder))


@lru_cache(maxsize=64)
def _folders(roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return what paths below some folders begin with."""
    return tuple("" if root == "." else f"{_folded(root)}/" for root in map(normpath, roots))


def _shadows(path: str) -> bool:
    """Whether a (folded) path below an import root would be imported instead of a module that the runner loads."""
    first, *below = path.split("/")
    return bool(below and first in _RUNNERS) or _module(path) in _TAKEN


def _module(path: str) -> str | None:
    """Return the dotted name under which a file is imported; None when it is no module."""
    *folders, name = path.split("/")
    stem, *suffixes = name.split(".")
    if not suffixes or suffixes[-1] not in _MODULE_SUFFIXES:
        return None
    return ".".join(folders if stem == "__init__" and folders else [*folders, stem])


@lru_cache(maxsize=64)
def _all_folded(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(_folded, names))


@cache
def installed_modules(python: str | None = None) -> frozenset[str]:
    """Return the modules that are installed in an interpreter, so far as another file could take their place.

    Args:
        python: the interpreter that runs the tests; None for this one.

    Returns:
        Dotted names: modules, packages, and the folders around them that have no `__init__`. Submodules of a package
        are left out, for they are found through it; so are distributions installed as editable, which are worked on.
        Of another interpreter its standard library too, which may have what this one's has not.

    Raises:
        ClientConfigurationError: it does not answer.
    """
    path, standard = (sys.path, []) if python is None else asked(python, "-I", "-c", _ASK, what=_WHAT, answers=2)
    found = (name for one in distributions(path=path) if not _is_editable(one) for name in _provided(one))
    return frozenset(".".join(steps[:count]) for steps in found for count in range(1, len(steps) + 1)).union(standard)


_WHAT = "what is installed for it"
_ASK = "import json, sys; print(json.dumps([sys.path, sorted(getattr(sys, 'stdlib_module_names', ()))]))"


def _is_editable(one: Distribution) -> bool:
    """Whether a distribution is the checkout that somebody works on."""
    try:
        direct = json.loads(one.read_text("direct_url.json") or "{}")
    except ValueError:
        direct = {}
    if isinstance(direct, dict) and isinstance(info := direct.get("dir_info"), dict) and info.get("editable"):
        return True
    place = PurePath(str(one.locate_file("")))
    return place.name not in {"site-packages", "dist-packages"} and one.read_text("SOURCES.txt") is not None


def _provided(one: Distribution) -> Iterator[tuple[str, ...]]:
    """Yield the outermost modules and packages of a distribution, as steps of their names."""
    yield from ((name,) for name in (one.read_text("top_level.txt") or "").split())
    yield from ((entry.module.partition(".")[0],) for entry in one.entry_points if entry.group == "pytest11")
    files = [file.parts for file in one.files or () if ".." not in file.parts and "__pycache__" not in file.parts]
    packages = {steps[:-1] for steps in files if steps[-1].startswith("__init__.")}
    for steps in files:
        around = next((steps[:count] for count in range(1, len(steps)) if steps[:count] in packages), None)
        module = _module("/".join(steps))
        if around is not None or module is not None:
            yield around or tuple((module or "").split("."))


@lru_cache(maxsize=64)
def _regex(globs: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches any of some globs, for folded paths."""
    return re.compile("|".join(_translated(_folded(glob)) for glob in globs) or r"(?!)", re.DOTALL)


_TOKEN = re.compile(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[^\]]+\]|.", re.DOTALL)
_SET_SPECIAL, _ESCAPE = re.compile(r"([\\\[\]^&~|])"), r"\\\1"
_MEANINGS = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translated(glob: str) -> str:
    anywhere = "" if "/" in glob.rstrip("/") else "(?:.*/)?"
    below = ".*" if glob.endswith("/") else ""
    return anywhere + "".join(map(_meaning, _TOKEN.findall(glob.removeprefix("/")))) + below


def _meaning(token: str) -> str:
    if token in _MEANINGS:
        return _MEANINGS[token]
    if token.startswith("[") and len(token) > 1:
        negated, inside = token[1] in "!^", token[1:-1].lstrip("!^")
        return f"[{'^' if negated else ''}{_SET_SPECIAL.sub(_ESCAPE, inside)}]"
    return re.escape(token)
