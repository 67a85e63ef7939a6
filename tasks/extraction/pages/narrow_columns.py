"""Columns of figures that stand so near that a gap between words is the gap between columns."""

from collections.abc import Sequence
from itertools import pairwise

from pincite.tasks.extraction.pages.table import Row, W, is_figure

MIN_GAP = 0.3  # of the word height, between the words of two columns
MIN_CELLS = 3  # that must show the gap
SHARE = 0.6  # of the cells that have a word on each side


def cut_columns(rows: Sequence[Row[W]], unit: float) -> list[int]:
    """Parts columns of `rows` where nearly all cells leave a strip between figures.

    Returns the columns that were cut, in the order in which it was done: each moves those behind it by one.
    """
    cut: list[int] = []
    column = 0
    while rows and column < len(rows[0]):
        cells = [sorted(row[column], key=lambda w: w.x0) for row in rows if row[column]]
        strip = _strip(cells, unit) if len(cells) >= MIN_CELLS else None
        if strip is None:
            column += 1
            continue
        cut.append(column)
        for row in rows:
            row[column : column + 1] = _halves(row[column], strip, unit)
    return cut


def _halves(cell: list[W], strip: float, unit: float) -> list[list[W]]:
    left = [word for word in cell if word.x0 + word.x1 < 2 * strip]
    right = [word for word in cell if word.x0 + word.x1 >= 2 * strip]
    if left and right and min(w.x0 for w in right) - max(w.x1 for w in left) < MIN_GAP * unit:
        return [left + right, []]  # words that run over both columns, as a title does
    return [left, right]


def _strip(cells: Sequence[Sequence[W]], unit: float) -> float | None:
    """Where to cut the cells of a column; None when they are one column."""
    gaps = [(a.x1, b.x0) for cell in cells for a, b in pairwise(cell) if b.x0 - a.x1 >= MIN_GAP * unit]
    if len(gaps) < SHARE * len(cells):
        return None
    edge = 0.05 * unit
    places = {x for a, b in gaps for x in ((a + b) / 2, a + edge, b - edge)}
    best, most = None, 0
    for x in sorted(places):
        through = sum(1 for a, b in gaps if a <= x <= b)
        if through > most and _parts(cells, x, edge, through):
            best, most = x, through
    return best


def _parts(cells: Sequence[Sequence[W]], x: float, edge: float, through: int) -> bool:
    lefts = [[word for word in cell if word.x1 <= x + edge] for cell in cells]
    rights = [[word for word in cell if word.x0 >= x - edge] for cell in cells]
    both = sum(1 for left, right in zip(lefts, rights, strict=True) if left and right)
    crossed = sum(1 for cell in cells if any(word.x0 + edge < x < word.x1 - edge for word in cell))
    if both < SHARE * len(cells) or through < 0.9 * both or crossed > len(cells) // 8:
        return False
    after = [right[0].text for right in rights if right]
    before = [left[-1].text for left in lefts if left]
    return sum(map(is_figure, after)) >= SHARE * len(after) and sum(map(is_figure, before)) >= 0.5 * len(
        before
    )
