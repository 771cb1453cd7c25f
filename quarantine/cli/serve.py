"""`quarantine serve`: the daemon."""

from pathlib import Path

import click

from quarantine.cli.options import on_database


@click.command()
@click.option("--host", help="Address to bind [default: 127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to bind [default: 8321]; 0 picks a free one.")
@click.option(
    "--spool",
    "spool_dirs",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder to watch for reports; needs --spool-project and --spool-lane. Several: see docs/configuration.md.",
)
@click.option("--spool-project", envvar="QUARANTINE_PROJECT", help="Project of the --spool folder.")
@click.option(
    "--spool-lane",
    type=click.Choice(["trunk", "review", "agent"]),
    default="trunk",
    show_default=True,
    help="Lane of the --spool folder.",
)
@click.option(
    "--loopback-lane",
    type=click.Choice(["trunk", "review", "agent"]),
    help="Lane of reports without a token, while no token exists [default: trunk].",
)
@on_database
def command(
    host: str | None,
    port: int | None,
    spool_dirs: tuple[Path, ...],
    spool_project: str | None,
    spool_lane: str,
    loopback_lane: str | None,
    config_path: Path | None,
    database: str | None,
) -> None:
    """Run the daemon until it is told to stop.

    On a loopback address it works without tokens while none exists, and says so; on any other it refuses to start
    until there is one.
    """
    from quarantine import bootstrap, config
    from quarantine.daemon import server
    from quarantine.daemon.spool import Spool
    from quarantine.domain.outcome import Lane
    from quarantine.web.application import create_web

    if spool_dirs and not spool_project:
        raise click.UsageError("--spool needs --spool-project: the project its reports belong to.")
    settings = config.load(config_path)
    chosen = {"database": database, "host": host, "port": port, "loopback_lane": loopback_lane}
    settings = settings.model_copy(update={key: value for key, value in chosen.items() if value is not None})
    app = bootstrap.build_app(settings, migrate=settings.database.startswith("sqlite"))
    tokens_needed = server.needs_tokens(app, settings.host)
    folders = [(folder.directory, folder.project, folder.lane) for folder in settings.spool]
    folders += [(directory, str(spool_project), spool_lane) for directory in spool_dirs]  # type: ignore[misc]  # click checked the lane
    spools = [Spool(app, directory, project, Lane(lane)) for directory, project, lane in folders]
    listener = server.bind(settings.host, settings.port)
    url = server.url_of(settings.host, listener)

    def ready() -> None:
        click.echo(f"quarantine listens on {url}")
        if not tokens_needed:
            click.echo(
                "No token exists: everyone on this machine may read, and reports count as the "
                f"{settings.loopback_lane} lane. Nobody is admin over HTTP."
            )

    open_lane = None if tokens_needed else Lane(settings.loopback_lane)
    web = create_web(app, open_lane=open_lane, templates=settings.templates)
    server.serve(app, web, listener, spools, ready=ready)
