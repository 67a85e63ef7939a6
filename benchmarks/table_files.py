"""Tables of many makes with known cells, for the tests and for `benchmarks/extraction.py`.

Rows and places are drawn from a seed. The first row of a truth is the first row that is shown.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from benchmarks.pdf_files import HEIGHT, MARGIN, VOCABULARY, WIDTH, Sheet, Table

STEP = 15.0  # points between rows


def _name(sheet: Sheet, words: int = 2) -> str:
    return " ".join(sheet.random.choice(VOCABULARY) for _ in range(words)).capitalize()


def _value(sheet: Sheet) -> str:
    kind = sheet.random.randrange(4)
    if kind == 0:
        return f"{sheet.random.uniform(0, 99):.1f}"
    if kind == 1:
        return f"{sheet.random.randint(1_000, 999_999):,}"
    return str(sheet.random.randint(0, 999)) if kind == 2 else f"{sheet.random.uniform(-40, 40):.2f}"


def _body(sheet: Sheet, rows: int, columns: int) -> Table:
    return [[_name(sheet), *(_value(sheet) for _ in range(columns - 1))] for _ in range(rows)]


def _edges(columns: int, first: float = 140.0, width: float = 80.0) -> list[float]:
    return [MARGIN, *(MARGIN + first + width * index for index in range(columns))]


def _put(sheet: Sheet, cell: str, x: float, y: float, right: float | None = None, bold: bool = False) -> None:
    sheet.canvas.setFont("Helvetica-Bold" if bold else "Helvetica", 9)
    if right is None:
        sheet.canvas.drawString(x, y, cell)
    else:
        sheet.canvas.drawRightString(right, y, cell)


def _draw_rows(sheet: Sheet, rows: Sequence[Sequence[str]], edges: Sequence[float], top: float) -> None:
    """Names at the left, all others at the right edge of their column; the text stands 11 under its top."""
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            right = edges[column + 1] - 6 if column else None
            _put(sheet, cell, edges[column] + 3, top - STEP * number - 11, right)


def _rule(sheet: Sheet, x0: float, y0: float, x1: float, y1: float) -> None:
    sheet.canvas.setLineWidth(0.7)
    sheet.canvas.line(x0, y0, x1, y1)


def _shade(sheet: Sheet, x: float, y: float, width: float, height: float) -> None:
    sheet.canvas.setFillGray(sheet.random.choice((0.8, 0.88, 0.93)))
    sheet.canvas.rect(x, y, width, height, stroke=0, fill=1)
    sheet.canvas.setFillGray(0)


def _around(content: Callable[[Sheet, float], float]) -> Callable[[Sheet], None]:
    """Text, the table that `content` draws from a y on, text."""

    def page(sheet: Sheet) -> None:
        text = sheet.paragraph(4)
        sheet.truth.blocks.append(text)
        y = sheet.draw(sheet.wrap(text, WIDTH - 2 * MARGIN), MARGIN, HEIGHT - MARGIN) - 30
        y = content(sheet, y) - 34
        text = sheet.paragraph(3)
        sheet.truth.blocks.append(text)
        sheet.draw(sheet.wrap(text, WIDTH - 2 * MARGIN), MARGIN, y)

    return page


def _heads(sheet: Sheet, columns: int) -> list[str]:
    return [_name(sheet, 1), *(str(2001 + index) for index in range(columns - 1))]


def open_grid(sheet: Sheet, y: float) -> float:
    """Column lines through the body, none between rows; names left of the grid."""
    columns = sheet.random.randint(3, 5)
    rows = [_heads(sheet, columns), *_body(sheet, sheet.random.randint(5, 10), columns)]
    edges = _edges(columns)
    bottom = y - STEP * len(rows)
    _draw_rows(sheet, rows, edges, y)
    for x in edges[1:]:
        _rule(sheet, x, y, x, bottom)
    for level in (y, y - STEP, bottom):
        _rule(sheet, edges[1], level, edges[-1], level)
    sheet.truth.tables.append(rows)
    return bottom


def bands(sheet: Sheet, y: float) -> float:
    """A header of shaded cells over rows that are shaded across."""
    columns = sheet.random.randint(3, 5)
    rows = [_heads(sheet, columns), *_body(sheet, sheet.random.randint(5, 10), columns)]
    edges = _edges(columns)
    for left, right in pairwise(edges):
        _shade(sheet, left, y - STEP, right - left - 2, STEP)
    for number in range(1, len(rows)):
        _shade(sheet, edges[0], y - STEP * (number + 1), edges[-1] - edges[0], STEP - 0.5)
    _draw_rows(sheet, rows, edges, y)
    sheet.truth.tables.append(rows)
    return y - STEP * len(rows)


def every_second(sheet: Sheet, y: float) -> float:
    """Every second row shaded, cell by cell."""
    columns = sheet.random.randint(3, 5)
    rows = [_heads(sheet, columns), *_body(sheet, sheet.random.randint(5, 10), columns)]
    edges = _edges(columns)
    for number in range(1, len(rows), 2):
        for left, right in pairwise(edges):
            _shade(sheet, left, y - STEP * (number + 1), right - left - 0.4, STEP)
    _draw_rows(sheet, rows, edges, y)
    sheet.truth.tables.append(rows)
    return y - STEP * len(rows)


def sections(sheet: Sheet, y: float) -> float:
    """No rules; a row of one cell over each group of rows."""
    columns = sheet.random.randint(3, 5)
    edges, rows, at = _edges(columns), [_heads(sheet, columns)], y
    _draw_rows(sheet, rows, edges, at)
    at -= STEP
    for _ in range(3):
        title = [_name(sheet, 1), *[""] * (columns - 1)]
        _put(sheet, title[0], edges[0] + 3, at - 15, bold=True)
        at -= STEP + 6
        group = [[f" {row[0]}", *row[1:]] for row in _body(sheet, sheet.random.randint(2, 4), columns)]
        _draw_rows(sheet, [[row[0].strip(), *row[1:]] for row in group], [edges[0] + 8, *edges[1:]], at)
        rows += [title, *([cell.strip() for cell in row] for row in group)]
        at -= STEP * len(group)
    sheet.truth.tables.append(rows)
    return at


def narrow(sheet: Sheet, y: float) -> float:
    """Columns of figures 4 points apart."""
    columns = sheet.random.randint(4, 6)
    rows = [_heads(sheet, columns)]
    for row in _body(sheet, sheet.random.randint(6, 10), columns):
        rows.append(
            [row[0], *(f"{sheet.random.randint(100, 999)},{sheet.random.randint(100, 999)}" for _ in row[1:])]
        )
    edges = _edges(columns, width=37.0)
    _draw_rows(sheet, rows, [edge + (6 if index else 0) for index, edge in enumerate(edges)], y)
    sheet.truth.tables.append(rows)
    return y - STEP * len(rows)


def names_over_rows(sheet: Sheet, y: float) -> float:
    """All ruled; a name over two or three rows is said in each."""
    edges, at = [MARGIN, MARGIN + 110, MARGIN + 230, MARGIN + 310, MARGIN + 390], y
    rows = [[_name(sheet, 1), _name(sheet, 1), "2001", "2002"]]
    _draw_rows(sheet, rows, edges, at)
    _rule(sheet, edges[0], at, edges[-1], at)
    at -= STEP
    for _ in range(3):
        _rule(sheet, edges[0], at, edges[-1], at)
        name, count = _name(sheet, 2), sheet.random.randint(2, 3)
        _put(sheet, name, edges[0] + 3, at - STEP * count / 2 - 3)
        group = _body(sheet, count, 3)
        _draw_rows(sheet, group, edges[1:], at)
        for number in range(1, count):
            _rule(sheet, edges[1], at - STEP * number, edges[-1], at - STEP * number)
        rows += [[name, *row] for row in group]
        at -= STEP * count
    _rule(sheet, edges[0], at, edges[-1], at)
    for x in edges:
        _rule(sheet, x, y, x, at)
    sheet.truth.tables.append(rows)
    return at


def two_heads(rules: str) -> Callable[[Sheet, float], float]:
    """A header of two rows: titles over two columns each; `rules`: all, heads or none."""

    def content(sheet: Sheet, y: float) -> float:
        edges = _edges(5)
        titles = [_name(sheet, 1), _name(sheet, 1)]
        heads = [_name(sheet, 1), "2001", "2002", "2001", "2002"]
        body = _body(sheet, sheet.random.randint(5, 9), 5)
        for index, title in enumerate(titles):
            middle = (edges[1 + 2 * index] + edges[3 + 2 * index]) / 2
            sheet.canvas.setFont("Helvetica", 9)
            sheet.canvas.drawCentredString(middle, y - 11, title)
        _draw_rows(sheet, [heads, *body], edges, y - STEP)
        bottom = y - STEP * (len(body) + 2)
        if rules == "all":
            for number in range(1, len(body) + 3):
                _rule(sheet, edges[0], y - STEP * number, edges[-1], y - STEP * number)
            for index, x in enumerate(edges):
                _rule(sheet, x, y if index in (1, 3, 5) else y - STEP, x, bottom)
            _rule(sheet, edges[1], y, edges[-1], y)
        elif rules == "heads":
            _rule(sheet, edges[0], y, edges[-1], y)
            _rule(sheet, edges[0], y - 2 * STEP, edges[-1], y - 2 * STEP)
            for index in (1, 3):
                _rule(sheet, edges[index] + 6, y - STEP, edges[index + 2] - 4, y - STEP)
            _rule(sheet, edges[0], bottom, edges[-1], bottom)
        sheet.truth.tables.append([["", titles[0], "", titles[1], ""], heads, *body])
        return bottom

    return content


def wrapped(sheet: Sheet, y: float) -> float:
    """Rows parted by rules alone; cells of several lines."""
    edges, at = [MARGIN, MARGIN + 120, MARGIN + 320, MARGIN + 400], y
    rows = [[_name(sheet, 1), _name(sheet, 1), _name(sheet, 1)]]
    _rule(sheet, edges[0], at, edges[-1], at)
    _draw_rows(sheet, rows, edges, at)
    at -= STEP
    sheet.size, sheet.font = 9, "Helvetica"
    for _ in range(5):
        _rule(sheet, edges[0], at, edges[-1], at)
        text = sheet.paragraph(2)
        lines = sheet.wrap(text, 185)
        row = [_name(sheet), text, _value(sheet)]
        for column in (0, 2):
            _put(sheet, row[column], edges[column] + 3, at - 11, edges[3] - 6 if column else None)
        for number, line in enumerate(lines):
            _put(sheet, line, edges[1] + 3, at - 11 - 11 * number)
        rows.append(row)
        at -= 11 * len(lines) + 5
    _rule(sheet, edges[0], at, edges[-1], at)
    sheet.truth.tables.append(rows)
    return at


def gaps(sheet: Sheet, y: float) -> float:
    """No rules; a fifth of the cells is empty or a dash."""
    columns = sheet.random.randint(4, 6)
    rows = [_heads(sheet, columns), *_body(sheet, sheet.random.randint(7, 11), columns)]
    for row in rows[1:]:
        for column in range(1, columns):
            row[column] = sheet.random.choice((row[column],) * 4 + ("–",) + ("",) * (column > 1))
    _draw_rows(sheet, rows, _edges(columns, width=65.0), y)
    sheet.truth.tables.append(rows)
    return y - STEP * len(rows)


def no_frame(sheet: Sheet, y: float) -> float:
    """Lines between rows and columns, but no frame around them."""
    columns = sheet.random.randint(3, 5)
    rows = [_heads(sheet, columns), *_body(sheet, sheet.random.randint(4, 8), columns)]
    edges = _edges(columns)
    bottom = y - STEP * len(rows)
    for number in range(1, len(rows)):
        _rule(sheet, edges[0], y - STEP * number, edges[-1], y - STEP * number)
    for x in edges[1:-1]:
        _rule(sheet, x, y, x, bottom)
    _draw_rows(sheet, rows, edges, y)
    sheet.truth.tables.append(rows)
    return bottom


def on_its_side(turn: int) -> Callable[[Sheet], None]:
    """A ruled table drawn along the long side of the page, under upright text."""

    def content(sheet: Sheet) -> None:
        text = sheet.paragraph(12)
        sheet.truth.blocks.append(text)
        sheet.draw(sheet.wrap(text, WIDTH - 2 * MARGIN), MARGIN, HEIGHT - MARGIN)
        columns = 4
        rows = [_heads(sheet, columns), *_body(sheet, 8, columns)]
        edges = _edges(columns, width=70.0)
        sheet.canvas.saveState()
        if turn == 90:
            sheet.canvas.translate(WIDTH / 2 + 100, 40)
            sheet.canvas.rotate(90)
        else:
            sheet.canvas.translate(WIDTH / 2 - 100, 560)
            sheet.canvas.rotate(-90)
        for number in range(len(rows) + 1):
            _rule(sheet, edges[0], 180 - STEP * number, edges[-1], 180 - STEP * number)
        for x in edges:
            _rule(sheet, x, 180, x, 180 - STEP * len(rows))
        _draw_rows(sheet, rows, edges, 180)
        sheet.canvas.restoreState()
        sheet.truth.tables.append(rows)

    return content


TABLE_KINDS: dict[str, Callable[[Sheet], None]] = {
    "open grid": _around(open_grid),
    "rows as bands": _around(bands),
    "every second row shaded": _around(every_second),
    "sections of one cell": _around(sections),
    "narrow columns": _around(narrow),
    "names over rows": _around(names_over_rows),
    "two header rows, ruled": _around(two_heads("all")),
    "two header rows, heads ruled": _around(two_heads("heads")),
    "two header rows, unruled": _around(two_heads("none")),
    "wrapped cells between rules": _around(wrapped),
    "empty cells, unruled": _around(gaps),
    "no frame": _around(no_frame),
    "table turned left": on_its_side(90),
    "table turned right": on_its_side(-90),
}
