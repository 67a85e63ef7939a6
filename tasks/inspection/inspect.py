"""Inspect: one document as the pipeline sees it, from the same functions in the same order, nothing stored.

extract with a sketch of its pages → chunk → sheets: a page's image and areas beside its blocks and chunks
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from pincite.encoders.models import ModelName, model_here
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.errors import DocumentError, Failure, Unreadable
from pincite.schemas.locators import char_fragment, overlapping, place_fragment
from pincite.schemas.marks import MarkCounts, count_marks
from pincite.schemas.records import Block, Chunk, Extraction, Page, Word
from pincite.schemas.settings import Settings
from pincite.tasks.chunking.by_model import chunks_for_model
from pincite.tasks.extraction.extract import extract
from pincite.tasks.extraction.pdf.page_record import Sheet, Sketch
from pincite.tasks.sandbox.child import At
from pincite.tasks.steps.prepare import document_title

PAGES_AT_ONCE = 30
SHOWN_CHARACTERS = 200_000  # of a document without pages


@dataclass(frozen=True, slots=True)
class InspectionOrder:
    """What a child process needs to inspect a file. Pages `first` to `last` are shown, all are read."""

    path: Path
    settings: Settings
    model: ModelName
    first: int
    last: int


@dataclass(frozen=True)
class Inspection:
    """All that was seen. Without `extraction` the document failed; its sheets are those seen until then."""

    name: str  # of the file
    title: str  # as chunks have it in their headers
    first: int  # pages shown
    last: int
    sheets: tuple[Sheet, ...] = ()
    extraction: Extraction | None = None
    chunks: tuple[Chunk, ...] = ()
    failure: Failure | None = None

    @cached_property
    def locators(self) -> tuple[str, ...]:
        """The locator of each chunk: its place and its characters."""
        places = self.extraction.places if self.extraction else ()
        return tuple(
            place_fragment(overlapping(places, one.start, one.end)) or char_fragment(one.start, one.end)
            for one in self.chunks
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one document, counted from its extraction and chunks."""

    title: str
    media_type: str
    extractor: str
    pages: int
    characters: int
    ocr_pages: int
    ocr_share: float  # of the letters and digits, 0 to 1
    ocr_confidence: float | None  # mean over the pages that OCR read, 0 to 100, as `pincite documents` has it
    weakest_line: float | None  # lowest confidence of a line that OCR read, mean over its characters
    headings: int
    tables: int
    chunks: int
    longest_chunk: int  # word-pieces
    over_window: int
    marks: MarkCounts  # raised, lowered and struck signs in the text


@dataclass(frozen=True, slots=True)
class TextRun:
    """A stretch of text that lies in one chunk, or in none, and is one word of OCR, or none."""

    start: int
    end: int
    chunk: int | None  # ordinal
    begins: bool = False  # whether the chunk is named here: where it begins, or goes on on a new leaf
    confidence: int | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A block, or text that stands in no block."""

    index: int | None  # of the block
    block: Block | None
    place: str  # fragment of where it stands, of a document whose places are not its pages
    runs: tuple[TextRun, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page, or the whole of a document without pages."""

    page: Page | None
    sheet: Sheet | None
    parts: tuple[Part, ...]


def inspect(order: InspectionOrder, at: At) -> Inspection:
    """What the pipeline makes of the file. A `DocumentError` is part of the answer, not raised."""
    name = order.path.name
    sketch = Sketch(order.first, order.last)
    stage = "extract"
    last_page: int | None = None

    def progress(page: int) -> None:
        nonlocal last_page
        last_page = page
        at(stage, page)

    try:
        at(stage, None)
        extraction = extract(order.path, order.settings, progress, sketch)
        stage = "chunk"
        at(stage, None)
        title = document_title(extraction, name)
        wordpieces = WordPieces(model_here(order.model))
        chunks = chunks_for_model(extraction, title, order.settings.chunker, wordpieces).chunks
        if not chunks:
            raise Unreadable("no text: nothing in it that could be quoted")
    except DocumentError as error:
        page = error.page or (last_page if stage == "extract" else None)
        failure = Failure(stage, error.kind, error.message, page, error.transient)
        return Inspection(name, name, order.first, order.last, _sheets(sketch), failure=failure)
    return Inspection(name, title, order.first, order.last, _sheets(sketch), extraction, chunks)


def _sheets(sketch: Sketch) -> tuple[Sheet, ...]:
    return tuple(sketch.sheets[number] for number in sorted(sketch.sheets))


def summary_of(inspection: Inspection) -> Summary | None:
    """The figures; None of a document that failed."""
    extraction = inspection.extraction
    if extraction is None:
        return None
    by_ocr = [page for page in extraction.pages if page.ocr]
    confidences = [page.ocr_confidence for page in by_ocr if page.ocr_confidence is not None]
    read = "".join(extraction.text[word.start : word.end] for word in extraction.words)
    return Summary(
        title=inspection.title,
        media_type=extraction.media_type,
        extractor=f"{extraction.extractor} {extraction.extractor_version}".strip(),
        pages=len(extraction.pages),
        characters=len(extraction.text),
        ocr_pages=len(by_ocr),
        ocr_share=_lettered(read) / max(_lettered(extraction.text), 1),
        ocr_confidence=sum(confidences) / len(confidences) if confidences else None,
        weakest_line=min(line_confidences(extraction.words), default=None),
        headings=sum(block.kind == "heading" for block in extraction.blocks),
        tables=sum(block.kind == "table" for block in extraction.blocks),
        chunks=len(inspection.chunks),
        longest_chunk=max((one.tokens for one in inspection.chunks), default=0),
        over_window=sum(one.over_window for one in inspection.chunks),
        marks=count_marks(extraction.text),
    )


