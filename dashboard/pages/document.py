"""One document: its state and history, its text in chunks, its pages; and one passage of it."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from pincite.dashboard.http.templating import page
from pincite.dashboard.pages.documents import row_values
from pincite.dashboard.state.serving import Served, Serving
from pincite.dashboard.views.chunk_spans import leaves_between, text_of
from pincite.dashboard.views.passages import has_pages, open_stretch
from pincite.schemas.errors import NotFound
from pincite.storage.documents.whole import WholeDocument, read_whole
from pincite.storage.queries.documents import document_of
from pincite.storage.queries.history import attempts_of, file_of, revisions_of

LEAVES = 10  # pages of a document on one page of ours
CONTEXT = 3_000  # characters on each side of a passage
_MOST = 2**31 - 1
router = APIRouter(prefix="/ui/documents", include_in_schema=False)

DocumentId = Annotated[str, Path(max_length=200)]
Offset = Annotated[int, Query(ge=0, le=_MOST)]


@router.get("/{document_id}")
async def show(
    request: Request,
    served: Served,
    document_id: DocumentId,
    first: Annotated[int, Query(ge=1, le=_MOST)] = 1,
) -> Response:
    values = await served.work.run(lambda: _values(served, document_id, first))
    return page(request.scope, "document.html.j2", active="documents", **values)


@router.get("/{document_id}/state")
async def state(request: Request, served: Served, document_id: DocumentId) -> Response:
    """The head of the page as it is now; it asks for itself again until an outcome is there."""
    report, _ = await served.work.run(lambda: document_of(served.index, served.current(), document_id))
    return page(
        request.scope, "state.html.j2", **row_values(served, report), **_may_replace(served, report.source)
    )


@router.get("/{document_id}/pages/{number}")
async def sheet(
    request: Request, served: Served, document_id: DocumentId, number: Annotated[int, Path(ge=1, le=_MOST)]
) -> Response:
    """The image of one page, with what was found on it."""

    def draw() -> dict[str, Any]:
        whole = read_whole(served.index, document_id)
        if whole is None:
            raise NotFound("nothing of this document can be found")
        return {"drawn": served.sheets.of(served.index, whole, number, served.in_time()), "number": number}

    return page(request.scope, "sheet.html.j2", **await served.work.run(draw))


@router.get("/{document_id}/passage")
async def passage(
    request: Request, served: Served, document_id: DocumentId, start: Offset, end: Offset
) -> Response:
    """A cited place: the text around it with the passage marked, and the way to its pages."""
    found, stored = await served.work.run(
        lambda: open_stretch(served.index, document_id, start, end, CONTEXT)
    )
    return page(request.scope, "passage.html.j2", active="search", passage=found, pages=has_pages(stored))


@router.get("/{document_id}/passage/pages")
async def passage_pages(
    request: Request, served: Served, document_id: DocumentId, start: Offset, end: Offset
) -> Response:
    """The images of the pages on which a passage stands, its words marked."""

    def draw() -> dict[str, Any]:
        _, stored = open_stretch(served.index, document_id, start, end, 0)
        pages, missing = served.page_images(stored, start, end)
        return {"pages": pages, "missing": missing}

    return page(request.scope, "passage_pages.html.j2", **await served.work.run(draw))


def _may_replace(served: Serving, source: str) -> dict[str, Any]:
    return {"local": source.startswith("/"), "most_bytes": served.settings.limits.source_bytes}


def _values(served: Serving, document_id: str, first: int) -> dict[str, Any]:
    report, space = document_of(served.index, served.current(), document_id)
    whole = read_whole(served.index, document_id)
    return {
        **row_values(served, report),
        **_may_replace(served, report.source),
        "space": space,
        "whole": whole,
        "attempts": attempts_of(served.index, document_id),
        "revisions": revisions_of(served.index, document_id),
        "file": file_of(served.index, document_id),
        **_text(whole, first),
    }


def _text(whole: WholeDocument | None, first: int) -> dict[str, Any]:
    if whole is None:
        return {"leaves": [], "first": 1, "pages": 0, "images": False, "per": LEAVES}
    pages = len(whole.extraction.pages)
    first = min(first, max(1, pages))
    leaves = leaves_between(whole, first, first + LEAVES - 1)
    kind = whole.document.media_type
    return {
        "leaves": [(leaf.page, text_of(whole, leaf)) for leaf in leaves],
        "first": first,
        "pages": pages,
        "images": kind == "application/pdf" or kind.startswith("image/"),
        "per": LEAVES,
    }
