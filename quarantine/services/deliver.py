"""Delivering what is in the outbox: claimed in one transaction, sent outside any, and what came of it kept in another.

At least once, and as good as once: a message whose sending ended unclear, or whose daemon died on the way, is looked up
by its key before it is sent again. A channel that has to wait, waits alone. What only a person can mend is
parked with the sentence that says how, and holds up nothing but its own thread. A mail cannot be looked up: see `mail`.
"""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

from quarantine.domain.sending import Ambiguous, Failed, Later, Sending, Sent
from quarantine.errors import Busy
from quarantine.services.app import App
from quarantine.services.ways import Way, way_to
from quarantine.store import outbox, threads
from quarantine.store.engine import reading, writing
from quarantine.store.outbox import AMBIGUOUS, Form, Letter

log = logging.getLogger("quarantine.deliver")
FORSAKEN = timedelta(minutes=5)
"""After so long a claimed message is taken over: longer than any sending may take."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 3_600.0
CHANNELS_AT_ONCE = 4


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
    """Send everything that is due, several channels at a time, each channel one message after the other.

    Args:
        app: the product; what it has no way for, to Slack or by mail, is not taken.
        by: names this daemon, so that a claim tells whose it is.
    """
    with reading(app.engine) as connection:
        due = outbox.channels_due(connection, app.clock(), forsaken=FORSAKEN)
    ways = [(project_id, channel, way_to(app, project_id, channel)) for project_id, channel in due]
    couriers = [_Courier(app, way, by, project_id, channel) for project_id, channel, way in ways if way is not None]
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
    way: Way
    by: str
    project_id: int
    channel: str

    def run(self) -> Round:
        """Send until nothing is due or something has to wait; a busy database leaves the rest for the next round."""
        sent = parked = 0
        try:
            while (letter := self._claimed()) is not None:
                ended = self.way.send(letter)
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
        """Try again later; where the other side asks to wait, everything for the channel waits."""
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
    return "ratelimited", "The other side asked to wait."
