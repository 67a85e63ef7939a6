"""Rows of a sheet to blocks: titles above a table, tables with their header, notes between them.

A table begins at the first row and wherever, after an empty row, a row looks like a header: several words over
numbers or over other columns. Empty rows and columns are skipped; each row stands on its own range of cells.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pincite.schemas.locators import column_letters
from pincite.tasks.extraction.base.text_builder import TextBuilder

_LETTERS = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_UNIT = 3  # letters that a number may bring along: "12 kg", "EUR 5", "5-Mar-24"


@dataclass(frozen=True, slots=True)
class SheetRow:
    number: int  # 1-based, as the sheet shows it
    cells: dict[int, str]  # 1-based column: text as shown; empty cells are absent


@dataclass(slots=True)
class _Table:
    rows: list[SheetRow] = field(default_factory=list)


_Part = _Table | SheetRow
"""A table, or one row that stands for itself."""


def append_sheet(builder: TextBuilder, sheet: str, rows: Iterable[SheetRow]) -> None:
    """Appends the rows of one sheet, in order, with a place 'cells' for each."""
    filled = [row for row in rows if row.cells]
    single = len(filled) > 1 and all(len(row.cells) == 1 for row in filled)
    for part in [_Table(filled)] if single else _parts(filled):
        if isinstance(part, SheetRow):
            ((column, text),) = part.cells.items()
            builder.paragraph(text, label=_label(sheet, part.number, column, column), at="cells")
        else:
            _append_table(builder, sheet, part.rows)


def _parts(rows: Sequence[SheetRow]) -> Iterator[_Part]:
    """Tables and single rows, in order. A table is given out when nothing more can belong to it."""
    table = _Table()
    for group in _groups(rows):
        body = list(group)
        titles = _take_titles(body)
        if table.rows and (titles or not body or _begins_table(table.rows[0], body)):
            yield table
            table = _Table()
        yield from titles
        table.rows.extend(body)
    if table.rows:
        yield table


def _groups(rows: Sequence[SheetRow]) -> Iterator[list[SheetRow]]:
    """Runs of rows without an empty row between them."""
    group: list[SheetRow] = []
    for row in rows:
        if group and row.number > group[-1].number + 1:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _take_titles(group: list[SheetRow]) -> list[SheetRow]:
    """Takes the rows of one cell at the head of a group away: they are titles, or notes.

    Right above numbers it is a header whose other columns have no name.
    """
    titles = []
    while group and len(group[0].cells) == 1:
        if len(group) > 1 and len(group[1].cells) > 1 and _has_number(group[1]):
            break
        titles.append(group.pop(0))
    return titles


def _begins_table(header: SheetRow, group: Sequence[SheetRow]) -> bool:
    """Whether `group` has a header of its own: words over numbers, or words over other columns."""
    first, *others = group
    if not others or len(first.cells) < 2 or _has_number(first):
        return False
    return first.cells.keys() != header.cells.keys() or any(map(_has_number, others))


def _has_number(row: SheetRow) -> bool:
    return any(is_number(text) for text in row.cells.values())


def is_number(text: str) -> bool:
    """Whether a cell shows a number, an amount, a percentage or a date rather than words."""
    return bool(_DIGIT.search(text)) and len(_LETTERS.findall(text)) <= _UNIT


def _append_table(builder: TextBuilder, sheet: str, rows: Sequence[SheetRow]) -> None:
    columns = sorted({column for row in rows for column in row.cells})
    first, last = columns[0], columns[-1]
    texts = [[row.cells.get(column, "") for column in columns] for row in rows]
    labels = [_label(sheet, row.number, first, last) for row in rows]
    numbers_only = all(is_number(text) for text in rows[0].cells.values())
    builder.table(texts, labels, named=not numbers_only)


def _label(sheet: str, row: int, first: int, last: int) -> str:
    start = f"{column_letters(first)}{row}"
    return f"{sheet}!{start}" if first == last else f"{sheet}!{start}:{column_letters(last)}{row}"
