"""The overview: what the index holds, what failed, and what is going on."""

import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.dashboard.actions.next_run import next_run
from pincite.dashboard.actions.overview_counts import overview_of
from pincite.dashboard.http.templating import page
from pincite.dashboard.state.progress_feed import live_of
from pincite.dashboard.state.serving import Served, Serving
from pincite.schemas.retrying import remedy_of

LISTED_RUNS = 8
router = APIRouter(include_in_schema=False)


@router.get("/")
async def show(request: Request, served: Served) -> Response:
    values = await served.work.run(lambda: _values(served))
    return page(request.scope, "overview.html.j2", active="overview", **values)


@router.get("/ui/summary")
async def summary(request: Request, served: Served) -> Response:
    """The counts alone, for a page that shows them anew when a run has ended."""
    values = await served.work.run(lambda: _values(served))
    return page(request.scope, "summary.html.j2", **values)


def _values(served: Serving) -> dict[str, Any]:
    seen = overview_of(served)
    live = live_of(served)
    return {
        "seen": seen,
        "index": served.index.path.resolve(),
        "ended": [run for run in seen.runs[::-1] if run.discovered is not None or run.state == "broken"],
        "listed": seen.runs[:LISTED_RUNS],
        "schedule": served.settings.schedule,
        "next_run": next_run(served.settings.schedule, time.time()),
        "last_run": next(
            (run for run in seen.runs if run.kind == "reindex" and run.state != "running"), None
        ),
        "remedy_of": remedy_of,
        "progress": live.progress,
        "orders": live.orders,
    }
