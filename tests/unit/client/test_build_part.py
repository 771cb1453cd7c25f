"""The build part: what each CI system states, what is found by looking, and what the caller overrules."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quarantine.client.build_part import FIELDS, build_part
from quarantine.client.environment import environment_of
from quarantine.client.errors import ClientConfigurationError
from quarantine.client.providers import PROVIDERS, markdown_table, provider_of, stated
from quarantine.client.tree import read_tree
from quarantine.services.build_part import BuildPart, parse_build_part

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_RUN_ID": "123",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_JOB": "test",
    "GITHUB_SHA": "a" * 40,
    "GITHUB_REF": "refs/pull/7/merge",
    "GITHUB_BASE_REF": "main",
    "RUNNER_NAME": "runner-1",
}


def run_git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A branch of one commit on top of a trunk of one commit."""
    root = tmp_path / "project"
    root.mkdir()
    run_git(root, "init", "-q", "-b", "main")
    for name in ("trunk", "branch"):
        (root / "shop.py").write_text(f"def price():\n    return '{name}'\n")
        run_git(root, "add", "-A")
        run_git(root, "commit", "-qm", name)
        if name == "trunk":
            run_git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    return root


def made(root: Path, **arguments: Any) -> dict[str, Any]:
    return build_part(root, **{"environment": {}, **arguments})[0]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (
            GITHUB,
            {
                "build": "123",
                "attempt": 1,
                "job": "test",
                "commit": "a" * 40,
                "change": "7",
                "base": "origin/main",
                "runner": "runner-1",
            },
        ),
        ({"GITHUB_ACTIONS": "true", "GITHUB_REF": "refs/heads/main", "GITHUB_BASE_REF": ""}, {}),
        (
            {
                "GITLAB_CI": "true",
                "CI_PIPELINE_ID": "9",
                "CI_JOB_NAME": "unit tests",
                "CI_MERGE_REQUEST_IID": "4",
                "CI_MERGE_REQUEST_DIFF_BASE_SHA": "b" * 40,
                "CI_JOB_STARTED_AT": "2026-11-30T20:05:53Z",
                "CI_NODE_TOTAL": "4",
            },
            {
                "build": "9",
                "job": "unit tests",
                "change": "4",
                "base": "b" * 40,
                "started_at": "2026-11-30T20:05:53Z",
                "shards": 4,
            },
        ),
        (
            {"JENKINS_URL": "http://x", "BUILD_TAG": "jenkins-a-1", "CHANGE_ID": "5", "CHANGE_TARGET": "main"},
            {"build": "jenkins-a-1", "change": "5", "base": "origin/main"},
        ),
        (
            {
                "BUILDKITE": "true",
                "BUILDKITE_BUILD_ID": "u",
                "BUILDKITE_RETRY_COUNT": "1",
                "BUILDKITE_LABEL": "Tests",
                "BUILDKITE_PULL_REQUEST": "false",
            },
            {"build": "u", "attempt": 2, "job": "Tests"},
        ),
        (
            {
                "CIRCLECI": "true",
                "CIRCLE_PIPELINE_ID": "p",
                "CIRCLE_WORKFLOW_ID": "w",
                "CIRCLE_PULL_REQUEST": "https://example.org/a/b/pull/12",
            },
            {"build": "p", "change": "12"},
        ),
    ],
)
def test_what_each_system_states(environment: dict[str, str], expected: dict[str, Any]) -> None:
    """Each CI system's variables become the fields they stand for; what is not usable states nothing."""
    provider = provider_of(environment)
    assert provider is not None
    assert stated(provider, environment) == expected


def test_no_system() -> None:
    """Without a marker, or with one that says no, there is no CI system."""
    assert provider_of({}) is None
    assert provider_of({"GITLAB_CI": "false", "BUILDKITE": ""}) is None


def test_the_table_in_the_documentation_is_the_one_in_use() -> None:
    """The documentation holds exactly the table that the code goes by."""
    page = (Path(__file__).parents[3] / "docs" / "build-part.md").read_text()
    before, _, rest = page.partition("markdown_table -->\n")
    table, _, after = rest.partition("<!-- /providers -->")
    assert before
    assert after
    assert table == markdown_table()
    assert all(provider.name in table for provider in PROVIDERS)


def test_every_field_is_documented_and_known_to_the_server() -> None:
    """The client's fields are the server's, and each is explained on the page."""
    page = (Path(__file__).parents[3] / "docs" / "build-part.md").read_text()
    assert {field.alias or name for name, field in BuildPart.model_fields.items()} == set(FIELDS)
    assert [name for name in FIELDS if f"`{name}`" not in page] == []


