"""What is stored of one document: /documents/{id}/attempts, versions, text, chunks and pages."""

import base64
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query

from pincite.dashboard.api.addresses import passage_address
from pincite.dashboard.api.part_models import (
    AttemptList,
    ChunkBody,
    ChunkList,
    FoundOnPage,
    PageBody,
    TextBody,
    VersionList,
)
from pincite.dashboard.http.problems import READS, described
from pincite.dashboard.state.serving import Served, Serving
from pincite.dashboard.views.page_images import Drawn
from pincite.schemas.errors import NotFound
from pincite.schemas.locators import char_fragment, overlapping, place_fragment
from pincite.schemas.records import Chunk
from pincite.storage.documents.whole import WholeDocument, read_whole
from pincite.storage.queries.documents import document_of
from pincite.storage.queries.history import attempts_of, file_of, revisions_of
from pincite.tasks.extraction.pdf.page_record import IMAGE_TYPE

MOST_TEXT = 1_000_000  # characters of one answer
_MOST_OFFSET = 2**31 - 1
router = APIRouter(prefix="/documents/{document_id}", tags=["documents"], responses=described(404, *READS))

DocumentId = Annotated[str, Path(max_length=200, description="of a hit, a citation or a listing")]
Number = Annotated[int, Path(ge=1, le=_MOST_OFFSET, description="1-based")]


@router.get("/attempts")
async def attempts(document_id: DocumentId, served: Served) -> AttemptList:
    """What became of the last 100 attempts on a document, newest first."""

    def find() -> AttemptList:
        report, _ = document_of(served.index, served.current(), document_id)
        return AttemptList(document=report.path, attempts=list(attempts_of(served.index, document_id)))

    return await served.work.run(find)


@router.get("/versions")
async def versions(document_id: DocumentId, served: Served) -> VersionList:
    """The last 100 revisions of a document in every model version, newest first; its file as the last run saw it."""

    def find() -> VersionList:
        report, _ = document_of(served.index, served.current(), document_id)
        revisions = list(revisions_of(served.index, document_id))
        file = file_of(served.index, document_id)
        return VersionList(document=report.path, file=file, revisions=revisions)

    return await served.work.run(find)


@router.get("/text")
async def text(
    document_id: DocumentId,
    served: Served,
    start: Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="code points")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_TEXT)] = 100_000,
) -> TextBody:
    """The canonical text from `start` on, on which all offsets stand, and where its pages lie in it."""

    def find() -> TextBody:
        whole = _whole(served, document_id)
        extraction = whole.extraction
        end = min(start + limit, len(extraction.text))
        return TextBody(
            document=whole.document.path,
            version=whole.version,
            characters=len(extraction.text),
            start=start,
            text=extraction.text[start:end],
            next=end if end < len(extraction.text) else None,
            pages=list(extraction.pages),
        )

    return await served.work.run(find)


@router.get("/chunks")
async def chunks(
    document_id: DocumentId,
    served: Served,
    first: Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="ordinal of the first")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> ChunkList:
    """The passages of a document in text order."""

    def find() -> ChunkList:
        whole = _whole(served, document_id)
        rest = [one for one in whole.chunks if one.ordinal >= first]
        return ChunkList(
            document=whole.document.path,
            version=whole.version,
            total=len(whole.chunks),
            chunks=[_chunk(whole, one) for one in rest[:limit]],
            next=rest[limit].ordinal if len(rest) > limit else None,
        )

    return await served.work.run(find)


@router.get("/pages/{number}")
async def page(document_id: DocumentId, number: Number, served: Served) -> PageBody:
    """The image of one page and what was found on it; of pictures with more than 40 pages the image alone."""
    return await served.work.run(lambda: _page(served, document_id, number))


def _whole(served: Serving, document_id: str) -> WholeDocument:
    whole = read_whole(served.index, document_id)
    if whole is None:
        raise NotFound("nothing of this document can be found")
    return whole


def _chunk(whole: WholeDocument, chunk: Chunk) -> ChunkBody:
    values = asdict(chunk)
    del values["text"]  # what was embedded is not kept
    start, end = chunk.start, chunk.end
    locator = place_fragment(overlapping(whole.extraction.places, start, end)) or char_fragment(start, end)
    address = passage_address(whole.document.document_id, start, end)
    return ChunkBody(**values, locator=locator, passage=address)


def _page(served: Serving, document_id: str, number: int) -> PageBody:
    drawn = served.sheets.of(served.index, _whole(served, document_id), number, served.in_time())
    seen = drawn.sheet or drawn.page
    if seen is None:
        raise NotFound(drawn.missing)
    image = base64.b64encode(seen.image).decode("ascii") if seen.image else None
    return PageBody(
        number=number,
        width=seen.width,
        height=seen.height,
        image=image,
        image_type=IMAGE_TYPE if image else None,
        missing=seen.missing or None,
        **_found_on(drawn),
    )


def _found_on(drawn: Drawn) -> dict[str, list[FoundOnPage]]:
    sheet = drawn.sheet
    if sheet is None:
        return {}
    return {
        "blocks": [
            FoundOnPage(kind=drawn.kinds[one.block], corners=list(one.corners)) for one in sheet.blocks
        ],
        "words": [
            FoundOnPage(kind="word", text=one.text, confidence=one.confidence, corners=list(one.corners))
            for one in sheet.words
        ],
        "left_out": [
            FoundOnPage(kind="left out", text=one.text, corners=list(one.corners)) for one in sheet.left_out
        ],
    }
