"""Migration: start, progress, gate report, switch, roll back. Each button calls what the HTTP API calls."""

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from pincite.dashboard.actions.migrations import Seen, cancel, go, seen, start, waive
from pincite.dashboard.api.migration_models import StartBody, gate_body, progress_shown
from pincite.dashboard.http.templating import page
from pincite.dashboard.state.serving import Served, Serving

MOST_BLOCKERS = 100
router = APIRouter(prefix="/ui/migration", include_in_schema=False)


@router.get("")
async def show(request: Request, served: Served) -> Response:
    found = await served.work.run(lambda: seen(served))
    part = request.headers.get("hx-target") == "migration"
    return _page(request, found, "migration_state.html.j2" if part else "migration.html.j2")


@router.post("/start")
async def begin(request: Request, served: Served, body: Annotated[StartBody, Form()]) -> Response:
    return await _changed(request, served, lambda: start(served, body.options()))


@router.post("/go/{way}")
async def move(
    request: Request,
    served: Served,
    way: Literal["switch", "rollback", "abort", "remove-old"],
    force: Annotated[str, Form(max_length=1_000)] = "",
) -> Response:
    return await _changed(request, served, lambda: go(served, way, force))


@router.post("/waive")
async def leave_out(
    request: Request, served: Served, document: Annotated[list[str] | None, Form(max_length=1_000)] = None
) -> Response:
    return await _changed(request, served, lambda: waive(served, document or []))


@router.post("/cancel")
async def stop(request: Request, served: Served) -> Response:
    return await _changed(request, served, lambda: cancel(served))


async def _changed(request: Request, served: Serving, change: Callable[[], object]) -> Response:
    def both() -> Seen:
        change()
        return seen(served)

    return _page(request, await served.work.run(both), "migration_state.html.j2")


def _page(request: Request, found: Seen, template: str) -> Response:
    status = found.status
    return page(
        request.scope,
        template,
        active="migration",
        seen=found,
        stands=status,
        migration=status.migration,
        level=progress_shown(status),
        blockers=status.blockers[:MOST_BLOCKERS],
        gate=gate_body(status),
    )
