"""What the order of the drawing says of words that stand like lines or like a table.

A program that writes a formula draws it as it is read, numerator before denominator, and goes on with the line:
from top to bottom it would read otherwise. One that sets lists in columns draws each column to its end.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from pincite.tasks.extraction.pages.layout import W, line_bottom, line_top, lines_of, usual_height
from pincite.tasks.extraction.pages.table import Table, is_figure

CLOSE = 0.85  # of the word height between the middles of two lines: lines of text stand further apart
MAX_LINES = 7  # of one construct
TO_AND_FRO = 1.25  # visits of a cell, on the mean, from which on a table is none
BACK_UP = 0.15  # steps back to a line above, a cell: a table drawn line by line has none
MIN_LIST = 8  # rows from which on columns that were drawn one by one are lists
TALL = 1.3  # times the word height: signs over several lines, as brackets and sums are


def in_drawn_order(lines: Sequence[list[W]], drawn: Mapping[int, int]) -> list[list[W]]:
    """The lines; those of one construct as one line. `drawn`: the place of a word by its `id`, from 0."""
    if len(lines) < 2:
        return list(lines)
    unit = usual_height([word for line in lines for word in line])
    kept: list[list[W]] = []
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and end - start < MAX_LINES and _close(lines[start:end], lines[end], unit):
            end += 1
        while end - start > 1 and (merged := _drawn_as_one(lines[start:end], drawn)) is None:
            end -= 1
        kept.append(merged if end - start > 1 and merged else lines[start])
        start = end
    return kept


def _close(above: Sequence[Sequence[W]], line: Sequence[W], unit: float) -> bool:
    """Whether a line stands too near to those above it to be the next line of a text."""
    last = above[-1]
    apart = (line_top(line) + line_bottom(line) - line_top(last) - line_bottom(last)) / 2
    if apart < CLOSE * unit:
        return True
    reach = max(line_bottom(each) for each in above[-2:])
    tall = any(word.bottom - word.top > TALL * unit for each in (*above[-2:], line) for word in each)
    return tall and line_top(line) < reach


def _drawn_as_one(lines: Sequence[Sequence[W]], drawn: Mapping[int, int]) -> list[W] | None:
    """The words in the order of the drawing; None where that was not done in one go, or not from the left."""
    words = [word for line in lines for word in line]
    if any(word.confidence is not None or id(word) not in drawn for word in words):
        return None
    ordered = sorted(words, key=lambda word: drawn[id(word)])
    if drawn[id(ordered[-1])] - drawn[id(ordered[0])] != len(ordered) - 1:
        return None
    line_of = {id(word): number for number, line in enumerate(lines) for word in line}
    ends = [float("-inf")] * len(lines)
    for word in ordered:
        number = line_of[id(word)]
        if word.x0 < ends[number] - 1.0:
            return None
        ends[number] = word.x1
    steps = [(line_of[id(a)], line_of[id(b)], b.x0 - a.x0) for a, b in pairwise(ordered)]
    if any(after < before and across <= 0 for before, after, across in steps):
        return None  # a formula goes on to the right when it comes back up
    return None if all(before <= after for before, after, _ in steps) else ordered


def as_drawn(lines: Sequence[list[W]], table: Table[W], drawn: Mapping[int, int]) -> list[list[W]] | None:
    """The lines of what only looks like a table, in the order of their drawing; None when it is a table.

    A table is drawn cell by cell. A formula goes to and fro between them; lists side by side go column by column.
    """
    if any(word.confidence is not None or id(word) not in drawn for line in lines for word in line):
        return None
    cells = {
        id(word): (r, c)
        for r, row in enumerate(table.rows)
        for c, cell in enumerate(row)
        for line in cell
        for word in line
    }
    ordered = sorted((word for line in lines for word in line), key=lambda word: drawn[id(word)])
    places = [cells[id(word)] for word in ordered if id(word) in cells]
    visits = 1 + sum(1 for a, b in pairwise(places) if a != b)
    line_of = {id(word): number for number, line in enumerate(lines) for word in line}
    back_up = sum(1 for a, b in pairwise(ordered) if line_of[id(b)] < line_of[id(a)])
    if visits > TO_AND_FRO * len(set(places)) and back_up >= max(2, BACK_UP * len(set(places))):
        whole = _drawn_as_one(lines, drawn)
        return in_drawn_order(lines, drawn) if whole is None else [whole]
    columns = [column for _, column in places]
    if len(table.rows) < MIN_LIST or any(a > b for a, b in pairwise(columns)) or _has_figures(table):
        return None
    return [
        line
        for column in range(table.columns)
        for line in lines_of([word for word in ordered if cells.get(id(word), (0, -1))[1] == column])
    ]


def _has_figures(table: Table[W]) -> bool:
    """Whether most cells behind the first column are figures alone."""
    cells = [[word.text for line in cell for word in line] for row in table.rows for cell in row[1:] if cell]
    return 3 * sum(1 for cell in cells if all(map(is_figure, cell))) > len(cells)
