"""The overview: what the index holds, what failed, and what is going on."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from dashboard.next_run import next_run
from dashboard.remedies import remedy_of
from dashboard.serving import Served, Serving
from dashboard.templating import page
from dashboard.trend import runs_trend
from schemas.errors import IndexBusy
from storage.overview import Overview, RunRow, outcomes_of, runs_of

SHOWN_RUNS = 30
LISTED_RUNS = 8
BEAT_S = 1.0  # between two looks at a run
AGAIN_S = 3.0  # after which the same is told again, to who showed something older meanwhile
LOOKED_AT = 100  # streams of events at once
router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Progress:
    """A run that goes on. `done` of `known` documents have their outcome."""

    run: RunRow
    outcomes: dict[str, int]

    @property
    def known(self) -> int:
        return sum(self.outcomes.values())

    @property
    def done(self) -> int:
        return self.known - self.outcomes.get("pending", 0) - self.outcomes.get("running", 0)


@router.get("/")
async def show(request: Request, served: Served) -> Response:
    values = await served.work.run(lambda: _values(served))
    return page(request.scope, "overview.html.j2", active="overview", **values)


@router.get("/ui/summary")
async def summary(request: Request, served: Served) -> Response:
    """The counts alone, for a page that shows them anew when a run has ended."""
    values = await served.work.run(lambda: _values(served))
    return page(request.scope, "summary.html.j2", **values)


@router.get("/ui/events")
async def events(request: Request, served: Served) -> Response:
    """Server-sent events: `live` with the state of runs as HTML whenever it changes, `ended` after a run's end."""
    app = request.app
    streams: int = getattr(app.state, "streams", 0)
    if streams >= LOOKED_AT:
        raise IndexBusy(f"{LOOKED_AT} browsers are told of runs already: load the page again later")
    return StreamingResponse(_events(request, served), media_type="text/event-stream")


async def _events(request: Request, served: Serving) -> AsyncIterator[str]:
    state = request.app.state
    state.streams = getattr(state, "streams", 0) + 1
    known, running, beat = "", None, time.monotonic()
    try:
        while not state.ending.is_set():
            progress = await served.work.run(lambda: progress_of(served))
            html = bytes(page(request.scope, "live.html.j2", **live_values(served, progress)).body).decode()
            now = progress.run.run_id if progress else None
            if html != known or time.monotonic() - beat > AGAIN_S:
                yield _event("live", html)
                beat = time.monotonic()
            if running and now != running:
                yield _event("ended", running)
            known, running = html, now
            await asyncio.sleep(BEAT_S)
    finally:
        state.streams -= 1


def _event(name: str, data: str) -> str:
    lines = data.strip().splitlines() or ["<!-- nothing goes on -->"]  # browsers drop an event without data
    return f"event: {name}\n" + "".join(f"data: {line}\n" for line in lines) + "\n"


def progress_of(served: Serving) -> Progress | None:
    """The run that goes on, with its documents by outcome."""
    run = next((one for one in runs_of(served.index, 5) if one.state == "running"), None)
    return None if run is None else Progress(run, dict(outcomes_of(served.index, run.source, run.run_id)))


def live_values(served: Serving, progress: Progress | None) -> dict[str, Any]:
    orders = [one for one in served.runs.orders() if not one.over or time.time() - one.asked_at < 600][:5]
    return {"progress": progress, "orders": orders}


def _values(served: Serving) -> dict[str, Any]:
    seen: Overview = served.overviews.now(served.current(), SHOWN_RUNS)
    return {
        "seen": seen,
        "index": served.index.path.resolve(),
        "trend": runs_trend(seen.runs),
        "listed": seen.runs[:LISTED_RUNS],
        "schedule": served.settings.schedule,
        "next_run": next_run(served.settings.schedule, time.time()),
        "last_run": next(
            (run for run in seen.runs if run.kind == "reindex" and run.state != "running"), None
        ),
        "remedy_of": remedy_of,
        **live_values(served, progress_of(served)),
    }
