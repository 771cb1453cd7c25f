"""The ledger's history and the builds that follow from it, without running any of them."""

from itertools import pairwise
from pathlib import Path

import pytest

from quarantine.client.git import git
from quarantine.demo import ledger, suite
from quarantine.demo.timeline import PlannedBuild, timeline
from quarantine.domain.outcome import Lane
from quarantine.errors import BadConfiguration
from quarantine.policy.criteria import Policy


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the ledger's repository, made once."""
    folder = tmp_path_factory.mktemp("demo") / "ledger"
    ledger.create(folder)
    return folder


@pytest.fixture(scope="module")
def planned(repository: Path) -> list[PlannedBuild]:
    """Return the builds to come."""
    return timeline(repository)


def test_the_history_is_the_same_wherever_it_is_made(repository: Path, tmp_path: Path) -> None:
    """Authors, dates, messages and edits come from the mail files, so two repositories have the same commits."""
    ledger.create(tmp_path / "again")
    assert ledger.commits(tmp_path / "again", "--all") == ledger.commits(repository, "--all")


def test_the_trunk_is_checked_out_clean(repository: Path) -> None:
    """Whoever keeps the repository finds the newest ledger in it, with nothing uncommitted."""
    assert git(repository, "status", "--porcelain") == b""
    assert b"def discounted_total" in git(repository, "show", "HEAD:ledger/pricing.py")
    assert git(repository, "symbolic-ref", "HEAD").decode().strip() == "refs/heads/main"


def test_every_commit_of_trunk_and_changes_is_built_once(repository: Path, planned: list[PlannedBuild]) -> None:
    """No commit is left out and none is built twice."""
    built = [build.commit.hash for build in planned]
    assert sorted(built) == sorted(commit.hash for commit in ledger.commits(repository, "--all"))
    assert len({build.name for build in planned}) == len(planned)


def test_builds_arrive_in_order_and_trunk_builds_can_each_hold_an_onset(planned: list[PlannedBuild]) -> None:
    """At most one onset counts in six hours: trunk builds lie at least that far apart, over more than three days."""
    assert all(one.arrives_at <= two.arrives_at for one, two in pairwise(planned))
    trunk = [build.arrives_at for build in planned if build.lane is Lane.TRUNK]
    assert all(two - one >= Policy().onset_spacing for one, two in pairwise(trunk))
    assert trunk[-1] - trunk[0] > 10 * Policy().entry_span


def test_changes_branch_off_the_trunk_of_their_day(repository: Path, planned: list[PlannedBuild]) -> None:
    """A change holds every trunk commit before it and none after it."""
    trunk = [build.commit for build in planned if build.lane is Lane.TRUNK]
    for build in planned:
        if build.lane is not Lane.TRUNK:
            base = git(repository, "merge-base", build.commit.hash, "main").decode().strip()
            first = next(other for other in planned if other.change == build.change)
            assert base == [commit.hash for commit in trunk if commit.at < first.commit.at][-1]


def test_every_tenth_trunk_build_records_contexts(planned: list[PlannedBuild]) -> None:
    """Contexts make a run slower, and a map serves until the next one."""
    trunk = [build for build in planned if build.lane is Lane.TRUNK]
    assert [build.name for build in planned if build.with_contexts] == [build.name for build in trunk[9::10]]


def test_a_clone_is_gone_afterwards(repository: Path, planned: list[PlannedBuild], tmp_path: Path) -> None:
    """A run has a tree of its own, and the repository keeps no trace of it."""
    with ledger.clone(repository, planned[0].commit.hash, tmp_path / "clone") as tree:
        assert (tree / "tests" / "test_render.py").is_file()
        assert not (tree / "ledger" / "delivery.py").exists()
    assert not (tmp_path / "clone").exists()


def test_the_demo_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pytest it is one sentence before anything is made, not a traceback after it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(BadConfiguration, match="needs pytest and pytest_cov"):
        suite.require_pytest()
