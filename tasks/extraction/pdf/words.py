"""The words of a PDF page, from pdfium's characters.

Coordinates are those of the page as shown, upper left origin, turned so that most of its text is upright.
Reads pdfium's raw interface, since a helper object per character would cost more than the reading.
"""

import ctypes
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from pincite.tasks.extraction.base.marks import DrawnRun, Position, written
from pincite.tasks.extraction.pages.layout import WordBox
from pincite.tasks.extraction.pdf.layers import optional_layers
from pincite.tasks.extraction.pdf.line_text import clean

SPACE = 0.28  # of the type size: a wider gap parts two words even where the file has no space
MIN_SPACED = 6  # single letters in a row that are letter-spaced words rather than a list of letters
EAST_ASIAN = 0x2E80  # the first character of scripts that are also written from top to bottom
OVERRUN = 0.12  # of the type size: kerning moves a figure less far back
FAR = 1e6  # points
TWIN_CELL = 4.0  # points; equal words are compared with those in the cells around them
SMALLER, SMALLEST = (
    0.82,
    0.5,
)  # of the type beside it: the size of raised and lowered signs; an initial is larger
RISE, FALL = 0.2, 0.02  # of the type size: between the lower edges of a sign and of the type beside it
TINY = 2.0  # points; smaller type can't be read by people
NEAR_WHITE = 0xF0  # of each colour channel
INVISIBLE_MODES = (raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP)
BOLD_WEIGHT = 600

Box = tuple[float, float, float, float]

_WHITE = frozenset((9, 10, 13, 32))
_WIDE_WHITE = frozenset((0xA0, 0x3000, *range(0x2000, 0x200B), 0x202F, 0x205F))
# The bindings give a pointer object, of which only the address is wanted, for each character.
_text_object_address = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(
    ctypes.cast(raw.FPDFText_GetTextObject, ctypes.c_void_p).value or 0
)


@dataclass(frozen=True, slots=True)
class PdfWord(WordBox):
    """A word of the page's text layer."""

    size: float = 0.0  # points
    bold: bool = False
    mono: bool = False
    hidden: str = ""  # why it can't be seen: invisible, tiny, outside, layer off, or white (to be looked at)
    unmapped: int = 0  # characters without a known meaning


@dataclass(frozen=True, slots=True)
class Frame:
    """From PDF user space to the page as shown: `rotation` clockwise of the box (x0, y0, x1, y1)."""

    x0: float
    y0: float
    x1: float
    y1: float
    rotation: int = 0

    @property
    def width(self) -> float:
        return self.x1 - self.x0 if self.rotation % 180 == 0 else self.y1 - self.y0

    @property
    def height(self) -> float:
        return self.y1 - self.y0 if self.rotation % 180 == 0 else self.x1 - self.x0

    def turned(self, rotation: int) -> "Frame":
        return Frame(self.x0, self.y0, self.x1, self.y1, rotation % 360)

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """(x0, top, x1, bottom) as shown."""
        match self.rotation:
            case 90:
                return bottom - self.y0, left - self.x0, top - self.y0, right - self.x0
            case 180:
                return self.x1 - right, bottom - self.y0, self.x1 - left, top - self.y0
            case 270:
                return self.y1 - top, self.x1 - right, self.y1 - bottom, self.x1 - left
            case _:
                return left - self.x0, self.y1 - top, right - self.x0, self.y1 - bottom


