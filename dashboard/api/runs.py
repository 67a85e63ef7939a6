"""Runs and the orders for them: /runs, /orders and /retry."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from pincite.dashboard.actions.retries import retry_chosen, retry_matching, update
from pincite.dashboard.api.run_models import (
    OrderBody,
    OrderList,
    RetryBody,
    RunBody,
    RunList,
    RunWish,
    ordered,
    run_body,
)
from pincite.dashboard.http.problems import READS, WRITES, described
from pincite.dashboard.state.progress_feed import progress_of
from pincite.dashboard.state.run_requests import RequestedRun, cancel_run
from pincite.dashboard.state.serving import Served, Serving
from pincite.schemas.errors import NotFound, UsageError
from pincite.storage.queries.overview import list_runs, run_of

router = APIRouter(tags=["runs"])

RunId = Annotated[str, Path(max_length=200)]
OrderId = Annotated[str, Path(max_length=200)]


@router.get("/runs", responses=described(*READS))
async def runs(
    served: Served,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    after: Annotated[str, Query(max_length=200, description="`next` of the page before")] = "",
) -> RunList:
    """Runs of the ledger, newest first, whoever started them."""

    def find() -> RunList:
        page = list_runs(served.index, after, limit)
        progress = progress_of(served.index)
        bodies = [run_body(one, progress) for one in page.runs]
        return RunList(runs=bodies, next=bodies[-1].run_id if page.more else None)

    return await served.work.run(find)


@router.post("/runs", status_code=202, responses=described(404, *WRITES))
async def start(served: Served, response: Response, wish: RunWish | None = None) -> OrderBody:
    """Asks for a run over one collection, or over all; the order says what becomes of it."""
    order = await served.work.run(lambda: update(served, (wish and wish.collection) or ""))
    return ordered(response, order)


@router.get("/runs/{run_id}", responses=described(404, *READS))
async def run(run_id: RunId, served: Served) -> RunBody:
    """One run; while it goes on, `outcomes` says how far it is."""
    return await served.work.run(lambda: _run(served, run_id))


@router.post("/runs/{run_id}/cancel", status_code=202, responses=described(404, *WRITES))
async def cancel(run_id: RunId, served: Served) -> RunBody:
    """Interrupts a run that goes on on this machine: what it had finished stays, the next run takes up the rest."""

    def end() -> RunBody:
        cancel_run(served.index, run_id)
        return _run(served, run_id)

    return await served.work.run(end)


@router.get("/orders", responses=described(*READS))
async def orders(served: Served) -> OrderList:
    """The last orders that this server took, newest first."""
    return OrderList(orders=[OrderBody.model_validate(one) for one in served.runs.orders()])


@router.get("/orders/{order_id}", responses=described(404, *READS))
async def order(order_id: OrderId, served: Served) -> OrderBody:
    """What became of an order."""
    return OrderBody.model_validate(served.runs.order(order_id))


@router.post("/orders/{order_id}/cancel", status_code=202, responses=described(404, *WRITES))
async def withdraw(order_id: OrderId, served: Served) -> OrderBody:
    """Takes an order back; of a run that has begun, what it had finished stays. One that is over stays as it is."""

    def end() -> OrderBody:
        served.runs.withdraw(order_id)
        return OrderBody.model_validate(served.runs.order(order_id))

    return await served.work.run(end)


@router.post("/retry", status_code=202, responses=described(404, *WRITES))
async def retry(body: RetryBody, served: Served, response: Response) -> OrderBody:
    """Asks for another attempt on failed documents."""
    choice = body.choice()
    chosen = body.documents is not None
    if chosen + (choice.narrow or bool(choice.collection)) + body.all != 1:
        raise UsageError("name documents, or fields that they match, or say all: one of the three")

    def ask() -> RequestedRun:
        if body.documents is not None:
            return retry_chosen(served, body.documents)
        return retry_matching(served, choice)

    return ordered(response, await served.work.run(ask))


def _run(served: Serving, run_id: str) -> RunBody:
    found = run_of(served.index, run_id)
    if found is None:
        raise NotFound(f"the ledger has no run {run_id!r}")
    return run_body(found, progress_of(served.index))
