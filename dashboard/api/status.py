"""GET /status, /metrics and /healthz."""

from fastapi import APIRouter, Response

from pincite.dashboard.api.models import Health, StatusBody
from pincite.dashboard.http.problems import READS, described
from pincite.dashboard.state.serving import Served
from pincite.dashboard.views.document_rows import status_row
from pincite.storage.queries.index_report import index_report
from pincite.storage.queries.metrics import CONTENT_TYPE, metrics_text

router = APIRouter(tags=["status"])


@router.get("/status", responses=described(*READS))
async def status(served: Served) -> StatusBody:
    """Counts, the live model version, what is stale, the last run."""
    report = await served.work.run(lambda: index_report(served.index, served.current()))
    return StatusBody.model_validate(status_row(report))


@router.get(
    "/metrics",
    response_class=Response,
    responses={**described(*READS), 200: {"content": {CONTENT_TYPE: {"schema": {"type": "string"}}}}},
)
async def metrics(served: Served) -> Response:
    """Gauges of the index for Prometheus: documents by state, chunks, the last run of each collection."""
    text = await served.work.run(lambda: metrics_text(served.index))
    return Response(text, media_type=CONTENT_TYPE)


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> Health:
    """That the server runs. It needs no token and looks at no index."""
    return Health()