@dataclass(frozen=True, slots=True)
class Group:
    """Words of one direction; upright in `frame`."""

    frame: Frame
    words: tuple[PdfWord, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """The text layer of one page: most of its words, and those that are turned otherwise."""

    main: Group
    aside: tuple[Group, ...] = ()

    @property
    def words(self) -> list[PdfWord]:
        return [word for group in (self.main, *self.aside) for word in group.words]


@dataclass(frozen=True, slots=True)
class _Style:
    size: float  # points
    bold: bool
    mono: bool
    hidden: str
    turn: int  # degrees counter-clockwise of the baseline in user space, to the nearest quarter
    oblique: bool


@dataclass(slots=True)
class _Building:
    """A word as it grows, in user space."""

    style: _Style
    characters: list[str] = field(default_factory=list)
    box: list[float] = field(default_factory=list)  # left, bottom, right, top
    last: Box = (0.0, 0.0, 0.0, 0.0)
    source: int | None = None  # the text object of the last character
    unmapped: int = 0
    base: float = 0.0  # lower edge of the first character
    positions: dict[int, Position] = field(default_factory=dict)  # of raised and lowered characters


def page_frame(page: pdfium.PdfPage) -> Frame:
    x0, y0, x1, y1 = page.get_bbox()
    return Frame(x0, y0, x1, y1, page.get_rotation() % 360)


def read_layer(page: pdfium.PdfPage, off: Callable[[], frozenset[bytes]] = frozenset) -> Layer:
    """The page's text layer; empty when it has none. `off` names the layers that are off, when one is met."""
    frame = page_frame(page)
    text_page = page.get_textpage()
    try:
        building = list(_building(text_page.raw, off))
    finally:
        text_page.close()
    turns: Counter[int] = Counter()
    groups: dict[tuple[bool, int], list[PdfWord]] = {}
    for word in building:
        turn, oblique = word.style.turn, word.style.oblique
        if not oblique:
            turns[turn] += len(word.characters)
        groups.setdefault((oblique, turn), []).append(_finish(word, frame.turned(turn)))
    main = turns.most_common(1)[0][0] if turns else frame.rotation
    words = Group(frame.turned(main), tuple(_unspaced(_once(groups.pop((False, main), [])))))
    aside = [Group(frame.turned(turn), tuple(_once(groups[_, turn]))) for _, turn in sorted(groups)]
    return Layer(words, tuple(aside))


def _building(text_page: Any, off: Callable[[], frozenset[bytes]]) -> Iterator[_Building]:
    unicode_of, box_of, error_of = (
        raw.FPDFText_GetUnicode,
        raw.FPDFText_GetLooseCharBox,
        raw.FPDFText_HasUnicodeMapError,
    )
    rectangle = raw.FS_RECTF()
    reference = ctypes.byref(rectangle)
    pointer = ctypes.cast(text_page, ctypes.c_void_p)
    styles: dict[int | None, _Style] = {}
    word: _Building | None = None
    for index in range(max(0, raw.FPDFText_CountChars(text_page))):
        code = unicode_of(text_page, index)
        if (code <= 32 and code in _WHITE) or code in _WIDE_WHITE:
            if word is not None:
                yield word
                word = None
            continue
        if not box_of(text_page, index, reference):
            continue
        box = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        if not -FAR < box[0] + box[1] + box[2] + box[3] < FAR:
            continue  # damaged numbers: nowhere near any page
        address = _text_object_address(pointer, index)
        style = styles.get(address)
        if style is None:
            style = _style(text_page, index, off)
            if code >= EAST_ASIAN and style.turn == 0 and _goes_down(text_page, index, box):
                style = replace(style, turn=270)
            styles[address] = style
        if word is not None and not (
            _continues(word, style, box) and (address == word.source or not _runs_over(word, code, box))
        ):
            yield word
            word = None
        if word is None:
            word = _Building(style, box=list(box), base=box[1])
        elif style is not word.style and (position := _position(word, style, box)):
            word.positions[len(word.characters)] = position
        error = code > 0x7F and error_of(text_page, index) == 1
        _add(word, code, box, error, address)
    if word is not None:
        yield word


def _position(word: _Building, style: _Style, box: Box) -> Position:
    """Whether a smaller character stands higher or lower than the type that its word began with."""
    own = word.style
    if own.turn or own.oblique or not SMALLEST * own.size <= style.size <= SMALLER * own.size:
        return ""
    rise = (box[1] - word.base) / own.size
    return "raised" if rise > RISE else "lowered" if rise < -FALL else ""


def _add(word: _Building, code: int, box: Box, error: bool, source: int | None) -> None:
    character = chr(code) if 32 < code < 0xD800 else _character(code)
    again = word.characters and word.characters[-1] == character and _same_place(word.last, box)
    # Drawn twice to look bold; but a ligature of two equal letters comes as two in one box of one object.
    if again and (box != word.last or source != word.source):
        return
    word.unmapped += error or code in (0, 0xFFFD) or 0x7F <= code <= 0x9F or _is_private(code)
    word.characters.append(character)
    word.last, word.source = box, source
    left, bottom, right, top = box
    edges = word.box
    if left < edges[0] or bottom < edges[1] or right > edges[2] or top > edges[3]:
        edges[:] = min(left, edges[0]), min(bottom, edges[1]), max(right, edges[2]), max(top, edges[3])


def _character(code: int) -> str:
    """The character; U+FFFD for what is none."""
    if code == 2:  # pdfium's marks for a hyphen that breaks a word
        return "-"
    if code == 0:
        return "\ufffd"
    if code == 0xFFFE:
        return "-"
    if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        return "\ufffd"
    return chr(code)


def _is_private(code: int) -> bool:
    if code in (0xF0B7, 0xF0A7, 0xF0D8, 0xF0FC, 0xF076, 0xF0A8, 0xF06E, 0xF071, 0xF0E0, 0xF0B0, 0xF02D):
        return False  # bullets, see pdf_text
    return 0xE000 <= code <= 0xF8FF or code >= 0xF0000


def _same_place(a: Box, b: Box) -> bool:
    near = 0.25 * max(min(a[2] - a[0], a[3] - a[1]), 0.4)
    return abs(a[0] - b[0]) < near and abs(a[1] - b[1]) < near


def _continues(word: _Building, style: _Style, box: Box) -> bool:
    """Whether the next character belongs to the word: same direction, same line, no gap."""
    last, own = word.last, word.style
    level = style is own and own.turn == 0 and not own.oblique and last[1] == box[1]
    if level and abs(box[0] - last[2]) <= SPACE * own.size:
        return True  # nearly all characters end here
    if style.turn != own.turn or style.oblique != own.oblique or style.hidden != own.hidden:
        return False
    along, across = (0, 1) if style.turn % 180 == 0 else (1, 0)
    size = max(min(style.size, own.size), 0.1)
    if style.oblique:
        return abs(box[0] - last[0]) < 1.5 * size and abs(box[1] - last[1]) < 1.5 * size
    overlap = min(last[across + 2], box[across + 2]) - max(last[across], box[across])
    if overlap < 0.25 * min(last[across + 2] - last[across], box[across + 2] - box[across]):
        return False
    forward, backward = box[along] - last[along + 2], last[along] - box[along + 2]
    return max(forward, backward) <= SPACE * size


def _goes_down(text_page: Any, index: int, box: Box) -> bool:
    """Whether the next character stands right below: a column of vertical writing, which is a line on its side."""
    following = raw.FS_RECTF()
    if raw.FPDFText_GetUnicode(text_page, index + 1) < EAST_ASIAN:
        return False
    if not raw.FPDFText_GetLooseCharBox(text_page, index + 1, following):
        return False
    size = max(box[3] - box[1], 0.1)
    same_column = abs(following.left + following.right - box[0] - box[2]) < 0.3 * size
    return same_column and bool(abs(following.top - box[1]) < 0.5 * size)


def _runs_over(word: _Building, code: int, box: Box) -> bool:
    """Whether a figure that another object draws begins within the last one: two full columns that touch."""
    last, character = word.characters[-1], chr(code)
    if not (last.isdigit() or last in ")%") or not (character.isdigit() or character in "(+-"):
        return False
    along, across = (0, 1) if word.style.turn % 180 == 0 else (1, 0)
    level = abs(box[across] - word.last[across]) < 0.05 * word.style.size
    least = OVERRUN if last.isdigit() else OVERRUN / 4  # figures are kerned, closing signs are not
    over = word.last[along + 2] - box[along]
    return level and over > least * word.style.size and not _same_place(word.last, box)


def _style(text_page: Any, index: int, off: Callable[[], frozenset[bytes]]) -> _Style:
    matrix = raw.FS_MATRIX()
    raw.FPDFText_GetMatrix(text_page, index, matrix)
    size = raw.FPDFText_GetFontSize(text_page, index) * math.hypot(matrix.c, matrix.d)
    angle = math.degrees(math.atan2(matrix.b, matrix.a)) % 360
    turn = round(angle / 90) * 90
    name, flags = _font_name(text_page, index)
    weight = raw.FPDFText_GetFontWeight(text_page, index)
    lower = name.lower()
    return _Style(
        size=size,
        bold="bold" in lower or "black" in lower or "heavy" in lower or weight >= BOLD_WEIGHT,
        mono=bool(flags & 1) or "mono" in lower or "courier" in lower,
        hidden=_hidden(text_page, index, size, off),
        turn=turn % 360,
        oblique=abs(angle - turn) > 4,
    )


def _font_name(text_page: Any, index: int) -> tuple[str, int]:
    buffer, flags = ctypes.create_string_buffer(128), ctypes.c_int(0)
    length = raw.FPDFText_GetFontInfo(text_page, index, buffer, len(buffer), flags)
    return (buffer.value.decode("utf-8", "replace") if length else ""), flags.value


def _hidden(text_page: Any, index: int, size: float, off: Callable[[], frozenset[bytes]]) -> str:
    text_object = raw.FPDFText_GetTextObject(text_page, index)
    if not text_object:
        return ""
    if (layers := optional_layers(text_object)) and not off().isdisjoint(layers):
        return "layer off"
    mode = raw.FPDFTextObj_GetTextRenderMode(text_object)
    if mode in INVISIBLE_MODES:
        return "invisible"
    return "tiny" if 0 < size < TINY else _by_colour(text_page, index, mode)


def _by_colour(text_page: Any, index: int, mode: int) -> str:
    red, green, blue, alpha = (ctypes.c_uint(0) for _ in range(4))
    if mode == raw.FPDF_TEXTRENDERMODE_STROKE:
        read = raw.FPDFText_GetStrokeColor(text_page, index, red, green, blue, alpha)
    else:
        read = raw.FPDFText_GetFillColor(text_page, index, red, green, blue, alpha)
    if not read:
        return ""
    if alpha.value == 0:
        return "invisible"
    return "white" if min(red.value, green.value, blue.value) >= NEAR_WHITE else ""


def _finish(word: _Building, frame: Frame) -> PdfWord:
    x0, top, x1, bottom = frame.box(*word.box)
    style = word.style
    hidden = style.hidden
    if x1 <= 0 or bottom <= 0 or x0 >= frame.width or top >= frame.height:
        hidden = hidden or "outside"
    text = clean("".join(word.characters)) if not word.positions else _with_signs(word)
    return PdfWord(text, x0, top, x1, bottom, None, style.size, style.bold, style.mono, hidden, word.unmapped)


def _with_signs(word: _Building) -> str:
    """The word with its raised and lowered characters as `pincite.tasks.extraction.base.marks` writes them."""
    placed = ((word.positions.get(place, ""), character) for place, character in enumerate(word.characters))
    runs: list[DrawnRun] = []
    for position, group in groupby(placed, key=itemgetter(0)):
        runs.append(DrawnRun(clean("".join(character for _, character in group)), position))
    return written(runs)


def _unspaced(words: list[PdfWord]) -> list[PdfWord]:
    """The words with letter-spaced ones ("T I T L E") put together; wider gaps part them."""
    joined: list[PdfWord] = []
    start = 0
    while start < len(words):
        end = start + 1
        while end < len(words) and _is_spaced(words[end - 1], words[end]):
            end += 1
        run = words[start:end]
        joined += _parted_run(run) if len(run) >= MIN_SPACED else run
        start = end
    return joined


def _is_spaced(before: PdfWord, word: PdfWord) -> bool:
    """Whether two single letters stand one beside the other as in letter-spaced type."""
    if len(before.text) != 1 or len(word.text) != 1 or not (before.text + word.text).isalpha():
        return False
    gap = word.x0 - before.x1
    return before.top == word.top and before.bottom == word.bottom and 0 < gap < 1.5 * word.size


def _parted_run(run: list[PdfWord]) -> list[PdfWord]:
    gaps = [word.x0 - before.x1 for before, word in pairwise(run)]
    usual = sorted(gaps)[len(gaps) // 2]
    parts = [[run[0]]]
    for word, gap in zip(run[1:], gaps, strict=True):
        if gap > 1.4 * usual + 0.05 * word.size:
            parts.append([word])
        else:
            parts[-1].append(word)
    return [replace(part[0], text="".join(word.text for word in part), x1=part[-1].x1) for part in parts]


def _once(words: list[PdfWord]) -> list[PdfWord]:
    """The words without those that stand a second time in the same place; none that are empty."""
    seen: dict[tuple[str, int, int], PdfWord] = {}
    kept = []
    for word in words:
        if not word.text:
            continue
        column, row = int(word.x0 // TWIN_CELL), int(word.top // TWIN_CELL)
        around = (seen.get((word.text, column + c, row + r)) for c in (-1, 0, 1) for r in (-1, 0, 1))
        near = 0.25 * max(word.bottom - word.top, 0.5)
        if any(t and abs(t.x0 - word.x0) < near and abs(t.top - word.top) < near for t in around):
            continue
        seen[word.text, column, row] = word
        kept.append(word)
    return kept
