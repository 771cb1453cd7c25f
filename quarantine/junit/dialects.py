"""Who wrote a report, and what follows for the names in it: one rule per producer.

The id of a test is made of (stream, suite names, classname, name); see `quarantine.domain.identity`. A rule says which
suite names belong to it, how classname and name are cleaned, and which variant pairs the report alone knows. No rule
folds case, trims, or normalises Unicode: names that differ in a code point are different tests. No `id=` attribute and
no line number is ever used.

producer          recognised by                                  suite names     names, variant
pytest            suite `pytest`, or root `pytest tests`         without that    as they are
java              surefire schema, `java.*` properties, Gradle's none: the       suite's name if no classname;
                  order of attributes, TestNG's comment          class is full   `device` property is the variant
playwright        root with `id` and `name`, suite with          all             `[project] ` before the name and
                  `hostname`, classname = suite                                  `hostname` are the variant `project`
web-test-runner   property `browser.launcher`                    the file        `browser.name` is the variant
karma             property `browser.fullName`                    none            suite's name without version: `browser`
device            suite `...-portrait` or `...-landscape`,       without device  the part before `#`: `device`
                  then `#` (Firebase Test Lab, Flank)
gotestsum         property `go.version`, no `errors`             all             as they are
go-junit-report   property `go.version`                          all             as they are
mocha             root `Mocha Tests`                             no `Root Suite` as they are
jest, vitest      root `jest tests`, `vitest tests`              all             as they are
tap               first case `#1 ...` or `1 - ...`               all             the ordinal is stripped
ctest             suite with `disabled` and `hostname`,          none: it names  as they are
                  classname = name                               the machine
phpunit           case with `assertions`                         no file paths   `class` where classname is missing
xmlrunner         suite ends in `-` and 14 digits                without those   as they are
unittest          suite with `skips`                             all             as they are
prow              suite `step graph` or `openshift-tests...`     all             as they are
linter            package `org.eslint` or `org.ruff`             all             findings are run events, no tests
other             everything else                                all             as they are

Suite names that are absolute paths lose drive letter and workspace in every dialect.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from quarantine.domain.identity import VariantKeys
from quarantine.junit.texts import one_newline

Attributes = Mapping[str, str]
Rename = Callable[[str, str], tuple[str, str]]
"""Takes (classname, name) as reported; returns them cleaned."""


class Clues(NamedTuple):
    """All that a rule may look at; nothing in it depends on what the tests came to.

    Attributes:
        root: attributes of the root element.
        suites: attributes of the open suites, the outermost first; empty for a case directly under the root.
        properties: of the innermost suite.
        case: attributes of the first case of the innermost suite.
        is_testng: whether a comment before the root names TestNG's reporter.
    """

    root: Attributes
    suites: tuple[Attributes, ...]
    properties: Attributes
    case: Attributes
    is_testng: bool = False

    @property
    def suite(self) -> Attributes:
        """Attributes of the innermost suite."""
        return self.suites[-1] if self.suites else {}

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the suites that have one."""
        return tuple([suite_text(suite["name"]) for suite in self.suites if suite.get("name")])


class Dialect(NamedTuple):
    """What a rule decides for the cases of one suite.

    Attributes:
        producer: a name of the table above.
        path: the suite names that belong to the id.
        rename: cleans (classname, name); None when they are taken as they are.
        variant: pairs only the report knows.
    """

    producer: str
    path: tuple[str, ...]
    rename: Rename | None = None
    variant: VariantKeys = ()


def dialect_of(clues: Clues) -> Dialect:
    """Return what the first rule that recognises its producer decides; the last one takes everything."""
    for rule in RULES:
        dialect = rule(clues)
        if dialect is not None:
            return dialect
    return Dialect("other", clues.path)


def _pytest(clues: Clues) -> Dialect | None:
    if clues.suite.get("name") != "pytest" and clues.root.get("name") != "pytest tests":
        return None
    return Dialect("pytest", tuple([name for name in clues.path if name != "pytest"]))


JAVA_PROPERTIES = ("java.", "sun.", "surefire.")
GRADLE_ORDER = ["name", "tests", "skipped", "failures", "errors", "timestamp", "hostname", "time"]


def _java(clues: Clues) -> Dialect | None:
    producer = _java_producer(clues)
    if producer is None:
        return None
    suite = clues.suite.get("name") or ""
    device = clues.properties.get("device")
    return Dialect(
        producer,
        (),
        lambda classname, name: (classname or suite, name),
        (("device", device),) if device else (),
    )


def _java_producer(clues: Clues) -> str | None:
    if clues.is_testng:
        return "testng"
    if "surefire-test-report" in clues.suite.get("xsi:noNamespaceSchemaLocation", ""):
        return "surefire"
    if list(clues.suite) == GRADLE_ORDER:
        return "gradle"
    if any(name.startswith("surefire.") for name in clues.properties):
        return "surefire"
    return "java" if any(name.startswith(JAVA_PROPERTIES) for name in clues.properties) else None


def _playwright(clues: Clues) -> Dialect | None:
    project = clues.suite.get("hostname")
    same_file = clues.suite.get("name") == clues.case.get("classname")
    if not ("id" in clues.root and "name" in clues.root and project is not None and same_file):
        return None
    prefix = f"[{project}] "
    return Dialect(
        "playwright",
        clues.path,
        lambda classname, name: (classname, name.removeprefix(prefix)),
        (("project", project),) if project else (),
    )


