"""PDF files with known truth, for the tests and for `benchmarks/extraction.py`. The same seed gives the same file."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfgen.canvas import Canvas

WIDTH, HEIGHT = A4
MARGIN = 60.0
LEADING = 1.2

_WORDS = (
    "the of and to in for is on that by this with from as are was were which harbour ferry winter signal "
    "pressure between measured without station during valley ordinary account figure several observer "
    "difference temperature northern material surface carried company question answer register morning "
    "evidence method result because although whether committee published section railway engine copper "
    "colour memory document archive passage reading column margin printed volume number instrument small "
    "large early later first second under after before about over through against against however therefore"
)
VOCABULARY = _WORDS.split()

Table = list[list[str]]


@dataclass(slots=True)
class Truth:
    """What a reader of the file sees: paragraphs and headings in reading order, tables, lines left out."""

    blocks: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    running: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n\n".join(self.blocks)


@dataclass(slots=True)
class Sheet:
    """A canvas, its truth, and a source of text."""

    canvas: Canvas
    truth: Truth
    random: random.Random
    font: str = "Times-Roman"
    size: float = 10.0

    def sentence(self) -> str:
        words = [self.random.choice(VOCABULARY) for _ in range(self.random.randint(6, 16))]
        return " ".join(words).capitalize() + "."

    def paragraph(self, sentences: int = 4) -> str:
        return " ".join(self.sentence() for _ in range(sentences))

    def wrap(self, text: str, width: float, hyphens: bool = False) -> list[str]:
        """Lines of at most `width` points; with `hyphens` long words are parted to fill them."""
        lines, line = [], ""
        for whole in text.split():
            word = whole
            while True:
                candidate = f"{line} {word}".strip()
                if pdfmetrics.stringWidth(candidate, self.font, self.size) <= width:
                    line = candidate
                    break
                cut = self._cut(line, word, width) if hyphens else 0
                if cut:
                    lines.append(f"{line} {word[:cut]}-".strip())
                    line, word = "", word[cut:]
                    continue
                lines.append(line)
                line = ""
        return [*lines, line] if line else lines

    def _cut(self, line: str, word: str, width: float) -> int:
        """Letters of the word that still fit with a hyphen; 0 when it can't be parted."""
        if len(word) < 7 or not word.isalpha():
            return 0
        for cut in range(len(word) - 3, 2, -1):
            if pdfmetrics.stringWidth(f"{line} {word[:cut]}-", self.font, self.size) <= width:
                return cut
        return 0

    def draw(self, lines: Sequence[str], x: float, y: float, width: float = 0.0) -> float:
        """Draws lines from `y` (of the page's lower edge) down, justified to `width`; the next free y."""
        self.canvas.setFont(self.font, self.size)
        for number, line in enumerate(lines):
            text = self.canvas.beginText(x, y)
            natural = pdfmetrics.stringWidth(line, self.font, self.size)
            if width and number < len(lines) - 1 and line.count(" "):
                text.setWordSpace((width - natural) / line.count(" "))
            text.textOut(line)
            self.canvas.drawText(text)
            self.canvas._code.append("0 Tw")
            y -= self.size * LEADING
        return y

    def heading(self, text: str, x: float, y: float, size: float = 16.0) -> float:
        self.canvas.setFont("Helvetica-Bold", size)
        self.canvas.drawString(x, y, text)
        self.truth.blocks.append(text)
        self.truth.headings.append(text)
        return y - size * 1.4

    def column(self, x: float, y: float, bottom: float, width: float, hyphens: bool = False) -> float:
        """Fills a column with paragraphs down to `bottom`; each is whole."""
        while True:
            text = self.paragraph(self.random.randint(2, 5))
            lines = self.wrap(text, width, hyphens)
            if y - len(lines) * self.size * LEADING < bottom:
                return y
            self.truth.blocks.append(text)
            y = self.draw(lines, x, y, width if hyphens else 0.0) - 0.6 * self.size


def make(path: Path, seed: int, content: Callable[[Sheet], None], **metadata: str) -> Truth:
    """Writes a file and returns its truth."""
    canvas = Canvas(str(path), pagesize=A4, invariant=True, pageCompression=1)
    canvas.setTitle(metadata.get("title", ""))
    sheet = Sheet(canvas, Truth(), random.Random(seed))
    content(sheet)
    canvas.showPage()
    canvas.save()
    return sheet.truth


def single(sheet: Sheet) -> None:
    y = sheet.heading("A single column of text", MARGIN, HEIGHT - MARGIN, 20)
    for title in ("First part of the report", "Second part of the report"):
        y = sheet.heading(title, MARGIN, y - 8, 14)
        for _ in range(4):
            text = sheet.paragraph(4)
            sheet.truth.blocks.append(text)
            y = sheet.draw(sheet.wrap(text, WIDTH - 2 * MARGIN), MARGIN, y) - 6


def hyphenated(sheet: Sheet) -> None:
    sheet.column(MARGIN, HEIGHT - MARGIN, MARGIN, 210, hyphens=True)


