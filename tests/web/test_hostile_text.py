"""What a report says is text and nothing else, whatever it says."""

import re
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest

from quarantine.errors import BadReport
from tests.web.site import Page, Site
from tests.world import PROJECT

HOME = f"/projects/{PROJECT}"
NAMES = {
    "script": "<script>alert(1)</script>",
    "attribute": '"><img src=x onerror=alert(1)>',
    "single": "' onmouseover='alert(1)",
    "template": "{{7*7}}{% raw %}${7*7}",
    "address": "javascript:alert(1)",
    "entity": "&lt;script&gt;&#x3c;b&#62;",
    "comment": "--><!--<svg onload=alert(1)>",
    "override": "evil\u202egnp.exe",
    "isolate": "a\u2066b\u2069c",
    "width": "look\u200balike\ufeff",
    "tags": "tag\U000e0041ged",
    "arabic": "تجربة_الاختبار",
    "null": "nul\ufffdl",
    "long": "x" * 100_000,
    "path": "../../../../etc/passwd?a=b#c",
    "percent": "100%25%0d%0aSet-Cookie:a=b",
}
ALLOWED = set(
    re.findall(
        r"\w+",
        "html head meta title link body header nav main footer section div h1 h2 h3 ul ol li dl dt dd p pre a b bdi "
        "span strong code wbr abbr time table thead tbody tr th td details summary figure figcaption "
        "form label input button select option svg rect line circle text",
    )
)
LISTS = (
    "quarantined",
    "quarantined?cause=%3Cscript%3E&owner=%22%3E&variant=%E2%80%AE",
    "builds",
    "reports",
    "incidents",
)
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


def play(site: Site, name: str) -> str:
    """Let a test of this name fail and pass, with hostile words everywhere else too; return its id."""
    said = f"{name[:300]} <script>alert(2)</script> \u202e \"'> "
    fields: dict[str, Any] = {
        "job": f"<b>{name[:90]}",
        "runner": f"{name[:90]}\u202e",
        "variant": {f"k{name[:20]}": f"v{name[:99]}"},
    }
    suite = {name: "P", "other": "P"}
    site.world.send(f"one {name[:200]}", suite, **fields)
    site.world.wait(hours=7)
    site.world.send(f"two {name[:200]}", suite | {name: "F"}, said=said, **fields)
    site.world.rerun(f"two {name[:200]}", suite, **fields)
    with suppress(BadReport):
        site.world.send(f"three {name[:200]}", b"<nothing/>", **fields)
    site.world.ask(
        f"four {name[:200]}", suite | {name: "F"}, said=said, change=name[:200], exit_code=1,
        question={"attempt": 1, "must_pass": [name[:4_000]]}, **(fields | {"command": f"run {name[:300]}"})
    )  # fmt: skip
    return str(site.world.explain(name)["test"])


@pytest.mark.parametrize("kind", NAMES)
def test_names_and_messages_stay_text(site: Site, kind: str) -> None:
    """No element, attribute or address comes from a report; what cannot be seen is spelt out; long texts are cut."""
    test = play(site, NAMES[kind])
    ticket = f"{HOME}/attempts?ticket={quote(NAMES[kind][:200], safe='')}"
    client = site.open(browser=True)
    failed = site.world.explain(NAMES[kind])["variants"][0]["failures"][-1]["build_seq"]
    said_on = (f"{HOME}/tests/{test}", f"{HOME}/verdicts/1", f"{HOME}/builds/{failed}")
    others = ("/", HOME, f"{HOME}/attempts", ticket, *(f"{HOME}/{name}" for name in LISTS))
    pages = {path: Page.of(client.get(path)) for path in (*said_on, *others)}
    for page in pages.values():
        assert page.tags() <= ALLOWED
        for tag, attributes in page.elements:
            assert not any(name.startswith("on") or name in ("style", "src", "srcdoc") for name in attributes), tag
        assert not UNSEEN.search(page.html)
        assert len(page.html) < 60_000
        for address in page.attributes("href"):
            assert re.fullmatch(r"#?[\w./:?=&%-]*", address), address
    assert all("alert(2)" in pages[path].text for path in said_on)


def test_what_is_shown_is_what_was_sent(site: Site) -> None:
    """Markup in a name is read as it was written, and direction marks are named."""
    page = site.page(f"{HOME}/tests/{play(site, NAMES['script'])}")
    assert "<script>alert(1)</script>" in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.html.replace("<wbr>", "")
    page = site.page(f"{HOME}/tests/{play(site, NAMES['override'])}")
    assert "evil<U+202E>gnp.exe" in page.text
    page = site.page(f"{HOME}/tests/{play(site, NAMES['template'])}")
    assert "{{7*7}}{% raw %}${7*7}" in page.text


def test_a_name_in_another_direction_does_not_turn_the_line_around(site: Site) -> None:
    """Names of right-to-left scripts stand in elements that keep their direction to themselves."""
    page = site.page(f"{HOME}/tests/{play(site, NAMES['arabic'])}")
    assert f'<bdi class="name">{NAMES["arabic"]}</bdi>' in page.html


def test_hostile_addresses_get_a_plain_answer(site: Site) -> None:
    """What is asked for is shown on the page that says it is not there, as text."""
    client = site.open(browser=True)
    for name in ("<script>alert(1)</script>", "%E2%80%AEabc", "x" * 5_000, "a%00b", "%ff%fe", "{{7*7}}"):
        for path in (f"/projects/{name}", f"{HOME}/tests/{name}", f"{HOME}/verdicts/{name}", f"{HOME}/builds/{name}"):
            page = Page.of(client.get(path), status=404)
            assert page.tags() <= ALLOWED
            assert not UNSEEN.search(page.html)
            assert len(page.html) < 5_000
            assert "49" not in page.text


def test_of_many_heads_the_newest_are_shown_and_the_others_counted(site: Site) -> None:
    """A test that has flaked for months has a page of bounded length."""
    for number in range(86):
        site.world.send(f"f{number}", {"t": "FP" if number % 2 else "P"})
        site.world.wait(hours=1)
    page = site.page(f"{HOME}/tests/t")
    assert "Heads 43" in page.text
    assert "The newest 40; 3 earlier ones are in the JSON." in page.text
