"""The build part: what a client says about one execution of a suite, gathered from git, the tree and the CI system."""

import os
import socket
import sys
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from quarantine.client.environment import environment_of
from quarantine.client.errors import ClientConfigurationError, TreeError
from quarantine.client.git import head_commit, merge_base
from quarantine.client.manifest import changed_since, manifest_of_commit
from quarantine.client.owners_file import owners_file
from quarantine.client.parts import HASH_ALG
from quarantine.client.providers import provider_of, stated
from quarantine.client.tree import Tree, read_tree
from quarantine.client.uncommitted import uncommitted

__all__ = ["FIELDS", "build_part", "delta", "stray_files"]

SCHEMA = 1
FIELDS = (
    *("schema", "kind", "rerun_of", "build", "attempt", "job", "commit", "tree", "base_commit", "manifest", "changed"),
    *("hash_alg", "complete", "variant", "stream", "runner", "change", "started_at", "exit_code", "command"),
    *("environment_hash", "owners"),
)
DEFAULTS: dict[str, Any] = {
    "schema": SCHEMA,
    "kind": "run",
    "attempt": 1,
    "job": "",
    "complete": True,
    "stream": "",
    "command": "",
}
TRUNKS = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
"""Where the trunk is looked for when nothing names it."""
_SHOWN_FILES = 5
_NO_BASE = (
    "No commit shared with {} is in this clone, so nothing says what the change touched: every test counts as reached"
    " by it. Fetch the history (depth 0), or name the base."
)
_STRAYS = (
    "Files that are in no commit count as part of what was tested: {}. {}; else no rerun can be recognised as one of"
    " this tree."
)
_LEAVE_OUT = "If the run itself wrote them, leave them out, or take the tree's hash before the run"


def build_part(
    root: Path,
    *,
    options: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    python: str | None = None,
    base: str | None = None,
    repository: Path | None = None,
    leave_out: Iterable[Path] = (),
    with_manifest: bool = False,
    tree: Tree | None = None,
    stray_mend: str = _LEAVE_OUT,
) -> tuple[dict[str, Any], list[str]]:
    """Return the build part of a run in a folder, and remarks for the person who set the run up.

    Args:
        root: the folder the suite ran in; unless `tree` is given it is hashed now, with all that the run wrote there.
        options: fields that the caller states; they win over everything found. None for a field states nothing.
        environment: the environment variables; None takes this process's.
        python: the interpreter that ran the suite; its version becomes part of the variant. None takes this one for
            the environment hash only.
        base: a revision on the trunk; None takes what the CI system names, or the first of `TRUNKS`.
        repository: where git finds the commits, when the tree's own repository is not to be believed.
        leave_out: files and folders below the root that are no part of what was tested, such as the reports.
        with_manifest: also compute the id of the base's manifest, which parses all of it.
        tree: what was tested, as `read_tree` read it before the run; nothing may have changed in it since.
        stray_mend: what the caller's user can do about files that are in no commit, as a sentence without its end.

    Raises:
        ClientConfigurationError: an option is no field, or the interpreter cannot be asked.
        TreeError: the tree cannot be read.
    """
    given = _given(options or {})
    found = _from_ci(os.environ if environment is None else environment)
    named_base = found.pop("base", None)
    asked = environment_of(python or sys.executable)
    variant = {"os": asked.platform} | ({"python": _minor(asked.version)} if python else {})
    source = repository or root
    tree = tree or read_tree(root, leave_out=leave_out)
    compared, remarks = delta(tree, source, base or named_base, with_manifest=with_manifest)
    part: dict[str, Any] = DEFAULTS | found | {"tree": tree.hash, "environment_hash": asked.hash} | compared | given
    part["commit"] = given.get("commit") or head_commit(source) or found.get("commit")
    part["variant"] = variant | dict(given.get("variant", {}))
    if part["attempt"] > 1 and "kind" not in given:
        part |= {"kind": "rerun", "rerun_of": part.get("rerun_of") or part["build"]}
    owned, about_owners = _owners(source, part, os.environ if environment is None else environment)
    part |= owned
    remarks = [*remarks, *about_owners, *stray_files(tree, source, stray_mend)]
    return {name: part[name] for name in FIELDS if part.get(name) is not None}, remarks


def _owners(source: Path, part: Mapping[str, Any], variables: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the owners' file of the commit as a field, for a run that is none ordered because of another."""
    if part["kind"] != "run" or "owners" in part:
        return {}, []
    try:
        found = owners_file(source, part["commit"] or "HEAD", variables)
    except TreeError as error:
        return {}, [f"Nobody is told by owner: {error}"]
    return ({"owners": found._asdict()} if found else {}), []


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    unknown = sorted(options.keys() - set(FIELDS))
    if unknown:
        raise ClientConfigurationError(f"A build part has no field {', '.join(unknown)}.")
    return {name: value for name, value in options.items() if value is not None}


def _from_ci(variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields the CI system states, and `base`, the revision of trunk where it names one."""
    provider = provider_of(variables)
    found: dict[str, Any] = dict(stated(provider, variables)) if provider else {}
    if found.pop("shards", 1) > 1:
        found["complete"] = False
    found.setdefault("build", f"local-{uuid.uuid4().hex}")
    found.setdefault("runner", socket.gethostname())
    return found


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def delta(
    tree: Tree, source: Path, base: str | None = None, *, with_manifest: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that compare a tree with the trunk, and remarks: why there are none where there are none.

    Args:
        tree: what lies there now.
        source: where git finds the commits.
        base: a revision on the trunk; None takes the first of `TRUNKS` that is there.
        with_manifest: also compute the id of the base's manifest.
    """
    candidates = [base] if base else TRUNKS
    commit = next(filter(None, (merge_base(source, "HEAD", candidate) for candidate in candidates)), None)
    if commit is None:
        return {}, [_NO_BASE.format(" or ".join(candidates))]
    try:
        changed = changed_since(tree, commit, source)
        manifest = {"manifest": manifest_of_commit(source, commit).id} if with_manifest else {}
    except TreeError as error:
        return {}, [f"{error} Without the base's files every test counts as reached by the change."]
    parts = [list(part) for part in changed]
    return {"base_commit": commit, "changed": parts, "hash_alg": HASH_ALG, **manifest}, []


def stray_files(tree: Tree, source: Path, mend: str = _LEAVE_OUT) -> list[str]:
    """Say which files no commit knows: if the run wrote them, no other build has the same tree."""
    strays = uncommitted(tree, source).stray
    if not strays:
        return []
    shown = ", ".join(strays[:_SHOWN_FILES]) + (
        f" and {len(strays) - _SHOWN_FILES} more" * (len(strays) > _SHOWN_FILES)
    )
    return [_STRAYS.format(shown, mend)]
