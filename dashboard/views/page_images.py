"""Sheets: images of a document's pages with what extraction found on them, drawn by a child that can be killed.

What was drawn is kept for a while: a person turns pages to and fro. Each look drops what the ledger has no more.
"""

import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from pincite.dashboard.views.source_files import Origin, keep_live_objects, original
from pincite.encoders.models import name_of, resolve_model
from pincite.schemas.records import Page
from pincite.schemas.settings import Settings
from pincite.storage.documents.live import live_revisions
from pincite.storage.documents.whole import WholeDocument
from pincite.storage.snapshots.index import Index
from pincite.tasks.extraction.pdf.page_record import Sheet
from pincite.tasks.inspection.inspect import Inspection, InspectionOrder
from pincite.tasks.inspection.page_overlay import OverlayOrder
from pincite.tasks.inspection.passage_pages import PassageOrder, PassagePage
from pincite.tasks.sandbox.pool import StageFailed, Worker

MOST_INSPECTED = 40
"""Pages of a document that is read again as a whole, as it was at indexing. Of a longer PDF the one page is read, and
what is stored of it found there (`pincite.tasks.inspection.page_overlay`); of longer pictures the image is all."""

_KEPT = 24  # pages, of some 100 kB


@dataclass(frozen=True, slots=True)
class Drawn:
    """One page: all that was found on it, or its image alone; `missing` says why there is neither."""

    sheet: Sheet | None = None
    kinds: tuple[str, ...] = ()  # of the blocks of the sheet, by their index in the document
    page: PassagePage | None = None
    missing: str = ""


class Sheets:
    """Threads share it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int, int], Drawn] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, index: Index, whole: WholeDocument, number: int, settings: Settings) -> Drawn:
        """The page of this number (1-based)."""
        self.keep_live(index)
        key = (whole.document.document_id, whole.document.revision, number)
        with self._lock:
            if (kept := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return kept
        try:
            drawn = draw(whole, number, settings)
        finally:
            keep_live_objects(index)
        if not drawn.missing:
            with self._lock:
                self._kept[key] = drawn
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            self.keep_live(index)  # it may have been forgotten while it was drawn
        return drawn

    def keep_live(self, index: Index) -> None:
        """Drops the pages of revisions that can't be found any more: of forgotten, deleted and replaced documents."""
        with self._lock:
            kept = {document_id for document_id, _, _ in self._kept}
        if not kept:
            return
        live = {(document_id, revision) for document_id, revision, _ in live_revisions(index, kept)}
        with self._lock:
            for key in [one for one in self._kept if one[0] in kept and one[:2] not in live]:
                del self._kept[key]


def draw(whole: WholeDocument, number: int, settings: Settings) -> Drawn:
    """Reads the file again, if it is still the one that was indexed."""
    page = next((one for one in whole.extraction.pages if one.number == number), None)
    if page is None:
        return Drawn(missing=f"the document has no page {number}")
    with original(Origin.of(whole.document), settings) as (path, missing):
        return Drawn(missing=missing) if missing else _drawn(whole, path, page, settings)


def _drawn(whole: WholeDocument, path: Path, page: Page, settings: Settings) -> Drawn:
    worker = Worker(settings.limits.memory_bytes, f"sheet-{uuid.uuid4().hex}")
    try:
        if len(whole.extraction.pages) <= MOST_INSPECTED:
            return _inspected(worker, path, page.number, settings)
        if whole.document.media_type == "application/pdf":
            return _overlaid(worker, whole, path, page, settings)
        return _imaged(worker, whole, path, page, settings)
    except StageFailed as failed:
        return Drawn(missing=f"the file can't be shown: {failed.failure.reason}")
    finally:
        worker.kill()


def _inspected(worker: Worker, path: Path, number: int, settings: Settings) -> Drawn:
    order = InspectionOrder(path, settings, name_of(resolve_model(settings.model)), number, number)
    seen: Inspection = worker.run(
        "pincite.tasks.inspection.inspect:inspect", order, settings.limits.deadline_s
    )
    if not seen.sheets or seen.extraction is None:
        return Drawn(missing=seen.failure.reason if seen.failure else "the file has no such page")
    return Drawn(seen.sheets[0], tuple(block.kind for block in seen.extraction.blocks))


def _overlaid(worker: Worker, whole: WholeDocument, path: Path, page: Page, settings: Settings) -> Drawn:
    extraction = whole.extraction
    numbered = enumerate(extraction.blocks)
    order = OverlayOrder(
        path,
        settings,
        page,
        extraction.text[page.start : page.end],
        tuple((n, one) for n, one in numbered if one.start < page.end and one.end > page.start),
        tuple(one for one in extraction.words if one.start < page.end and one.end > page.start),
    )
    sheet: Sheet | None = worker.run(
        "pincite.tasks.inspection.page_overlay:overlay", order, settings.limits.deadline_s
    )
    if sheet is None:
        return Drawn(missing="the file has no such page")
    return Drawn(sheet, tuple(block.kind for block in extraction.blocks))


def _imaged(worker: Worker, whole: WholeDocument, path: Path, page: Page, settings: Settings) -> Drawn:
    text = whole.extraction.text[page.start : page.end]
    order = PassageOrder(
        path, whole.document.media_type, settings, (page,), text, page.start, page.start, page.start
    )
    pages: tuple[PassagePage, ...] = worker.run(
        "pincite.tasks.inspection.passage_pages:see", order, settings.limits.deadline_s
    )
    return Drawn(page=pages[0]) if pages else Drawn(missing="the file has no such page")
