"""Where on trunk a quarantined test began to flake: the commits among which it did, with 99 % confidence."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Lane
from quarantine.policy.birth import assess_birth
from quarantine.policy.history import History
from quarantine.store import builds, heads, listings
from quarantine.store.projects import Project

COMMITS_SHOWN = 10


def birth_of(
    connection: Connection, project: Project, history: History, row: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return when a test began to flake, from its standing row; None without an onset on trunk in its present evidence.

    - `dated`: whether it began within what is known; `sentence` says why.
    - `after`: the last trunk commit that is older than the birth. None where there is no earlier one, or not dated.
    - `commits`: trunk's commits from there on up to that of the first onset, in order, `COMMITS_SHOWN` at most, and
      `left_out` how many more there are in between.
    """
    test, variant_hash = row["test"], row["variant_hash"]
    found = heads.of_test(connection, project.id, variant_hash, test, row["life"])
    onsets = [head for head in found if head.lane is Lane.TRUNK and head.is_confirmed and head.incident is None]
    if not onsets:
        return None
    first = int(onsets[0].build)
    runs = listings.trunk_runs(connection, project.id, variant_hash, 0)
    failed = builds.failed_trunk_trials(connection, project.id, variant_hash, test)
    earlier = [int(failure["build_seq"]) for failure in failed if failure["build_seq"] < first]
    before = runs[: bisect_left(runs, first)]
    clean = before[bisect_left(before, earlier[-1]) + 1 :] if earlier else before
    trials = max(0, int(history.trunk_trials[test]) - onsets[0].trunk_trials)
    found_out = assess_birth(len(onsets) - 1, trials, min(len(clean), onsets[0].trunk_trials - 1))
    told = {"dated": found_out.is_dated, "sentence": found_out.sentence, "after": None, "commits": [], "left_out": 0}
    if not found_out.is_dated:
        return told
    within = [*before[-found_out.reach :], first]
    known = before[: -found_out.reach][-1:]
    named = builds.get(connection, project.id, [*known, *within])
    commits = list(dict.fromkeys(named[seq]["commit"] for seq in within if seq in named and named[seq]["commit"]))
    return told | {
        "after": named[known[0]]["commit"] if known else None,
        "commits": commits[-COMMITS_SHOWN:],
        "left_out": max(0, len(commits) - COMMITS_SHOWN),
    }
