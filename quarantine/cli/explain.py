"""`quarantine explain`: one sentence with numbers, then the evidence."""

from typing import Any
from urllib.parse import quote

import click

from quarantine.cli.options import json_option, print_json, say
from quarantine.cli.reading import Where, on_either


@click.command()
@click.argument("test")
@click.option("--recompute", is_flag=True, help="Derive everything again from the stored outcomes and compare.")
@json_option
@on_either
@click.pass_context
def command(context: click.Context, where: Where, test: str, *, recompute: bool, as_json: bool) -> None:
    """Explain where TEST stands and why, and what would change the answer.

    TEST is an opaque id, a pytest node id, classname::name, or a bare name that only one test has. With --recompute
    the exit code is 1 when what is stored contradicts itself.
    """
    from quarantine.services.explain import explain

    resource = f"tests/{quote(test, safe='')}" + ("?recompute=1" if recompute else "")
    told = where.read(resource, lambda app: explain(app, where.project, test, recomputed=recompute))
    if as_json:
        print_json(told)
    else:
        say("\n".join(_lines(told)))
    disagree = recompute and any(variant["disagreements"] for variant in told["variants"])
    context.exit(1 if disagree else 0)


def _lines(told: dict[str, Any]) -> list[str]:
    lines = [told["name"], f"{told['test']}   {'gating' if told['gating'] else 'not gating'} ({told['mode']})"]
    if told.get("formerly"):  # a daemon of an earlier version knows of no renames
        lines.append(f"formerly {', '.join(told['formerly'])}")
    if told["barred"]:
        lines.append(told["barred"])
    for variant in told["variants"]:
        pairs = " ".join(f"{key}={value}" for key, value in variant["variant"].items())
        lines += ["", f"In {pairs or 'the only variant'}:", f"  {variant['sentence']}"]
        lines += _numbers(variant) + _heads(variant) + _moves(variant)
        if "disagreements" in variant:
            lines += [f"  DISAGREES: {phrase}" for phrase in variant["disagreements"]]
            if not variant["disagreements"]:
                lines.append("  Recomputed from the stored outcomes: the same heads, the same decisions.")
    return lines


def _numbers(variant: dict[str, Any]) -> list[str]:
    lines = []
    entry = variant["entry"]
    if entry and entry["result"]["window"]:
        window, (low, high) = entry["result"]["window"], entry["result"]["interval"]
        start, count, charge, trials = (window[name] for name in ("m", "k", "l", "n"))
        lines += [
            f"  entry: m={start} k={count} l={charge} n={trials}",
            f"  p-value {window['p_value']:.3g} against limit {window['limit']:.3g}",
            f"  rate {entry['result']['rate']:.3g}, 95 % interval {low:.3g} to {high:.3g}",
        ]
    told = {name: variant[name]["lacking"] for name in ("entry", "exit") if variant[name]}
    return lines + [f"  {name} lacks {'; '.join(lacking)}" for name, lacking in told.items() if lacking]


def _heads(variant: dict[str, Any]) -> list[str]:
    if not variant["heads"]:
        return []
    lines = ["  heads (a failure right after a pass); an onset is one whose own tree also passed:"]
    for head in variant["heads"]:
        build = variant["builds"].get(head["build"], {})
        passed = f"passed in build {head['confirmed_by']}" if head["confirmed_by"] else "no pass of its tree yet"
        if head["incident"]:
            passed = f"part of storm {head['incident'][:8]}"
        lines.append(
            f"    {head['number']:>3}  trial {head['index']:<6} {head['arrived_at'][:16]}  {head['lane']:6} "
            f"build {head['build']} ({build.get('build', '?')})  tree {head['tree'][:12]}  "
            f"fingerprint {head['fingerprint']}  {passed}"
        )
    return lines


def _moves(variant: dict[str, Any]) -> list[str]:
    moves = variant["transitions"]
    return (["  transitions:"] if moves else []) + [
        f"    {move['at'][:16]}  {move['from']} -> {move['to']} ({move['mode']}, by {move['by']}, policy "
        f"{move['policy_version']}): {move['reason']}"
        for move in moves
    ]
