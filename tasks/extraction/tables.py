"""Tables of a page: ruled ones from the lines that are drawn, unruled ones from runs of aligned rows.

Each word stands in exactly one cell. A merged cell gives its words to its first place, the others are empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from tasks.extraction.layout import (
    WordBox,
    line_bottom,
    line_top,
    line_x0,
    line_x1,
    lines_of,
    usual_height,
)

SNAP = 3.0  # points; lines this near are one
MAX_RULES = 4_000
MAX_GRID = 20_000  # cells; a finer grid is a drawing
CELL_GAP = 0.75  # of the word height: a wider gap on a line may part two cells
MIN_ROWS = 3  # of an unruled table with two columns; two rows do for more columns
MAX_WRAPPED = 6  # lines that one cell may go on for
MAX_CELL_WORDS = 8  # usual number of words in a cell of an unruled table

W = TypeVar("W", bound=WordBox)


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal or vertical line."""

    x0: float
    top: float
    x1: float
    bottom: float

    @property
    def horizontal(self) -> bool:
        return self.x1 - self.x0 >= self.bottom - self.top


@dataclass(frozen=True, slots=True)
class Table(Generic[W]):
    """Rows of cells of lines of words; all rows have the same number of cells."""

    x0: float
    top: float
    x1: float
    bottom: float
    rows: tuple[tuple[tuple[tuple[W, ...], ...], ...], ...]

    @property
    def columns(self) -> int:
        return len(self.rows[0]) if self.rows else 0


@dataclass(frozen=True, slots=True)
class _Grid:
    xs: list[float]
    ys: list[float]
    vertical: list[Rule]
    horizontal: list[Rule]


def ruled_tables(words: Sequence[W], rules: Sequence[Rule]) -> list[Table[W]]:
    """Tables whose cells are drawn, from top to bottom."""
    tables = []
    for grid in _grids(rules):
        table = _fill(grid, words)
        if table is not None:
            tables.append(table)
    return sorted(_outermost(tables), key=lambda t: (t.top, t.x0))


def _outermost(tables: list[Table[W]]) -> list[Table[W]]:
    """Without tables that lie inside another one: their words have a cell already."""
    kept: list[Table[W]] = []
    for table in sorted(tables, key=lambda t: -(t.x1 - t.x0) * (t.bottom - t.top)):
        if not any(_overlap(table, other) for other in kept):
            kept.append(table)
    return kept


def _overlap(a: Table[W], b: Table[W]) -> bool:
    return min(a.x1, b.x1) - max(a.x0, b.x0) > SNAP and min(a.bottom, b.bottom) - max(a.top, b.top) > SNAP


