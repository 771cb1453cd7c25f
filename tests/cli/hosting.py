"""The real application on a port of this machine, in a thread of this process."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import uvicorn

from quarantine.daemon import server
from quarantine.domain.outcome import Lane
from quarantine.services.app import App
from quarantine.web.application import create_web


@contextmanager
def hosted(app: App, *, open_lane: Lane | None = Lane.TRUNK, port: int = 0) -> Iterator[str]:
    """Yield the address of a running daemon; without a lane every request needs a token."""
    with closing(server.bind("127.0.0.1", port)) as listener:
        config = uvicorn.Config(create_web(app, open_lane=open_lane), log_config=None, access_log=False)
        web = uvicorn.Server(config)
        thread = threading.Thread(target=web.run, args=[[listener]])
        thread.start()
        try:
            while not web.started and thread.is_alive():
                time.sleep(0.001)
            yield server.url_of("127.0.0.1", listener)
        finally:
            web.should_exit = True
            thread.join()
