"""What one upload of JUnit documents says, after the producer's dialect has been understood."""

from typing import NamedTuple

from quarantine.domain.identity import TestName, VariantKeys
from quarantine.domain.outcome import Outcome


class Result(NamedTuple):
    """One try of one test.

    Attributes:
        outcome: as reported.
        duration_s: seconds, finite and not negative; None when the report gives none that can be believed.
        kind: the exception type or the `type` attribute; empty when there is none.
        message: the `message` attribute or the first line, with illegal characters replaced; bounded.
        detail: the failure's text, head and tail kept when it is long; empty for passes.
    """

    outcome: Outcome
    duration_s: float | None = None
    kind: str = ""
    message: str = ""
    detail: str = ""


class Origin(NamedTuple):
    """Where a run stands, apart from its name. Plain tests of one class share one origin, which saves memory.

    Attributes:
        suite, classname: as in `TestName`.
        variant: pairs that only the report knows (a browser or a device), to be added to the build's own variant.
        unique: False when several records claim this id and are not tries of one test. Such an id is shown and
            can never be quarantined.
        file: the source file as the report names it: text to show, never a path to open. Empty when not given.
        line: from 1; None when not given.
        raw: the parts as the report spells them, when the producer's rule changed classname or name; else None.
    """

    suite: tuple[str, ...]
    classname: str
    variant: VariantKeys = ()
    unique: bool = True
    file: str = ""
    line: int | None = None
    raw: TestName | None = None


class Run(NamedTuple):
    """All tries of one test in one upload, the first try first.

    Attributes:
        digest: the 16 bytes under the test id.
        name: the test's own name, cleaned.
        results: at least one try, in the order they happened; where the dialect does not say, failures come first,
            because a runner retries only what failed.
        origin: the rest of what the report says about where it stands.
    """

    digest: bytes
    name: str
    results: tuple[Result, ...]
    origin: Origin

    @property
    def test(self) -> TestName:
        """The cleaned parts of the id."""
        return TestName(self.origin.suite, self.origin.classname, self.name)

    @property
    def outcome(self) -> Outcome:
        """The run's final outcome: that of its last try."""
        return self.results[-1].outcome

    @property
    def is_flaky(self) -> bool:
        """Whether one try failed and a later one passed."""
        return self.outcome is Outcome.PASSED and any(result.outcome.is_failure for result in self.results)


class RunEvent(NamedTuple):
    """A record that is no test: a collection error, a hook, a class-level set-up, a nameless case.

    It makes a build red and can never be quarantined.

    Attributes:
        kind: kebab-case word, such as `collection-error`, `hook`, `suite-error`, `nameless`.
        where: the suite, class or file it belongs to, as reported.
        outcome: as reported.
        message: as `Result.message`.
    """

    kind: str
    where: str
    outcome: Outcome
    message: str = ""
    detail: str = ""


class Problem(NamedTuple):
    """Something in a document that was not as it should be, and what was done about it.

    Attributes:
        code: stable kebab-case word.
        message: one sentence for a person.
    """

    code: str
    message: str
