"""`quarantine is-gating`: the gate's question, from a shell."""

import click

from quarantine.cli.remote import on_daemon, target_of


@click.command()
@click.argument("test")
@click.option("--variant", "pairs", multiple=True, metavar="KEY=VALUE", help="The way it was run; repeat for each key.")
@on_daemon
@click.pass_context
def command(
    context: click.Context, test: str, pairs: tuple[str, ...], url: str | None, project: str, token: str | None
) -> None:
    """Exit 0 if TEST gates, 1 if it does not, 2 for wrong usage or configuration.

    TEST is an opaque id, a pytest node id, or classname::name. A test the daemon does not know gates. When the daemon
    cannot be reached, the last snapshot answers up to its maximum age; after that every test gates.
    """
    from quarantine.client.gating import GatingSet

    variant = variant_of(pairs)
    target = target_of(url, project, token)
    gates = GatingSet(target.url, target.project, target.token).is_gating(test, variant or None)
    click.echo("gating" if gates else "not gating")
    context.exit(0 if gates else 1)


def variant_of(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return KEY=VALUE words as a mapping; raises a usage error for a word without `=`."""
    for pair in pairs:
        if "=" not in pair:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE.", param_hint="--variant")
    return dict(pair.split("=", 1) for pair in pairs)
