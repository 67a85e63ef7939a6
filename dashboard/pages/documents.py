"""Documents: filtered, ordered, a page at a time; failed ones retried."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import Response

from dashboard.pages.overview import live_values, progress_of
from dashboard.remedies import outlook_words, remedy_of
from dashboard.runs import Wish
from dashboard.serving import Served, Serving
from dashboard.templating import page
from schemas.errors import NotFound, UsageError
from schemas.records import Collection
from storage.browsing import ORDERS, Wanted, browse, ids_of
from storage.collections import read_collections
from storage.listing import Listing, document_of
from storage.report import STATES, DocumentReport

ROWS = 50
MOST_RETRIED = 20_000  # by one order: Prefect takes parameters up to 512 kB
router = APIRouter(include_in_schema=False)

_Text = Annotated[str, Query(max_length=2_000)]
_FormText = Annotated[str, Form(max_length=2_000)]


class Filter:
    """The fields by which documents are chosen, as they stand in the address of the page."""

    def __init__(
        self,
        state: _Text = "",
        collection: _Text = "",
        words: _Text = "",
        stage: _Text = "",
        kind: _Text = "",
        reason: _Text = "",
        order: _Text = "path",
        down: _Text = "",
    ) -> None:
        if state and state not in STATES:
            raise UsageError(f"no document is ever {state!r}: ask for one of {', '.join(STATES)}")
        if order and order not in ORDERS:
            raise UsageError(f"documents have no order {order!r}: use one of {', '.join(ORDERS)}")
        self.values = {
            "state": state,
            "collection": collection,
            "words": words,
            "stage": stage,
            "kind": kind,
            "reason": reason,
            "order": order if order != "path" else "",
            "down": "yes" if down else "",
        }

    def wanted(self, collections: tuple[Collection, ...]) -> Wanted:
        """Raises `NotFound` for a collection that the index does not have."""
        values = self.values
        source = next((one.source for one in collections if one.name == values["collection"]), "")
        if values["collection"] and not source:
            raise NotFound(f"no collection is named {values['collection']!r}")
        order = next((one for one in ORDERS if one == values["order"]), ORDERS[0])
        return Wanted(
            state=values["state"] or None,
            source=source,
            words=values["words"],
            stage=values["stage"],
            kind=values["kind"],
            reason=values["reason"],
            order=order,
            descending=bool(values["down"]),
        )


def _posted(
    state: _FormText = "",
    collection: _FormText = "",
    words: _FormText = "",
    stage: _FormText = "",
    kind: _FormText = "",
    reason: _FormText = "",
) -> Filter:
    return Filter(state, collection, words, stage, kind, reason)


@router.get("/ui/documents")
async def show(
    request: Request,
    served: Served,
    chosen: Annotated[Filter, Depends()],
    after: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The page, or its rows alone where the page itself asks for them."""

    def find() -> dict[str, Any]:
        collections = read_collections(served.index)
        listing = browse(served.index, served.current(), chosen.wanted(collections), after, ROWS)
        return _listed(served, listing) | {
            "collections": collections,
            "local": [one for one in collections if one.source.startswith("/")],
            **live_values(served, progress_of(served)),
        }

    values = await served.work.run(find)
    part = request.headers.get("hx-target") == "rows"
    return page(
        request.scope,
        "rows.html.j2" if part else "documents.html.j2",
        active="documents",
        chosen=chosen.values,
        after=after,
        states=STATES,
        sortings=ORDERS,
        most_bytes=served.settings.limits.source_bytes,
        **values,
    )


@router.get("/ui/documents/{document_id}/row")
async def row(request: Request, served: Served, document_id: str) -> Response:
    """One row as it is now; it asks for itself again until the outcome is there."""
    report, _ = await served.work.run(lambda: document_of(served.index, served.current(), document_id))
    values = row_values(served, report)
    return page(request.scope, "row.html.j2", **values)


@router.post("/ui/retry")
async def retry(
    request: Request,
    served: Served,
    chosen: Annotated[Filter, Depends(_posted)],
    document: Annotated[list[str] | None, Form(max_length=MOST_RETRIED)] = None,
    every: _FormText = "",
) -> Response:
    """Failed documents again: those that were chosen, or every one that matches."""
    await served.work.run(lambda: _retry(served, chosen, tuple(document or ()), bool(every)))
    progress = await served.work.run(lambda: progress_of(served))
    return page(
        request.scope, "live.html.j2", headers={"HX-Trigger": "retried"}, **live_values(served, progress)
    )


def _retry(served: Serving, chosen: Filter, document_ids: tuple[str, ...], every: bool) -> None:
    collections = read_collections(served.index)
    current = served.current()
    if every:
        wanted = replace(chosen.wanted(collections), state="failed")
        document_ids = ids_of(served.index, current, wanted, MOST_RETRIED)
        if len(document_ids) > MOST_RETRIED:
            raise UsageError(
                f"more than {MOST_RETRIED:,} documents match: use `pincite retry --reason`, which takes them all"
            )
    if not document_ids:
        raise UsageError("no document was chosen: tick those to retry")
    reports = [document_of(served.index, current, one)[0] for one in document_ids[:200]]
    if not every and (well := [one.path for one in reports if one.state != "failed"]):
        raise UsageError(f"{well[0]} is not failed: only failed documents are retried")
    names = {one.collection for one in reports}
    whole = len(document_ids) <= len(reports) and len(names) == 1
    words = f"Retry {reports[0].path}" if len(document_ids) == 1 else f"Retry {len(document_ids):,} documents"
    served.runs.ask(Wish.nightly(words, names.pop() if whole else None, document_ids))


def _listed(served: Serving, listing: Listing) -> dict[str, Any]:
    last = listing.documents[-1].document_id if listing.documents and listing.more else ""
    return {
        "rows": [row_values(served, one) for one in listing.documents],
        "total": listing.total,
        "next": last,
        "failed": any(one.state == "failed" for one in listing.documents),
    }


def row_values(served: Serving, report: DocumentReport) -> dict[str, Any]:
    """What a row shows of a document."""
    waits = served.runs.waits(report.document_id)
    return {
        "document": report,
        "waits": waits,
        "follows": waits or report.state == "running",
        "remedy": remedy_of(report.kind) if report.state == "failed" else "",
        "outlook": outlook_words(report.kind) if report.state == "failed" else "",
    }
