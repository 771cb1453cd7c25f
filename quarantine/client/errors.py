"""The client's own errors. It stands alone, so it cannot use the daemon's tree.

ClientError
├── ClientConfigurationError   an address, a project name, a token or an option cannot be used
├── TreeError                  the tree, or a commit of it, cannot be read as it stands
├── MapError                   a coverage data file cannot be turned into a reach map that can be believed
└── Refused                    the daemon answered, and will not do what it was asked
"""


class ClientError(Exception):
    """Any error the client raises on purpose.

    Attributes:
        message: one sentence for a person: what is wrong, and where.
        mend: one sentence: what to do about it; may be empty.
    """

    def __init__(self, message: str, *, mend: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.message} {self.mend}".strip()


class ClientConfigurationError(ClientError):
    """An address, a project name, a token or an option is missing or cannot be used."""


class TreeError(ClientError):
    """The tree, or a commit of it, cannot be read as it stands."""


class MapError(ClientError):
    """A coverage data file cannot be turned into a reach map that can be believed."""


class Refused(ClientError):
    """The daemon answered, and will not do what it was asked; its own sentence and mend say why.

    Attributes:
        status: HTTP status code.
        code: the problem document's stable word; empty when it has none.
    """

    def __init__(self, message: str, *, mend: str = "", status: int, code: str = "") -> None:
        super().__init__(message, mend=mend)
        self.status = status
        self.code = code
