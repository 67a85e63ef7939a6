"""From the pages of a PDF to its canonical text with blocks, places, pages and OCR words."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import regex

from pincite.schemas.records import Block, BlockKind, DocumentWarning, Page, Place, Word
from pincite.tasks.extraction.pdf.line_text import HYPHENS, Text, join
from pincite.tasks.extraction.pdf.page import PageContent
from pincite.tasks.extraction.pdf.pieces import Piece
from pincite.tasks.extraction.pdf.structure import Headings

SAME_EDGE = 12.0  # points; a table that goes on over the page keeps its edges this well

_BULLET = regex.compile(r"([•◦▪‣●○■□➢✓–-]|\(?(\d{1,3}|\p{L}|[ivx]{1,4})[.)])\s")
_YEAR = regex.compile(r"(1[89]|20)\d\d([/-]\d{2,4})?")
_NUMBER = regex.compile(r"[\p{Sc}\p{N}.,%+\-–\u2212()/: ]*\p{N}[\p{Sc}\p{N}.,%+\-–\u2212()/: ]*")


@dataclass(slots=True)
class _OpenTable:
    """The last table, while nothing else has come after it."""

    header: str
    columns: int
    x0: float
    x1: float
    page: int


@dataclass(slots=True)
class Assembly:
    """The document so far. Offsets are counted here and nowhere else."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    blocks: list[Block] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    pages: list[Page] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    warnings: list[DocumentWarning] = field(default_factory=list)
    table: _OpenTable | None = None
    sources: list[tuple[int, Piece]] = field(default_factory=list)  # (page, piece) of each block

    def add_page(self, page: PageContent, index: int, headings: Headings) -> None:
        """Appends a page; an empty one gets its record and no text."""
        first = len(self.blocks)
        for level, piece in _continued(page, index, headings):
            if piece.kind == "table":
                self._add_table(piece, page.number)
            else:
                self._add_text(piece, level, page.kept)
            self.sources += [(page.number, piece)] * (len(self.blocks) - len(self.sources))
        start, end = self.length, self.length
        if len(self.blocks) > first:
            start = self.blocks[first].start
            self.places.append(Place("page", start, end, str(page.number)))
        self.pages.append(Page(page.number, start, end, page.width, page.height, page.ocr, page.confidence))
        self.warnings += page.warnings

    def _add_text(self, piece: Piece, level: int, kept: frozenset[str]) -> None:
        text = join([line.text for line in piece.lines], kept)
        if not text.text.strip():
            return
        self.table = None
        if level:
            self._append("heading", text, level, title=text.text)
        else:
            self._append("list" if _BULLET.match(text.text) else "paragraph", text)

    def _add_table(self, piece: Piece, page: int) -> None:
        rows = [row for row in piece.rows if any(cell.text for cell in row)]
        if not rows:
            return
        lines = [_row(row) for row in rows]
        before = self.table
        goes_on = (
            before is not None
            and before.page == page - 1
            and before.columns == len(rows[0])
            and abs(before.x0 - piece.x0) < SAME_EDGE
            and abs(before.x1 - piece.x1) < SAME_EDGE
        )
        if before is not None and goes_on and lines[0].text != before.header:
            header = before.header
        else:
            header = _header(rows)
            if header:
                lines.insert(1, Text("|" + " --- |" * len(rows[0])))
        self._append("table", _stacked(lines), repeat=header)
        self.table = _OpenTable(header, len(rows[0]), piece.x0, piece.x1, page)

    def _append(self, kind: BlockKind, text: Text, level: int = 0, title: str = "", repeat: str = "") -> None:
        if self.parts:
            self.parts.append("\n\n")
            self.length += 2
        start = self.length
        self.parts.append(text.text)
        self.length += len(text.text)
        self.blocks.append(Block(kind, start, self.length, level, title, repeat))
        self.words += [Word(start + s.start, start + s.end, s.confidence, s.line_start) for s in text.spans]

    @property
    def text(self) -> str:
        return "".join(self.parts)


def _continued(page: PageContent, index: int, headings: Headings) -> list[tuple[int, Piece]]:
    """(heading level or 0, piece): paragraphs that go on in the next column are one."""
    joined: list[tuple[int, Piece]] = []
    for number, piece in enumerate(page.pieces):
        level = headings.levels.get((index, number), 0)
        if joined and not level and not joined[-1][0] and _goes_on(joined[-1][1], piece):
            before = joined[-1][1]
            joined[-1] = (0, replace(before, lines=before.lines + piece.lines))
        else:
            joined.append((level, piece))
    return joined


def _goes_on(before: Piece, piece: Piece) -> bool:
    """Whether a text breaks off at the end of a column and the next piece, higher up, takes it up."""
    if before.kind != "text" or piece.kind != "text" or not before.lines or not piece.lines:
        return False
    last, first = before.lines[-1], piece.lines[0]
    if first.top >= last.top or abs(first.size - last.size) > 0.1 * max(first.size, last.size):
        return False
    start = first.text.text[:1]
    return start.islower() and (last.text.text[-1:] in HYPHENS or last.text.text[-1:] not in ".!?:;")


def _header(rows: Sequence[Sequence[Text]]) -> str:
    """The row that names the columns, to be said with each part of the table; "" when there is none.

    It is the first; the second below a title over all; both together when titles stand over some columns.
    """
    if len(rows) > 2 and len(rows[0]) > 2:
        titles, names = ([cell.text for cell in row] for row in rows[:2])
        if sum(map(bool, titles)) == 1 and sum(map(bool, names)) > 1 and not _are_values(names):
            return _row(rows[1]).text
        if _are_titles(titles, names) and not _are_values(names):
            return _row([Text(text) for text in _under_titles(titles, names)]).text
    return "" if _are_values([cell.text for cell in rows[0]]) else _row(rows[0]).text


def _are_values(cells: Sequence[str]) -> bool:
    """Whether a row holds figures alone; the years over a balance sheet are names."""
    filled = [cell for cell in cells if cell]
    if not cells[0] and all(_YEAR.fullmatch(cell) for cell in filled):
        return False
    return bool(filled) and all(_NUMBER.fullmatch(cell) for cell in filled)


def _are_titles(titles: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the first row has titles over several columns that the second names one by one."""
    filled = [index for index, title in enumerate(titles) if title]
    gaps = [index for index, title in enumerate(titles) if not title and index > filled[0]] if filled else []
    return (
        bool(gaps)
        and len(filled) > 1
        and all(name == "" or not _NUMBER.fullmatch(name) or _YEAR.fullmatch(name) for name in names)
    )


def _under_titles(titles: Sequence[str], names: Sequence[str]) -> list[str]:
    """Each name with the title over it; a title goes on to the right over columns without one."""
    said, title = [], ""
    for over, name in zip(titles, names, strict=True):
        title = over or (title if name else "")
        said.append(f"{title} {name}".strip())
    return said


def _row(cells: Sequence[Text]) -> Text:
    """One Markdown row; bars in cells are escaped."""
    text, spans = "|", []
    for cell in cells:
        text += " "
        for span in cell.spans:
            extra = cell.text.count("|", 0, span.start), cell.text.count("|", 0, span.end)
            spans.append(
                replace(span, start=len(text) + span.start + extra[0], end=len(text) + span.end + extra[1])
            )
        text += cell.text.replace("|", "\\|") + " |"
    return Text(text, tuple(spans))


def _stacked(lines: Sequence[Text]) -> Text:
    text, spans = "", []
    for line in lines:
        text += "\n" if text else ""
        spans += [span.moved(len(text)) for span in line.spans]
        text += line.text
    return Text(text, tuple(spans))
