"""Server-sent events: what runs do, told to a page that is open."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from pincite.dashboard.http.access import Principal
from pincite.dashboard.state.progress_feed import BEAT_S, Feed
from pincite.dashboard.state.serving import Asking

AGAIN_S = 3.0  # after which the same is told again, to who showed something older meanwhile
router = APIRouter(include_in_schema=False)


@router.get("/ui/events")
async def events(request: Request, asking: Asking) -> Response:
    """`live` with the state of runs as HTML whenever it changes, `ended` after a run's end.

    The stream ends with `over` when the session does.
    """
    feed: Feed = request.app.state.feed
    feed.room()
    told = _events(feed, asking, request.app.state.ending)
    return _Stream(feed, told)


class _Stream(StreamingResponse):
    """Counted while it is being sent, so that what ends the sending, however it does, ends the count."""

    def __init__(self, feed: Feed, told: AsyncIterator[str]) -> None:
        super().__init__(told, media_type="text/event-stream")
        self._feed = feed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._feed.listening():
            await super().__call__(scope, receive, send)


async def _events(feed: Feed, asking: Principal, ending: threading.Event) -> AsyncIterator[str]:
    known, running, beat = "", None, time.monotonic()
    while not ending.is_set():
        if not asking.lasts():
            yield _event("over", "signed out")
            return
        told = await feed.told()
        html = told.html[asking.role == "operator"]
        if html != known or time.monotonic() - beat > AGAIN_S:
            yield _event("live", html)
            beat = time.monotonic()
        if running and told.run != running:
            yield _event("ended", running)
        known, running = html, told.run
        await asyncio.sleep(BEAT_S)


def _event(name: str, data: str) -> str:
    lines = data.strip().splitlines() or ["<!-- nothing goes on -->"]  # browsers drop an event without data
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"
