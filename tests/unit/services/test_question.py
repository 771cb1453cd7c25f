"""The question, as it is sent and as it is stored."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.errors import BadInput
from quarantine.services.question import Question, parse_question, parse_rerun_note

NAMES = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), max_size=5)


@given(expected=st.none() | NAMES, must_pass=NAMES, cost=st.floats(0, 1e9))
def test_what_is_stored_is_what_was_asked(expected: list[str] | None, must_pass: list[str], cost: float) -> None:
    """Whatever the names hold, and whether none were expected or nobody said."""
    sent = {"schema": 1, "expected": expected, "must_pass": must_pass, "cost": cost}
    question = parse_question(json.dumps(sent).encode())
    assert Question.from_bytes(question.to_bytes()) == question
    assert (question.expected, question.must_pass, question.cost) == (expected, must_pass, cost)


def test_a_rerun_says_little() -> None:
    """Of a question only what concerns the run is read, and nothing need be said."""
    assert parse_rerun_note(None).runner_s == 0.0
    note = parse_rerun_note(
        b'{"schema": 1, "timed_out": true, "runner_s": 2, "removed": ["t1"], "canary": {"name": "c"}}'
    )
    assert (note.timed_out, note.runner_s, note.canary is not None and note.canary.exit_code) == (True, 2.0, 1)
    with pytest.raises(BadInput, match="`runner_s`"):
        parse_rerun_note(b'{"runner_s": "2"}')
