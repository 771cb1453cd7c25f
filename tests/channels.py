"""A Slack for tests: the server that plays it, and the bot by which the product reaches it."""

from quarantine.slack.fake import TOKEN, FakeSlack
from quarantine.slack.sending import Bot
from tests.world import World

HERE, THERE = "C0LEDGER", "C0OTHER"
"""The channels that the server knows."""


def connect(world: World, slack: FakeSlack, *, timeout_s: int = 2) -> None:
    """Let the product reach this Slack by its bot."""
    world.app.slack = Bot(TOKEN, f"{slack.address}/api/", world.clock, timeout_s=timeout_s)
