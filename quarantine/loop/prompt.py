"""What an agent is asked. The same words each time, but for the record of the last attempt; no earlier one is sent."""

from quarantine.loop.errors import BadPatch
from quarantine.loop.judged import Judged, Prepared
from quarantine.loop.ticket import Ticket

__all__ = ["prompt", "refusal"]

_SHOWN_TESTS = 50
_RULES = """\
Answer with one unified diff against the files of this folder, as `git diff` prints it, or edit the files and print
nothing. Change product code only: a patch that touches tests, CI, or what the test runner loads by itself is refused
unread. The tests are chosen and run by somebody else, after you."""
_AGAIN = """\
Your last patch was not accepted. It has been rolled back: the files are as they were at the start. This is what became
of it:"""


def prompt(ticket: Ticket, last: Judged | None, base: Prepared) -> str:
    """Return what the agent reads: the ticket, the tests that must pass, the rules, and the last record."""
    parts = [f"# {ticket.id}", ticket.text.strip()]
    parts += _must_pass(ticket, base)
    parts.append(_RULES)
    if last is not None:
        parts.append(f"{_AGAIN}\n\n{last.record.strip()}")
    return "\n\n".join(parts) + "\n"


def _must_pass(ticket: Ticket, base: Prepared) -> list[str]:
    """Return a paragraph for each kind of test that must pass: what is not known of it is not said."""
    groups = {
        "These tests fail now and must pass; nothing else may break:": base.failing,
        "These tests pass now and must still pass afterwards:": base.passing,
        "These tests must pass:": set(ticket.must_pass) - base.failing - base.passing,
    }
    parts = []
    for said, group in groups.items():
        tests = [test for test in ticket.must_pass if test in group]
        more = len(tests) - _SHOWN_TESTS
        shown = [f"- {test}" for test in tests[:_SHOWN_TESTS]] + ([f"- and {more} more"] if more > 0 else [])
        parts += ["\n".join([said, *shown])] if tests else []
    return parts


def refusal(problem: BadPatch) -> Judged:
    """Return what became of an answer that could not be tried; nothing was run for it."""
    cause = {"code": problem.code, "effect": "rejects", "sentence": problem.sentence, "tests": []}
    return Judged("reject", f"{problem.sentence}\n{problem.mend}".strip(), {"causes": [cause]}, problem.sentence)
