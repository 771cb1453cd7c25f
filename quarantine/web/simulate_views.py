"""From what `quarantine simulate` finds to the page it writes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from quarantine.simulate.world import Shape
from quarantine.web import figures

_BARS = (
    ("healthy tests quarantined", "Healthy tests quarantined in a world", "old"),
    ("good patches rejected", "Good patches rejected", "old"),
    ("found, 1 to 5 %", "Flaky tests found that fail right after a pass in 1 to 5 % of trials", "good"),
)
_FINE = 1_000_000
"""Parts of one that widths of bars are counted in."""

_SHARES = ("share", "found", "patches", "mended")


def simulate_view(told: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Return what simulate_file.html prints, from `running.compared`."""
    rules: Mapping[str, Mapping[str, Mapping[str, float]]] = told["rules"]
    measures = sorted({measure for found in rules.values() for measure in found})
    return {
        "told": told,
        "shape": asdict(shape),
        "charts": [_chart(rules, measure, title, kind) for measure, title, kind in _BARS],
        "measures": measures,
        "rows": [
            (name, [_written(measure, found.get(measure)) for measure in measures]) for name, found in rules.items()
        ],
    }


def _chart(rules: Mapping[str, Any], measure: str, title: str, kind: str) -> dict[str, Any]:
    most = max((_mean(found, measure) for found in rules.values()), default=0.0) or 1.0
    bars = [
        {
            "name": name,
            "words": _written(measure, found.get(measure)),
            "width": figures.share_width(round(_FINE * _mean(found, measure)), round(_FINE * most)),
        }
        for name, found in rules.items()
    ]
    return {"title": title, "bars": bars, "kind": kind}


def _mean(found: Mapping[str, Mapping[str, float]], measure: str) -> float:
    return found[measure]["mean"] if measure in found else 0.0


def _written(measure: str, value: Mapping[str, float] | None) -> str:
    if value is None:
        return "-"
    if any(word in measure for word in _SHARES):
        return f"{100 * value['mean']:.3g} % ({100 * value['low']:.2g} to {100 * value['high']:.2g})"
    return f"{value['mean']:,.3g} ({value['low']:,.2g} to {value['high']:,.2g})"
