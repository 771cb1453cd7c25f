"""The real application on a port of this machine, in a thread of this process."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import uvicorn

from quarantine.daemon import server
from quarantine.domain.outcome import Lane
from quarantine.services.app import App
from quarantine.web.application import create_web

LOOK_S = 0.005


class _Server(uvicorn.Server):
    """A server that ends as soon as it is told to; uvicorn itself looks ten times a second."""

    async def main_loop(self) -> None:
        while not self.should_exit:  # noqa: ASYNC110 - the flag is uvicorn's own
            await asyncio.sleep(LOOK_S)


@contextmanager
def hosted(app: App, *, open_lane: Lane | None = Lane.TRUNK, port: int = 0) -> Iterator[str]:
    """Yield the address of a running daemon; without a lane every request needs a token."""
    with closing(server.bind("127.0.0.1", port)) as listener:
        config = uvicorn.Config(create_web(app, open_lane=open_lane), log_config=None, access_log=False)
        web = _Server(config)
        thread = threading.Thread(target=web.run, args=[[listener]])
        thread.start()
        try:
            while not web.started and thread.is_alive():
                time.sleep(LOOK_S)
            yield server.url_of("127.0.0.1", listener)
        finally:
            web.should_exit = True
            thread.join()
