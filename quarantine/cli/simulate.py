"""`quarantine simulate`: let the policy and everybody's rules loose on the same worlds, and see what each does."""

import sys
from pathlib import Path
from typing import Any

import click

from quarantine.cli.options import config_option, json_option, print_json, say

_COLUMNS = (
    ("healthy", "healthy tests quarantined", "{:,.1f}"),
    ("broken", "broken tests quarantined", "{:,.1f}"),
    ("1-5 %", "found, 1 to 5 %", "{:.0%}"),
    ("5-30 %", "found, 5 to 30 %", "{:.0%}"),
    ("still flaky out", "still flaky, share of releases", "{:.1%}"),
    ("good rejected", "good patches rejected", "{:.1%}"),
    ("bad excused", "bad patches accepted though red by themselves", "{:.2%}"),
    ("wasted", "attempts wasted per ticket", "{:.3f}"),
)
"""Heads of the table, the measures below them, and how they are written."""


@click.command()
@click.option("--worlds", type=click.IntRange(1, 1_000), default=3, show_default=True, help="How many, one a seed.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The first seed.")
@click.option("--tests", type=click.IntRange(50, 100_000), default=4_812, show_default=True, help="Tests of a suite.")
@click.option("--days", type=click.IntRange(5, 400), default=60, show_default=True, help="How long a world lasts.")
@click.option("--builds", type=click.IntRange(1, 2_000), default=100, show_default=True, help="Builds a day.")
@click.option("--miss", type=click.FloatRange(0, 1), default=0.01, show_default=True, help="Share a reach map misses.")
@click.option(
    "--confirming",
    type=click.Choice(["prompt", "late", "batched", "selective"]),
    default="prompt",
    show_default=True,
    help="When confirmations become known: whoever chooses that must not be able to quarantine a healthy test.",
)
@click.option("--rule", "rules", multiple=True, help="Only this rule, by its name in the table; may be repeated.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with a chart to this file.")
@config_option
@json_option
def command(
    *,
    worlds: int,
    seed: int,
    tests: int,
    days: int,
    builds: int,
    miss: float,
    confirming: str,
    rules: tuple[str, ...],
    html: Path | None,
    config_path: Path | None,
    as_json: bool,
) -> None:
    """Let the policy, and every rule that others publish, loose on worlds in which everything is known.

    A world has real flake rates, cause by cause, bursts, outages, a bad machine, storms, broken trunks, reach maps with
    holes and hostile agents; docs/evidence.md says how it is drawn. What the rows say: healthy and broken tests
    quarantined in a world; flaky tests found, by how often they fail right after a pass; releases of tests that flake
    still; and what becomes of patches in a loop of at most four attempts.
    """
    from quarantine import bootstrap, config
    from quarantine.simulate.ours import Confirming
    from quarantine.simulate.running import compared, names
    from quarantine.simulate.world import Shape

    unknown = sorted(set(rules) - set(names()))
    if unknown:
        raise click.BadParameter(f"There is no rule {unknown[0]!r}. There are: {', '.join(names())}.")
    policy = bootstrap.policy_of(config.load(config_path))
    shape = Shape(tests=tests, days=days, builds_a_day=builds, miss=miss)
    with click.progressbar(length=worlds, label="Worlds", file=sys.stderr) as bar:
        told = compared(
            shape,
            range(seed, seed + worlds),
            policy,
            confirming=Confirming(confirming),
            rules=rules or None,
            show=lambda _done, _total: bar.update(1),
        )
    if html is not None:
        html.write_text(_page(told, shape), encoding="utf-8")
    if as_json:
        print_json(told)
        return
    for line in _table(told["rules"]):
        say(line)
    if html is not None:
        click.echo(f"\nThe page is in {html}.", err=True)


def _table(rules: dict[str, Any]) -> list[str]:
    width = max(map(len, rules))
    heads = [head for head, _measure, _form in _COLUMNS]
    lines = ["  ".join([" " * width, *(head.rjust(max(8, len(head))) for head in heads)])]
    for name, measures in rules.items():
        cells = [
            (form.format(measures[measure]["mean"]) if measure in measures else "-").rjust(max(8, len(head)))
            for head, measure, form in _COLUMNS
        ]
        lines.append("  ".join([name.ljust(width), *cells]))
    return lines


def _page(told: dict[str, Any], shape: Any) -> str:
    from quarantine.shipped import resource
    from quarantine.web.rendering import Renderer
    from quarantine.web.simulate_views import simulate_view

    return Renderer(resource("templates")).file("simulate_file.html", root="", **simulate_view(told, shape))
