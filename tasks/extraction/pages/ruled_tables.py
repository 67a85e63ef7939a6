"""Tables of a page whose cells are drawn; for the others see `tables_unruled`.

Each word stands in exactly one cell. A merged cell gives its words to its first place, the others are empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pincite.tasks.extraction.pages.layout import WordBox, lines_of

SNAP = 3.0  # points; lines this near are one
MAX_RULES = 3_000
MAX_GRID = 10_000  # cells; a finer grid is a drawing

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
    upright = [[(v.top, v.bottom) for v in grid.vertical if abs(v.x0 - x) <= SNAP] for x in grid.xs]
    level = [[(h.x0, h.x1) for h in grid.horizontal if abs(h.top - y) <= SNAP] for y in grid.ys]

    def root(place: tuple[int, int]) -> tuple[int, int]:
        while owner[place] != place:
            place = owner[place]
        return place

    for r in range(rows):
        for c in range(columns):
            if c + 1 < columns and not _crossed(upright[c + 1], grid.ys[r], grid.ys[r + 1]):
                _unite(owner, root((r, c)), root((r, c + 1)))
            if r + 1 < rows and not _crossed(level[r + 1], grid.xs[c], grid.xs[c + 1]):
                _unite(owner, root((r, c)), root((r + 1, c)))
    return {place: root(place) for place in owner}


def _unite(owner: dict[tuple[int, int], tuple[int, int]], a: tuple[int, int], b: tuple[int, int]) -> None:
    owner[max(a, b)] = min(a, b)


def _crossed(spans: Sequence[tuple[float, float]], start: float, end: float) -> bool:
    """Whether a line on the track between two cells covers the middle of the way from `start` to `end`."""
    middle = (start + end) / 2
    return any(low - SNAP <= middle <= high + SNAP for low, high in spans)
