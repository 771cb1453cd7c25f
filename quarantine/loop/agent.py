"""Whoever proposes patches: any command, or a script of answers.

A command gets the prompt on its standard input and works in a folder of its own: it prints a unified diff, or edits the
files. It sees the variables named here and those the user adds, and a home and a temporary folder that go with it;
no token of ours, no CI variable. What it starts is ended with it (see `processes`). A command that knows what it
used may write `{"tokens": 1200, "cost": 0.03}` to the file that AGENT_USAGE_FILE names.
"""

import json
import os
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from quarantine.client.claims import scratch_folder
from quarantine.client.errors import ClientConfigurationError, ClientError
from quarantine.client.instants import monotonic_s
from quarantine.loop.edits import Edits, WatchedFolder
from quarantine.loop.errors import BadPatch, ProcessError
from quarantine.loop.patch import MAX_BYTES, SEND, Patch
from quarantine.loop.processes import Finished, Limits, run

__all__ = ["Agent", "Answer", "CommandAgent", "Mode", "Proposal", "ScriptedAgent", "agent_environment", "answered"]

Mode = Literal["diff", "edit", "auto"]
Answer = bytes | str | None
"""A diff, or whatever an agent says instead; None when its edits in the folder are the answer."""

KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "SYSTEMROOT")
USAGE_VARIABLE = "AGENT_USAGE_FILE"
_NO_COMMAND = (126, 127)
"""What a shell exits with when a command cannot be run, or is not there."""
_MEND_COMMAND = "Mend --agent. It is run in a folder of its own, so name a script by its whole path."
_NEVER_KEPT = "QUARANTINE_"
_STDERR_TAIL = 4_000
_USAGE_BYTES = 10_000
_SHOWN = 5
_SENSIBLE = 2**53
_SAID_CHARACTERS = 500


class Proposal(NamedTuple):
    """What an agent answered: a patch or a problem, never both.

    Attributes:
        patch: what it proposes.
        problem: why there is none: the codes of BadPatch, or `agent-timed-out` or `agent-failed`.
        seconds: how long it took.
        tokens: what it used, if it says so.
        cost: what that cost, in whatever unit it counts.
        note: what a person should know though it is no problem, as sentences; may be empty.
        stderr: the end of what it wrote there, for a person.
    """

    patch: Patch | None
    problem: BadPatch | None
    seconds: float
    tokens: int | None = None
    cost: float | None = None
    note: str = ""
    stderr: str = ""


class Agent(Protocol):
    """Whoever proposes patches."""

    def propose(self, prompt: str, folder: Path) -> Proposal:
        """Return a proposal.

        Args:
            prompt: the ticket, and what became of the last attempt.
            folder: a copy of the base that the agent may read and edit.
        """
        ...


def answered(agent: Agent, prompt: str, folder: Path) -> Proposal:
    """Ask an agent and return its proposal; one that breaks down, or answers with something else, has failed.

    Raises:
        ClientError: the agent says so on purpose, for nothing the next answer could mend.
    """
    begun = monotonic_s()
    try:
        said = agent.propose(prompt, folder)
    except BadPatch as problem:
        return Proposal(None, problem, monotonic_s() - begun)
    except ClientError:
        raise
    except Exception as error:  # noqa: BLE001 - code of a user's own, which may raise anything
        what = f"The agent raised {type(error).__name__}: {_plain(error)[:_SAID_CHARACTERS]}"
        failed = _refused("agent-failed", what, SEND)._replace(seconds=monotonic_s() - begun)
        return failed._replace(stderr=_plain("".join(traceback.format_exception(error)))[-_STDERR_TAIL:])
    return _checked(said) or _refused("agent-failed", _wrong(said), SEND)._replace(seconds=monotonic_s() - begun)


def _checked(said: object) -> Proposal | None:
    """Return a proposal with what can be told and counted; None for what is none."""
    if not isinstance(said, Proposal) or not _fits(said.patch, Patch) or not _fits(said.problem, BadPatch):
        return None
    return said._replace(
        tokens=_whole(said.tokens), cost=_number(said.cost), note=_plain(said.note), stderr=_plain(said.stderr)
    )


def _fits(said: object, kind: type) -> bool:
    return said is None or isinstance(said, kind)


