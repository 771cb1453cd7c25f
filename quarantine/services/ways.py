"""The ways a message leaves: how one letter of the outbox becomes what the other side takes, sent once."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quarantine.domain.chart import SizeChart
from quarantine.domain.mail_content import MailContent
from quarantine.domain.notice import Notice
from quarantine.domain.sending import Ambiguous, Failed, Later, Sending, Sent
from quarantine.mail import letters as mailing
from quarantine.mail import sending
from quarantine.mail.sending import MailServer
from quarantine.pictures import png_of, svg_of
from quarantine.services.app import App
from quarantine.slack.messages import Message
from quarantine.slack.notices import messages_of
from quarantine.slack.sending import Bot, Webhook
from quarantine.store import threads
from quarantine.store.engine import reading
from quarantine.store.outbox import Form, Letter

__all__ = ["MAIL", "PICTURE_TRIES", "Way", "way_to"]

log = logging.getLogger("quarantine.deliver")
MAIL = "mail:"
"""What the channels of letters begin with; the address follows."""
PICTURE_TRIES = 4
"""After so many tries a message goes without its picture, if that is what holds it up."""
_PICTURE_PAUSES_S = (1.0, 2.0, 3.0)
"""How long Slack is given until it can show a file that it has just got; about a second is usual."""
_UNUSABLE = "invalid_blocks"
"""What Slack says to a message with a picture that it cannot show, or cannot show yet."""
_GONE = Failed("no-thread", "What it was about is no longer stored.", permanent=True)


class Way(Protocol):
    """How the letters of one channel are sent."""

    def send(self, letter: Letter) -> Sending:
        """Send one letter, unless it turns out to have arrived before."""


def way_to(app: App, project_id: int, channel: str) -> Way | None:
    """Return the way to a channel; None when the settings name none."""
    if channel.startswith(MAIL):
        return MailWay(app, app.mail, project_id, channel) if app.mail is not None else None
    return SlackWay(app, app.slack, project_id, channel) if app.slack is not None else None


@dataclass(slots=True)
class MailWay:
    """To the mailbox of one person. What may have arrived is sent again, under the name of the first."""

    app: App
    server: MailServer
    project_id: int
    channel: str

    def send(self, letter: Letter) -> Sending:
        """Send one letter, its chart drawn now."""
        content = MailContent.from_json(letter.content)
        picture = png_of(svg_of(content.chart, ground="light")) if content.chart is not None else None
        mail = mailing.Letter(
            subject=content.subject,
            text=content.text,
            html=content.html,
            picture=picture,
            key=f"{self.app.people.address} {self.project_id} {letter.key} {letter.created_at.isoformat()}",
        )
        return sending.send(mail, self.channel.removeprefix(MAIL), self.server, at=letter.created_at)


@dataclass(slots=True)
class SlackWay:
    """To a channel of Slack."""

    app: App
    slack: Bot | Webhook
    project_id: int
    channel: str

    def send(self, letter: Letter) -> Sending:
        """Send one message, unless it turns out to have arrived before."""
        with reading(self.app.engine) as connection:
            thread = threads.get(connection, self.project_id, letter.thread)
        if thread is None:
            return _GONE
        if isinstance(self.slack, Webhook):
            return self._through_webhook(self.slack, letter, thread)
        if letter.form is Form.UPDATE:
            return self._update(self.slack, letter, thread)
        if letter.may_have_arrived:
            known = self._look_up(self.slack, letter, thread)
            if known is not None:
                return known
        return self._post(self.slack, letter, thread)

    def _messages(self, notice: Notice, picture_id: str = "", why: str = "") -> list[Message]:
        can = self.slack.capabilities
        return messages_of(notice, self.app.people.address, can=can, picture_id=picture_id, why=why)

    def _post(self, slack: Bot, letter: Letter, thread: Mapping[str, Any]) -> Sending:
        """Post a first message or a reply, and what did not fit it as replies."""
        under = thread["ts"] if letter.form is Form.REPLY else None
        channel = thread["channel_id"] or self.channel
        sent, rest = self._with_picture(
            slack, letter, thread, lambda message: slack.post(channel, message, key=letter.key, thread=under)
        )
        if isinstance(sent, Sent) and sent.ts is not None:
            self._post_rest(slack, letter, rest, sent, under or sent.ts)
        return sent

    def _post_rest(self, slack: Bot, letter: Letter, rest: Sequence[Message], sent: Sent, under: str) -> None:
        """Post what did not fit; it is put into words elsewhere as well, so a failure is only noted."""
        for number, message in enumerate(rest, start=1):
            ended = slack.post(sent.channel_id or self.channel, message, key=f"{letter.key}:{number}", thread=under)
            if not isinstance(ended, Sent):
                log.warning("The rest of message %s did not arrive: %s", letter.key, ended)
                return

    def _update(self, slack: Bot, letter: Letter, thread: Mapping[str, Any]) -> Sending:
        """Write the first message anew. One that was deleted in Slack is let go: the thread has the replies."""
        if thread["ts"] is None:
            return _GONE
        key = f"{letter.thread}:first"
        ended, _ = self._with_picture(
            slack, letter, thread, lambda message: slack.update(thread["channel_id"], thread["ts"], message, key=key)
        )
        if isinstance(ended, Failed) and ended.code == "message_not_found":
            return Sent(thread["channel_id"], thread["ts"])
        return ended

    def _with_picture(
        self, slack: Bot, letter: Letter, thread: Mapping[str, Any], send: Callable[[Message], Sending]
    ) -> tuple[Sending, list[Message]]:
        """Send what a letter says, its chart as a picture where Slack takes it; return what did not fit as well.

        The picture is put into the workspace first, where nobody sees it, and stands in the one message that is then
        sent. So whatever ends on the way leaves a file that nobody sees, and never half a message or a second one.
        """
        notice, picture_id, why = _notice_of(letter, thread), "", ""
        if notice.chart is not None:
            uploaded = self._uploaded(slack, letter, notice.chart)
            if isinstance(uploaded, str):
                picture_id = uploaded
            elif isinstance(uploaded, Failed) and uploaded.permanent:
                why = uploaded.mend
            else:
                return uploaded, []
        first, *rest = self._messages(notice, picture_id, why)
        ended = send(first)
        for pause_s in _PICTURE_PAUSES_S:
            if not picture_id or not _is_unusable(ended):
                return ended, rest
            slack.wait(pause_s)
            ended = send(first)
        if _is_unusable(ended):
            why = "Slack did not show the chart's picture, so it is told in words. The page has it."
            first, *rest = self._messages(notice, "", why)
            ended = send(first)
        return ended, rest

    def _uploaded(self, slack: Bot, letter: Letter, chart: SizeChart) -> str | Sending:
        """Return the id of the chart's picture in Slack. What may pass is tried again with the whole message."""
        ended = slack.upload(
            png_of(svg_of(chart, ground="light")),
            name="quarantine-size.png",
            title=chart.title,
            alternative=chart.alternative,
        )
        if isinstance(ended, str) or (isinstance(ended, Later) and letter.tries <= PICTURE_TRIES):
            return ended
        if isinstance(ended, Failed) and ended.code == "missing_scope":
            why = "The chart's picture is missing. Give the app files:write, and install it again, to see it."
            return Failed(ended.code, why, permanent=True)
        reason = "Slack asked to wait." if isinstance(ended, Later) else _reason(ended)
        why = f"The chart's picture could not be uploaded, so the chart is told in words. {reason}"
        is_final = (isinstance(ended, Failed) and ended.permanent) or letter.tries > PICTURE_TRIES
        return Failed("upload", why, permanent=is_final)

    def _look_up(self, slack: Bot, letter: Letter, thread: Mapping[str, Any]) -> Sending | None:
        channel = thread["channel_id"] or self.channel
        if channel[:1] in ("U", "W"):
            opened = slack.direct_channel(channel)
            if not isinstance(opened, str):
                return opened
            channel = opened
        under = thread["ts"] if letter.form is Form.REPLY else None
        return slack.find(channel, letter.key, since=letter.created_at, thread=under)

    def _through_webhook(self, slack: Webhook, letter: Letter, thread: Mapping[str, Any]) -> Sending:
        """Post what a webhook can: first messages and follow-ups, each by itself; updates are let go."""
        if letter.form is Form.UPDATE:
            return Sent(None, None)
        ended: Sending = _GONE
        for message in self._messages(_notice_of(letter, thread)):
            ended = slack.post(self.channel, message, key=letter.key)
            if not isinstance(ended, Sent):
                break
        return ended


def _notice_of(letter: Letter, thread: Mapping[str, Any]) -> Notice:
    """Return what a letter says; a first message says what its thread has come to by now."""
    return Notice.from_json(letter.content if letter.form is Form.REPLY else thread["content"]["notice"])


def _is_unusable(ended: Sending) -> bool:
    return isinstance(ended, Failed) and ended.code == _UNUSABLE


def _reason(ended: Sending) -> str:
    if isinstance(ended, Ambiguous):
        return ended.reason
    return ended.mend if isinstance(ended, Failed) else ""
