"""Text, numbers and instants as pages show them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from starlette.requests import Request

from quarantine.domain.outcome import Mode, Status
from quarantine.shipped import resource
from quarantine.web import showing
from quarantine.web.rendering import Renderer
from quarantine.web.wording import move_name, standing_name, standing_note

NOW = "2026-02-08T22:00:00+00:00"


@given(st.text(alphabet=st.characters(), max_size=200), st.integers(2, 80))
def test_whatever_is_shown_can_be_seen_stored_and_bounded(text: str, limit: int) -> None:
    """No control, direction or widthless character is left, it can be encoded, and it keeps within its bound."""
    for told in (showing.shown(text, limit), showing.line(text, limit)):
        assert len(told) <= limit
        told.encode()
        assert all(character.isprintable() or character in "\t\n\N{NO-BREAK SPACE}" or ord(character) > 0x2FF
                   for character in told)  # fmt: skip
    assert "\n" not in showing.line(text, limit)


@given(st.text(alphabet="<>&\"'{}e-0123456789. %h", max_size=60))
def test_what_we_mark_up_ourselves_is_escaped_first(text: str) -> None:
    """A sentence and a name hold no element but those we put in, and read as they did."""
    for marked in (str(showing.prose(text)), str(showing.name(text))):
        bare = marked.replace('<span class="whole">', "").replace("</span>", "").replace("<wbr>", "")
        assert not set("<>\"'") & set(bare)


@given(st.text(alphabet="<>&\"'`ab", max_size=60))
def test_code_in_a_sentence_is_escaped_first(text: str) -> None:
    """What stands between backticks becomes code, and nothing else of the text becomes an element."""
    bare = str(showing.coded(text)).replace("<code>", "").replace("</code>", "")
    assert not set("<>\"'") & set(bare)
    assert showing.coded("Run `a <b>`, or `c`.") == "Run <code>a &lt;b&gt;</code>, or <code>c</code>."


def test_a_long_build_keeps_both_ends_and_its_whole_name() -> None:
    """Enough of either end to tell builds apart; the rest on pointing at it, a short name as it is."""
    name = "local-" + "0123456789abcdef" * 2
    short = "local-012345\N{HORIZONTAL ELLIPSIS}9abcdef"
    assert showing.build(name) == f'<bdi title="{name}">{short}</bdi>'
    assert showing.build("main-60 <b>") == "<bdi>main-60 &lt;b&gt;</bdi>"
    assert showing.build('"' * 30).count('"') == 2


def test_shortening_is_shown() -> None:
    """A text that is cut ends in an ellipsis, one that is not is left alone."""
    assert showing.shown("abc", 3) == "abc"
    assert showing.shown("abcd", 3) == "ab\N{HORIZONTAL ELLIPSIS}"
    assert showing.shown("\x1b[31m" * 100 + "red", 10).endswith("\N{HORIZONTAL ELLIPSIS}")


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ("a\u202eb", "a<U+202E>b"),
        ("a\u200bb", "a<U+200B>b"),
        ("a\ufeffb", "a<U+FEFF>b"),
        ("a\x00b\x07", "a\ufffdb\ufffd"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\U000e0041b", "a<U+E0041>b"),
        ("half \ud800", "half <U+D800>"),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
    ],
)
def test_what_cannot_be_seen_is_spelt_out(sent: str, seen: str) -> None:
    """Direction marks and characters without width are named; a joiner that a script needs stays."""
    assert showing.shown(sent) == seen


@pytest.mark.parametrize(
    ("since", "told"),
    [
        (NOW, "less than a minute"),
        ("2026-02-08T21:59:00+00:00", "1 minute"),
        ("2026-02-08T20:30:00+00:00", "1 hour"),
        ("2026-02-06T22:01:00+00:00", "47 hours"),
        ("2026-02-06T22:00:00+00:00", "2 days"),
        ("2022-02-08T22:00:00+00:00", "1,461 days"),
        ("2026-02-09T22:00:00+00:00", "less than a minute"),
    ],
)
def test_ages_are_told_in_the_unit_that_says_most(since: str, told: str) -> None:
    """Minutes, then hours up to two days, then days; a clock that runs ahead is no error."""
    assert showing.age(since, NOW) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 s"), (0.04, "0.04 s"), (3.25, "3.2 s"), (9.99, "10 s"), (42.4, "42 s"), (59.6, "1 min"),
        (61, "1 min 1 s"), (3_600, "1 h"), (3_661, "1 h 1 min"), (360_000, "100 h"), (1e9, "277,777 h 46 min"),
    ],
)  # fmt: skip
def test_lengths_of_time_are_told_in_at_most_two_units(seconds: float, told: str) -> None:
    """Digits of a second where it is short, no seconds where it is long."""
    assert showing.span(seconds).replace("\N{NO-BREAK SPACE}", " ") == told


@pytest.mark.parametrize(("value", "told"), [(0, "0.00"), (1_234.5, "1,234.50"), (0.5, "0.50"), (0.0123, "0.012")])
def test_amounts_have_the_digits_that_say_something(value: float, told: str) -> None:
    """Two decimals, and two digits of what is next to nothing."""
    assert showing.amount(value) == told


def test_a_text_of_several_lines_keeps_them_and_is_escaped() -> None:
    """A failure record longer than any other text is printed whole, up to its own bound."""
    templates = Renderer(resource("templates"))._templates
    text = "<b>\n" * 2_000 + "\u202e"
    assert templates.from_string("{{ x|verbatim }}").render(x=text) == "&lt;b&gt;\n" * 2_000 + "&lt;U+202E&gt;"
    assert len(showing.verbatim("x" * 50_000)) == 24_000


def test_instants_are_elements() -> None:
    """They read as dates and can be read by machines."""
    assert showing.moment(NOW) == f'<time datetime="{NOW}">8 Feb 2026, 22:00</time>'
    assert showing.day(NOW) == f'<time datetime="{NOW}">8 Feb 2026</time>'


def test_numbers_are_not_torn() -> None:
    """A number stays with its unit and its exponent on one line."""
    told = showing.prose("seen 1.3 % since 5.0 h; p = 3.3e-11 at most 6.5e-06")
    assert told == (
        "seen 1.3\N{NO-BREAK SPACE}% since 5.0\N{NO-BREAK SPACE}h; p = "
        '<span class="whole">3.3e-11</span> at most <span class="whole">6.5e-06</span>'
    )


def test_templates_escape_and_forget_nothing() -> None:
    """Every template of the product escapes whatever it prints, and a name that is not given is an error."""
    templates = Renderer(resource("templates"))._templates
    assert templates.from_string("{{ x }}|{{ x|e }}").render(x="<\u202e>") == "&lt;&lt;U+202E&gt;&gt;|&lt;\u202e&gt;"
    with pytest.raises(UndefinedError):
        templates.from_string("{{ y }}").render(x=1)
    for name in templates.list_templates(extensions=["html"]):
        source, _path, _is_current = templates.loader.get_source(templates, name)  # type: ignore[union-attr]  # it has one
        assert "|safe" not in source.replace(" ", "")
        assert "autoescape" not in source


def test_every_name_of_a_standing_is_in_the_conditional_while_observing() -> None:
    """Decisions are what would have been; being broken is no decision."""
    for status in (Status.QUARANTINED, Status.HELD):
        assert standing_name(status, Mode.OBSERVE).startswith("would have been ")
        assert "would" in standing_note(status, Mode.OBSERVE)
        assert move_name(Status.GATING, status, Mode.OBSERVE) == standing_name(status, Mode.OBSERVE)
        assert move_name(status, Status.GATING, Mode.OBSERVE).startswith("would ")
        assert "would" not in standing_name(status, Mode.ENFORCE) + standing_note(status, Mode.ENFORCE)
        assert "would" not in move_name(status, Status.GATING, Mode.ENFORCE)
    assert {standing_name(Status.BROKEN, mode) for mode in Mode} == {"broken"}
    assert {move_name(Status.BROKEN, Status.GATING, mode) for mode in Mode} == {"no longer broken"}


def test_a_page_is_kept_by_nobody() -> None:
    """It is of one moment and for one reader."""
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"x")], "scheme": "http",
                       "query_string": b""})  # fmt: skip
    page = Renderer(resource("templates")).page(request, "projects.html", projects=[], now=NOW)
    assert page.headers["cache-control"] == "no-store"