def _wrong(said: object) -> str:
    if isinstance(said, Proposal):
        return f"The agent's Proposal has {_kind(said.patch)} for a patch and {_kind(said.problem)} for a problem."
    return f"The agent returned {_kind(said)}, which is no Proposal."


def _kind(said: object) -> str:
    return "nothing" if said is None else type(said).__name__


def _plain(said: object) -> str:
    """Return what can be written to any file: half a surrogate is escaped."""
    return str(said).encode("utf-8", "backslashreplace").decode("utf-8")


class CommandAgent:
    """Any command as an agent."""

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        timeout_s: float = 1800.0,
        max_output_bytes: int = MAX_BYTES,
        mode: Mode = "auto",
        keep_env: Collection[str] = (),
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
    ) -> None:
        """Describe the command.

        Args:
            command: a line for the shell, or a program with its arguments.
            timeout_s: seconds until it is killed, with all it started.
            max_output_bytes: what it may print; more ends it.
            mode: where its answer is: `diff` on standard output, `edit` in the folder, or `auto`: the diff if it prints
                one that can be read, else its edits.
            keep_env: names of further variables it sees, such as the key of its model; `HOME` keeps the user's own.
            limits: what each of its processes may use.

        Raises:
            ClientConfigurationError: a variable of quarantine's is to be kept: its tokens are not for agents.
        """
        ours = sorted(name for name in keep_env if name.upper().startswith(_NEVER_KEPT))
        if ours:
            raise ClientConfigurationError(
                f"The agent may not see {', '.join(ours)}.", mend="What it may do must not hang on what it says."
            )
        self.command = command
        self.timeout_s = timeout_s
        self.max_output_bytes = max_output_bytes
        self.mode: Mode = mode
        self.keep_env = tuple(keep_env)
        self.limits = limits

    def propose(self, prompt: str, folder: Path) -> Proposal:
        """Run the command once.

        Raises:
            ProcessError: it cannot be started, or the shell says that there is no such command.
            TreeError: there is no folder.
        """
        with scratch_folder("agent") as ours, scratch_folder("agent") as its:
            watched = None if self.mode == "diff" else WatchedFolder(folder, ours)
            finished = self._run(prompt, folder, its)
            tokens, cost = _usage(its / "usage.json")
            answer = self._answer(finished, watched)
        return answer._replace(
            seconds=finished.seconds,
            tokens=tokens,
            cost=cost,
            note=" ".join(filter(None, [answer.note, _left_running(finished)])),
            stderr=finished.stderr[-_STDERR_TAIL:].decode("utf-8", "replace"),
        )

    def _run(self, prompt: str, folder: Path, its: Path) -> Finished:
        return run(
            self.command,
            cwd=folder,
            env=agent_environment(os.environ, its, keep=self.keep_env),
            timeout_s=self.timeout_s,
            stdin=prompt.encode("utf-8", "surrogateescape"),
            max_output_bytes=self.max_output_bytes,
            limits=self.limits,
            kill_on_flood=True,
        )

    def _answer(self, finished: Finished, watched: WatchedFolder | None) -> Proposal:
        if finished.timed_out:
            return _refused(
                "agent-timed-out",
                f"The agent was killed: it had not ended after {self.timeout_s:g} s.",
                "Answer sooner, with a smaller change.",
            )
        if finished.flooded:
            return _refused("too-big", f"The agent was killed: it printed over {self.max_output_bytes:,} bytes.", SEND)
        if finished.lost:
            return _refused("agent-failed", "The agent killed the process that watches over it.", SEND)
        proposal = _chosen(finished.stdout if self.mode != "edit" else b"", watched, self.mode)
        if proposal.patch is None and finished.exit_code in _NO_COMMAND:
            raise ProcessError(_cannot_run(finished), mend=_MEND_COMMAND)
        if proposal.patch is None and finished.exit_code:
            said = proposal.problem.sentence if proposal.problem else ""
            return _refused(
                "agent-failed", f"The agent ended with exit code {finished.exit_code}. {said}".strip(), SEND
            )
        if finished.exit_code:
            return proposal._replace(note=f"{proposal.note} It ended with exit code {finished.exit_code}.".strip())
        return proposal


