"""`quarantine slack`: a trial message, what is parked, and a server that plays Slack."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from quarantine.cli.options import on_database, open_app, say

if TYPE_CHECKING:
    from quarantine.slack.sending import Bot


@click.group()
def command() -> None:
    """Try out how people are told: send a trial message, see what is parked, watch a server that plays Slack."""


@command.command()
@click.option("--channel", required=True, help="The channel's id, such as C0123; with a webhook any word will do.")
@click.option("--token", envvar="QUARANTINE_SLACK_TOKEN", help="The bot token [env: QUARANTINE_SLACK_TOKEN].")
@click.option("--webhook", envvar="QUARANTINE_SLACK_WEBHOOK", help="A webhook [env: QUARANTINE_SLACK_WEBHOOK].")
@click.option(
    "--url",
    envvar="QUARANTINE_SLACK_URL",
    default="https://slack.com/api/",
    show_default=True,
    help="The address of the API.",
)
def test(channel: str, token: str | None, webhook: str | None, url: str) -> None:
    """Send one real message to a channel, and explain whatever goes wrong.

    Exit code 0 when it arrived, 1 when it did not, 2 for wrong usage.
    """
    from quarantine.clock import system_clock
    from quarantine.slack.messages import Message, Plain, context, header, paragraph
    from quarantine.slack.sending import Bot, Failed, Later, Sent, Webhook

    if not token and not webhook:
        raise click.UsageError("Neither a bot token nor a webhook: set QUARANTINE_SLACK_TOKEN or name --token.")
    way = Bot(token, url, system_clock) if token else Webhook(str(webhook), system_clock)
    message = Message.of(
        "A trial message of quarantine",
        header("It works"),
        paragraph(Plain("Messages about quarantined tests will come here.")),
        context("Sent by `quarantine slack test`."),
    )
    ended = way.post(channel, message, key=f"trial:{system_clock().isoformat()}")
    if isinstance(ended, Sent):
        say("It arrived." if token else "It arrived, in the webhook's own channel.")
        if isinstance(way, Webhook):
            say("A webhook only posts: no threads, no updates, no buttons, no pictures. A bot token does all of them.")
        else:
            _try_pictures(way)
        return
    if isinstance(ended, Failed):
        raise click.ClickException(f"It did not arrive ({ended.code}). {ended.mend}")
    if isinstance(ended, Later):
        raise click.ClickException(f"Slack asks to wait for {ended.after_s:.0f} seconds. Try again then.")
    raise click.ClickException(f"It may have arrived, or not. {ended.reason} Look into the channel.")


def _try_pictures(bot: "Bot") -> None:
    """Upload a picture that is shown to nobody, and say what keeps messages from having one."""
    from quarantine.domain.chart import SizeChart, SizeWeek
    from quarantine.pictures import png_of, svg_of
    from quarantine.slack.sending import Ambiguous, Failed

    chart = SizeChart("A trial chart", (SizeWeek("now", 1, 1, 0),))
    uploaded = bot.upload(
        png_of(svg_of(chart, ground="light")), name="trial.png", title=chart.title, alternative=chart.alternative
    )
    if isinstance(uploaded, str):
        return
    said = "Slack asks to wait."
    if isinstance(uploaded, Ambiguous):
        said = uploaded.reason
    elif isinstance(uploaded, Failed):
        is_scope = uploaded.code == "missing_scope"
        said = "Give the app files:write and install it again." if is_scope else uploaded.mend
    say(f"A picture could not be uploaded, so charts would be told in words. {said}")


@command.command()
@click.option("--project", envvar="QUARANTINE_PROJECT", required=True, help="The project [env: QUARANTINE_PROJECT].")
@click.option("--send", is_flag=True, help="Send them again, now that what was wrong is mended.")
@on_database
def parked(project: str, *, send: bool, config_path: Path | None, database: str | None) -> None:
    """Show the messages that wait for a person to mend something, and how; with --send, send them again."""
    from quarantine.services import parked_messages

    app = open_app(config_path, database)
    found = parked_messages.of(app, project)
    for row in found:
        say(f"{row['channel']}: {row['title']}")
        say(f"  {row['code']}: {row['mend']}")
    if not found:
        say("Nothing is parked.")
    elif send:
        say(f"{parked_messages.send_again(app, project)} will be sent again.")


@command.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=8322, show_default=True, help="Its port.")
@click.option(
    "--actions-url", default="", help="Where pressed buttons are told, such as http://127.0.0.1:8321/slack/actions."
)
def fake(port: int, actions_url: str) -> None:
    """Run a server that plays Slack on this machine, and show what a channel would show, until it is stopped."""
    from quarantine.slack.fake import SIGNING_SECRET, TOKEN, FakeSlack, serving

    slack = FakeSlack(is_open=True, actions_url=actions_url, usable_after_s=1.0)
    try:
        with serving(slack, port) as address:
            say(f"It plays Slack on {address}; open that in a browser. For the daemon, in another shell:")
            say(f"  export QUARANTINE_SLACK_URL={address}/api/")
            say(f"  export QUARANTINE_SLACK_TOKEN={TOKEN}")
            say(f"  export QUARANTINE_SLACK_SIGNING_SECRET={SIGNING_SECRET}")
            threading.Event().wait()
    except OSError as error:
        raise click.ClickException(f"It cannot listen on port {port}: {error.strerror}.") from error
    except KeyboardInterrupt:
        say("Stopped.")