def _web_test_runner(clues: Clues) -> Dialect | None:
    browser = clues.properties.get("browser.name")
    if browser is None or "browser.launcher" not in clues.properties:
        return None
    file = clues.properties.get("test.fileName")
    return Dialect("web-test-runner", (suite_text(file),) if file else clues.path, None, (("browser", browser),))


def _karma(clues: Clues) -> Dialect | None:
    if "browser.fullName" not in clues.properties:
        return None
    browser = re.split(r"\s+[0-9]", clues.suite.get("name") or "", maxsplit=1)[0]
    return Dialect("karma", clues.path[:-1], None, (("browser", browser),) if browser else ())


DEVICE = re.compile(r"(?P<device>[\w.-]+-(?:portrait|landscape))(?:#(?P<suite>.*))?", re.DOTALL)


def _device(clues: Clues) -> Dialect | None:
    match = DEVICE.fullmatch(clues.suite.get("name") or "")
    if match is None:
        return None
    suite = (match["suite"],) if match["suite"] else ()
    return Dialect("device", clues.path[:-1] + suite, None, (("device", match["device"]),))


def _go(clues: Clues) -> Dialect | None:
    if "go.version" not in clues.properties:
        return None
    return Dialect("go-junit-report" if "errors" in clues.suite else "gotestsum", clues.path)


NAMED_ROOTS = {"jest tests": "jest", "vitest tests": "vitest", "Mocha Tests": "mocha"}


def _javascript(clues: Clues) -> Dialect | None:
    producer = NAMED_ROOTS.get(clues.root.get("name") or "")
    if producer is None:
        return None
    return Dialect(producer, tuple([name for name in clues.path if (producer, name) != ("mocha", "Root Suite")]))


FIRST_ORDINAL = re.compile(r"#1 |1 - |1\Z")
ORDINAL = re.compile(r"(?:#[0-9]+ |[0-9]+ - )(?=.)", re.DOTALL)


def _tap(clues: Clues) -> Dialect | None:
    classname = clues.case.get("classname")
    if not FIRST_ORDINAL.match(clues.case.get("name", "")) or (classname and classname != clues.suite.get("name")):
        return None
    return Dialect("tap", clues.path, lambda classname, name: (classname, ORDINAL.sub("", name, count=1)))


def _ctest(clues: Clues) -> Dialect | None:
    has_marks = "disabled" in clues.suite and "hostname" in clues.suite and "status" in clues.case
    return Dialect("ctest", ()) if has_marks and clues.case.get("classname") == clues.case.get("name") else None


def _phpunit(clues: Clues) -> Dialect | None:
    if "assertions" not in clues.case:
        return None
    return Dialect("phpunit", tuple([name for name in clues.path if not name.endswith((".xml", ".xml.dist"))]))


RUN_TIMESTAMP = re.compile(r"-20[0-9]{12}\Z")


def _xmlrunner(clues: Clues) -> Dialect | None:
    if not any(RUN_TIMESTAMP.search(name) for name in clues.path):
        return None
    return Dialect("xmlrunner", tuple([RUN_TIMESTAMP.sub("", name) for name in clues.path]))


def _unittest(clues: Clues) -> Dialect | None:
    return Dialect("unittest", clues.path) if "skips" in clues.suite else None


def _prow(clues: Clues) -> Dialect | None:
    return (
        Dialect("prow", clues.path)
        if (clues.suite.get("name") or "").startswith(("step graph", "openshift-tests"))
        else None
    )


def _linter(clues: Clues) -> Dialect | None:
    return (
        Dialect("linter", clues.path)
        if (clues.suite.get("package") or "").startswith(("org.eslint", "org.ruff"))
        else None
    )


RULES: tuple[Callable[[Clues], Dialect | None], ...] = (
    _pytest, _linter, _playwright, _web_test_runner, _karma, _device, _go, _javascript, _java, _ctest, _xmlrunner,
    _prow, _unittest, _phpunit, _tap,
)  # fmt: skip

WORKSPACE = re.compile(
    r"/(?:home/runner/work/[^/]+/[^/]+|home/[^/]+/actions-runner/_work/[^/]+/[^/]+|github/workspace|__w/[^/]+/[^/]+"
    r"|builds/[^/]+/[^/]+|var/(?:lib/jenkins|jenkins_home)/workspace/[^/]+|bitrise/src|workspace|workspaces/[^/]+"
    r"|home/circleci/(?:project|repo)|home/vsts/work/[0-9]+/s|a/[^/]+/[^/]+)/"
)
LONGEST_PATH = 1_000
DRIVE = re.compile(r"[A-Za-z]:/")


@lru_cache(maxsize=4_096)
def file_text(name: str) -> str:
    """Return a file's name as text to show: forward slashes, without leading `./`, drive letter and CI workspace."""
    name = name.replace("\\", "/").removeprefix("file://")
    if DRIVE.match(name):
        name = name[2:]
    match = WORKSPACE.match(name)
    name = name[match.end() :] if match else name
    while name.startswith("./"):
        name = name[2:]
    return name


def suite_text(name: str) -> str:
    """Return a suite's name: newlines as one character, and an absolute path without its workspace."""
    name = one_newline(name)
    is_path = name.startswith(("/", "./", "file://")) or name[1:3] in (":/", ":\\")
    return file_text(name) if is_path and len(name) <= LONGEST_PATH else name
