"""What each CI system says about a build in its environment: a table, from which the documentation's own is made."""

import re
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["PROVIDERS", "Provider", "Source", "markdown_table", "named_base", "provider_of", "stated"]


class Source(NamedTuple):
    """One environment variable that may state a field.

    Attributes:
        variable: its name.
        pattern: what to take of its value: the first group, or all of it when there is none. A value that does not
            match in full states nothing.
        form: how the field's text is made of it; `{}` is what was taken.
        plus: added to the value of a field that is a number.
    """

    variable: str
    pattern: str = r".+"
    form: str = "{}"
    plus: int = 0


class Provider(NamedTuple):
    """One CI system.

    Attributes:
        name: as people write it.
        marker: the variable that is set, and neither empty nor `false`, on this system only.
        fields: per field of the build part, the variables that may state it, the first usable one first. `base` is no
            field: it names a revision that the trunk shares with the commit; `shards` says into how many jobs the
            suite is split.
    """

    name: str
    marker: str
    fields: Mapping[str, tuple[Source, ...]]


_NUMBER = r"[0-9]+"
_PULL_URL = r".*/([0-9]+)"

PROVIDERS: tuple[Provider, ...] = (
    Provider(
        "GitHub Actions",
        "GITHUB_ACTIONS",
        {
            "build": (Source("GITHUB_RUN_ID"),),
            "attempt": (Source("GITHUB_RUN_ATTEMPT", _NUMBER),),
            "job": (Source("GITHUB_JOB"),),
            "commit": (Source("GITHUB_SHA"),),
            "change": (Source("GITHUB_REF", r"refs/pull/([0-9]+)/.*"),),
            "base": (Source("GITHUB_BASE_REF", form="origin/{}"),),
            "runner": (Source("RUNNER_NAME"),),
        },
    ),
    Provider(
        "GitLab CI",
        "GITLAB_CI",
        {
            "build": (Source("CI_PIPELINE_ID"),),
            "job": (Source("CI_JOB_NAME_SLUG"), Source("CI_JOB_NAME")),
            "commit": (Source("CI_COMMIT_SHA"),),
            "change": (Source("CI_MERGE_REQUEST_IID"), Source("CI_EXTERNAL_PULL_REQUEST_IID")),
            "base": (Source("CI_MERGE_REQUEST_TARGET_BRANCH_SHA"), Source("CI_MERGE_REQUEST_DIFF_BASE_SHA")),
            "runner": (Source("CI_RUNNER_DESCRIPTION"), Source("CI_RUNNER_ID")),
            "started_at": (Source("CI_JOB_STARTED_AT"),),
            "shards": (Source("CI_NODE_TOTAL", _NUMBER),),
        },
    ),
    Provider(
        "Jenkins",
        "JENKINS_URL",
        {
            "build": (Source("BUILD_TAG"),),
            "job": (Source("STAGE_NAME"),),
            "commit": (Source("GIT_COMMIT"),),
            "change": (Source("CHANGE_ID"),),
            "base": (Source("CHANGE_TARGET", form="origin/{}"),),
            "runner": (Source("NODE_NAME"),),
        },
    ),
    Provider(
        "Buildkite",
        "BUILDKITE",
        {
            "build": (Source("BUILDKITE_BUILD_ID"),),
            "attempt": (Source("BUILDKITE_RETRY_COUNT", _NUMBER, plus=1),),
            "job": (Source("BUILDKITE_STEP_KEY"), Source("BUILDKITE_LABEL")),
            "commit": (Source("BUILDKITE_COMMIT"),),
            "change": (Source("BUILDKITE_PULL_REQUEST", _NUMBER),),
            "base": (Source("BUILDKITE_PULL_REQUEST_BASE_BRANCH", form="origin/{}"),),
            "runner": (Source("BUILDKITE_AGENT_NAME"),),
            "shards": (Source("BUILDKITE_PARALLEL_JOB_COUNT", _NUMBER),),
        },
    ),
    Provider(
        "CircleCI",
        "CIRCLECI",
        {
            "build": (Source("CIRCLE_PIPELINE_ID"), Source("CIRCLE_WORKFLOW_ID")),
            "job": (Source("CIRCLE_JOB"),),
            "commit": (Source("CIRCLE_SHA1"),),
            "change": (Source("CIRCLE_PR_NUMBER", _NUMBER), Source("CIRCLE_PULL_REQUEST", _PULL_URL)),
            "shards": (Source("CIRCLE_NODE_TOTAL", _NUMBER),),
        },
    ),
)

_ORDER = ("build", "attempt", "job", "commit", "change", "base", "runner", "started_at", "shards")
_NUMBERS = frozenset({"attempt", "shards"})


def provider_of(environment: Mapping[str, str]) -> Provider | None:
    """Return the CI system whose marker is set; None on a machine of one's own."""
    for provider in PROVIDERS:
        if environment.get(provider.marker, "").lower() not in ("", "false", "0"):
            return provider
    return None


def stated(provider: Provider, environment: Mapping[str, str]) -> dict[str, str | int]:
    """Return what the environment states about the build, by field; what it does not state is left out."""
    found = {field: _first(sources, environment) for field, sources in provider.fields.items()}
    return {
        field: int(value[0]) + value[1].plus if field in _NUMBERS else value[1].form.format(value[0])
        for field, value in found.items()
        if value is not None
    }


def named_base(environment: Mapping[str, str]) -> str | None:
    """Return the revision of trunk that a CI system names for a change; None where it names none."""
    provider = provider_of(environment)
    base = stated(provider, environment).get("base") if provider else None
    return None if base is None else str(base)


def _first(sources: tuple[Source, ...], environment: Mapping[str, str]) -> tuple[str, Source] | None:
    for source in sources:
        match = re.fullmatch(source.pattern, environment.get(source.variable, "").strip())
        if match:
            return match[match.re.groups and 1], source
    return None


def markdown_table() -> str:
    """Return the table of the documentation: a row per field, a column per CI system."""
    rows = [
        ["field", *(provider.name for provider in PROVIDERS)],
        ["---"] * (len(PROVIDERS) + 1),
        ["*recognised by*", *(f"`{provider.marker}`" for provider in PROVIDERS)],
        *([f"`{field}`", *(_cell(provider.fields.get(field, ())) for provider in PROVIDERS)] for field in _ORDER),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(sources: tuple[Source, ...]) -> str:
    return ", else ".join(
        (f"`{source.form.format(source.variable)}`") + (f" + {source.plus}" if source.plus else "")
        for source in sources
    )
