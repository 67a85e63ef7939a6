"""Runs: asked for, taken back, cancelled."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from pincite.dashboard.actions.retries import update
from pincite.dashboard.http.templating import page
from pincite.dashboard.state.progress_feed import live_of
from pincite.dashboard.state.run_requests import cancel_run
from pincite.dashboard.state.serving import Served, Serving

router = APIRouter(prefix="/ui/runs", include_in_schema=False)


@router.post("")
async def ask(
    request: Request, served: Served, collection: Annotated[str, Form(max_length=500)] = ""
) -> Response:
    """A run over one collection, or over all."""
    await served.work.run(lambda: update(served, collection))
    return await live_part(request, served)


@router.post("/cancel")
async def cancel(
    request: Request,
    served: Served,
    run: Annotated[str, Form(max_length=200)] = "",
    order: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Ends a run that goes on, or takes back one that has not begun."""
    if order:
        await served.work.run(lambda: served.runs.withdraw(order))
    else:
        await served.work.run(lambda: cancel_run(served.index, run))
    return await live_part(request, served)


async def live_part(request: Request, served: Serving, headers: dict[str, str] | None = None) -> Response:
    """The part of a page that shows what goes on, after something was asked for."""
    live = await served.work.run(lambda: live_of(served))
    return page(request.scope, "live.html.j2", headers=headers, progress=live.progress, orders=live.orders)