def columns(
    count: int, gutter: float = 18.0, heading: bool = True, hyphens: bool = False
) -> Callable[[Sheet], None]:
    def content(sheet: Sheet) -> None:
        y = HEIGHT - MARGIN
        if heading:
            y = sheet.heading("A heading that runs across all of the columns", MARGIN, y, 18)
        width = (WIDTH - 2 * MARGIN - (count - 1) * gutter) / count
        for index in range(count):
            bottom = MARGIN if index + 1 < count else MARGIN + 90
            sheet.column(MARGIN + index * (width + gutter), y, bottom, width, hyphens)

    return content


def drawn_by_rows(sheet: Sheet) -> None:
    """Two columns whose lines are drawn across the page row by row, as some programs print them."""
    width = (WIDTH - 2 * MARGIN - 20) / 2
    columns_of_lines: list[list[str]] = []
    for _ in range(2):
        lines: list[str] = []
        for _ in range(6):
            text = sheet.paragraph(3)
            sheet.truth.blocks.append(text)
            lines += [*sheet.wrap(text, width), ""]
        columns_of_lines.append(lines)
    for number in range(max(map(len, columns_of_lines))):
        for index, lines in enumerate(columns_of_lines):
            if lines[number : number + 1] not in ([], [""]):
                sheet.draw([lines[number]], MARGIN + index * (width + 20), HEIGHT - MARGIN - number * 12)


def heading_between(sheet: Sheet) -> None:
    """Two columns, a heading across, two columns."""
    width, y = (WIDTH - 2 * MARGIN - 18) / 2, HEIGHT - MARGIN
    for title in ("The upper half of this page", "The lower half of this very page"):
        y = sheet.heading(title, MARGIN + 60, y, 16)
        ends = [sheet.column(MARGIN + index * (width + 18), y, y - 300, width) for index in range(2)]
        y = min(ends) - 20


def side_bar(sheet: Sheet) -> None:
    sheet.heading("Text with a narrow bar at its side", MARGIN, HEIGHT - MARGIN)
    sheet.column(MARGIN, HEIGHT - MARGIN - 24, MARGIN, 320)
    sheet.size = 8
    sheet.column(MARGIN + 345, HEIGHT - MARGIN - 24, HEIGHT / 2, 125)


def running(pages: int) -> Callable[[Sheet], None]:
    """Pages with a running header, a footer with the page number, and one heading each."""

    def content(sheet: Sheet) -> None:
        for number in range(1, pages + 1):
            if number > 1:
                sheet.canvas.showPage()
            sheet.canvas.setFont("Times-Italic", 9)
            sheet.canvas.drawString(MARGIN, HEIGHT - 30, "Proceedings of the harbour board")
            sheet.canvas.drawCentredString(WIDTH / 2, 28, f"Page {number} of {pages}")
            sheet.truth.running += ["Proceedings of the harbour board", f"Page {number} of {pages}"]
            y = sheet.heading(
                f"Matter {sheet.random.choice(VOCABULARY)} {number}", MARGIN, HEIGHT - MARGIN, 15
            )
            sheet.column(MARGIN, y, MARGIN, WIDTH - 2 * MARGIN)

    return content


def _rows(sheet: Sheet, rows: int, columns: int, empty: float = 0.1) -> Table:
    """A header row, a first column of names, numbers with zeros and empty cells elsewhere."""
    header = [f"{sheet.random.choice(VOCABULARY)} {c}".capitalize() for c in range(columns)]
    table = [header]
    for r in range(rows):
        cells = [f"{sheet.random.choice(VOCABULARY)} {sheet.random.choice(VOCABULARY)} {r}".capitalize()]
        for _ in range(columns - 1):
            value = sheet.random.choice(
                ["0", f"{sheet.random.uniform(0, 5000):,.2f}", str(sheet.random.randint(1, 99))]
            )
            cells.append("" if sheet.random.random() < empty else value)
        table.append(cells)
    return table


def _draw_table(sheet: Sheet, table: Table, x: float, y: float, widths: Sequence[float], rules: str) -> float:
    """Draws a table; `rules`: "all", "rows", "head" or "none". Returns the next free y."""
    step = sheet.size * 1.7
    canvas = sheet.canvas
    right = x + sum(widths)
    for number, row in enumerate(table):
        canvas.setFont("Helvetica-Bold" if number == 0 else "Helvetica", sheet.size)
        left = x
        for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
            if column == 0 or rules == "all":
                canvas.drawString(left + 3, y - sheet.size, cell)
            else:
                canvas.drawRightString(left + width - 3, y - sheet.size, cell)
            left += width
        if rules in ("all", "rows") or (rules == "head" and number < 2):
            canvas.line(x, y, right, y)
        y -= step
    if rules != "none":
        canvas.line(x, y, right, y)
    if rules == "all":
        top = y + step * len(table)
        for index in range(len(widths) + 1):
            canvas.line(x + sum(widths[:index]), top, x + sum(widths[:index]), y)
    return y


