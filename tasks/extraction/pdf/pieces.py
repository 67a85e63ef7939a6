"""The words of one page as pieces in reading order: paragraphs, tables, notes.

ruled tables → gutters → unruled tables → paragraphs
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pincite.tasks.extraction.pages.drawn_order import as_drawn, in_drawn_order
from pincite.tasks.extraction.pages.layout import (
    WordBox,
    blocks_of,
    line_bottom,
    line_top,
    line_x0,
    line_x1,
    lines_of,
    regions,
)
from pincite.tasks.extraction.pages.prose_boxes import Boxes, prose_boxes
from pincite.tasks.extraction.pages.ruled_tables import ruled_tables
from pincite.tasks.extraction.pages.table import Rule, Table
from pincite.tasks.extraction.pages.unruled_tables import unruled_tables, wide_tables
from pincite.tasks.extraction.pdf.line_text import HYPHENS, Text, join, line_text
from pincite.tasks.extraction.pdf.words import PdfWord


@dataclass(frozen=True, slots=True)
class PageLine:
    """One line of a page; `size` and places in points."""

    text: Text
    top: float
    bottom: float
    size: float
    bold: bool
    x0: float = 0.0
    x1: float = 0.0

    @property
    def ocr(self) -> bool:
        """Whether OCR read it: its size is then the height of its boxes."""
        return bool(self.text.spans)


@dataclass(frozen=True, slots=True)
class Piece:
    """A paragraph, or a table with its rows of cells, or what stands beside the text (notes, fields)."""

    kind: Literal["text", "table", "note"]
    lines: tuple[PageLine, ...] = ()
    rows: tuple[tuple[Text, ...], ...] = ()
    x0: float = 0.0
    x1: float = 0.0
    top: float = 0.0  # of a table; a paragraph stands where its lines stand
    bottom: float = 0.0
    turn: float = 0.0  # degrees clockwise from the upright page to the page as shown


def note_piece(text: str) -> Piece:
    return Piece("note", (PageLine(Text(text), 0.0, 0.0, 0.0, False),))


def turned(pieces: list[Piece], turn: float) -> list[Piece]:
    """The pieces of a page that must be turned by `turn` degrees clockwise to lie as it is shown."""
    return [replace(piece, turn=turn) for piece in pieces] if turn else pieces


@dataclass(frozen=True, slots=True)
class _Mark(WordBox):
    """Stands for a table or boxes of prose while the reading order is found."""

    pieces: tuple[Piece, ...] = ()


def pieces_of(words: Sequence[WordBox], rules: Sequence[Rule], size: tuple[float, float]) -> list[Piece]:
    """All words, each once, in reading order. `size`: (width, height) of the page."""
    tables, boxes = prose_boxes(ruled_tables(words, rules) if rules else [])
    marks = [_table_mark(table) for table in tables] + [_boxes_mark(each) for each in boxes]
    held = {id(w) for table in tables for row in table.rows for cell in row for line in cell for w in line}
    held |= {id(word) for each in boxes for box in each.boxes for line in box for word in line}
    free = [word for word in words if id(word) not in held]
    parts = regions([*free, *marks], *size)
    if across := _across(free, parts):
        held = {
            id(w) for table in across for row in table.rows for cell in row for line in cell for w in line
        }
        free = [word for word in free if id(word) not in held]
        parts = regions([*free, *marks, *map(_table_mark, across)], *size)
    drawn = {id(word): place for place, word in enumerate(words)}
    pieces: list[Piece] = []
    for region in parts:
        placed = [mark for mark in region if isinstance(mark, _Mark)]
        lines = lines_of([word for word in region if not isinstance(word, _Mark)])
        for mark in sorted(placed, key=lambda m: (m.top, m.x0)):
            above = [line for line in lines if (line_top(line) + line_bottom(line)) / 2 < mark.top]
            pieces += _flow(above, drawn)
            pieces += mark.pieces
            lines = lines[len(above) :]
        pieces += _flow(lines, drawn)
    return pieces


def _table_mark(table: Table[WordBox]) -> _Mark:
    return _Mark("", table.x0, table.top, table.x1, table.bottom, None, (_table_piece(table),))


def _boxes_mark(boxes: Boxes[WordBox]) -> _Mark:
    pieces = [piece for box in boxes.boxes for piece in _paragraphs([list(line) for line in box])]
    return _Mark("", boxes.x0, boxes.top, boxes.x1, boxes.bottom, None, tuple(pieces))


def _across(words: Sequence[WordBox], parts: Sequence[Sequence[WordBox]]) -> list[Table[WordBox]]:
    """Unruled tables that a gutter has cut into pieces."""
    if len(parts) < 2:
        return []
    part_of = {id(word): number for number, part in enumerate(parts) for word in part}
    return [
        table
        for table in wide_tables(lines_of(words))
        if any(
            len({part_of[id(word)] for cell in row for line in cell for word in line}) > 1
            for row in table.rows
        )
    ]


def _flow(lines: Sequence[list[WordBox]], drawn: Mapping[int, int]) -> list[Piece]:
    """Paragraphs and unruled tables of lines that are read from top to bottom."""
    pieces: list[Piece] = []
    done = 0
    for start, end, table in unruled_tables(lines):
        pieces += _paragraphs(in_drawn_order(lines[done:start], drawn))
        text = as_drawn(lines[start:end], table, drawn)
        pieces += [_table_piece(table)] if text is None else _paragraphs(text)
        done = end
    return pieces + _paragraphs(in_drawn_order(lines[done:], drawn))


def _paragraphs(lines: Sequence[list[WordBox]]) -> list[Piece]:
    pieces: list[Piece] = []
    for block in blocks_of(lines):
        for part in _by_weight([_line(line) for line in block]):
            pieces.append(
                Piece("text", tuple(part), x0=min(map(line_x0, block)), x1=max(map(line_x1, block)))
            )
    return pieces


def _by_weight(lines: list[PageLine]) -> list[list[PageLine]]:
    """A block parted where bold lines end or begin: a heading that stands close to its paragraph."""
    parts = [[lines[0]]]
    for line in lines[1:]:
        before = parts[-1][-1]
        if line.bold == before.bold or before.text.text[-1:] in HYPHENS:
            parts[-1].append(line)
        else:
            parts.append([line])
    return parts


def _line(words: Sequence[WordBox]) -> PageLine:
    lettered = [word for word in words if isinstance(word, PdfWord)]
    heights = sorted(word.bottom - word.top for word in words)
    sizes = sorted(word.size for word in lettered) or heights
    bold = bool(lettered) and all(w.bold or not any(map(str.isalnum, w.text)) for w in lettered)
    size = sizes[len(sizes) // 2]
    return PageLine(
        line_text(words), line_top(words), line_bottom(words), size, bold, line_x0(words), line_x1(words)
    )


def _table_piece(table: Table[WordBox]) -> Piece:
    rows = tuple(
        tuple(join([line_text(line) for line in cell]) if cell else Text() for cell in row)
        for row in table.rows
    )
    return Piece("table", (), rows, table.x0, table.x1, table.top, table.bottom)
