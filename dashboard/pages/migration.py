"""Migration: to another embedding model or chunker."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dashboard.serving import Served
from dashboard.templating import page

router = APIRouter(include_in_schema=False)


@router.get("/ui/migration")
async def show(request: Request, served: Served) -> Response:
    return page(request.scope, "migration.html.j2", active="migration")
