"""GET /status and /healthz."""

from fastapi import APIRouter

from dashboard.api.models import Health, StatusBody
from dashboard.problems import described
from dashboard.rows import status_row
from dashboard.serving import Served
from storage.report import index_report

router = APIRouter(tags=["status"])


@router.get("/status", responses=described(500, 503))
async def status(served: Served) -> StatusBody:
    """Counts, the live space, what is stale, the last run."""
    report = await served.work.run(lambda: index_report(served.index, served.current()))
    return StatusBody.model_validate(status_row(report))


@router.get("/healthz")
async def healthz() -> Health:
    """That the server runs. It needs no token and looks at no index."""
    return Health()
