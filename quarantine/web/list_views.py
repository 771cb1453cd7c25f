"""From what a request asks of the list of quarantined tests, and what the service tells, to what the page prints."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from quarantine.domain.outcome import Status
from quarantine.policy.wording import plural
from quarantine.services.overview import OLD_DAYS
from quarantine.services.quarantined_list import AGES, PAGE, SORTS, Wanted
from quarantine.web import charts, figures
from quarantine.web.paging import page_of, pager, query
from quarantine.web.wording import standing_name, standing_note

_SORT_LABELS = {
    "age": "age",
    "name": "name",
    "rate": "failing rate",
    "failed": "last failure",
    "exit": "progress towards the exit",
}
_STATUSES = (Status.QUARANTINED, Status.HELD, Status.BROKEN)
_NOBODY = "-"
"""What a request says for tests that nobody owns."""
_MOST_DAYS = 100_000
_MOST_DIGITS = 4_000
"""Python reads no number of more; these are far beyond the most days already."""
_LABEL = 70


def wanted_of(params: Mapping[str, str]) -> Wanted:
    """Return what a request asks for; what cannot be meant is as if it were not said."""
    sort, status, older, owner = (params.get(name, "") for name in ("sort", "standing", "older", "owner"))
    days = int(older[:_MOST_DIGITS]) if older.isascii() and older.isdigit() else 0
    return Wanted(
        status=Status(status) if status in _STATUSES else Status.QUARANTINED,
        sort=sort if sort in SORTS else SORTS[0],
        reverse=params.get("order") == "reverse",
        variant=params.get("variant") or None,
        older=min(days, _MOST_DAYS) or None,
        cause=(params.get("cause") or "").replace("\0", "") or None,
        owner=None if not owner else "" if owner == _NOBODY else owner,
        page=page_of(params),
    )


def _params(wanted: Wanted) -> dict[str, str | int | None]:
    """Return what the address of the list says, what goes without saying left out; the page too."""
    return {
        "standing": wanted.status.value if wanted.status is not Status.QUARANTINED else None,
        "sort": wanted.sort if wanted.sort != SORTS[0] else None,
        "order": "reverse" if wanted.reverse else None,
        "variant": wanted.variant,
        "older": wanted.older,
        "cause": wanted.cause,
        "owner": _NOBODY if wanted.owner == "" else wanted.owner,
    }


def list_view(told: Mapping[str, Any], wanted: Wanted) -> dict[str, Any]:
    """Return what quarantined.html prints, from `quarantined_list.quarantined_list`."""
    params = _params(wanted)
    return {
        "project": told["project"],
        "told": told,
        "list_query": query(**params, page=wanted.page if wanted.page > 1 else None),
        "now": told["now"],
        "standing": wanted.status.value,
        "name": standing_name(wanted.status, told["mode"]),
        "note": standing_note(wanted.status, told["mode"]),
        "standings": [
            (standing_name(status, told["mode"]), query(standing=status.value), status is wanted.status)
            for status in _STATUSES
        ],
        "has_exit": wanted.status is not Status.BROKEN,
        "sorts": _sorts(wanted, params),
        "kept": {name: params[name] for name in ("standing", "sort", "order") if params[name]},
        "filters": _filters(told, wanted),
        "is_filtered": any((wanted.variant, wanted.older, wanted.cause, wanted.owner is not None)),
        "unfiltered": query(**{name: params[name] for name in ("standing", "sort", "order")}),
        "rows": [_row(row, told) for row in told["rows"]],
        "old_days": OLD_DAYS,
        "pager": pager(wanted.page, PAGE, told["total"], **params),
    }


def _sorts(wanted: Wanted, params: Mapping[str, str | int | None]) -> list[dict[str, Any]]:
    """Return the ways to sort; that by which it is sorted leads to the other way round."""
    found = []
    for sort in SORTS:
        is_current = sort == wanted.sort
        turned = "reverse" if is_current and not wanted.reverse else None
        own = {**params, "sort": sort if sort != SORTS[0] else None, "order": turned}
        found.append(
            {
                "label": _SORT_LABELS[sort],
                "to": query(**own),
                "is_current": is_current,
                "is_turned": turned is None,
            }
        )
    if wanted.status is Status.BROKEN:
        found.pop()
    return found


def _filters(told: Mapping[str, Any], wanted: Wanted) -> list[dict[str, Any]]:
    """Return the filters that can tell rows apart: name, label, and (value, text, whether chosen) of each choice."""
    older = "" if wanted.older is None else str(wanted.older)
    ages = sorted({*AGES, *([wanted.older] if wanted.older else [])})
    found = [_filter("older", "Age", "any age", [(str(days), f"{days:,} days or more") for days in ages], older)]
    if len(told["variants"]) > 1 or wanted.variant:
        variants = [(one["hash"], f"{_keys(one['keys'])} ({one['tests']:,})") for one in told["variants"]]
        found.append(_filter("variant", "Variant", "every variant", variants, wanted.variant or ""))
    if told["causes"]:
        causes = [(one["signature"], f"{_first_line(one)} ({one['tests']:,})") for one in told["causes"]]
        found.append(_filter("cause", "Common cause", "any cause", causes, wanted.cause or ""))
    if told["owners"] or wanted.owner is not None:
        owners = [*((owner, owner) for owner in told["owners"]), (_NOBODY, "nobody")]
        chosen = _NOBODY if wanted.owner == "" else wanted.owner or ""
        found.append(_filter("owner", "Owner", "anybody", owners, chosen))
    return found


def _filter(name: str, label: str, every: str, choices: Sequence[tuple[str, str]], chosen: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "choices": [("", every, not chosen), *((value, text, value == chosen) for value, text in choices)],
    }


def _keys(keys: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in keys.items())[:_LABEL] or "no variant"


def _first_line(cause: Mapping[str, Any]) -> str:
    said = " ".join(cause["message"].split())
    return said[:_LABEL] or f"signature {cause['signature'][:8]}"


def _row(row: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    days = (datetime.fromisoformat(told["now"]) - datetime.fromisoformat(row["since"])).days
    leave = row["exit"]
    return {
        **row,
        "age": charts.age_bar(days, told["oldest_days"], OLD_DAYS),
        "exit_width": figures.share_width(round(1_000 * row["progress"]), 1_000),
        "exit_words": leave
        and (
            _of(leave["clean_trials"], leave["trials_needed"], "clean trial"),
            _of(leave["clean_days"], leave["days_needed"], "clean day"),
        ),
    }


def _of(have: int, need: int, noun: str) -> str:
    return f"{min(have, need):,} of {plural(need, noun)}"