def _grids(rules: Sequence[Rule]) -> list[_Grid]:
    """Lines that touch each other, as grids with at least two cells."""
    horizontal = _joined([rule for rule in rules if rule.horizontal and rule.x1 - rule.x0 > SNAP], True)
    vertical = _joined([r for r in rules if not r.horizontal and r.bottom - r.top > SNAP], False)
    if len(horizontal) + len(vertical) > MAX_RULES:
        return []
    parent = list(range(len(horizontal) + len(vertical)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, h in enumerate(horizontal):
        for j, v in enumerate(vertical, len(horizontal)):
            if h.x0 - SNAP <= v.x0 <= h.x1 + SNAP and v.top - SNAP <= h.top <= v.bottom + SNAP:
                parent[root(i)] = root(j)
    groups: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for i, rule in enumerate([*horizontal, *vertical]):
        groups.setdefault(root(i), ([], []))[i >= len(horizontal)].append(rule)
    grids = []
    for hs, vs in groups.values():
        xs, ys = _positions([v.x0 for v in vs]), _positions([h.top for h in hs])
        cells = (len(xs) - 1) * (len(ys) - 1)
        if len(xs) >= 2 and len(ys) >= 2 and 2 <= cells <= MAX_GRID:
            grids.append(_Grid(xs, ys, vs, hs))
    return grids


def _joined(rules: Sequence[Rule], horizontal: bool) -> list[Rule]:
    """Lines on one track that touch are one line; doubled lines are one."""

    def key(rule: Rule) -> tuple[float, float]:
        return (rule.top, rule.x0) if horizontal else (rule.x0, rule.top)

    def ends(rule: Rule) -> tuple[float, float]:
        return (rule.x0, rule.x1) if horizontal else (rule.top, rule.bottom)

    tracks: list[list[Rule]] = []
    for rule in sorted(rules, key=key):
        if tracks and key(rule)[0] - key(tracks[-1][0])[0] <= SNAP:
            tracks[-1].append(rule)
        else:
            tracks.append([rule])
    joined: list[Rule] = []
    for track in tracks:
        position = key(track[len(track) // 2])[0]
        spans: list[list[float]] = []
        for start, end in sorted(map(ends, track)):
            if spans and start <= spans[-1][1] + SNAP:
                spans[-1][1] = max(spans[-1][1], end)
            else:
                spans.append([start, end])
        for start, end in spans:
            joined.append(
                Rule(start, position, end, position) if horizontal else Rule(position, start, position, end)
            )
    return joined


def _positions(values: Sequence[float]) -> list[float]:
    positions: list[float] = []
    for value in sorted(values):
        if not positions or value - positions[-1] > SNAP:
            positions.append(value)
    return positions


def _fill(grid: _Grid, words: Sequence[W]) -> Table[W] | None:
    """The grid with its words; None when it holds no table."""
    xs, ys = grid.xs, grid.ys
    inside = [
        word
        for word in words
        if xs[0] - SNAP <= (word.x0 + word.x1) / 2 <= xs[-1] + SNAP
        and ys[0] - SNAP <= (word.top + word.bottom) / 2 <= ys[-1] + SNAP
    ]
    if not inside:
        return None
    owner = _merged(grid)
    cells: dict[tuple[int, int], list[W]] = {}
    for word in inside:
        place = (_slot(ys, (word.top + word.bottom) / 2), _slot(xs, (word.x0 + word.x1) / 2))
        cells.setdefault(owner[place], []).append(word)
    used_rows = {row for row, _ in cells}
    used_columns = {column for _, column in cells}
    if len(cells) < 2 or (len(used_rows) < 2 and len(used_columns) < 2):
        return None
    if len(set(owner.values())) < 2 or _is_frame(cells, owner):
        return None
    # A track without any own cell is the space between double lines, or drawn only.
    rows = [
        r for r in range(len(ys) - 1) if r in used_rows or any(o == (r, c) for (_, c), o in owner.items())
    ]
    columns = [c for c in range(len(xs) - 1) if c in used_columns or _has_own(owner, c)]
    filled = tuple(
        tuple(tuple(tuple(line) for line in lines_of(cells.get((r, c), []))) for c in columns) for r in rows
    )
    return Table(xs[0], ys[0], xs[-1], ys[-1], filled)


def _has_own(owner: dict[tuple[int, int], tuple[int, int]], column: int) -> bool:
    return any(place[1] == column for place in owner.values())


def _is_frame(cells: dict[tuple[int, int], list[W]], owner: dict[tuple[int, int], tuple[int, int]]) -> bool:
    """Whether one cell holds nearly all words of many: a box around running text, not a table."""
    most = max(len(words) for words in cells.values())
    total = sum(len(words) for words in cells.values())
    return most > 60 and most > 0.8 * total


def _slot(edges: list[float], value: float) -> int:
    for index in range(len(edges) - 2):
        if value < edges[index + 1]:
            return index
    return len(edges) - 2


def _merged(grid: _Grid) -> dict[tuple[int, int], tuple[int, int]]:
    """For each place of the grid the first place of the cell that it belongs to."""
    rows, columns = len(grid.ys) - 1, len(grid.xs) - 1
    owner = {(r, c): (r, c) for r in range(rows) for c in range(columns)}

    def root(place: tuple[int, int]) -> tuple[int, int]:
        while owner[place] != place:
            place = owner[place]
        return place

    for r in range(rows):
        for c in range(columns):
            if c + 1 < columns and not _crossed(
                grid.vertical, grid.xs[c + 1], grid.ys[r], grid.ys[r + 1], False
            ):
                _unite(owner, root((r, c)), root((r, c + 1)))
            if r + 1 < rows and not _crossed(
                grid.horizontal, grid.ys[r + 1], grid.xs[c], grid.xs[c + 1], True
            ):
                _unite(owner, root((r, c)), root((r + 1, c)))
    return {place: root(place) for place in owner}


def _unite(owner: dict[tuple[int, int], tuple[int, int]], a: tuple[int, int], b: tuple[int, int]) -> None:
    owner[max(a, b)] = min(a, b)


def _crossed(rules: Sequence[Rule], position: float, start: float, end: float, horizontal: bool) -> bool:
    """Whether a line on `position` covers most of the way from `start` to `end`."""
    middle = (start + end) / 2
    for rule in rules:
        track, low, high = (rule.top, rule.x0, rule.x1) if horizontal else (rule.x0, rule.top, rule.bottom)
        if abs(track - position) <= SNAP and low - SNAP <= middle <= high + SNAP:
            return True
    return False


# Unruled tables: lines of a region that part into cells at the same places.


def unruled_tables(lines: Sequence[list[W]]) -> list[tuple[int, int, Table[W]]]:
    """(first line, end line, table) for each run of lines that are aligned like rows."""
    if not lines:
        return []
    unit = usual_height([word for line in lines for word in line])
    parted = [_cells(line, unit) for line in lines]
    found = []
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
        wrapped = _wrapped(lines, parted, (start, end), unit)
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


def _width(lines: Sequence[Sequence[W]]) -> float:
    return max(map(line_x1, lines)) - min(map(line_x0, lines))


def _aligned(lines: Sequence[Sequence[W]], parted: Sequence[list[list[W]]], unit: float) -> Table[W] | None:
    """The lines as a table; None when their cells do not stand in columns."""
    columns = _columns(parted, unit)
    if len(columns) < 2:
        return None
    rows: list[list[list[W]]] = []
    for cells in parted:
        row: list[list[W]] = [[] for _ in columns]
        for cell in cells:
            row[_column(columns, cell)] += cell
        rows.append(row)
    merged = _wrapped_joined(rows, lines, unit)
    if not _is_table(merged, len(columns)):
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


def _wrapped_joined(
    rows: Sequence[list[list[W]]], lines: Sequence[Sequence[W]], unit: float
) -> list[list[list[W]]]:
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
