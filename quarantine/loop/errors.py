"""The loop's own errors, below the client's: the loop knows the product only through the client.

ClientError
├── BadPatch         what the agent proposed cannot be tried; it is the agent's to mend, and says what to send instead
├── WorkspaceError   the worktree cannot be made, proved or put back; nothing of it is the agent's fault to mend
└── ProcessError     a command cannot be started at all
"""

from quarantine.client.errors import ClientError

__all__ = ["BadPatch", "ProcessError", "WorkspaceError"]


class BadPatch(ClientError):
    """What the agent proposed cannot be tried.

    Attributes:
        code: `empty-patch`, `prose`, `binary-patch`, `escapes-worktree`, `symlink`, `submodule`, `does-not-apply`,
            `too-big` or `protected-path`.
        sentence: what is wrong, and where; the same as `message`.
        mend: what to send instead.
    """

    def __init__(self, code: str, sentence: str, mend: str) -> None:
        super().__init__(sentence, mend=mend)
        self.code = code
        self.sentence = sentence


class WorkspaceError(ClientError):
    """The worktree cannot be made, proved or put back."""


class ProcessError(ClientError):
    """A command cannot be started at all."""
