"""GET /documents, /documents/{id} and /documents/{id}/passage."""

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Path, Query
from fastapi.responses import HTMLResponse, JSONResponse, Response

from pincite.dashboard.actions.document_filter import LONGEST_REASON, DocumentFilter
from pincite.dashboard.api.models import (
    MOST_CONTEXT,
    MOST_DOCUMENTS,
    DocumentBody,
    DocumentPage,
    PassageBody,
)
from pincite.dashboard.http.problems import READS, described
from pincite.dashboard.state.serving import Served, Serving
from pincite.dashboard.views.document_rows import document_row
from pincite.dashboard.views.passage_page import POLICY, page_of_passage
from pincite.dashboard.views.passages import has_pages, open_stretch
from pincite.retrieval.answers.annotations import MEDIA_TYPE as ANNOTATION
from pincite.retrieval.answers.annotations import annotation
from pincite.schemas.records import Space
from pincite.schemas.retrying import remedy_of
from pincite.storage.queries.documents import Order, document_of, list_documents
from pincite.storage.queries.index_report import DocumentReport

HTML = "text/html"
PAGE_CONTEXT = 4_000  # characters on each side of a passage on its page
_MOST_OFFSET = 2**31 - 1
router = APIRouter(prefix="/documents", tags=["documents"])

DocumentId = Annotated[str, Path(max_length=200, description="of a hit, a citation or a listing")]
Offset = Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="code points of the canonical text")]
State = Literal["indexed", "failed", "stale", "pending", "running"]
_Text = Annotated[str, Query(max_length=2_000)]


class DocumentSelection:
    """Which documents; all that is given must hold."""

    def __init__(
        self,
        state: Annotated[State | None, Query()] = None,
        collection: _Text = "",
        words: Annotated[str, Query(max_length=2_000, description="in the path, in any case")] = "",
        stage: Annotated[str, Query(max_length=2_000, description="of the failure")] = "",
        kind: _Text = "",
        reason: Annotated[str, Query(max_length=LONGEST_REASON, description="the whole reason")] = "",
        order: Annotated[Order, Query(description="`path` is by source, then path")] = "path",
        descending: Annotated[bool, Query()] = False,
    ) -> None:
        self.choice = DocumentFilter(
            state or "", collection, words, stage, kind, reason, order=order, down=descending
        )


@router.get("", responses=described(404, *READS))
async def documents(
    served: Served,
    chosen: Annotated[DocumentSelection, Depends()],
    limit: Annotated[int, Query(ge=1, le=MOST_DOCUMENTS)] = 100,
    after: Annotated[str, Query(max_length=200, description="`next` of the page before")] = "",
) -> DocumentPage:
    """Documents in an order, a page at a time."""

    def find() -> DocumentPage:
        wanted = chosen.choice.wanted(served.index)
        page = list_documents(served.index, served.current(), wanted, after, limit)
        return DocumentPage(
            documents=[_body(served, one, page.space) for one in page.documents],
            total=page.total,
            next=page.documents[-1].document_id if page.more else None,
            version=page.version,
        )

    return await served.work.run(find)


@router.get("/{document_id}", responses=described(404, *READS))
async def document(document_id: DocumentId, served: Served) -> DocumentBody:
    """One document: its state, what is stored of it, and its stamps."""
    report, space = await served.work.run(lambda: document_of(served.index, served.current(), document_id))
    return _body(served, report, space)


@router.get(
    "/{document_id}/passage",
    response_model=PassageBody,
    responses={
        200: {
            "content": {
                HTML: {"schema": {"type": "string"}},
                "application/ld+json": {"schema": {"type": "object"}},
            },
            "description": "The passage; as `text/html` its page with the words marked, on page images of PDF and "
            "scans; as `application/ld+json` a W3C Web Annotation.",
        },
        **described(404, *READS),
    },
)
async def passage(
    document_id: DocumentId,
    served: Served,
    start: Offset,
    end: Offset,
    context: Annotated[int, Query(ge=0, le=MOST_CONTEXT, description="characters on each side")] = 300,
    accept: Annotated[str, Header()] = "application/json",
) -> Response:
    """`text[start:end]` of a document with what stands around it."""
    wanted = accept.lower()
    if HTML in wanted:
        return await served.work.run(lambda: _page(served, document_id, start, end))
    found, stored = await served.work.run(
        lambda: open_stretch(served.index, document_id, start, end, context)
    )
    if "application/ld+json" in wanted:
        made = annotation(stored, found.start, found.end, found.locator)
        return JSONResponse(made, media_type=ANNOTATION)
    return JSONResponse(asdict(found))


def _body(served: Serving, report: DocumentReport, space: Space) -> DocumentBody:
    more = {
        "remedy": (remedy_of(report.kind) or None) if report.state == "failed" else None,
        "waits": served.runs.waits(report.document_id),
    }
    return DocumentBody.model_validate(document_row(report, space) | more)


def _page(served: Serving, document_id: str, start: int, end: int) -> Response:
    found, stored = open_stretch(served.index, document_id, start, end, PAGE_CONTEXT)
    pages, missing = served.page_images(stored, start, end) if has_pages(stored) else ((), "")
    policy = {"Content-Security-Policy": f"{POLICY}; frame-ancestors 'self'"}
    return HTMLResponse(page_of_passage(found, pages, missing), headers=policy)
