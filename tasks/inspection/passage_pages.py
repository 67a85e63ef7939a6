"""The pages on which a passage stands, as images with its words found on them.

The words of a page (its text layer, and what OCR reads where the page was read by OCR) are put in reading order and
aligned with the stored text of the page; those that stand for the passage are marked. Runs in a child process.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import pypdfium2 as pdfium

from pincite.schemas.records import Page
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from pincite.tasks.extraction.pages.layout import WordBox, reading_order
from pincite.tasks.extraction.pdf.open import open_pdf
from pincite.tasks.extraction.pdf.page import PageContent, read
from pincite.tasks.extraction.pdf.page_image import page_image
from pincite.tasks.extraction.pdf.page_record import Corners, Sketch, WordArea
from pincite.tasks.extraction.pdf.pdfplumber_check import SecondReader
from pincite.tasks.extraction.pdf.words import read_layer
from pincite.tasks.sandbox.child import At

# One sign is a word in scripts without spaces: Chinese, Japanese, Thai, Lao, Khmer, Burmese.
_WORDS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
Point = tuple[float, float]
_BRIDGE = 3  # words between two marked ones that are marked too: a word parted at a line's end


@dataclass(frozen=True, slots=True)
class PassageOrder:
    """What a child needs. `text` is the canonical text of `pages`, which begins at `offset`."""

    path: Path
    media_type: str
    settings: Settings
    pages: tuple[Page, ...]
    text: str
    offset: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PassagePage:
    """A page as shown, in points, and where the passage's words stand on it."""

    number: int
    width: float
    height: float
    image: bytes  # of type `sketch.IMAGE_TYPE`; b"" when there is none
    missing: str  # why there is none
    marked: tuple[Corners, ...]


def see(order: PassageOrder, at: At) -> tuple[PassagePage, ...]:
    """The pages in order. Raises `DocumentError` when the file can't be read."""
    sheets = (
        pdf_sheets(order.path, order.pages, order.settings, at)
        if order.media_type == "application/pdf"
        else _image_sheets(order, at)
    )
    return tuple(
        PassagePage(
            page.number,
            sheet.width,
            sheet.height,
            sheet.image,
            sheet.missing,
            tuple(_marked(order, page, words, (sheet.width, sheet.height))),
        )
        for page in order.pages
        for sheet, words in [sheets.get(page.number, (None, []))]
        if sheet is not None
    )


Sheets = dict[int, "tuple[_Sheet, list[WordArea]]"]


@dataclass(frozen=True, slots=True)
class _Sheet:
    width: float
    height: float
    image: bytes
    missing: str


def _image_sheets(order: PassageOrder, at: At) -> Sheets:
    sketch = Sketch(order.pages[0].number, order.pages[-1].number)
    extract(order.path, order.settings, lambda page: at("page image", page), sketch)
    return {
        number: (_Sheet(sheet.width, sheet.height, sheet.image, sheet.missing), list(sheet.words))
        for number, sheet in sketch.sheets.items()
    }


def pdf_sheets(path: Path, pages: Sequence[Page], settings: Settings, at: At) -> Sheets:
    """Some pages of a PDF with their words, by number; no other page is read. Raises `DocumentError`."""
    sheets: Sheets = {}
    opened = open_pdf(path, settings.limits)
    try:
        if opened.pdf.get_formtype():
            opened.pdf.init_forms()
        with SecondReader(opened.data, len(opened.pdf)) as second:
            for page in pages:
                at("page image", page.number)
                if page.number > len(opened.pdf):
                    continue
                leaf = opened.pdf[page.number - 1]
                try:
                    sheets[page.number] = _pdf_sheet(leaf, page, settings, second)
                finally:
                    leaf.close()
    finally:
        opened.pdf.close()
    return sheets


def _pdf_sheet(
    leaf: pdfium.PdfPage, page: Page, settings: Settings, second: SecondReader
) -> "tuple[_Sheet, list[WordArea]]":
    """The page with the words of its text layer and those of OCR."""
    layer = read_layer(leaf)
    shown = layer.main.frame.turned(leaf.get_rotation())
    content = PageContent(page.number, shown.width, shown.height, ())
    words: list[WordArea] = []
    if page.ocr:
        content = read(leaf, page.number, settings, second)
        words += _areas(content)
    for group in (layer.main, *layer.aside):
        turn = float(leaf.get_rotation() - group.frame.rotation)
        words += _areas(replace(content, ocr_words=group.words, ocr_turn=turn))
    sketch = Sketch(page.number, page.number)
    sketch.see(content, *page_image(leaf, content, settings))
    sheet = sketch.sheets[page.number]
    return _Sheet(sheet.width, sheet.height, sheet.image, sheet.missing), words


