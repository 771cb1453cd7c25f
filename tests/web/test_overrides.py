"""Templates of one's own: they stand in for ours, may extend ours, and never break a page."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from quarantine.domain.outcome import Lane
from quarantine.errors import BadConfiguration
from quarantine.web.application import create_web
from tests.web.site import ADDRESS, BROWSER, HERE, Page
from tests.world import PROJECT, World

Visit = Callable[[str], Page]
HOME, POLICY = f"/projects/{PROJECT}", f"/projects/{PROJECT}/policy"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for templates."""
    made = tmp_path / "own"
    made.mkdir()
    return made


@pytest.fixture
def visit(world: World, folder: Path) -> Visit:
    """Return how to see a page; the server starts with the first one, so that files can be put there before."""
    world.send("first", {"t1": "P"})

    @cache
    def browser() -> TestClient:
        web = create_web(world.app, open_lane=Lane.TRUNK, templates=folder)
        return TestClient(web, base_url=ADDRESS, client=HERE, headers=BROWSER)

    return lambda path: Page.of(browser().get(path))


def test_a_template_stands_in_for_ours(visit: Visit, folder: Path) -> None:
    """With escaping on, and pages that have none of their own as they were."""
    (folder / "project.html").write_text("<p>{{ project }} by {{ '<b>us</b>' }}</p>")
    assert visit(HOME).text == f"{PROJECT} by <b>us</b>"
    assert "The policy in words" in visit(POLICY).text
    assert "not used" not in visit(POLICY).text


def test_a_template_may_extend_ours(visit: Visit, folder: Path) -> None:
    """One block changed, the rest ours."""
    (folder / "project.html").write_text(
        '{% extends "ours/project.html" %}{% block footer %}<p>Ask the platform team.</p>{% endblock %}'
    )
    page = visit(HOME)
    assert page.text.endswith("Ask the platform team.")
    assert "Size of the quarantine" in page.text or "would have been the size" in page.text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("project.html", "<p>\n{% if %}</p>", "project.html line 2: Expected an expression"),
        ("project.html", "<p>\n\n{{ nobody_gives_this }}</p>", "project.html line 3: 'nobody_gives_this' is undefined"),
        ("project.html", "{{ 1 // 0 }}", "project.html line 1:"),
        ("project.html", '{% extends "project.html" %}', "project.html"),
        ("project.html", '{% include "gone.html" %}', "project.html"),
        ("parts.html", "{% macro broken( %}", "parts.html line 1:"),
        ("base.html", "{% block main %}", "base.html line 1: Unexpected end of template"),
        ("projekt.html", "<p></p>", "projekt.html No page has a template of this name."),
    ],
)
def test_a_template_that_fails_is_named_and_ours_is_shown(
    visit: Visit, folder: Path, name: str, text: str, said: str
) -> None:
    """When it is read or when it is rendered, in the page's own template or in one that it leans on."""
    (folder / name).write_text(text)
    page = visit(HOME)
    assert "1 test" in page.text or "of 1" in page.text
    policy = visit(POLICY).text
    assert "Templates of your own that are not used" in policy
    assert said in policy


def test_bytes_that_are_no_text_are_named(visit: Visit, folder: Path) -> None:
    """A template in another encoding, and names of ours that are no page."""
    (folder / "project.html").write_bytes(b"\xff\xfe\x00")
    assert PROJECT in visit(HOME).text
    assert "project.html" in visit(POLICY).text


def test_no_such_folder_is_refused_at_the_start(world: World, tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(BadConfiguration, match="nowhere"):
        create_web(world.app, templates=tmp_path / "nowhere")
