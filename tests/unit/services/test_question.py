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


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (["a.py", "f", 0, 1], "`changed_lines.0.2`"),
        (["a.py", "f", 5, 4], "the first line, 5, should not come after the last, 4"),
        (["a.py", "f", 1, 10**9], "`changed_lines.0.3`"),
        (["a.py", "f", 1.5, 2], "`changed_lines.0.2`"),
        (["a.py", "f", True, 2], "`changed_lines.0.2`"),
        (["a.py", "f\u001b[2J", 1, 2], "`changed_lines.0.1`"),
        (["a\n.py", "f", 1, 2], "`changed_lines.0.0`"),
        (["a.py", "f" * 1001, 1, 2], "`changed_lines.0.1`"),
        (["", "f", 1, 2], "`changed_lines.0.0`"),
        (["a.py", "f", 1], "`changed_lines.0.3`"),
        ("a.py", "`changed_lines.0`"),
    ],
)
def test_lines_that_cannot_be(row: object, says: str) -> None:
    """Numbers out of range or order, and names that are more than a line of text, are named by their place."""
    with pytest.raises(BadInput) as refused:
        parse_question(json.dumps({"schema": 1, "changed_lines": [row]}).encode())
    assert says in str(refused.value)


def test_changed_lines_are_kept_and_bounded() -> None:
    """What is stored is what was told; a list without end is refused, and none at all is nobody's word."""
    question = parse_question(b'{"schema": 1, "changed_lines": [["a.py", "f", 1, 2], ["b.txt", null, 3, 3]]}')
    assert question.changed_lines == [("a.py", "f", 1, 2), ("b.txt", None, 3, 3)]
    assert Question.from_bytes(question.to_bytes()) == question
    assert parse_question(b'{"schema": 1}').changed_lines is None
    with pytest.raises(BadInput, match=r"`changed_lines`: .*20000"):
        parse_question(json.dumps({"schema": 1, "changed_lines": [["a.py", "f", 1, 2]] * 20_001}).encode())
