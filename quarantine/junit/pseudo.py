"""Records that are no tests: which failing case stands for a hook, a class, a module or a package.

Such a record becomes a run event: it makes a build red and can never be quarantined.
"""

import re

from quarantine.domain.report import Result

HOOK = re.compile(r'"(?:before|after) (?:all|each)" hook\b')
CLASS_FIXTURE = re.compile(r"(?:setUp|tearDown)(?:Class|Module) \(")
JAVA_PRODUCERS = frozenset({"java", "surefire", "gradle", "testng"})
JAVA_CLASS_NAMES = frozenset({"classMethod", "initializationError", "executionError"})
PACKAGE_NAMES = frozenset({"Failure", "TestMain", "[build failed]", "[setup failed]"})
SUITE_FAILED = "Test suite failed to run"
COLLECTION_MESSAGES = {"collection failure": "collection-error", "collection skipped": "collection-skip"}


def event_kind(producer: str, classname: str, name: str, result: Result) -> str | None:
    """Return what a case that did not pass stands for when it is no test, as a kebab-case word; None for a test.

    A name alone is believed where no test is called so (hooks, class fixtures); else the producer must be known to
    write such records, so that a test of this name elsewhere stays one.
    """
    if not name or name.isspace():
        return "nameless"
    if producer == "linter":
        return "lint-finding"
    if producer == "pytest":
        return None if classname else COLLECTION_MESSAGES.get(result.message)
    return _failure_kind(producer, classname, name) if result.outcome.is_failure else None


def _failure_kind(producer: str, classname: str, name: str) -> str | None:
    if HOOK.search(name):
        return "hook"
    if CLASS_FIXTURE.match(name) or (producer in JAVA_PRODUCERS and (name in JAVA_CLASS_NAMES or name == classname)):
        return "class-setup"
    if producer in {"gotestsum", "go-junit-report"} and name in PACKAGE_NAMES:
        return "package-error"
    if SUITE_FAILED in (classname, name) or name.endswith(SUITE_FAILED) or (producer == "vitest" and name == classname):
        return "file-error"
    return None
