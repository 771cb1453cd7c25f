"""What the green does not show: changed parts that no passing gating test reached, and what was not run at all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quarantine.domain.outcome import Lane
from quarantine.policy.wording import listed, named, plural
from quarantine.services.facts import Case, View
from quarantine.services.run_facts import Gating
from quarantine.services.unreached import UnreachedFile, unreached_of
from quarantine.store import builds, histories, roster
from quarantine.store.outcomes import Mask

_NAMED = 3
_LISTED_FILES = 200
_OWN_OPTION = frozenset({"job", "python"})
"""Pairs of a variant that the client's verbs have an option of their own for."""


@dataclass(frozen=True, slots=True)
class NotShown:
    """What was not shown.

    Attributes:
        sentences: for a person.
        variant: the first of them, where the tests ran in a variant that trunk has never run; else None.
        unreached: files with what changed in them that no passing gating test reached.
        exhaustive_owed: whether a run of the whole suite on the merge result is still owed.
    """

    sentences: tuple[str, ...]
    unreached: tuple[UnreachedFile, ...]
    exhaustive_owed: bool
    variant: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "sentences": list(self.sentences),
            "unreached": [file.to_json() for file in self.unreached[:_LISTED_FILES]],
            "exhaustive_owed": self.exhaustive_owed,
            "variant": self.variant,
        }


def not_shown_by(case: Case, views: Sequence[View], gating: Gating, *, is_base_known: bool) -> NotShown:
    """Return what the build did not show, whatever its verdict.

    `is_base_known` says whether any test bears a try on the base, be it one that was kept from an earlier verdict.
    """
    variant = _unknown_to_trunk(case, views)
    sentences = [variant] if variant else []
    unreached: tuple[UnreachedFile, ...] = ()
    if case.changed is None:
        sentences.append("Nobody said what the change touched, so it is not known which of it the tests ran.")
    elif case.index is None:
        if case.changed:
            sentences.append("There is no reach map, so it is not known which of the changed code the tests ran.")
    else:
        unreached = unreached_of(case, case.index, case.changed, _passing(case, views))
        sentences += _told(unreached)
    if gating.ran < gating.of:
        sentences.append(f"{gating.ran:,} of {plural(gating.of, 'gating test')} ran.")
    sentences += _ambiguous(case, views)
    if not (case.base.side.builds or case.base.elsewhere or is_base_known):
        where = " in this variant" if variant else ""
        sentences.append(f"The base has not been run{where}, so nothing says what fails without the change as well.")
    is_whole = case.judged["complete"] and gating.ran >= gating.of and case.told_all
    owed = not (is_whole and _is_on_trunks_head(case))
    if owed:
        sentences.append("A run of the whole suite on the merge result is still owed.")
    return NotShown(tuple(sentences), unreached, owed, variant)


def _is_on_trunks_head(case: Case) -> bool:
    """Return whether the tested tree is what merging would give: trunk's newest commit with the change on it."""
    newest = builds.trunk_commit_before(case.connection, case.project.id, case.project.builds + 1)
    base = case.question.base_commit or case.judged["base_commit"]
    return case.judged["lane"] == Lane.TRUNK or (newest is not None and base == newest)


def _unknown_to_trunk(case: Case, views: Sequence[View]) -> str | None:
    """Say that trunk never ran the first variant of this build that it never ran, if it ran any other at all."""
    trunk = histories.trunk_variants(case.connection, case.project.id)
    strange = next((view.variant_hash for view in views if view.variant_hash not in trunk), None)
    if strange is None or not trunk:
        return None
    pairs = builds.variants(case.connection, case.project.id)
    mine = pairs[strange]
    near = min((pairs[one] for one in trunk), key=lambda other: _distance(mine, other))
    return (
        f"Trunk has never run the variant {_spelt(mine)}, so nothing is quarantined in it and no trunk run of the base "
        f"counts; the nearest that it runs is {_spelt(near)} ({listed(list(_to_get(mine, near)))})."
    )


def _distance(mine: Mapping[str, str], other: Mapping[str, str]) -> tuple[int, int, str]:
    """Return an order of variants: those with the most pairs in common first, of these those with the fewest others."""
    common = len(mine.items() & other.items())
    return -common, len(mine) + len(other) - 2 * common, _spelt(other)


def _spelt(variant: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(variant.items())) or "without any pair"


def _to_get(mine: Mapping[str, str], other: Mapping[str, str]) -> Iterable[str]:
    """Yield what has to be said otherwise for a run to be of the other variant."""
    for key, value in sorted(other.items()):
        if mine.get(key) != value:
            yield "name the interpreter by --python" if key == "python" else f"say {_option(key, value)}"
    for key in sorted(mine.keys() - other.keys()):
        yield f"leave {'--' if key in _OWN_OPTION else ''}{key} out"


def _option(key: str, value: str) -> str:
    return f"--{key} {value}" if key in _OWN_OPTION else f"--variant {key}={value}"


def _passing(case: Case, views: Sequence[View]) -> Mask:
    found = np.zeros(case.project.tests, np.bool_)
    for view in views:
        found |= view.passing
    return found


def _told(unreached: Sequence[UnreachedFile]) -> Iterable[str]:
    known = [file for file in unreached if not file.is_blind]
    for file in known[:_NAMED]:
        yield from file.sentences()
    if len(known) > _NAMED:
        yield f"The same goes for {plural(len(known) - _NAMED, 'other changed file')}."
    blind = [file.path for file in unreached if file.is_blind]
    if blind:
        them = "it" if len(blind) == 1 else "them"
        yield f"No reach map has ever seen {named(blind, _NAMED)}, so nobody knows which tests depend on {them}."


def _ambiguous(case: Case, views: Sequence[View]) -> Iterable[str]:
    """Say how many tests of this build were not observed by an id of their own."""
    marked = roster.not_observed_by_id(case.connection, case.project.id)
    if not marked:
        return
    ran = np.zeros(case.project.tests, np.bool_)
    for view in views:
        ran |= view.head.ran
    count = sum(bool(ran[test]) for test in marked if test < len(ran))
    if count:
        yield (
            f"{plural(count, 'id')} of this build {'stands' if count == 1 else 'stand'} for several tests or for "
            "another case in each process, so a pass of one may hide a failure of the other."
        )
