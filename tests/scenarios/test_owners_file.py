"""Who owns a file is read from trunk, and from nobody else."""

from quarantine.domain.outcome import Lane
from quarantine.store import owners, projects
from quarantine.store.engine import reading
from tests.world import World

OURS = {"path": ".github/CODEOWNERS", "text": "* @acme/ledger\n"}
THEIRS = {"path": ".github/CODEOWNERS", "text": "* @nobody\n"}


def newest(world: World) -> owners.OwnersText | None:
    with reading(world.app.engine) as connection:
        return owners.newest(connection, projects.by_slug(connection, world.project).id)


def test_only_trunk_says_who_owns_what(world: World) -> None:
    """The file of a change, an agent's or a human's, and that of a rerun are left alone."""
    world.send("one", {"test_a": "P"}, owners=OURS)
    world.send("two", {"test_a": "P"}, owners=THEIRS, lane=Lane.REVIEW, change="7")
    world.send("three", {"test_a": "P"}, owners=THEIRS, lane=Lane.AGENT, change="t")
    world.rerun("one", {"test_a": "P"}, owners=THEIRS)
    found = newest(world)
    assert found is not None
    assert (found.path, found.text) == (OURS["path"], OURS["text"])


def test_the_newest_file_counts_and_a_build_without_one_changes_nothing(world: World) -> None:
    """A later trunk build replaces the file; one that brings none leaves it."""
    assert newest(world) is None
    world.send("one", {"test_a": "P"}, owners=OURS)
    world.send("two", {"test_a": "P"}, owners=OURS | {"text": "* @acme/mail\n"})
    world.send("three", {"test_a": "P"})
    world.send("four", {"test_a": "P"}, owners=OURS | {"text": "* @acme/mail\n"})
    found = newest(world)
    assert found is not None
    assert found.text == "* @acme/mail\n"
