"""GET /overview: what the first page shows."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, BeforeValidator, Field

from pincite.dashboard.actions.overview_counts import overview_of
from pincite.dashboard.api.run_models import FromRecord, OrderBody, RunBody, run_body
from pincite.dashboard.http.problems import READS, described
from pincite.dashboard.state.progress_feed import live_of
from pincite.dashboard.state.serving import Served, Serving
from pincite.schemas.records import Space

router = APIRouter(tags=["status"])


class FailureBody(FromRecord):
    """Failed documents with one reason."""

    stage: str
    kind: str
    reason: str
    remedy: str
    count: int


class SourceBody(FromRecord):
    collection: str
    source: str
    documents: int
    states: dict[str, int]


class ScheduleBody(BaseModel):
    cron: str = Field(description='"" without a schedule')
    timezone: str


def _as_dict(space: Space | dict[str, str | int]) -> dict[str, str | int]:
    return asdict(space) if isinstance(space, Space) else space


class IndexCounts(FromRecord):
    """Counts of the whole index, all of one moment; `documents` is the sum of `states`."""

    version: int
    committed_at: float | None
    space: Annotated[dict[str, str | int], BeforeValidator(_as_dict)]
    documents: int
    states: dict[str, int]
    stale: dict[str, int] = Field(description="documents that can be found and are not current, by why")
    failures: list[FailureBody] = Field(description="the 50 most frequent reasons")
    failures_left_out: int
    chunks: int
    over_window: int
    pages: int
    ocr_pages: int
    warned: int
    unread: int
    sources: list[SourceBody]


class OverviewBody(IndexCounts):
    """Counts of the whole index, all of one moment; `documents` is the sum of `states`."""

    runs: list[RunBody] = Field(description="the last 30, newest first")
    running: RunBody | None
    orders: list[OrderBody]
    schedule: ScheduleBody


@router.get("/overview", responses=described(*READS))
async def overview(served: Served) -> OverviewBody:
    """What the index holds, what failed and why, what is stale, and what goes on."""
    return await served.work.run(lambda: _overview(served))


def _overview(served: Serving) -> OverviewBody:
    seen, live = overview_of(served), live_of(served)
    schedule = served.settings.schedule
    return OverviewBody(
        **dict(IndexCounts.model_validate(seen)),
        runs=[run_body(one, live.progress) for one in seen.runs],
        running=run_body(live.progress.run, live.progress) if live.progress else None,
        orders=[OrderBody.model_validate(one) for one in live.orders],
        schedule=ScheduleBody(cron=schedule.cron, timezone=schedule.timezone),
    )
