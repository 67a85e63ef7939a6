"""What extraction saw of a document's pages: their images, and where on them its blocks stand.

An extractor of a format with pages fills a sketch while it reads; the text is read the same way without one.
Areas are corners in points on the page as shown, upper left origin: a turned or levelled scan has turned areas.
"""

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from PIL import Image

from tasks.extraction.layout import WordBox
from tasks.extraction.pdf_page import PageContent
from tasks.extraction.pdf_pieces import Line, Piece

IMAGE_PIXELS = 1_200_000  # of a page image: A4 at 105 dpi
IMAGE_SIDE = 4_000
IMAGE_TYPE = "image/webp"
QUALITY = 72  # of 100: small type stays sharp, an A4 page of text takes about 90 kB

Corners = tuple[tuple[float, float], tuple[float, float], tuple[float, float], tuple[float, float]]
"""Where the upper left, upper right, lower right and lower left of an upright box stand on the page as shown."""


@dataclass(frozen=True, slots=True)
class BlockArea:
    """A block, or the part of it that stands in one column."""

    block: int  # its index in `Extraction.blocks`
    corners: Corners


@dataclass(frozen=True, slots=True)
class WordArea:
    """A word that OCR read."""

    text: str
    confidence: int
    corners: Corners


@dataclass(frozen=True, slots=True)
class LineArea:
    """A running header, footer or page number that was left out of the text."""

    text: str
    corners: Corners


@dataclass(slots=True)
class Sheet:
    """One page."""

    number: int
    width: float  # points, as shown
    height: float
    image: bytes = b""  # of type IMAGE_TYPE
    missing: str = ""  # why there is no image
    blocks: list[BlockArea] = field(default_factory=list)
    words: list[WordArea] = field(default_factory=list)
    left_out: list[LineArea] = field(default_factory=list)


@dataclass(slots=True)
class Sketch:
    """The pages `first` to `last`, 1-based and inclusive, as far as they were read."""

    first: int
    last: int
    sheets: dict[int, Sheet] = field(default_factory=dict)

    def wants(self, number: int) -> bool:
        return self.first <= number <= self.last

    def see(self, page: PageContent, image: Image.Image | None, missing: str = "") -> None:
        """Takes a page that is wanted as it was just read. `missing`: why there is no image."""
        size = (page.width, page.height)
        words = [
            WordArea(w.text, w.confidence or 0, _corners(_box(w), page.ocr_turn, size))
            for w in page.ocr_words
        ]
        encoded = b"" if image is None else _encoded(image)
        self.sheets[page.number] = Sheet(page.number, *size, encoded, missing, words=words)

    def leave_out(self, before: Iterable[PageContent], after: Iterable[PageContent]) -> None:
        """Takes the lines that the pages had `before` and no longer have `after`."""
        for page, kept in zip(before, after, strict=True):
            if page is kept or (sheet := self.sheets.get(page.number)) is None:
                continue
            left = {id(line) for piece in kept.pieces for line in piece.lines}
            sheet.left_out += [
                LineArea(line.text.text, _corners(_hull([line]), piece.turn, (page.width, page.height)))
                for piece in page.pieces
                for line in piece.lines
                if id(line) not in left
            ]

    def settle(self, sources: Sequence[tuple[int, Piece]]) -> None:
        """Takes (page, piece) of each block, in the order of the blocks."""
        for block, (number, piece) in enumerate(sources):
            sheet = self.sheets.get(number)
            if sheet is None:
                continue
            for box in _boxes(piece):
                size = (sheet.width, sheet.height)
                sheet.blocks.append(BlockArea(block, _corners(box, piece.turn, size)))


Box = tuple[float, float, float, float]


def fitting(width: float, height: float, pixels: int) -> float:
    """By how much a page must be scaled, so that neither its pixels nor its sides pass the limits of an image."""
    area = max(width * height, 1.0)
    return min(math.sqrt(min(IMAGE_PIXELS, pixels) / area), IMAGE_SIDE / max(width, height, 1.0))


def _encoded(image: Image.Image) -> bytes:
    scale = fitting(*image.size, IMAGE_PIXELS)
    small = image.convert("L" if image.mode in ("1", "L") else "RGB")
    if scale < 0.98:
        sides = (max(1, int(image.width * scale)), max(1, int(image.height * scale)))
        small = small.resize(sides, Image.Resampling.LANCZOS)
    target = io.BytesIO()
    small.save(target, "WEBP", quality=QUALITY, method=2)
    return target.getvalue()


def _boxes(piece: Piece) -> Iterator[Box]:
    """The piece's box; one for each column that a paragraph goes through; none for a note."""
    if piece.kind == "table":
        yield piece.x0, piece.top, piece.x1, piece.bottom
        return
    lines = [line for line in piece.lines if line.x1 > line.x0]
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or lines[end].bottom < lines[end - 1].top:
            yield _hull(lines[start:end])
            start = end


def _hull(lines: Sequence[Line]) -> Box:
    return (
        min(line.x0 for line in lines),
        min(line.top for line in lines),
        max(line.x1 for line in lines),
        max(line.bottom for line in lines),
    )


def _box(word: WordBox) -> Box:
    return word.x0, word.top, word.x1, word.bottom


def _corners(box: Box, turn: float, size: tuple[float, float]) -> Corners:
    """The corners after the upright page was turned clockwise by `turn` degrees into the page of `size`.

    Both pages have the same centre.
    """
    width, height = size if round(turn / 90) % 2 == 0 else size[::-1]
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))

    def moved(x: float, y: float) -> tuple[float, float]:
        across, down = x - width / 2, y - height / 2
        return size[0] / 2 + cos * across - sin * down, size[1] / 2 + sin * across + cos * down

    x0, top, x1, bottom = box
    return moved(x0, top), moved(x1, top), moved(x1, bottom), moved(x0, bottom)
