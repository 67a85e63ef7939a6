"""Unruled tables: runs of lines that part into cells at the same places."""

from collections.abc import Sequence
from itertools import pairwise

from pincite.tasks.extraction.pages.layout import (
    WordBox,
    line_bottom,
    line_top,
    line_x0,
    line_x1,
    lines_of,
    usual_height,
)
from pincite.tasks.extraction.pages.narrow_columns import cut_columns
from pincite.tasks.extraction.pages.table import Row, Table, W, is_figure

CELL_GAP = 0.75  # of the word height: a wider gap on a line may part two cells
MIN_ROWS = 3  # of an unruled table with two columns; two rows do for more columns
HEAD_GAP = 0.4  # of the word height, between words over two columns: a space is .25
MAX_SECTION = 2  # lines over a part of the rows
MAX_WRAPPED = 6  # lines that one cell may go on for
MAX_CELL_WORDS = 8  # usual number of words in a cell of an unruled table


def unruled_tables(lines: Sequence[list[W]]) -> list[tuple[int, int, Table[W]]]:
    """(first line, end line, table) for each run of lines that are aligned like rows."""
    if not lines:
        return []
    unit = usual_height([word for line in lines for word in line])
    parted = [_cells(line, unit) for line in lines]
    found: list[tuple[int, int, Table[W]]] = []
    start = 0
    while start < len(lines):
        end = _run_end(lines, parted, start, unit)
        table = _aligned(lines[start:end], parted[start:end], unit) if end - start >= 2 else None
        if table is None:
            start += 1
            continue
        first = found[-1][1] if found else 0
        titled = _with_title(lines, parted, (start, end), unit) if start > first else None
        found.append((start - 1, end, titled) if titled else (start, end, table))
        start = end
    return found


