"""What the documentation says is there, and what is there is in the documentation."""

import json
import re
from pathlib import Path

import pytest

from quarantine.cli.group import VERBS
from quarantine.config import Settings, SpoolFolder
from quarantine.policy.criteria import Policy
from quarantine.services import question
from quarantine.services.build_part import BuildPart, json_schema
from quarantine.web.deeds import DEEDS
from tests.benchmarks.figures import LIMITS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])


ANSWER = (
    *("verdict", "final", "sentence", "suspect", "causes", "tests", "tests_left_out", "gating", "not_shown", "record"),
    "incident",
    *("wanted", "key", "evidence", "receipt"),
)


def page(name: str) -> str:
    """Return the text of a page of the documentation."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_build_parts_schema_is_the_one_that_is_enforced() -> None:
    """docs/build-part.v1.schema.json is what the server validates by; write it anew when the model changes."""
    assert json.loads(page("docs/build-part.v1.schema.json")) == json.loads(json_schema())


def test_the_questions_schema_is_the_one_that_is_enforced() -> None:
    """docs/question.v1.schema.json is what the server validates by; write it anew when the model changes."""
    assert json.loads(page("docs/question.v1.schema.json")) == json.loads(question.json_schema())


def test_every_field_of_the_question_and_of_the_answer_is_explained() -> None:
    """docs/http.md has a row for each field of the question, and names each field of the answer."""
    section = page("docs/http.md").split("## Asking for a verdict")[1].split("\n## ")[0]
    asked, answered = section.split("| field of the answer |")
    rows = re.findall(r"^\| (`.*?) \|", asked, re.MULTILINE)
    fields = {field.alias or name for name, field in question.Question.model_fields.items()}
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == fields - {"schema"}
    assert [name for name in ANSWER if f"`{name}`" not in answered] == []


def test_every_field_of_the_build_part_is_explained() -> None:
    """The page has a row for each field, and for nothing else."""
    table = page("docs/build-part.md").split("## Where each field comes from")[1].split("<!-- providers")[0]
    rows = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert rows == {field.alias or name for name, field in BuildPart.model_fields.items()}


def test_every_setting_and_every_knob_is_explained_with_its_default() -> None:
    """docs/configuration.md has a row for each, and no row for what is not there."""
    text = page("docs/configuration.md")
    rows = set(re.findall(r"^\| `([a-z_0-9]+)` \|", text, re.MULTILINE))
    knobs = set(Policy().to_json())
    assert rows == set(Settings.model_fields) | knobs
    assert all(f"`{name}`" in text for name in SpoolFolder.model_fields)


def test_every_knobs_default_is_the_one_documented() -> None:
    """A default that changes changes in the page too."""
    text = page("docs/configuration.md")
    for name, value in Policy().to_json().items():
        [shown] = re.findall(rf"^\| `{name}` \| ([^|]+) \|", text, re.MULTILINE)
        if isinstance(value, list):
            assert shown == (", ".join(f"{item:g}" for item in value) or "none"), name
        else:
            numerator, _, denominator = shown.partition("/")
            assert float(numerator) / float(denominator or 1) == pytest.approx(value), name


def test_every_verb_is_in_the_readme() -> None:
    """A verb nobody reads about is a verb nobody uses."""
    text = page("README.md")
    assert [verb for verb in VERBS if f"quarantine {verb}" not in text] == []


def test_every_route_is_documented() -> None:
    """docs/http.md names every route of the API."""
    text = page("docs/http.md")
    sources = [page(f"quarantine/web/{name}.py") for name in ("api", "reach", "verdicts", "impacted")]
    routes = {route for source in sources for route in re.findall(r'Route\(f"\{at\}/([^"]+)"', source)}
    shown = [re.sub(r"\{\{(\w+)(:name)?\}\}", r"{\1}", route).replace("{manifest}", "{id}") for route in routes]
    assert shown
    assert [route for route in shown if route not in text] == []


def test_every_form_of_a_tests_page_is_documented() -> None:
    """docs/http.md names each that a link can open."""
    section = page("docs/http.md").split("### Deciding on the pages")[1].split("\n## ")[0]
    assert [name for name in DEEDS if f"`{name}`" not in section] == []


def test_the_readme_has_exactly_two_set_up_commands() -> None:
    """One runs the main job with something to look at, one runs the tests; each is one line."""
    section = page("README.md").split("## Set up")[1].split("\n## ")[0]
    commands = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    assert commands == ["make demo", "make test"]


def test_ci_runs_the_readmes_test_command() -> None:
    """What CI calls green is what a newcomer calls green."""
    assert "\nmake test\n" in page(".ci/run")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    """A relative link names a file that is there."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_figures_documented_are_the_figures_taken() -> None:
    """docs/benchmarks.md has a row for each figure of `make bench`, with its limit."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| [^|]+ \| ([0-9.]+)", page("docs/benchmarks.md"), re.MULTILINE)
    assert {name: float(limit) for name, limit in rows} == LIMITS
