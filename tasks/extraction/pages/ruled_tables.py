"""Tables of a page whose cells are drawn; for the others see `unruled_tables`.

Each word stands in one cell. A merged cell gives its words to its first place; over several rows it names them
all, and each of them gets its words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from pincite.tasks.extraction.pages.layout import lines_of, middle, usual_height
from pincite.tasks.extraction.pages.table import SNAP, Row, Rule, Table, W, is_figure
from pincite.tasks.extraction.pages.table_refining import DrawnCells, Label, refined

MAX_RULES = 3_000
MAX_GRID = 10_000  # cells; a finer grid is a drawing
MIN_DRAWING = 12  # cells from which on the share of filled ones says something
DRAWING = 0.15  # share of filled cells under which a grid is a chart

Place = tuple[int, int]
"""(row, column) of a grid."""


@dataclass(frozen=True, slots=True)
class _Grid:
    xs: list[float]
    ys: list[float]
    vertical: list[Rule]
    horizontal: list[Rule]


def ruled_tables(words: Sequence[W], rules: Sequence[Rule]) -> list[Table[W]]:
    """Tables whose cells are drawn, from top to bottom."""
    tables = []
    grids = _grids(rules)
    held = {id(grid): _inside(grid, words) for grid in grids}
    taken = [word for inside in held.values() for word in inside]
    for grid in grids:
        draft = _draft(grid, held[id(grid)])
        if draft is None:
            continue
        table = refined(draft, words, taken)
        if not (_is_drawing(table) or _is_band(table, words)):
            tables.append(table)
    return sorted(_outermost(tables), key=lambda t: (t.top, t.x0))


def _is_drawing(table: Table[W]) -> bool:
    """Whether next to nothing stands in the cells: the grid of a chart."""
    cells = len(table.rows) * table.columns
    filled = sum(1 for row in table.rows for cell in row if cell)
    empty_rows = sum(1 for row in table.rows if not any(row))
    return cells >= MIN_DRAWING and (filled < DRAWING * cells or empty_rows > 0.5 * len(table.rows))


def _is_band(table: Table[W], words: Sequence[W]) -> bool:
    """Whether it is one row with text close above or below: the shaded row of a table that is not drawn."""
    filled = [row for row in table.rows if any(row)]
    if len(filled) != 1:
        return False
    unit = usual_height([word for cell in filled[0] for line in cell for word in line])
    close = [
        word
        for word in words
        if word.x0 < table.x1
        and word.x1 > table.x0
        and (0 < table.top - middle(word) < 1.6 * unit or 0 < middle(word) - table.bottom < 1.6 * unit)
    ]
    return len(close) >= 2


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
        xs = _with_ends(_positions([v.x0 for v in vs]), [(h.x0, h.x1) for h in hs])
        ys = _with_ends(_positions([h.top for h in hs]), [(v.top, v.bottom) for v in vs])
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


def _inside(grid: _Grid, words: Sequence[W]) -> list[W]:
    xs, ys = grid.xs, grid.ys
    return [
        word
        for word in words
        if xs[0] - SNAP <= (word.x0 + word.x1) / 2 <= xs[-1] + SNAP
        and ys[0] - SNAP <= middle(word) <= ys[-1] + SNAP
    ]


def _with_ends(positions: list[float], across: Sequence[tuple[float, float]]) -> list[float]:
    """The positions with the ends that at least half of the lines across share: a grid without a frame."""
    if len(across) < 2 or not positions:
        return positions
    start, end = median(low for low, _ in across), median(high for _, high in across)
    starts = sum(1 for low, _ in across if abs(low - start) <= SNAP)
    ends = sum(1 for _, high in across if abs(high - end) <= SNAP)
    before = [start] if start < positions[0] - SNAP and 2 * starts >= len(across) else []
    after = [end] if end > positions[-1] + SNAP and 2 * ends >= len(across) else []
    return [*before, *positions, *after]


def _draft(grid: _Grid, inside: Sequence[W]) -> DrawnCells[W] | None:
    """The grid with its words as it is drawn; None when it holds no table."""
    if not inside:
        return None
    xs, ys = grid.xs, grid.ys
    owner = _merged(grid)
    cells, spanning = _filled(grid, owner, inside)
    used_rows = {row for row, _ in (*cells, *spanning)}
    used_columns = {column for _, column in (*cells, *spanning)}
    if len(cells) + len(spanning) < 2 or (len(used_rows) < 2 and len(used_columns) < 2):
        return None
    if len(set(owner.values())) < 2 or _is_frame(cells) or not cells:
        return None
    # A track without any own cell is the space between double lines, or drawn only.
    own_rows, own_columns = {row for row, _ in owner.values()}, {column for _, column in owner.values()}
    rows = [r for r in range(len(ys) - 1) if r in used_rows or r in own_rows]
    columns = [c for c in range(len(xs) - 1) if c in used_columns or c in own_columns]
    drawn: list[Row[W]] = [[list(cells.get((r, c), ())) for c in columns] for r in rows]
    labels = [
        Label(tuple(words), columns.index(place[1]), *_extent(grid, owner, place))
        for place, words in spanning.items()
    ]
    edges = [*(xs[column] for column in columns), xs[columns[-1] + 1]]
    return DrawnCells(xs[0], ys[0], xs[-1], ys[-1], edges, drawn, labels)


def _filled(
    grid: _Grid, owner: dict[Place, Place], inside: Sequence[W]
) -> tuple[dict[Place, list[W]], dict[Place, list[W]]]:
    """(words by the first place of their cell, words of the cells that name several rows, likewise)."""
    slots: dict[Place, dict[Place, list[W]]] = {}
    for word in inside:
        place = _slot(grid.ys, middle(word)), _slot(grid.xs, (word.x0 + word.x1) / 2)
        slots.setdefault(owner[place], {}).setdefault(place, []).append(word)
    cells: dict[Place, list[W]] = {}
    spanning: dict[Place, list[W]] = {}
    for first, members in slots.items():
        words = [word for each in members.values() for word in each]
        if _is_track(members):
            cells |= members
        elif _names_rows(owner, first, slots):
            spanning[first] = words
        else:
            cells[first] = words
    return cells, spanning


def _is_track(members: dict[Place, list[W]]) -> bool:
    """Whether the words of a merged cell are a cell a row, between which no rule was drawn."""
    if len({row for row, _ in members}) < 2 or len({column for _, column in members}) > 1:
        return False
    if any(len(lines_of(words)) > 1 for words in members.values()):
        return False
    return all(is_figure(word.text) for words in members.values() for word in words)


def _names_rows(owner: dict[Place, Place], first: Place, slots: dict[Place, dict[Place, list[W]]]) -> bool:
    """Whether the cell that begins at `first` spans rows that have words of their own in another column."""
    own = {place for place, cell in owner.items() if cell == first}
    rows = {row for row, _ in own}
    if len(rows) < 2:
        return False
    beside = {
        cell for place, cell in owner.items() if place[0] in rows and place not in own and cell in slots
    }
    return len({row for row, _ in beside if row in rows}) > 1


def _extent(grid: _Grid, owner: dict[Place, Place], first: Place) -> tuple[float, float]:
    """(top, bottom) of the cell that begins at `first`."""
    rows = [row for (row, _), cell in owner.items() if cell == first]
    return grid.ys[min(rows)], grid.ys[max(rows) + 1]


def _is_frame(cells: dict[Place, list[W]]) -> bool:
    """Whether one cell holds nearly all words of many: a box around running text, not a table."""
    most = max(len(words) for words in cells.values())
    total = sum(len(words) for words in cells.values())
    return most > 60 and most > 0.8 * total


def _slot(edges: list[float], value: float) -> int:
    for index in range(len(edges) - 2):
        if value < edges[index + 1]:
            return index
    return len(edges) - 2


def _merged(grid: _Grid) -> dict[Place, Place]:
    """For each place of the grid the first place of the cell that it belongs to."""
    rows, columns = len(grid.ys) - 1, len(grid.xs) - 1
    owner = {(r, c): (r, c) for r in range(rows) for c in range(columns)}
    upright = [[(v.top, v.bottom) for v in grid.vertical if abs(v.x0 - x) <= SNAP] for x in grid.xs]
    level = [[(h.x0, h.x1) for h in grid.horizontal if abs(h.top - y) <= SNAP] for y in grid.ys]

    def root(place: Place) -> Place:
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


def _unite(owner: dict[Place, Place], a: Place, b: Place) -> None:
    owner[max(a, b)] = min(a, b)


def _crossed(spans: Sequence[tuple[float, float]], start: float, end: float) -> bool:
    """Whether a line on the track between two cells covers the middle of the way from `start` to `end`."""
    middle = (start + end) / 2
    return any(low - SNAP <= middle <= high + SNAP for low, high in spans)