def tables(rules: str, columns: int = 4, two: bool = False) -> Callable[[Sheet], None]:
    """Text, a table, text; with `two` another table and text."""

    def content(sheet: Sheet) -> None:
        y = sheet.heading("A page with figures", MARGIN, HEIGHT - MARGIN)
        for number in range(2 if two else 1):
            text = sheet.paragraph(4)
            sheet.truth.blocks.append(text)
            y = sheet.draw(sheet.wrap(text, WIDTH - 2 * MARGIN), MARGIN, y) - 14
            table = _rows(sheet, 6 + 2 * number, columns + number)
            widths = [(WIDTH - 2 * MARGIN) / (columns + number)] * (columns + number)
            sheet.truth.tables.append(table)
            sheet.truth.blocks.append(" ".join(cell for row in table for cell in row if cell))
            y = _draw_table(sheet, table, MARGIN, y, widths, rules) - 26
        text = sheet.paragraph(3)
        sheet.truth.blocks.append(text)
        sheet.draw(sheet.wrap(text, WIDTH - 2 * MARGIN), MARGIN, y)

    return content


def table_over_pages(sheet: Sheet) -> None:
    """One ruled table on two pages; its header stands on the first only."""
    table = _rows(sheet, 40, 4, empty=0.0)
    widths = [(WIDTH - 2 * MARGIN) / 4] * 4
    sheet.truth.tables.append(table)
    _draw_table(sheet, table[:31], MARGIN, HEIGHT - MARGIN, widths, "all")
    sheet.canvas.showPage()
    y = _draw_table(sheet, table[31:], MARGIN, HEIGHT - MARGIN, widths, "all") - 20
    text = sheet.paragraph(3)
    sheet.draw(sheet.wrap(text, WIDTH - 2 * MARGIN), MARGIN, y)
    sheet.truth.blocks += [" ".join(cell for row in table for cell in row if cell), text]


def merged_cells(sheet: Sheet) -> None:
    """A ruled table: a title over two columns, a name over two rows, an empty cell, a zero."""
    canvas, x, y, w, h = sheet.canvas, MARGIN, HEIGHT - 100, 110.0, 20.0
    canvas.setFont("Helvetica", 10)
    text = {(0, 0): "Place", (0, 1): "Passengers", (1, 1): "Summer", (1, 2): "Winter", (2, 0): "North pier",
            (2, 1): "12", (2, 2): "0", (3, 1): "7", (4, 0): "South pier", (4, 1): "30", (4, 2): "41"}  # fmt: skip
    for (row, column), cell in text.items():
        canvas.drawString(x + column * w + 4, y - row * h - 14, cell)
    for row in range(6):  # horizontal lines; none through the merged cells
        for column in range(3):
            if (row, column) not in ((1, 0), (3, 0)):
                canvas.line(x + column * w, y - row * h, x + (column + 1) * w, y - row * h)
    for column in range(4):
        for row in range(5):
            if (row, column) != (0, 2):
                canvas.line(x + column * w, y - row * h, x + column * w, y - (row + 1) * h)
    sheet.truth.tables.append(
        [["Place", "Passengers", ""], ["", "Summer", "Winter"], ["North pier", "12", "0"], ["North pier", "7", ""],
         ["South pier", "30", "41"]]
    )  # fmt: skip
    sheet.truth.blocks.append(" ".join(cell for row in sheet.truth.tables[0] for cell in row if cell))


def quarter_turned(sheet: Sheet) -> None:
    """Text drawn along the long side of the page, and a page whose /Rotate shows it upright."""
    sheet.canvas.saveState()
    sheet.canvas.translate(WIDTH, 0)
    sheet.canvas.rotate(90)
    sheet.column(MARGIN, WIDTH - MARGIN, MARGIN, HEIGHT - 2 * MARGIN)
    sheet.canvas.restoreState()
    sheet.canvas.showPage()
    sheet.canvas.setPageRotation(90)  # reportlab swaps the sides of the page as well
    sheet.canvas.translate(HEIGHT, 0)
    sheet.canvas.rotate(90)
    sheet.column(MARGIN, HEIGHT - MARGIN, MARGIN, WIDTH - 2 * MARGIN)


KINDS: dict[str, Callable[[Sheet], None]] = {
    "single column": single,
    "hyphenated, justified": hyphenated,
    "two columns": columns(2),
    "two columns, justified": columns(2, hyphens=True),
    "two narrow-gutter columns": columns(2, gutter=11.0, heading=False, hyphens=True),
    "three columns": columns(3),
    "three columns, justified": columns(3, gutter=14.0, hyphens=True),
    "two columns drawn row by row": drawn_by_rows,
    "heading between columns": heading_between,
    "side bar": side_bar,
    "running lines": running(5),
    "quarter turns": quarter_turned,
    "ruled table": tables("all"),
    "two ruled tables": tables("all", two=True),
    "rows ruled": tables("rows", columns=5),
    "head ruled": tables("head", columns=3),
    "unruled table": tables("none"),
    "two unruled tables": tables("none", columns=3, two=True),
    "table over pages": table_over_pages,
    "merged cells": merged_cells,
}
