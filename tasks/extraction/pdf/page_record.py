"""What extraction saw of a document's pages: their images, and where on them its blocks stand.

An extractor of a format with pages fills a sketch while it reads; the text is read the same way without one.
Areas are corners in points on the page as shown, upper left origin: a turned or levelled scan has turned areas.
"""

import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from PIL import Image

from pincite.tasks.extraction.pages.layout import WordBox
from pincite.tasks.extraction.pdf.page import PageContent
from pincite.tasks.extraction.pdf.page_ocr import TurnedPart
from pincite.tasks.extraction.pdf.pieces import PageLine, Piece

IMAGE_PIXELS = 1_200_000  # of a page image: A4 at 105 dpi
IMAGE_SIDE = 4_000
IMAGE_TYPE = "image/webp"
QUALITY = 72  # of 100: small type stays sharp, an A4 page of text takes about 90 kB

Box = tuple[float, float, float, float]
"""(x0, top, x1, bottom) on the upright page."""
Point = tuple[float, float]
Corners = tuple[Point, Point, Point, Point]
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
    parts: dict[int, tuple[TurnedPart, ...]] = field(default_factory=dict)  # by page

    def wants(self, number: int) -> bool:
        return self.first <= number <= self.last

    def see(self, page: PageContent, image: Image.Image | None, missing: str = "") -> None:
        """Takes a page that is wanted as it was just read. `missing`: why there is no image."""
        size = (page.width, page.height)
        words = [
            WordArea(w.text, w.confidence or 0, _corners(_box(w), page.ocr_turn, size, page.turned_parts))
            for w in page.ocr_words
        ]
        encoded = b"" if image is None else _encoded(image)
        self.sheets[page.number] = Sheet(page.number, *size, encoded, missing, words=words)
        self.parts[page.number] = page.turned_parts

    def leave_out(self, before: Iterable[PageContent], after: Iterable[PageContent]) -> None:
        """Takes the lines that the pages had `before` and no longer have `after`."""
        for page, kept in zip(before, after, strict=True):
            if page is kept or (sheet := self.sheets.get(page.number)) is None:
                continue
            left = {id(line) for piece in kept.pieces for line in piece.lines}
            sheet.left_out += [
                LineArea(line.text.text, self._corners(_hull([line]), piece, sheet))
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
            sheet.blocks += [BlockArea(block, self._corners(box, piece, sheet)) for box in _boxes(piece)]

    def _corners(self, box: Box, piece: Piece, sheet: Sheet) -> Corners:
        return _corners(box, piece.turn, (sheet.width, sheet.height), self.parts[sheet.number])


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


def _hull(lines: Sequence[PageLine]) -> Box:
    return (
        min(line.x0 for line in lines),
        min(line.top for line in lines),
        max(line.x1 for line in lines),
        max(line.bottom for line in lines),
    )


def _box(word: WordBox) -> Box:
    return word.x0, word.top, word.x1, word.bottom


def _corners(box: Box, turn: float, size: tuple[float, float], parts: Sequence[TurnedPart]) -> Corners:
    """The corners after the upright page was turned clockwise by `turn` degrees into the page of `size`.

    Within one of the `parts` the box is first moved to where the picture has it.
    """
    upright = size if _keeps_sides(turn) else size[::-1]
    part = next((each for each in parts if _inside(box, each)), None)
    x0, top, x1, bottom = box
    corners = ((x0, top), (x1, top), (x1, bottom), (x0, bottom))
    placed = [_turned(_in_picture(at, part) if part else at, turn, upright, size) for at in corners]
    return placed[0], placed[1], placed[2], placed[3]


def _keeps_sides(turn: float) -> bool:
    return round(turn / 90) % 2 == 0


def _turned(at: Point, turn: float, upright: tuple[float, float], size: tuple[float, float]) -> Point:
    """The point after a page `upright` was turned clockwise into one of `size`; both have the same centre."""
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    across, down = at[0] - upright[0] / 2, at[1] - upright[1] / 2
    return size[0] / 2 + cos * across - sin * down, size[1] / 2 + sin * across + cos * down


def _inside(box: Box, part: TurnedPart) -> bool:
    across, down = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return part.x0 <= across <= part.x1 and part.top <= down <= part.bottom


def _in_picture(at: Point, part: TurnedPart) -> Point:
    """Where a point of the upright form, which was stretched over the picture, stands in the picture."""
    size = (part.x1 - part.x0, part.bottom - part.top)
    upright = size if _keeps_sides(part.turn) else size[::-1]
    stretch = upright[0] / max(size[0], 1.0), upright[1] / max(size[1], 1.0)
    own = ((at[0] - part.x0) * stretch[0], (at[1] - part.top) * stretch[1])
    x, y = _turned(own, part.turn, upright, size)
    return part.x0 + x, part.top + y
