"""The reference harness: an agent proposes a patch, the harness runs the tests, and the daemon judges.

See docs/loop.md for worked examples, for what ends a loop, and for what a green verdict does not exclude.
"""

from quarantine.loop.agent import Agent, CommandAgent, Proposal, ScriptedAgent
from quarantine.loop.canary import CanaryTemplate
from quarantine.loop.ends import Accepted, End, Exhausted, Inconclusive, Suspect
from quarantine.loop.errors import BadPatch, ProcessError, WorkspaceError
from quarantine.loop.judged import Judged, Prepared, Runner, Spent
from quarantine.loop.patch import Patch
from quarantine.loop.protected import Protected
from quarantine.loop.runner import CommandRunner
from quarantine.loop.setup import Settings
from quarantine.loop.solve import solve
from quarantine.loop.suspicion import suspicions
from quarantine.loop.ticket import Ticket
from quarantine.loop.workspace import Workspace

__all__ = [
    "Accepted",
    "Agent",
    "BadPatch",
    "CanaryTemplate",
    "CommandAgent",
    "CommandRunner",
    "End",
    "Exhausted",
    "Inconclusive",
    "Judged",
    "Patch",
    "Prepared",
    "ProcessError",
    "Proposal",
    "Protected",
    "Runner",
    "ScriptedAgent",
    "Settings",
    "Spent",
    "Suspect",
    "Ticket",
    "Workspace",
    "WorkspaceError",
    "solve",
    "suspicions",
]
