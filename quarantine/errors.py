"""The error tree, drawn once. An error names the place and the mend; its docstring says when it is raised.

QuarantineError
├── BadInput            what was sent or typed cannot be used as it is; nothing of it was applied
│   ├── BadReport       a document that is no readable JUnit report
│   ├── BadBuildPart    the JSON that describes the build
│   ├── BadReach        a reach map that cannot be believed
│   └── BadConfiguration
├── NotAllowed          the token does not permit it
├── NotFound
├── Conflict            it contradicts what is already stored
└── Busy                the store cannot take it now; the same call may succeed later
"""


class QuarantineError(Exception):
    """Any error this product raises on purpose.

    Attributes:
        code: stable kebab-case word that programs may branch on.
        message: one sentence for a person: what is wrong, and where.
        mend: one sentence: what to do about it; may be empty.
    """

    code = "error"

    def __init__(self, message: str, *, mend: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message} {self.mend}".strip()


class BadInput(QuarantineError):
    """What was sent or typed cannot be used as it is; nothing of it was applied."""

    code = "bad-input"


class BadReport(BadInput):
    """A document that is no readable JUnit report; `code` says which kind of unreadable."""

    code = "not-junit"


class BadBuildPart(BadInput):
    """The JSON that describes the build is missing, malformed or contradicts itself."""

    code = "bad-build-part"


class BadReach(BadInput):
    """A reach map that cannot be believed, such as one recorded without contexts."""

    code = "bad-reach"


class BadConfiguration(BadInput):
    """A setting is unknown, malformed or incoherent."""

    code = "bad-configuration"


class NotAllowed(QuarantineError):
    """The token is missing, unknown, expired, or lacks the scope."""

    code = "not-allowed"


class NotFound(QuarantineError):
    """The thing named does not exist here."""

    code = "not-found"


class Conflict(QuarantineError):
    """The request contradicts what is already stored."""

    code = "conflict"


class Busy(QuarantineError):
    """The store cannot take it now (locked, full, shutting down); the same call may succeed later."""

    code = "busy"
