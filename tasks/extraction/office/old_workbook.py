"""Workbooks of before 2007 (.xls) by xlrd, where LibreOffice is not installed: values as shown, sheet by sheet."""

import datetime as dt
from pathlib import Path

import xlrd
from xlrd.xldate import XLDateError, xldate_as_datetime

from pincite.schemas.errors import Encrypted, Unreadable
from pincite.schemas.records import Extraction
from pincite.tasks.extraction.base.sheet_blocks import SheetRow, append_sheet
from pincite.tasks.extraction.base.text_builder import TextBuilder
from pincite.tasks.extraction.office.format_code import sections_of
from pincite.tasks.extraction.office.number_format import shown

MEDIA_TYPE = "application/vnd.ms-excel"
# What xlrd raises on records that make no sense.
_DAMAGE = (
    xlrd.XLRDError,
    AssertionError,
    IndexError,
    KeyError,
    ValueError,
    TypeError,
    OverflowError,
    OSError,
)


def extract_with_xlrd(path: Path) -> Extraction:
    """The workbook's text. Raises `Encrypted` or `Unreadable`."""
    builder = TextBuilder()
    try:
        book = xlrd.open_workbook(str(path), formatting_info=True, logfile=_Silent())
    except _DAMAGE as error:
        if "encrypted" in str(error).lower():
            raise Encrypted(
                "this workbook needs a password: save it without one and index it again"
            ) from error
        raise Unreadable(
            f"not a readable workbook ({type(error).__name__}: {error}): it is damaged"
        ) from error
    for sheet in book.sheets():
        rows = [SheetRow(number + 1, _cells(book, sheet, number)) for number in range(sheet.nrows)]
        if not any(row.cells for row in rows):
            continue
        if sheet.visibility:
            builder.name("hidden-sheet", "hidden sheets, read", sheet.name)
        builder.heading(sheet.name, 2)
        append_sheet(builder, sheet.name, rows)
    return builder.extraction("", MEDIA_TYPE)


class _Silent:
    """xlrd prints what it doubts."""

    def write(self, text: str) -> int:
        return len(text)


def _cells(book: xlrd.Book, sheet: xlrd.sheet.Sheet, number: int) -> dict[int, str]:
    cells = {column + 1: _text(book, cell) for column, cell in enumerate(sheet.row(number))}
    return {column: text for column, text in cells.items() if text.strip()}


def _text(book: xlrd.Book, cell: xlrd.sheet.Cell) -> str:
    code = (
        book.format_map[book.xf_list[cell.xf_index].format_key].format_str
        if cell.xf_index is not None
        else ""
    )
    if cell.ctype == xlrd.XL_CELL_TEXT:
        return shown(str(cell.value), code)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, "#N/A"))
    if cell.ctype == xlrd.XL_CELL_DATE:
        return _date(book, float(cell.value), code)
    return shown(float(cell.value), code or "General") if cell.ctype == xlrd.XL_CELL_NUMBER else ""


def _date(book: xlrd.Book, value: float, code: str) -> str:
    try:
        if any(section.has("elapsed") for section in sections_of(code)):
            return shown(dt.timedelta(days=value), code)
        moment = xldate_as_datetime(value, book.datemode)
    except (XLDateError, OverflowError, ValueError):
        return shown(value, "General")
    return shown(moment.time() if value < 1 else moment, code)
