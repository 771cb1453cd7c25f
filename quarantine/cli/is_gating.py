"""`quarantine is-gating` as a verb among the others. `cli.main` answers it before this is ever loaded."""

import click


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Exit 0 if TEST gates, 1 if it does not, 2 for wrong usage or configuration."""
    from quarantine.client import shell

    context.exit(shell.is_gating(arguments))
