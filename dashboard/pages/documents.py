"""Documents: filtered, ordered, a page at a time; failed ones retried."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import Response

from pincite.dashboard.actions.document_filter import LONGEST_REASON, DocumentFilter
from pincite.dashboard.actions.retries import MOST_RETRIED, retry_chosen, retry_matching
from pincite.dashboard.http.templating import page
from pincite.dashboard.pages.runs import live_part
from pincite.dashboard.state.progress_feed import live_of
from pincite.dashboard.state.serving import Served, Serving
from pincite.schemas.retrying import outlook_words, remedy_of
from pincite.storage.queries.documents import ORDERS, Listing, document_of, list_documents
from pincite.storage.queries.index_report import STATES, DocumentReport
from pincite.storage.runs.collections import read_collections

ROWS = 50
router = APIRouter(include_in_schema=False)

_Text = Annotated[str, Query(max_length=2_000)]
_Reason = Annotated[str, Query(max_length=LONGEST_REASON)]
_FormText = Annotated[str, Form(max_length=2_000)]


class Filter:
    """A choice of documents as it stands in the address of the page."""

    def __init__(
        self,
        state: _Text = "",
        collection: _Text = "",
        words: _Text = "",
        stage: _Text = "",
        kind: _Text = "",
        reason: _Reason = "",
        because: _Text = "",
        order: _Text = "path",
        down: _Text = "",
    ) -> None:
        self.choice = DocumentFilter(
            state, collection, words, stage, kind, reason, because, order, bool(down)
        )
        fields = asdict(self.choice)
        self.values = fields | {"order": order if order != "path" else "", "down": "yes" if down else ""}


def _posted(
    state: _FormText = "",
    collection: _FormText = "",
    words: _FormText = "",
    stage: _FormText = "",
    kind: _FormText = "",
    reason: Annotated[str, Form(max_length=LONGEST_REASON)] = "",
    because: _FormText = "",
) -> DocumentFilter:
    return DocumentFilter(state, collection, words, stage, kind, reason, because)


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
        wanted = chosen.choice.wanted(served.index)
        listing = list_documents(served.index, served.current(), wanted, after, ROWS)
        live = live_of(served)
        return _listed(served, listing) | {
            "collections": collections,
            "local": [one for one in collections if one.source.startswith("/")],
            "reason": "" if chosen.choice.is_past(wanted) else wanted.reason,
            "past": chosen.choice.is_past(wanted),
            "progress": live.progress,
            "orders": live.orders,
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
    choice: Annotated[DocumentFilter, Depends(_posted)],
    document: Annotated[list[str] | None, Form(max_length=MOST_RETRIED)] = None,
    every: _FormText = "",
) -> Response:
    """Failed documents again: those that were chosen, or every one that matches."""
    if every:
        await served.work.run(lambda: retry_matching(served, choice))
    else:
        await served.work.run(lambda: retry_chosen(served, document or ()))
    return await live_part(request, served, {"HX-Trigger": "retried"})


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
