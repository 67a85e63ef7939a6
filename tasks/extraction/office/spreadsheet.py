"""Spreadsheets: .xlsx with openpyxl, .ods with lxml. Each sheet is a section, each row stands on its cells.

container check → sheets → rows as shown → blocks. Hidden sheets, rows and columns are read, because a formula or a
filter that hides them does not make them untrue, and are named in warnings.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol, cast

import openpyxl
from openpyxl.cell.read_only import EmptyCell, ReadOnlyCell
from openpyxl.utils.exceptions import InvalidFileException

from pincite.schemas.locators import column_letters
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.marks import STRUCK, struck
from pincite.tasks.extraction.base.sheet_blocks import SheetRow, append_sheet
from pincite.tasks.extraction.base.text_builder import TextBuilder
from pincite.tasks.extraction.base.zip_container import Container, damage_as_unreadable, open_container
from pincite.tasks.extraction.office.number_format import Scalar, shown
from pincite.tasks.extraction.office.ods import NO_VALUE, Workbook
from pincite.tasks.extraction.office.xlsx_parts import SheetParts, core_title, ranges, read_parts
from pincite.tasks.extraction.office.xlsx_repair import plain_copy

XLSX_MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ODS_MEDIA_TYPE = "application/vnd.oasis.opendocument.spreadsheet"

# What openpyxl raises on values, elements and attributes that its classes do not allow.
_STRICTNESS = (ValueError, TypeError, LookupError, AttributeError)
_STRUCK_WORDS = re.compile(r"~~([^~]+)~~")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")  # ST_Xstring, ECMA-376 part 1, 22.9.2.19


class _Rows(Protocol):
    """What openpyxl's read-only worksheet offers; its stubs describe another one."""

    def reset_dimensions(self) -> None: ...

    def iter_rows(self) -> Iterator[tuple[ReadOnlyCell | EmptyCell, ...]]: ...


def extract_xlsx(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The workbook's text. Raises `Encrypted`, `Unreadable` or `LimitExceeded`."""
    progress(1)
    builder = TextBuilder()
    damage = damage_as_unreadable("Excel", InvalidFileException)
    with open_container(path, settings.limits, "Excel") as container, damage:
        title = core_title(container)
        sheets = read_parts(container)
        rows = _all_rows(container.path, container, sheets, builder, progress)
    for sheet, found in zip(sheets, rows, strict=True):
        _append(builder, sheet, found)
    return builder.extraction(title, XLSX_MEDIA_TYPE)


def _all_rows(
    path: Path, container: Container, sheets: list[SheetParts], builder: TextBuilder, progress: Progress
) -> list[list[SheetRow]]:
    """The rows of each sheet; where openpyxl refuses the looks of a workbook, without them."""
    # By its bytes, because openpyxl refuses suffixes that it does not know.
    with path.open("rb") as file:
        try:
            return _load(file, sheets, progress)
        except _STRICTNESS as error:
            rows = _load(plain_copy(container), sheets, progress)
            builder.warn("repaired", f"styles or properties are malformed ({error}): read without them")
            return rows


def _load(file: IO[bytes], sheets: list[SheetParts], progress: Progress) -> list[list[SheetRow]]:
    with warnings.catch_warnings():
        # About styling, validation and extensions, which are not read; bad dates come as #VALUE!.
        warnings.simplefilter("ignore", UserWarning)
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        rows: list[list[SheetRow]] = []
        for number, sheet in enumerate(sheets, start=1):
            progress(number)
            rows.append([] if sheet.other else list(_xlsx_rows(cast(_Rows, workbook[sheet.name]), sheet)))
        return rows


def extract_ods(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The spreadsheet's text. Raises `Encrypted`, `Unreadable` or `LimitExceeded`."""
    progress(1)
    builder = TextBuilder()
    with (
        open_container(path, settings.limits, "OpenDocument") as container,
        damage_as_unreadable("OpenDocument"),
    ):
        workbook = Workbook(container, settings.limits)
        for number, (sheet, rows) in enumerate(workbook.sheets(), start=1):
            progress(number)
            _append(builder, sheet, rows)
    return builder.extraction(workbook.title, ODS_MEDIA_TYPE)


def _append(builder: TextBuilder, sheet: SheetParts, rows: list[SheetRow]) -> None:
    """One sheet: its name as a heading, its rows, then the boxes and comments on it."""
    if sheet.other:
        builder.name("other-sheet", "sheets without cells, not read", f"{sheet.name} ({sheet.other})")
    if not (any(row.cells for row in rows) or sheet.boxes or sheet.comments):
        return
    builder.heading(sheet.name, 2)
    append_sheet(builder, sheet.name, rows)
    for box in sheet.boxes:
        builder.paragraph(box)
    for coordinate, words in sheet.comments:
        builder.paragraph(f"Comment on {coordinate}: {words}", label=f"{sheet.name}!{coordinate}", at="cells")
    for code, message, thing in sheet.named:
        builder.name(code, message, thing)
    _name_hidden(builder, sheet, rows)
    for coordinate in sheet.formulas:
        builder.name("formula-without-value", NO_VALUE, f"{sheet.name}!{coordinate}")


def _name_hidden(builder: TextBuilder, sheet: SheetParts, rows: list[SheetRow]) -> None:
    """Only what holds anything: most sheets hide all columns to the right of what they use."""
    if sheet.hidden:
        builder.name("hidden-sheet", "hidden sheets, read", sheet.name)
    filled = {row.number for row in rows if row.cells}
    for first, last in ranges([number for number in sheet.hidden_rows if number in filled]):
        builder.name("hidden-rows", "hidden rows, read", f"{sheet.name}!{first}:{last}")
    used = {column for row in rows for column in row.cells}
    hidden = [column for first, last in sheet.hidden_columns for column in used if first <= column <= last]
    for first, last in ranges(hidden):
        name = f"{sheet.name}!{column_letters(first)}:{column_letters(last)}"
        builder.name("hidden-columns", "hidden columns, read", name)


def _xlsx_rows(worksheet: _Rows, sheet: SheetParts) -> Iterator[SheetRow]:
    # The stored size may be wrong, and a wrong one costs rows or pads them to 16,384 cells.
    worksheet.reset_dimensions()
    for number, row in enumerate(worksheet.iter_rows(), start=1):
        cells = {}
        for column, cell in enumerate(row, start=1):
            coordinate = f"{column_letters(column)}{number}" if sheet.formulas or sheet.drawn else ""
            text = _xlsx_cell(cell, sheet, coordinate)
            if _has_line_through(cell):
                text = struck(text)
            if "~~" in text:
                sheet.named.extend((*STRUCK, words) for words in _STRUCK_WORDS.findall(text))
            if text.strip():
                cells[column] = text
        if cells:
            yield SheetRow(number, cells)


def _has_line_through(cell: ReadOnlyCell | EmptyCell) -> bool:
    """Whether the font of the whole cell is struck."""
    if cell.value is None or not getattr(cell, "_style_id", 0):
        return False
    return bool(cell.font.strike)


def _xlsx_cell(cell: ReadOnlyCell | EmptyCell, sheet: SheetParts, coordinate: str) -> str:
    """The cell as shown; a formula whose value was never stored as its formula."""
    value = cell.value
    if value is None:
        formula = sheet.formulas.get(coordinate)
        return "" if formula is None else f"={formula}"
    if isinstance(value, str):
        value = sheet.drawn.get(coordinate, value)
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)
    assert isinstance(value, Scalar)  # the other types that openpyxl knows are formulas, not asked for
    return shown(value, cell.number_format or "General")