def line_confidences(words: Sequence[Word]) -> list[float]:
    """The confidence of each line, 0 to 100, mean over its characters, in text order."""
    lines: list[list[Word]] = []
    for word in words:
        if word.line_start or not lines:
            lines.append([])
        lines[-1].append(word)
    return [
        sum((word.end - word.start) * word.confidence for word in line)
        / sum(word.end - word.start for word in line)
        for line in lines
    ]


def _lettered(text: str) -> int:
    return sum(map(str.isalnum, text))


def leaves_of(inspection: Inspection) -> list[Leaf]:
    """The pages that are shown, in order; one leaf of a document without pages; sheets alone of a failed one."""
    extraction = inspection.extraction
    if extraction is None:
        return [Leaf(None, sheet, ()) for sheet in inspection.sheets]
    sheets = {sheet.number: sheet for sheet in inspection.sheets}
    if not extraction.pages:
        return [Leaf(None, None, tuple(_parts(inspection, extraction, 0, shown_end(inspection))))]
    return [
        Leaf(page, sheets.get(page.number), tuple(_parts(inspection, extraction, page.start, page.end)))
        for page in extraction.pages
        if inspection.first <= page.number <= inspection.last
    ]


def other_pages(inspection: Inspection) -> tuple[int, str]:
    """(how many pages are not shown, a range that shows the next of them); (0, "") when all are."""
    pages = len(inspection.extraction.pages) if inspection.extraction else 0
    first, last = min(inspection.first, pages + 1), min(inspection.last, pages)
    rest = pages - max(0, last - first + 1)
    if not rest:
        return 0, ""
    start, end = (last + 1, pages) if last < pages else (1, first - 1)
    return rest, f"{start}-{min(end, start + PAGES_AT_ONCE - 1)}"


def shown_end(inspection: Inspection) -> int:
    """Where the text that is shown of a document without pages ends: all of it, or the end of a block."""
    extraction = inspection.extraction
    if extraction is None or len(extraction.text) <= SHOWN_CHARACTERS:
        return len(extraction.text) if extraction else 0
    ends = [block.end for block in extraction.blocks if block.end <= SHOWN_CHARACTERS]
    return ends[-1] if ends and ends[-1] > SHOWN_CHARACTERS // 2 else SHOWN_CHARACTERS


def _parts(inspection: Inspection, extraction: Extraction, start: int, end: int) -> Iterator[Part]:
    """All text of `[start, end)`: its blocks, and what is not white between them."""
    named: set[int] = set()
    blocks = extraction.blocks
    first, last = _bounds(blocks, start, end)
    at = start
    for index in range(first, last):
        block = blocks[index]
        yield from _loose(inspection, extraction, at, block.start, named)
        low, high = max(block.start, start), min(block.end, end)
        runs = tuple(_runs(inspection.chunks, extraction.words, low, high, named))
        yield Part(index, block, _place(extraction, low, high), runs)
        at = high
    yield from _loose(inspection, extraction, at, end, named)


def _loose(
    inspection: Inspection, extraction: Extraction, start: int, end: int, named: set[int]
) -> Iterator[Part]:
    if start < end and not extraction.text[start:end].isspace():
        runs = tuple(_runs(inspection.chunks, extraction.words, start, end, named))
        yield Part(None, None, _place(extraction, start, end), runs)


def _bounds(stretches: Sequence[Block | Word], start: int, end: int) -> tuple[int, int]:
    """The index of the first, and after the last, of those that share a character with `[start, end)`."""
    first = bisect_right(stretches, start, key=attrgetter("end"))
    return first, max(first, bisect_left(stretches, end, key=attrgetter("start")))


def _place(extraction: Extraction, start: int, end: int) -> str:
    if extraction.pages:
        return ""
    return place_fragment(overlapping(extraction.places, start, end))


def _runs(
    chunks: Sequence[Chunk], words: Sequence[Word], start: int, end: int, named: set[int]
) -> Iterator[TextRun]:
    """`[start, end)` cut where chunks and words of OCR begin and end. `named`: chunks that were begun before."""
    near = overlapping(chunks, start, end)
    first, last = _bounds(words, start, end)
    seen = words[first:last]
    spans = [(one.start, one.end) for one in near] + [(word.start, word.end) for word in seen]
    cuts = {start, end}.union(max(start, min(end, edge)) for span in spans for edge in span)
    ordered = sorted(cuts)
    for low, high in pairwise(ordered):
        inside = overlapping(near, low, high)
        read = overlapping(seen, low, high)
        ordinal = inside[0].ordinal if inside else None
        begins = ordinal is not None and ordinal not in named
        if ordinal is not None:
            named.add(ordinal)
        yield TextRun(low, high, ordinal, begins, read[0].confidence if read else None)
