"""Runs and orders as the HTTP API takes and gives them."""

from typing import Annotated

from fastapi import Response
from pydantic import BaseModel, ConfigDict, Field

from pincite.dashboard.actions.document_filter import LONGEST_REASON, DocumentFilter
from pincite.dashboard.api.addresses import order_address
from pincite.dashboard.state.progress_feed import RunProgress
from pincite.dashboard.state.run_requests import RequestedRun
from pincite.storage.queries.overview import RunRow

MOST_NAMED = 10_000  # documents of one request

Short = Annotated[str, Field(max_length=1_000)]


class FromRecord(BaseModel):
    """Filled from the record of the same fields, by `model_validate`."""

    model_config = ConfigDict(from_attributes=True)


class RunBody(FromRecord):
    """A run as the ledger has it; times are seconds since the epoch, counts null while it goes on."""

    run_id: str
    kind: str
    source: str
    state: str = Field(description="running, completed or broken")
    host: str
    pid: int
    started_at: float
    ended_at: float | None
    seconds: float | None
    discovered: int | None
    indexed: int | None
    failed: int | None
    unchanged: int | None
    deleted: int | None
    message: str | None
    outcomes: dict[str, int] | None = Field(
        default=None, description="of a run that goes on: its documents by outcome, or by state without one"
    )


class RunList(BaseModel):
    runs: list[RunBody]
    next: str | None = Field(description="`after` of the next page; null on the last")


class OrderBody(FromRecord):
    """A run that was asked for here. What was done is in the ledger; this is what became of the order."""

    order: str
    words: str
    deployment: str
    asked_at: float
    state: str = Field(
        description='Prefect\'s word; "Starting" before it knows the order, "Lost" with its process'
    )
    message: str
    flow_run: str = Field(description='id of the Prefect flow run; "" before there is one')
    link: str = Field(description='the run on the page of a Prefect server of your own; "" without one')
    over: bool
    documents: list[str] = Field(description="ids of those whose outcome is waited for")


class OrderList(BaseModel):
    orders: list[OrderBody]


class RunWish(BaseModel):
    """A run over one collection, or over all."""

    model_config = ConfigDict(extra="forbid")

    collection: Short | None = None


class RetryBody(BaseModel):
    """Which failed documents are tried again: those of `documents`, or those that match all other fields given.

    `all` says that every failed document is meant; without it and without a field nothing is retried.
    """

    model_config = ConfigDict(extra="forbid")

    documents: Annotated[
        list[Annotated[str, Field(max_length=200)]] | None,
        Field(max_length=MOST_NAMED, description="ids; each must be failed"),
    ] = None
    collection: Short = ""
    words: Short = Field(default="", description="in the path")
    stage: Short = Field(default="", description="in which they failed")
    kind: Short = ""
    reason: str = Field(default="", max_length=LONGEST_REASON, description="the whole reason")
    all: bool = False

    def choice(self) -> DocumentFilter:
        return DocumentFilter(
            state="failed",
            collection=self.collection,
            words=self.words,
            stage=self.stage,
            kind=self.kind,
            reason=self.reason,
        )


def run_body(run: RunRow, progress: RunProgress | None = None) -> RunBody:
    outcomes = progress.outcomes if progress and progress.run.run_id == run.run_id else None
    return RunBody.model_validate(run).model_copy(update={"outcomes": outcomes})


def ordered(response: Response, order: RequestedRun) -> OrderBody:
    """The answer to who asked for a run: the order, and in Location where to follow it."""
    response.headers["Location"] = order_address(order.order)
    return OrderBody.model_validate(order)