def wide_tables(lines: Sequence[list[W]]) -> list[Table[W]]:
    """Unruled tables that run across the columns of a page: at least three rows of three short cells, with numbers.

    Looked for before the columns of text are parted, since a gutter may go on through the table.
    """
    if not lines:
        return []
    unit = usual_height([word for line in lines for word in line])
    parted = [_cells(line, unit) for line in lines]
    short = [max(map(len, cells)) <= MAX_CELL_WORDS // 2 for cells in parted]
    full = [brief and len(cells) >= 3 for brief, cells in zip(short, parted, strict=True)]
    found = []
    start = 0
    while start < len(lines):
        end = start
        while full[start] and end < len(lines) and short[end]:
            if end > start and line_top(lines[end]) - line_bottom(lines[end - 1]) > 2.5 * unit:
                break
            end += 1
        while end > start and not full[end - 1]:
            end -= 1
        if sum(full[start:end]) >= MIN_ROWS and _has_numbers(parted[start:end]):
            table = _aligned(lines[start:end], parted[start:end], unit)
            if table is not None and table.columns >= 3:
                found.append(table)
        start = max(end, start + 1)
    return found


def _has_numbers(parted: Sequence[Sequence[Sequence[WordBox]]]) -> bool:
    cells = ["".join(word.text for word in cell) for row in parted for cell in row[1:]]
    return sum(1 for text in cells if any(map(str.isdigit, text))) >= 0.5 * len(cells)


def _with_title(
    lines: Sequence[list[W]], parted: Sequence[list[list[W]]], run: tuple[int, int], unit: float
) -> Table[W] | None:
    """The table with the line above it, when that is a title over some of its columns but the first."""
    start, end = run
    title = lines[start - 1]
    first_cells = [cells[0] for cells in parted[start:end]]
    beside = line_x0(title) > max(map(line_x1, first_cells)) and line_x1(title) <= max(
        map(line_x1, lines[start:end])
    )
    near = line_top(lines[start]) - line_bottom(title) < 0.8 * unit
    if not (beside and near and len(title) <= MAX_CELL_WORDS):
        return None
    return _aligned(lines[start - 1 : end], parted[start - 1 : end], unit)


def _cells(line: Sequence[W], unit: float) -> list[list[W]]:
    cells: list[list[W]] = []
    gap = CELL_GAP * min(unit, max(word.bottom - word.top for word in line))
    for word in sorted(line, key=lambda w: w.x0):
        if cells and word.x0 - max(w.x1 for w in cells[-1]) < gap:
            cells[-1].append(word)
        else:
            cells.append([word])
    return cells


def _run_end(
    lines: Sequence[Sequence[W]], parted: Sequence[Sequence[Sequence[W]]], start: int, unit: float
) -> int:
    """End of the run of lines that part into cells; a wrapped cell may stand between two."""
    if len(parted[start]) < 2:
        return start
    end = start + 1
    while end < len(lines):
        if line_top(lines[end]) - line_bottom(lines[end - 1]) > 2.5 * unit:
            break
        if len(parted[end]) >= 2:
            end += 1
            continue
        wrapped = _wrapped(lines, parted, (start, end), unit) or _section(lines, parted, (start, end), unit)
        if not wrapped:
            break
        end += wrapped
    return end


def _wrapped(
    lines: Sequence[Sequence[W]],
    parted: Sequence[Sequence[Sequence[W]]],
    run: tuple[int, int],
    unit: float,
) -> int:
    """How many lines after the run go on in one of its cells."""
    start, end = run
    lefts = [line_x0(cell) for cells in parted[start:end] for cell in cells[1:]]
    narrow = _width(lines[start:end]) / 2
    count = 0
    while end + count < len(lines) and count < MAX_WRAPPED and len(parted[end + count]) == 1:
        line = lines[end + count]
        if line_top(line) - line_bottom(lines[end + count - 1]) > 0.6 * unit:
            break
        under_cell = any(abs(line_x0(line) - left) < 0.5 * unit for left in lefts)
        again = end + count + 1 < len(lines) and len(parted[end + count + 1]) >= 2
        if not under_cell and not (again and line_x1(line) - line_x0(line) < narrow):
            break
        count += 1
    return count


def _section(
    lines: Sequence[Sequence[W]],
    parted: Sequence[Sequence[Sequence[W]]],
    run: tuple[int, int],
    unit: float,
) -> int:
    """How many lines after the run stand over a part of its rows, which go on below in the same columns."""
    start, end = run
    left, right = min(map(line_x0, lines[start:end])), max(map(line_x1, lines[start:end]))
    count = 0
    while end + count < len(lines) and count < MAX_SECTION and len(parted[end + count]) == 1:
        line = lines[end + count]
        short = line_x1(line) - line_x0(line) <= 0.6 * (right - left) and len(line) <= MAX_CELL_WORDS
        within = line_x0(line) >= left - unit and line_x1(line) <= right + unit
        if not (short and within and _near(lines, end + count, unit)):
            return 0
        count += 1
    after = end + count
    if not count or after >= len(lines) or len(parted[after]) < 2 or not _near(lines, after, unit):
        return 0
    rows = [cells for cells in parted[start:end] if len(cells) >= 2][-6:]
    spans = [(line_x0(cell), line_x1(cell)) for cells in rows for cell in cells]
    most = max(map(len, rows))
    on_columns = all(
        any(min(line_x1(cell), x1) > max(line_x0(cell), x0) for x0, x1 in spans) for cell in parted[after]
    )
    return count if on_columns and len(parted[after]) >= min(most, max(2, most - 2)) else 0


def _near(lines: Sequence[Sequence[W]], index: int, unit: float) -> bool:
    """Whether a line stands close under the one before it."""
    return line_top(lines[index]) - line_bottom(lines[index - 1]) <= 2.0 * unit


def _width(lines: Sequence[Sequence[W]]) -> float:
    return max(map(line_x1, lines)) - min(map(line_x0, lines))


def _aligned(lines: Sequence[Sequence[W]], parted: Sequence[list[list[W]]], unit: float) -> Table[W] | None:
    """The lines as a table; None when their cells do not stand in columns."""
    columns = _columns(parted, unit)
    if len(columns) < 2:
        return None
    rows: list[Row[W]] = []
    for cells in parted:
        row: Row[W] = [[] for _ in columns]
        for cell in cells:
            for column, part in _over_columns(columns, cell, unit):
                row[column] += part
        rows.append(row)
    cut_columns(rows, unit)
    merged = _wrapped_joined(rows, lines, unit)
    if not _is_table(merged, len(rows[0])):
        return None
    filled = tuple(tuple(tuple(tuple(line) for line in lines_of(cell)) for cell in row) for row in merged)
    return Table(
        min(map(line_x0, lines)),
        min(map(line_top, lines)),
        max(map(line_x1, lines)),
        max(map(line_bottom, lines)),
        filled,
    )


def _columns(parted: Sequence[Sequence[Sequence[W]]], unit: float) -> list[tuple[float, float]]:
    """Column extents: what is left of the width when strips that nearly no row crosses are taken out."""
    spans = [(line_x0(cell), line_x1(cell)) for cells in parted for cell in cells]
    allowed = max(len(parted) // 8, len(parted) >= 5)  # a title over several columns may cross
    edges = sorted({edge for span in spans for edge in span})
    columns: list[tuple[float, float]] = []
    for left, right in pairwise(edges):
        middle = (left + right) / 2
        if sum(1 for x0, x1 in spans if x0 < middle < x1) <= allowed:
            continue
        if columns and left - columns[-1][1] < 0.5 * unit:
            columns[-1] = (columns[-1][0], right)
        else:
            columns.append((left, right))
    return columns


def _over_columns(
    columns: Sequence[tuple[float, float]], cell: list[W], unit: float
) -> list[tuple[int, list[W]]]:
    """(column, its words): a cell stands in one column, but figures and heads that nearly touch have one each."""
    parts: dict[int, list[W]] = {}
    for word in cell:
        parts.setdefault(_column(columns, [word]), []).append(word)
    if len(parts) > 1 and (all(is_figure(word.text) for word in cell) or _stand_apart(parts, unit)):
        return list(parts.items())
    return [(_column(columns, cell), cell)]


def _stand_apart(parts: dict[int, list[W]], unit: float) -> bool:
    """Whether more than a space stands between the words of each two columns."""
    ordered = sorted(parts.values(), key=line_x0)
    return all(line_x0(b) - line_x1(a) >= HEAD_GAP * unit for a, b in pairwise(ordered))


def _column(columns: Sequence[tuple[float, float]], cell: Sequence[W]) -> int:
    """The first column that the cell overlaps, else the nearest."""
    x0, x1 = line_x0(cell), line_x1(cell)
    for index, (left, right) in enumerate(columns):
        if min(x1, right) - max(x0, left) > 0:
            return index
    return min(range(len(columns)), key=lambda i: abs(sum(columns[i]) - x0 - x1))


def _is_table(rows: Sequence[Sequence[Sequence[W]]], columns: int) -> bool:
    """Whether the rows are a table rather than prose with wide spaces, or a list with its numbers."""
    if len(rows) < (MIN_ROWS if columns == 2 else 2):
        return False
    counts = [sum(1 for cell in row if cell) for row in rows]
    if sum(counts) < 0.5 * columns * len(rows) or sum(1 for n in counts if n >= 2) < 0.6 * len(rows):
        return False
    lengths = sorted(len(cell) for row in rows for cell in row if cell)
    if lengths[len(lengths) // 2] > MAX_CELL_WORDS or lengths[-1] > 5 * MAX_CELL_WORDS:
        return False
    first = [cell for row in rows if (cell := row[0])]
    marks = sum(1 for cell in first if len(cell) == 1 and _is_mark(cell[0].text))
    return not (columns == 2 and marks > 0.6 * len(first))


def _is_mark(text: str) -> bool:
    """A bullet or the number of a list item."""
    return not any(c.isalnum() for c in text) or (text[-1] in ".)" and len(text) <= 5)


def _wrapped_joined(rows: Sequence[list[list[W]]], lines: Sequence[Sequence[W]], unit: float) -> list[Row[W]]:
    """Rows with their continuation lines: these stand close and leave the first cell empty."""
    joined = [rows[0]]
    gaps = [line_top(b) - line_bottom(a) for a, b in pairwise(lines)]
    usual = sorted(gaps)[len(gaps) // 2] if gaps else 0.0
    for row, gap in zip(rows[1:], gaps, strict=True):
        continues = not row[0] and gap < usual - 0.2 * unit
        lone = sum(1 for cell in row if cell) == 1 and gap <= usual + 0.1 * unit and not row[0]
        if continues or lone:
            for cell, more in zip(joined[-1], row, strict=True):
                cell.extend(more)
        else:
            joined.append(row)
    return joined