def _areas(content: PageContent) -> list[WordArea]:
    """The words of a content where they stand on the page as shown."""
    sketch = Sketch(content.number, content.number)
    sketch.see(content, None)
    return sketch.sheets[content.number].words


@dataclass(frozen=True, slots=True)
class Aligned:
    """The words of a page in reading order, and which of them stands for which stretch of the page's text."""

    ordered: list[WordArea]
    pairs: list[tuple[tuple[int, int], int]]  # (characters of the text, place in `ordered`), by text


def aligned(text: str, words: Sequence[WordArea], size: tuple[float, float]) -> Aligned:
    """The words found on a page of this size with its stored text."""
    ordered = _in_reading_order(words, size)
    spans = [match.span() for match in _WORDS.finditer(text)]
    parts = [
        (number, _form(part)) for number, area in enumerate(ordered) for part in _WORDS.findall(area.text)
    ]
    found = _pairs([_form(text[low:high]) for low, high in spans], [form for _, form in parts])
    return Aligned(ordered, [(spans[here], parts[there][0]) for here, there in sorted(found.items())])


def _marked(
    order: PassageOrder, page: Page, words: Sequence[WordArea], size: tuple[float, float]
) -> Iterator[Corners]:
    known = aligned(order.text[page.start - order.offset : page.end - order.offset], words, size)
    start, end = order.start - page.start, order.end - page.start
    inside = {number for (low, high), number in known.pairs if low < end and high > start}
    outside = {number for (low, high), number in known.pairs if not (low < end and high > start)}
    for number in sorted(_bridged(inside, outside)):
        yield known.ordered[number].corners


def _pairs(wanted: Sequence[str], there: Sequence[str]) -> dict[int, int]:
    """Which word of the page stands for which of the text: by order, and where that fails by being the only one."""
    matcher = SequenceMatcher(None, wanted, there, autojunk=False)
    pairs = {
        block.a + step: block.b + step
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    }
    used = set(pairs.values())
    free: dict[str, list[int]] = {}
    for place, form in enumerate(there):
        if place not in used:
            free.setdefault(form, []).append(place)
    lost: dict[str, list[int]] = {}
    for place, form in enumerate(wanted):
        if place not in pairs:
            lost.setdefault(form, []).append(place)
    for form, places in lost.items():
        if len(places) == len(free.get(form, ())):
            pairs |= dict(zip(places, free[form], strict=True))
    return pairs


def _bridged(marked: set[int], others: set[int]) -> set[int]:
    """The marked words and the few between two of them that stand for nothing else."""
    ordered = sorted(marked)
    between = {
        number for low, high in pairwise(ordered) if high - low <= _BRIDGE for number in range(low + 1, high)
    }
    return marked | (between - others)


def _in_reading_order(words: Sequence[WordArea], size: tuple[float, float]) -> list[WordArea]:
    """The words as their own direction orders them, also on a page that lies on its side."""
    across = sum(area.corners[1][0] - area.corners[0][0] for area in words)
    down = sum(area.corners[1][1] - area.corners[0][1] for area in words)
    upright = _UPRIGHT[(abs(down) > abs(across), (down if abs(down) > abs(across) else across) < 0)]
    boxes = [
        _Placed(area.text, *_hull([upright(x, y, *size) for x, y in area.corners]), None, number)
        for number, area in enumerate(words)
    ]
    frame = size[::-1] if abs(down) > abs(across) else size
    ordered = [box for block in reading_order(boxes, *frame) for line in block for box in line]
    return [words[box.number] for box in ordered if isinstance(box, _Placed)]


_UPRIGHT: dict[tuple[bool, bool], Callable[[float, float, float, float], Point]] = {
    (False, False): lambda x, y, width, height: (x, y),
    (False, True): lambda x, y, width, height: (width - x, height - y),
    (True, False): lambda x, y, width, height: (y, width - x),
    (True, True): lambda x, y, width, height: (height - y, x),
}
"""Where a point of the page as shown stands on the upright page, by (words run up or down, against the axis)."""


@dataclass(frozen=True, slots=True)
class _Placed(WordBox):
    number: int = 0


def _hull(corners: Sequence[Point]) -> tuple[float, float, float, float]:
    xs, ys = zip(*corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def _form(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()