def test_the_server_takes_it(project: Path) -> None:
    """A whole build part passes the server's own reading, from a pull request to its delta."""
    part, remarks = build_part(
        project,
        environment=GITHUB,
        python=sys.executable,
        options={"variant": {"browser": "firefox"}, "exit_code": 1, "command": "pytest"},
        with_manifest=True,
    )
    read = parse_build_part(json.dumps(part))
    assert read.commit == run_git(project, "rev-parse", "HEAD")
    assert read.base_commit == run_git(project, "rev-parse", "origin/main")
    assert read.tree == read_tree(project).hash
    assert read.changed is not None
    assert [(path, kind) for path, kind, _ in read.changed] == [("shop.py", "body")]
    assert read.variant["browser"] == "firefox"
    assert read.variant["python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert remarks == []


def test_a_file_that_is_gone_has_no_hash(project: Path) -> None:
    """A part that the change removed is named with null, and the server takes that."""
    (project / "shop.py").unlink()
    part = made(project)
    assert part["changed"] == [["shop.py", "body", None], ["shop.py", "module", None]]
    assert parse_build_part(json.dumps(part)).changed is not None


def test_on_trunk_nothing_differs(project: Path) -> None:
    """On the trunk's own commit the base is that commit and nothing differs."""
    run_git(project, "checkout", "-q", "origin/main")
    part = made(project)
    assert part["base_commit"] == part["commit"]
    assert part["changed"] == []


def test_a_clone_without_the_base(project: Path) -> None:
    """Without the base's commit nothing is claimed about the change, and a remark says how to get it."""
    part, remarks = build_part(project, environment={}, base="origin/release")
    assert "changed" not in part
    assert "base_commit" not in part
    assert "origin/release" in remarks[0]
    assert "depth 0" in remarks[0]


def test_outside_git(tmp_path: Path) -> None:
    """Outside a repository the tree and the environment are all there is."""
    (tmp_path / "a.py").write_text("")
    part = made(tmp_path)
    assert part["tree"] == read_tree(tmp_path).hash
    assert "commit" not in part
    assert part["build"].startswith("local-")
    assert made(tmp_path)["build"] != part["build"]


def test_a_second_attempt_is_a_rerun(project: Path) -> None:
    """A later attempt of a CI job is a rerun of the same build, unless the caller says otherwise."""
    again = made(project, environment={**GITHUB, "GITHUB_RUN_ATTEMPT": "2"})
    assert (again["kind"], again["rerun_of"], again["attempt"]) == ("rerun", "123", 2)
    stated_run = made(project, environment={**GITHUB, "GITHUB_RUN_ATTEMPT": "2"}, options={"kind": "run"})
    assert "rerun_of" not in stated_run


def test_a_split_suite_is_not_complete(project: Path) -> None:
    """One job of several holds a part of the suite, unless the caller says otherwise."""
    environment = {"CIRCLECI": "true", "CIRCLE_NODE_TOTAL": "3"}
    assert made(project, environment=environment)["complete"] is False
    assert made(project, environment=environment, options={"complete": True})["complete"] is True
    assert made(project)["complete"] is True


def test_options_win(project: Path) -> None:
    """What the caller states wins over everything found; None states nothing."""
    part = made(
        project, environment=GITHUB, options={"build": "mine", "tree": "c" * 64, "job": None, "commit": "d" * 40}
    )
    assert (part["build"], part["tree"], part["job"], part["commit"]) == ("mine", "c" * 64, "test", "d" * 40)


def test_an_option_that_is_no_field(project: Path) -> None:
    """A misspelt option is refused, not dropped."""
    with pytest.raises(ClientConfigurationError, match="exitcode"):
        made(project, options={"exitcode": 1})


def test_files_of_no_commit_are_named(project: Path) -> None:
    """Files that the run may have written are named; those left out are not, and do not count."""
    before = made(project)["tree"]
    (project / "report.xml").write_text("<testsuite/>")
    part, remarks = build_part(project, environment={})
    assert part["tree"] != before
    assert "report.xml" in remarks[0]
    part, remarks = build_part(project, environment={}, leave_out=[project / "report.xml"])
    assert part["tree"] == before
    assert remarks == []


def test_the_environment_is_asked_of_the_interpreter(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment lists what is installed, and a module in the tree cannot answer in its place."""
    (project / "platform.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(project)
    asked = environment_of(sys.executable)
    assert any(name.startswith("pytest==") for name in asked.distributions)
    assert asked.hash == environment_of().hash
    assert asked.hash != asked._replace(distributions=asked.distributions[1:]).hash


def test_an_interpreter_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path to an interpreter counts from the present folder."""
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    assert environment_of("./python").version == environment_of().version


def test_an_interpreter_that_cannot_be_asked() -> None:
    """An interpreter that is not there is an error that names it."""
    with pytest.raises(ClientConfigurationError, match="no-such-python"):
        environment_of("no-such-python")


def test_the_commits_owners_file_comes_along(project: Path) -> None:
    """As it was committed, not as it lies in the folder; a rerun brings none."""
    assert "owners" not in made(project)
    (project / "CODEOWNERS").write_text("* @acme/shop\n")
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "owners")
    (project / "CODEOWNERS").write_text("* @mallory\n")
    found = made(project)["owners"]
    assert found == {"path": "CODEOWNERS", "text": "* @acme/shop\n", "dialect": "", "folder": ""}
    assert parse_build_part(json.dumps(made(project))).owners is not None
    assert "owners" not in made(project, options={"kind": "rerun", "rerun_of": "b"})


def test_an_owners_file_that_no_host_reads_is_remarked_and_stops_nothing(project: Path) -> None:
    """The upload goes on without it."""
    (project / "CODEOWNERS").write_text("# x\n" * 1_000_000)
    run_git(project, "add", "-A")
    run_git(project, "commit", "-qm", "owners")
    part, remarks = build_part(project, environment={})
    assert "owners" not in part
    assert any("Nobody is told by owner" in remark for remark in remarks)