class ScriptedAgent:
    """An agent that plays its answers one after the other; for tests, demonstrations and trying a harness out.

    An answer is a diff (or other text), or a function of the prompt and the folder that returns one; a function that
    returns None has edited the folder. When no answer is left the answer is empty.

    Attributes:
        prompts: what it was asked, in order.
    """

    def __init__(self, patches: Sequence[bytes | str | Callable[[str, Path], Answer]]) -> None:
        self._answers = list(patches)
        self.prompts: list[str] = []

    def propose(self, prompt: str, folder: Path) -> Proposal:
        """Return the next answer."""
        begun = monotonic_s()
        number = len(self.prompts)
        self.prompts.append(prompt)
        answer = self._answers[number] if number < len(self._answers) else b""
        if not callable(answer):
            return _printed(answer)._replace(seconds=monotonic_s() - begun)
        with scratch_folder("agent") as ours:
            watched = WatchedFolder(folder, ours)
            said = answer(prompt, folder)
            proposal = _edited(watched) if said is None else _printed(said)
        return proposal._replace(seconds=monotonic_s() - begun)


def agent_environment(variables: Mapping[str, str], scratch: Path, *, keep: Collection[str] = ()) -> dict[str, str]:
    """Return the variables an agent sees, with folders of its own made in a scratch folder."""
    folders = {"HOME": scratch / "home", "TMPDIR": scratch / "tmp"}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    chosen = {name: str(folder) for name, folder in folders.items()}
    chosen |= {name: variables[name] for name in (*KEPT_VARIABLES, *keep) if name in variables}
    return chosen | {USAGE_VARIABLE: str(scratch / "usage.json")}


def _chosen(printed: bytes, watched: WatchedFolder | None, mode: Mode) -> Proposal:
    """Return the diff that was printed or the edits; both at once are said when they differ."""
    said = _printed(printed)
    if watched is None:
        return said
    edited = _edited(watched)
    if mode == "edit" or (said.patch is None and edited.patch is not None):
        return edited
    if said.patch is None:
        nothing = edited.problem is None or edited.problem.code == "empty-patch"
        return said if nothing else edited
    if edited.patch is not None and edited.patch.sha256 != said.patch.sha256:
        return said._replace(note="The diff it printed was taken; its edits in the folder differ from that.")
    return said


def _printed(text: bytes | str) -> Proposal:
    try:
        return Proposal(Patch.parse(text), None, 0.0)
    except BadPatch as problem:
        return Proposal(None, problem, 0.0)


def _edited(watched: WatchedFolder) -> Proposal:
    try:
        edits = watched.edits()
    except BadPatch as problem:
        return Proposal(None, problem, 0.0)
    return _printed(edits.diff)._replace(note=_said_of(edits))


def _said_of(edits: Edits) -> str:
    if not edits.left_out:
        return ""
    names = ", ".join(edits.left_out[:_SHOWN]) + (" and more" if len(edits.left_out) > _SHOWN else "")
    return f"New files that the base's rules ignore are not in the patch: {names}."


def _left_running(finished: Finished) -> str:
    if finished.unkilled:
        return f"Of what it started this could not be killed: {_counted(finished.unkilled)}."
    return f"It had left {_counted(finished.left_behind)} running, now killed." if finished.left_behind else ""


def _counted(processes: int) -> str:
    return "1 process" if processes == 1 else f"{processes} processes"


def _refused(code: str, sentence: str, mend: str) -> Proposal:
    return Proposal(None, BadPatch(code, sentence, mend), 0.0)


def _cannot_run(finished: Finished) -> str:
    said = finished.stderr[-_STDERR_TAIL:].decode("utf-8", "replace").strip().splitlines()
    what = "there is no such command" if finished.exit_code == max(_NO_COMMAND) else "it may not be run"
    return f"The agent's command ended with {finished.exit_code}: {said[-1].strip() if said else what}."


def _usage(file: Path) -> tuple[int | None, float | None]:
    """Return the tokens and the cost that a command says it used; None for what it does not say, or not sensibly."""
    try:
        number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(number, "rb") as stream:
            said = json.loads(stream.read(_USAGE_BYTES))
    except (OSError, ValueError, RecursionError):
        return None, None
    if not isinstance(said, dict):
        return None, None
    return _whole(said.get("tokens")), _number(said.get("cost"))


def _whole(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and 0 <= tokens < _SENSIBLE else None


def _number(cost: object) -> float | None:
    return float(cost) if isinstance(cost, int | float) and 0 <= cost < _SENSIBLE else None
