"""The estimate is on the safe side, and within plain bounds, for texts of several kinds."""

import json
import random
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.record import estimate_tokens

SEED = 20261201
PROSE = "The cart's total is rounded once, at the end, and the renderer shows what the ledger has. " * 20
CODE = Path(__file__).read_text(encoding="utf-8")
JAPANESE = "テストは失敗しました。期待値と実際の値が違います。" * 20
RUSSIAN = "Проверка не прошла: ожидалось двадцать, получено девятнадцать. " * 20


def drawn(alphabet: str, length: int, lines: int = 50) -> str:
    """Return lines of characters drawn from an alphabet, always the same."""
    draw = random.Random(SEED)  # noqa: S311 - no secret, the same text each time
    return "\n".join(["".join(draw.choices(alphabet, k=length)) for _ in range(lines)])


@pytest.mark.parametrize("text", [PROSE, CODE], ids=["prose", "code"])
def test_plain_text_costs_between_a_fifth_and_a_half_of_its_characters(text: str) -> None:
    """English and code take about four characters to a token; the estimate is above that, and not absurd."""
    assert len(text) / 5 < estimate_tokens(text) < len(text) / 1.5
    assert estimate_tokens(text) >= len(text.split())


@pytest.mark.parametrize("alphabet", ["0123456789abcdef", "0123456789", string.ascii_uppercase, string.ascii_lowercase])
def test_random_words_cost_at_least_one_token_for_two_characters(alphabet: str) -> None:
    """What no tokenizer has a word for is charged as such."""
    text = drawn(alphabet, 32)
    assert estimate_tokens(text) >= len(text) / 2


@pytest.mark.parametrize("text", [JAPANESE, RUSSIAN], ids=["japanese", "russian"])
def test_other_scripts_cost_at_least_two_tokens_for_three_characters(text: str) -> None:
    """Scripts that tokenizers know less well cost more than their length suggests."""
    assert len(text) * 2 / 3 <= estimate_tokens(text) <= len(text.encode())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("\n\n\n", 3), ("a b", 2), ("====", 2), ("()[]", 4), ("a 1", 3), ("nondeterministic", 7)],
)
def test_the_rule_is_the_one_documented(text: str, tokens: int) -> None:
    """One example for each sentence of the rule."""
    assert estimate_tokens(text) == tokens


@given(st.lists(st.text(max_size=40), max_size=6))
def test_the_estimate_is_additive_over_lines_and_never_above_the_bytes(texts: list[str]) -> None:
    """A text of lines costs what its lines and line feeds cost; a byte is never more than a token."""
    lines = [text.replace("\n", " ") for text in texts]
    joined = "\n".join(lines)
    assert estimate_tokens(joined) == sum(map(estimate_tokens, lines)) + max(len(lines) - 1, 0)
    assert estimate_tokens(joined) <= len(joined.encode("utf-8", "surrogatepass"))


@given(st.text(max_size=80), st.text(max_size=80))
def test_a_longer_text_never_costs_less(text: str, more: str) -> None:
    """What is put behind a line feed adds to the cost."""
    assert estimate_tokens(f"{text}\n{more}") > estimate_tokens(text)


def test_json_is_charged_for_its_marks() -> None:
    """Punctuation is dear: a token each."""
    text = json.dumps([{"id": number, "ok": True} for number in range(50)])
    assert estimate_tokens(text) > len(text) / 2.5
