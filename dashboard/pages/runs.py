"""Runs: asked for, taken back, cancelled."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from dashboard.pages.overview import live_values, progress_of
from dashboard.runs import Wish, cancel_run
from dashboard.serving import Served, Serving
from dashboard.templating import page
from schemas.errors import NotFound
from storage.collections import read_collections

router = APIRouter(prefix="/ui/runs", include_in_schema=False)


@router.post("")
async def ask(
    request: Request, served: Served, collection: Annotated[str, Form(max_length=500)] = ""
) -> Response:
    """A run over one collection, or over all."""

    def order() -> None:
        names = {one.name for one in read_collections(served.index)}
        if collection and collection not in names:
            raise NotFound(f"no collection is named {collection!r}")
        words = f"Bring {collection} up to date" if collection else "Bring all collections up to date"
        served.runs.ask(Wish.nightly(words, collection or None))

    await served.work.run(order)
    return await _live(request, served)


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
    return await _live(request, served)


async def _live(request: Request, served: Serving) -> Response:
    progress = await served.work.run(lambda: progress_of(served))
    return page(request.scope, "live.html.j2", **live_values(served, progress))
