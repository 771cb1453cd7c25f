"""`quarantine mail`: a trial letter that explains what goes wrong."""

from pathlib import Path

import click

from quarantine.cli.options import config_option, say

_TRIAL = "It works. Reports about quarantined tests will come here."


@click.group()
def command() -> None:
    """Try out how letters are sent, with the settings of [mail].

    Letters that wait for somebody to mend something are shown by `quarantine slack parked`, as messages are.
    """


@command.command()
@click.option("--to", required=True, help="The address to write to, such as you@example.org.")
@config_option
def test(to: str, config_path: Path | None) -> None:
    """Send one real letter, and explain whatever goes wrong.

    Exit code 0 when the server took it, 1 when it did not, 2 for wrong usage or settings.
    """
    from quarantine import bootstrap, config
    from quarantine.clock import system_clock
    from quarantine.domain.chart import SizeChart, SizeWeek
    from quarantine.domain.mail_content import PICTURE
    from quarantine.domain.sending import Failed, Sent
    from quarantine.mail.letters import Letter, is_address
    from quarantine.mail.sending import send
    from quarantine.pictures import png_of, svg_of

    server = bootstrap.mail_of(config.load(config_path))
    if server is None:
        raise click.UsageError("No mail server: name host and sender in [mail]; see docs/mail.md.")
    if not is_address(to):
        raise click.BadParameter("This is no plain mail address, such as you@example.org.", param_hint="--to")
    now = system_clock()
    sizes = [SizeWeek(f"week {number}", size, 1, 0) for number, size in enumerate((1, 2, 3), 1)]
    letter = Letter(
        subject="A trial letter of quarantine",
        text=f"{_TRIAL}\n",
        html=f'<p>{_TRIAL}</p><p><img alt="A trial chart" width="760" src="{PICTURE}"></p>',
        picture=png_of(svg_of(SizeChart("A trial chart", tuple(sizes)), ground="light")),
        key=f"trial {now.isoformat()}",
    )
    ended = send(letter, to, server, at=now)
    if isinstance(ended, Sent):
        say(f"{server.host} took it. Whether it arrives is for it to say: look into the mailbox.")
        return
    if isinstance(ended, Failed):
        raise click.ClickException(f"It was not sent ({ended.code}). {ended.mend}")
    raise click.ClickException("The server took the letter and did not answer. Look into the mailbox.")
