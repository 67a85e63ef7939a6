"""What the words say about a drawn grid: its rules are evidence of cells, not the cells.

words over a missing rule parted → lines of text as rows → columns beside the grid → narrow columns → labels over rows
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Generic

from pincite.tasks.extraction.pages.layout import line_bottom, line_top, lines_of, middle, usual_height
from pincite.tasks.extraction.pages.narrow_columns import cut_columns
from pincite.tasks.extraction.pages.table import SNAP, Row, Table, W, is_figure

TRACK_GAP = 0.6  # of the word height: words of one cell that stand so far apart may stand in two columns
MIN_TEXT_ROWS = 3  # lines in one drawn row from which on they may be rows of their own
FULL_ROW = 0.6  # share of the used columns that a line must fill to be a row
MAX_OUTER_WORDS = 8  # usual number of words in a cell beside the grid
OUTER_ROWS = 0.7  # share of the rows that a column beside the grid must have a word for
STRAY = 0.15  # share of the words beside the grid that may stand on no row

_YEAR = re.compile(r"(1[89]|20)\d\d")


@dataclass(frozen=True, slots=True)
class Label(Generic[W]):
    """A merged cell over several rows, which it names all."""

    words: tuple[W, ...]
    column: int
    top: float
    bottom: float


@dataclass(slots=True)
class DrawnCells(Generic[W]):
    """A drawn table whose cells are still being looked at."""

    x0: float
    top: float
    x1: float
    bottom: float
    edges: Sequence[float]  # of the columns, one more than these
    rows: list[Row[W]]
    labels: list[Label[W]] = field(default_factory=list)

    def shift(self, column: int) -> None:
        """Makes room for a column that was put in before `column`."""
        self.labels = [
            Label(each.words, each.column + (each.column >= column), each.top, each.bottom)
            for each in self.labels
        ]


def refined(draft: DrawnCells[W], words: Sequence[W], taken: Sequence[W]) -> Table[W]:
    """The table as its words have it. `taken`: words inside drawn grids, which no other grid may draw in."""
    own = [word for row in draft.rows for cell in row for word in cell]
    unit = usual_height(own or [word for label in draft.labels for word in label.words])
    rows: list[Row[W]] = []
    for row in draft.rows:
        rows += _text_rows(_over_edges(row, draft.edges, unit), unit)
    draft.rows = rows
    _add_outer(draft, words, taken, unit)
    for column in cut_columns(draft.rows, unit):
        draft.shift(column + 1)
    _say_labels(draft)
    every = [word for row in draft.rows for cell in row for word in cell]
    used = [column for column in range(len(draft.rows[0])) if any(row[column] for row in draft.rows)]
    return Table(
        min(draft.x0, *(word.x0 for word in every)),
        draft.top,
        max(draft.x1, *(word.x1 for word in every)),
        draft.bottom,
        tuple(tuple(tuple(map(tuple, lines_of(row[column]))) for column in used) for row in draft.rows),
    )


def _over_edges(row: Row[W], edges: Sequence[float], unit: float) -> Row[W]:
    """The row; the words of a cell that lie in several columns are parted where a gap stands at each edge."""
    parted = [list(cell) for cell in row]
    for column, cell in enumerate(row):
        slots = _slots(cell, column, edges)
        if len(slots) < 2 or any(slot != column and row[slot] for slot in slots):
            continue
        slot_of = {id(word): slot for slot, members in slots.items() for word in members}
        if all(
            slot_of[id(a)] == slot_of[id(b)] or b.x0 - a.x1 >= TRACK_GAP * unit
            for line in lines_of(cell)
            for a, b in pairwise(line)
        ):
            parted[column] = []
            for slot, members in slots.items():
                parted[slot] = members
    return parted


def _slots(cell: Sequence[W], column: int, edges: Sequence[float]) -> dict[int, list[W]]:
    """The words of a cell that begins in `column`, by the column in which their middles lie."""
    slots: dict[int, list[W]] = {}
    for word in cell:
        slot = column
        while slot + 2 < len(edges) and (word.x0 + word.x1) / 2 > edges[slot + 1]:
            slot += 1
        slots.setdefault(slot, []).append(word)
    return slots


def _text_rows(row: Row[W], unit: float) -> list[Row[W]]:
    """The drawn row; its lines as rows of their own where most of them fill most columns, with figures."""
    lines = lines_of([word for cell in row for word in cell])
    used = sum(1 for cell in row if cell)
    if len(lines) < MIN_TEXT_ROWS or used < 2:
        return [row]
    owner = {id(word): column for column, cell in enumerate(row) for word in cell}
    parted: list[Row[W]] = []
    for line in lines:
        cells: Row[W] = [[] for _ in row]
        for word in line:
            cells[owner[id(word)]].append(word)
        parted.append(cells)
    full = sum(1 for cells in parted if sum(map(bool, cells)) >= max(2, FULL_ROW * used))
    lone = sum(1 for cells in parted if cells[0] and not any(cells[1:]))
    values = [cell[0].text for cells in parted for cell in (cells[1:] if cells[0] else cells) if cell]
    figures = sum(map(is_figure, values))
    if full < 0.5 * len(lines) or full + lone < 0.7 * len(lines) or figures < 0.5 * max(len(values), 1):
        return [row]
    return parted


def _add_outer(draft: DrawnCells[W], words: Sequence[W], taken: Sequence[W], unit: float) -> None:
    """Takes in columns left and right of the grid whose words stand on the lines of its rows."""
    known = {id(word) for word in taken}
    bands = [_band(row) for row in draft.rows]
    filled = sum(1 for band in bands if band)
    level = [
        word
        for word in words
        if id(word) not in known and draft.top - unit <= middle(word) <= draft.bottom + 0.2 * unit
    ]
    left = [word for word in level if word.x1 <= draft.x0 + SNAP]
    right = [word for word in level if word.x0 >= draft.x1 - SNAP]
    for beside, place in ((left, 0), (right, len(draft.rows[0]))):
        slots: dict[int, list[W]] = {}
        for word in beside:
            row = next(
                (
                    i
                    for i, b in enumerate(bands)
                    if b and b[0] - unit / 10 <= middle(word) <= b[1] + unit / 10
                ),
                None,
            )
            if row is not None:
                slots.setdefault(row, []).append(word)
        on_rows = sum(map(len, slots.values()))
        if filled < MIN_TEXT_ROWS or len(slots) < OUTER_ROWS * filled or not slots:
            continue
        if on_rows < (1 - STRAY) * len(beside) or median(map(len, slots.values())) > MAX_OUTER_WORDS:
            continue
        for index, cells in enumerate(draft.rows):
            cells.insert(min(place, len(cells)) if place else 0, slots.get(index, []))
        if not place:
            draft.shift(0)


def _band(row: Row[W]) -> tuple[float, float] | None:
    line = [word for cell in row for word in cell]
    return (line_top(line), line_bottom(line)) if line else None


def _holds_figures(row: Row[W]) -> bool:
    texts = [word.text for cell in row for word in cell]
    return 2 * sum(1 for text in texts if is_figure(text) and not _YEAR.fullmatch(text)) > len(texts)


def _say_labels(draft: DrawnCells[W]) -> None:
    """Puts each label into all rows that it spans: a row is read without those above it.

    One over the first rows is the name of a column and stands once, unless they hold figures already.
    """
    bands = [_band(row) for row in draft.rows]
    for label in draft.labels:
        spanned = [
            row
            for row, band in zip(draft.rows, bands, strict=True)
            if band and label.top <= (band[0] + band[1]) / 2 < label.bottom and not row[label.column]
        ]
        names_column = spanned[:1] == draft.rows[:1] and not _holds_figures(spanned[0])
        for row in spanned[:1] if names_column else spanned:
            row[label.column] = list(label.words)
