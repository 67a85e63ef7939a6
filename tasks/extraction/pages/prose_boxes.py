"""Drawn boxes of running text that touch: no table, but columns that are read one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from pincite.tasks.extraction.pages.table import SNAP, Table, W, is_figure

MIN_WORDS = 8  # of a cell that is a box of running text
MAX_ROWS = 2  # of one grid of such boxes
FIGURES = 0.25  # share of figures from which on the words are values
APART = 60.0  # points between the rows of one set of boxes


@dataclass(frozen=True, slots=True)
class Boxes(Generic[W]):
    """Boxes in reading order, each its lines of words."""

    x0: float
    top: float
    x1: float
    bottom: float
    boxes: tuple[tuple[tuple[W, ...], ...], ...]


def prose_boxes(tables: Sequence[Table[W]]) -> tuple[list[Table[W]], list[Boxes[W]]]:
    """(the tables, what of them are boxes of prose): rows of boxes of the same columns are read together."""
    kept = [table for table in tables if not _is_prose(table)]
    groups: list[list[Table[W]]] = []
    for table in tables:
        if not _is_prose(table):
            continue
        if groups and _goes_on(groups[-1][-1], table):
            groups[-1].append(table)
        else:
            groups.append([table])
    return kept, [_boxes(group) for group in groups]


def _is_prose(table: Table[W]) -> bool:
    cells = [cell for row in table.rows for cell in row]
    if table.columns < 2 or len(table.rows) > MAX_ROWS or not all(len(cell) >= 2 for cell in cells):
        return False
    texts = [[word.text for line in cell for word in line] for cell in cells]
    return all(len(text) >= MIN_WORDS and sum(map(is_figure, text)) < FIGURES * len(text) for text in texts)


def _goes_on(before: Table[W], table: Table[W]) -> bool:
    return (
        before.columns == table.columns
        and abs(before.x0 - table.x0) <= SNAP
        and abs(before.x1 - table.x1) <= SNAP
        and -SNAP <= table.top - before.bottom <= APART
    )


def _boxes(tables: Sequence[Table[W]]) -> Boxes[W]:
    return Boxes(
        tables[0].x0,
        tables[0].top,
        tables[0].x1,
        tables[-1].bottom,
        tuple(row[column] for column in range(tables[0].columns) for table in tables for row in table.rows),
    )
