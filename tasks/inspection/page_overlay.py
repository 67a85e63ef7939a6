"""What was found on one page, drawn without reading the others: for documents too long to be read again as a whole.

The words of the page are aligned with its stored text, so that a block stands where its words do. Only PDF: a page
of a picture is read with all the others. Runs in a child process.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pincite.schemas.records import Block, Page, Word
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.pdf.page_record import BlockArea, Corners, LineArea, Sheet, WordArea
from pincite.tasks.inspection.passage_pages import Aligned, aligned, pdf_sheets
from pincite.tasks.sandbox.child import At


@dataclass(frozen=True, slots=True)
class OverlayOrder:
    """What a child needs. `text` is the canonical text of the page; `blocks` are by their index in the document."""

    path: Path
    settings: Settings
    page: Page
    text: str
    blocks: tuple[tuple[int, Block], ...]
    words: tuple[Word, ...]  # that OCR read on the page


def overlay(order: OverlayOrder, at: At) -> Sheet | None:
    """The page with its areas; None of a file that has no such page. Raises `DocumentError`."""
    found = pdf_sheets(order.path, (order.page,), order.settings, at).get(order.page.number)
    if found is None:
        return None
    seen, words = found
    sheet = Sheet(order.page.number, seen.width, seen.height, seen.image, seen.missing)
    known = aligned(order.text, words, (seen.width, seen.height))
    sheet.blocks = list(_blocks(order, known))
    sheet.words = list(_words(order, known))
    left = sorted(set(range(len(known.ordered))) - {number for _, number in known.pairs})
    sheet.left_out = [LineArea(known.ordered[n].text, known.ordered[n].corners) for n in left]
    return sheet


def _blocks(order: OverlayOrder, known: Aligned) -> Iterator[BlockArea]:
    for index, block in order.blocks:
        if corners := _within(order, known, block.start, block.end):
            yield BlockArea(index, _hull(corners))


def _words(order: OverlayOrder, known: Aligned) -> Iterator[WordArea]:
    for word in order.words:
        text = order.text[word.start - order.page.start : word.end - order.page.start]
        if corners := _within(order, known, word.start, word.end):
            yield WordArea(text, word.confidence, corners[0] if len(corners) == 1 else _hull(corners))


def _within(order: OverlayOrder, known: Aligned, start: int, end: int) -> list[Corners]:
    """Where the words of a stretch of the document's text stand."""
    low, high = start - order.page.start, end - order.page.start
    numbers = {n for (first, last), n in known.pairs if first < high and last > low}
    return [known.ordered[number].corners for number in sorted(numbers)]


def _hull(corners: Sequence[Corners]) -> Corners:
    xs = [x for four in corners for x, _ in four]
    ys = [y for four in corners for _, y in four]
    x0, top, x1, bottom = min(xs), min(ys), max(xs), max(ys)
    return (x0, top), (x1, top), (x1, bottom), (x0, bottom)
