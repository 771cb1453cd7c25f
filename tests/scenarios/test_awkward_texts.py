"""Texts and instants that one database would take and the other would not: both say the same, and neither crashes."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quarantine.errors import BadBuildPart, BadReport, NotFound
from quarantine.junit import Document
from quarantine.services import decisions, gating
from quarantine.services.build_part import parse_build_part
from quarantine.services.ingest import ingest
from quarantine.store import audit, projects
from quarantine.store.engine import reading
from quarantine.store.sql import storable
from tests.world import OWNER, World, build_part, junit, sender

NUL, HALF, ODD = "\x00", "\udc80", "\N{REPLACEMENT CHARACTER}"
NAMES = [f"a{NUL}.xml", f"a{HALF}.xml", f"{HALF * 600}", "ä\U0001f40d.xml"]


@pytest.mark.parametrize("field", ["build", "job", "runner", "command", "change", "stream", "environment_hash"])
def test_a_nul_in_the_build_part_is_refused(field: str) -> None:
    """PostgreSQL holds no NUL, so no field of the build part may have one, whatever the database."""
    text = json.dumps({"schema": 1, "build": "b"} | {field: f"a{NUL}b"})
    with pytest.raises(BadBuildPart, match=rf"`{field}`: .*nul"):
        parse_build_part(text)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_an_instant_that_utc_cannot_tell_is_refused(at: str) -> None:
    """The first and the last hours of the calendar have no instant in UTC."""
    with pytest.raises(BadBuildPart, match="outside the years"):
        parse_build_part(json.dumps({"schema": 1, "build": "b", "started_at": at}))


@pytest.mark.parametrize("name", NAMES)
def test_a_report_may_have_any_file_name(world: World, name: str) -> None:
    """A file name that is no UTF-8, or holds a NUL, is shown with a replacement, in receipts and in refusals."""
    receipt = ingest(world.app, world.project, sender(), build_part(1), [Document(name, junit({"t1": "P"}))])
    assert [reading.name for reading in receipt.readings] == [storable(name)]
    with pytest.raises(BadReport, match="could be read") as refused:
        ingest(world.app, world.project, sender(), build_part(2), [Document(name, b"no report")])
    assert str(refused.value).encode()
    assert storable(name)[:500] in [one["name"] for one in world.summary()["refused"]]


@pytest.mark.parametrize("name", [f"a{NUL}", f"a{HALF}::b", "t1%", "t_1", "\\t1"])
def test_looking_for_an_odd_name_finds_nothing(world: World, name: str) -> None:
    """A name that no test can have, or that means something to SQL, is simply not found."""
    world.send(1, {"t1": "P", "tx1": "P"})
    with pytest.raises(NotFound) as missing:
        world.explain(name)
    assert str(missing.value).encode()
    assert gating.version(world.app, name) is None
    with pytest.raises(NotFound):
        gating.take_snapshot(world.app, name)


def test_what_people_type_is_kept_as_far_as_it_can_be(world: World) -> None:
    """Labels, changes and whoever acts are stored with replacements where the text cannot be."""
    made: dict[str, Any] = {"scope": "report", "lane": "review", "lifetime": None}
    label, change = f"{HALF}ci{NUL}" + "x" * 200, f"PR{HALF}"
    decisions.create_token(world.app, world.project, label=label, change=change, bearer=OWNER, **made)
    with reading(world.app.engine) as connection:
        project_id = projects.by_slug(connection, world.project).id
        [row, *_] = audit.latest(connection, project_id)
    assert row["detail"]["label"] == f"{ODD}ci{ODD}" + "x" * 96


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_text_a_report_can_hold_is_stored(world: World, data: st.DataObject) -> None:
    """Whatever names and messages an XML document can hold, the test is found under its name on either database."""
    characters = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    name = data.draw(st.text(characters, min_size=1, max_size=300).filter(lambda text: text == text.strip()))
    said = data.draw(st.text(characters, max_size=3_000))
    receipt = world.send(f"build of {name}", {name: "F"}, said=said)
    assert receipt.counts["failed"] == 1
    found = world.explain(name)
    assert found["raw"]["name"] == name
    assert found["variants"][0]["disagreements"] == []
