"""Delivering what is in the outbox: claimed in one transaction, sent outside any, and what came of it kept in another.

At least once, and as good as once: a message whose sending ended unclear, or whose daemon died on the way, is looked up
by its key before it is sent again. A channel that Slack asks to wait for waits alone. What only a person can mend is
parked with the sentence that says how, and holds up nothing but its own thread.
"""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from quarantine.domain.notice import Notice
from quarantine.errors import Busy
from quarantine.services.app import App
from quarantine.slack.messages import Message
from quarantine.slack.notices import messages_of
from quarantine.slack.sending import Ambiguous, Bot, Failed, Later, Sending, Sent, Webhook
from quarantine.store import outbox, threads
from quarantine.store.engine import reading, writing
from quarantine.store.outbox import AMBIGUOUS, Form, Letter

log = logging.getLogger("quarantine.deliver")
FORSAKEN = timedelta(minutes=5)
"""After so long a claimed message is taken over: longer than any sending may take."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 3_600.0
CHANNELS_AT_ONCE = 4
_GONE = Failed("no-thread", "What it was about is no longer stored.", permanent=True)


def pause_after(tries: int) -> timedelta:
    """Return how long to wait after the n-th failed try: five seconds, doubled each time, an hour at most."""
    return timedelta(seconds=min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(tries - 1, 20)))


@dataclass(frozen=True, slots=True)
class Round:
    """What one round of delivery came to: how many messages were sent, are to be tried again, and are parked."""

    sent: int = 0
    postponed: int = 0
    parked: int = 0


def deliver(app: App, *, by: str) -> Round:
    """Send everything to Slack that is due, several channels at a time, each channel one message after the other.

    Args:
        app: the product; without a way to reach Slack nothing is taken.
        by: names this daemon, so that a claim tells whose it is.
    """
    if app.slack is None:
        return Round()
    with reading(app.engine) as connection:
        due = outbox.channels_due(connection, app.clock(), forsaken=FORSAKEN)
    couriers = [_Courier(app, app.slack, by, project_id, channel) for project_id, channel in due]
    if not couriers:
        return Round()
    with ThreadPoolExecutor(min(CHANNELS_AT_ONCE, len(couriers)), thread_name_prefix="deliver") as pool:
        rounds = list(pool.map(_Courier.run, couriers))
    return Round(
        sent=sum(one.sent for one in rounds),
        postponed=sum(one.postponed for one in rounds),
        parked=sum(one.parked for one in rounds),
    )


@dataclass(slots=True)
class _Courier:
    """Takes the messages of one channel to it."""

    app: App
    slack: Bot | Webhook
    by: str
    project_id: int
    channel: str

    def run(self) -> Round:
        """Send until nothing is due or something has to wait; a busy database leaves the rest for the next round."""
        sent = parked = 0
        try:
            while (letter := self._claimed()) is not None:
                ended = self._send(letter)
                if isinstance(ended, Sent):
                    self._note_sent(letter, ended)
                    sent += 1
                elif isinstance(ended, Failed) and ended.permanent:
                    self._park(letter, ended)
                    parked += 1
                else:
                    self._postpone(letter, ended)
                    return Round(sent, 1, parked)
        except Busy as busy:
            log.warning("Messages for %s wait: %s", self.channel, busy)
        return Round(sent, 0, parked)

    def _claimed(self) -> Letter | None:
        with writing(self.app.engine) as connection:
            return outbox.claim(
                connection, self.project_id, self.channel, self.app.clock(), by=self.by, forsaken=FORSAKEN
            )

    def _send(self, letter: Letter) -> Sending:
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

    def _messages(self, letter: Letter, thread: Mapping[str, Any]) -> list[Message]:
        """Return what a letter says; a first message says what its thread has come to by now."""
        notice = letter.content if letter.form is Form.REPLY else thread["content"]["notice"]
        return messages_of(Notice.from_json(notice), self.app.people.address, can=self.slack.capabilities)

    def _post(self, slack: Bot, letter: Letter, thread: Mapping[str, Any]) -> Sending:
        """Post a first message or a reply, and what did not fit it as replies."""
        first, *rest = self._messages(letter, thread)
        under = thread["ts"] if letter.form is Form.REPLY else None
        sent = slack.post(thread["channel_id"] or self.channel, first, key=letter.key, thread=under)
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
        first = self._messages(letter, thread)[0]
        ended = slack.update(thread["channel_id"], thread["ts"], first, key=f"{letter.thread}:first")
        if isinstance(ended, Failed) and ended.code == "message_not_found":
            return Sent(thread["channel_id"], thread["ts"])
        return ended

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
        for message in self._messages(letter, thread):
            ended = slack.post(self.channel, message, key=letter.key)
            if not isinstance(ended, Sent):
                break
        return ended

    def _note_sent(self, letter: Letter, sent: Sent) -> None:
        with writing(self.app.engine) as connection:
            now = self.app.clock()
            is_ours = outbox.sent(connection, letter, now, by=self.by, channel_id=sent.channel_id, ts=sent.ts)
            if is_ours and letter.form is Form.POST and sent.ts is not None:
                threads.arrived(connection, self.project_id, letter.thread, channel_id=sent.channel_id, ts=sent.ts)

    def _park(self, letter: Letter, failed: Failed) -> None:
        log.warning("Message %s for %s is parked: %s", letter.key, self.channel, failed.mend)
        with writing(self.app.engine) as connection:
            outbox.parked(connection, letter, by=self.by, code=failed.code, error=failed.mend)

    def _postpone(self, letter: Letter, ended: Sending) -> None:
        """Try again later; where Slack asks to wait, everything for the channel waits."""
        now = self.app.clock()
        until = now + (timedelta(seconds=ended.after_s) if isinstance(ended, Later) else pause_after(letter.tries))
        code, said = _said(ended)
        if letter.may_have_arrived:
            code = AMBIGUOUS  # that is not settled by a try that did not get as far as sending
        with writing(self.app.engine) as connection:
            outbox.postponed(connection, letter, until, by=self.by, code=code, error=said)
            if isinstance(ended, Later):
                outbox.pause(connection, self.project_id, self.channel, until)


def _said(ended: Sending) -> tuple[str, str]:
    if isinstance(ended, Ambiguous):
        return AMBIGUOUS, ended.reason
    if isinstance(ended, Failed):
        return ended.code, ended.mend
    return "ratelimited", "Slack asked to wait."
