"""Rows of an OpenDocument spreadsheet. OpenDocument 1.3 part 3: 9 (tables), 6.1 (text), 19.385 (values)."""

from collections.abc import Iterator

from lxml import etree

from pincite.schemas.errors import Encrypted, LimitExceeded, Unreadable
from pincite.schemas.locators import column_letters
from pincite.schemas.settings import Limits
from pincite.tasks.extraction.base.marks import STRUCK, struck
from pincite.tasks.extraction.base.sheet_blocks import SheetRow
from pincite.tasks.extraction.base.zip_container import Container
from pincite.tasks.extraction.office.number_format import general
from pincite.tasks.extraction.office.odf_text import DRAW, OFFICE, STYLE, TABLE, TEXT, OdfLines, TextStyles
from pincite.tasks.extraction.office.xlsx_parts import SheetParts

_ENCRYPTION = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}encryption-data"
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_DC_CREATOR, _DC_DATE = "{http://purl.org/dc/elements/1.1/}creator", "{http://purl.org/dc/elements/1.1/}date"

NO_VALUE = (
    "formulas without a stored value are shown as formulas; open and save the file in a spreadsheet program"
)
_GROUPS = {
    f"{TABLE}{name}"
    for name in ("table-row-group", "table-header-rows", "table-rows", "table-column-group", "table-columns")
} | {f"{TABLE}table-header-columns"}
_CELLS = (f"{TABLE}table-cell", f"{TABLE}covered-table-cell")
_HIDDEN = ("collapse", "filter")
_VALUES = ("date-value", "time-value", "string-value", "boolean-value", "value")


class Workbook:
    """Reads the sheets of one container. Raises `Encrypted` for a file with a password."""

    def __init__(self, container: Container, limits: Limits) -> None:
        self._limits = limits
        self._expanded = 0  # characters that repeated cells came to
        refuse_encrypted(container)
        self._content = container.xml("content.xml")
        self.title = odf_title(container)
        styles = [container.xml("styles.xml")] if "styles.xml" in container else []
        self._lines = OdfLines(TextStyles([*styles, self._content]))
        self._hidden_styles = {
            style.get(f"{STYLE}name", "")
            for style in self._content.iter(f"{STYLE}style")
            for properties in style.iter(f"{STYLE}table-properties")
            if properties.get(f"{TABLE}display") == "false"
        }

    def sheets(self) -> Iterator[tuple[SheetParts, list[SheetRow]]]:
        spreadsheet = self._content.find(f"{OFFICE}body/{OFFICE}spreadsheet")
        if spreadsheet is None:
            raise Unreadable("the OpenDocument file holds no spreadsheet")
        for table in spreadsheet.findall(f"{TABLE}table"):
            hidden = table.get(f"{TABLE}style-name") in self._hidden_styles
            sheet = SheetParts(table.get(f"{TABLE}name", ""), hidden)
            self._columns(table, sheet)
            rows = list(self._rows(table, sheet))
            for shapes in table.iterfind(f"{TABLE}shapes"):
                self._shapes(shapes, sheet)
            sheet.named.extend((*STRUCK, words) for words in self._lines.struck)
            self._lines.struck.clear()
            yield sheet, rows

    def _columns(self, table: etree._Element, sheet: SheetParts) -> None:
        at = 1
        for column in _flat(table, f"{TABLE}table-column"):
            repeated = _repeated(column, "number-columns-repeated")
            if column.get(f"{TABLE}visibility") in _HIDDEN:
                sheet.hidden_columns.append((at, at + repeated - 1))
            at += repeated

    def _rows(self, table: etree._Element, sheet: SheetParts) -> Iterator[SheetRow]:
        number = 1
        for row in _flat(table, f"{TABLE}table-row"):
            repeated = _repeated(row, "number-rows-repeated")
            cells = self._cells(row, number, sheet)
            if cells:
                self._expand(sum(map(len, cells.values())) * repeated)
                numbers = range(number, number + repeated)
                if row.get(f"{TABLE}visibility") in _HIDDEN:
                    sheet.hidden_rows.extend(numbers)
                yield from (SheetRow(each, cells) for each in numbers)
            number += repeated

    def _cells(self, row: etree._Element, number: int, sheet: SheetParts) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = 1
        for cell in row:
            if cell.tag not in _CELLS:
                continue
            repeated = _repeated(cell, "number-columns-repeated")
            coordinate = f"{column_letters(column)}{number}"
            if cell.tag == _CELLS[0] and (text := self._cell_text(cell, coordinate, sheet)):
                self._expand(len(text) * repeated)
                cells.update(dict.fromkeys(range(column, column + repeated), text))
            column += repeated
        return cells

    def _expand(self, characters: int) -> None:
        self._expanded += characters
        if self._expanded > self._limits.inflated_bytes:
            raise LimitExceeded(
                f"repeated cells come to more than {self._limits.inflated_bytes:,} characters: "
                "raise limits.inflated_bytes if the file is trusted"
            )

    def _cell_text(self, cell: etree._Element, coordinate: str, sheet: SheetParts) -> str:
        """The text that the program stored as shown, the value itself where it stored none."""
        for note in cell.iterfind(f"{OFFICE}annotation"):
            sheet.comments.append((coordinate, self._lines.paragraphs(note)))
        self._shapes(cell, sheet)
        text = self._lines.paragraphs(cell)
        if text.strip():
            _, line_through = self._lines.styles.ink(cell.get(f"{TABLE}style-name", ""))
            if line_through and "~~" not in text:
                self._lines.struck.append(text.strip())
                return struck(text)
            return text
        for name in _VALUES:
            value = cell.get(f"{OFFICE}{name}")
            if value:
                return _shown(value, cell.get(f"{OFFICE}value-type", ""), cell.get(f"{OFFICE}currency", ""))
        formula = cell.get(f"{TABLE}formula")
        if formula and cell.get(f"{OFFICE}value-type") is None:
            sheet.formulas[coordinate] = formula
            return "=" + formula.partition("=")[2]
        return ""

    def _shapes(self, parent: etree._Element, sheet: SheetParts) -> None:
        """Text boxes and pictures drawn on the sheet."""
        for shape in parent.iterchildren():
            if not (isinstance(shape.tag, str) and shape.tag.startswith(DRAW)):
                continue
            texts = [self._lines.line(paragraph) for paragraph in shape.iter(f"{TEXT}p", f"{TEXT}h")]
            sheet.boxes.append("\n".join(filter(None, texts)))
            name = shape.get(f"{DRAW}name", "")
            if next(shape.iter(f"{DRAW}image"), None) is not None:
                sheet.named.append(("embedded-image", "embedded images are not read", name))
            if next(shape.iter(f"{DRAW}object"), None) is not None:
                sheet.named.append(("chart", "charts and embedded objects are not read", name))


def refuse_encrypted(container: Container) -> None:
    """Raises `Encrypted` for an OpenDocument file with a password."""
    if "META-INF/manifest.xml" in container:
        manifest = container.xml("META-INF/manifest.xml")
        if next(manifest.iter(_ENCRYPTION), None) is not None:
            raise Encrypted("this OpenDocument file needs a password: save it without one and index it again")


def odf_title(container: Container) -> str:
    """The title in the file's properties, "" when there is none."""
    if "meta.xml" not in container:
        return ""
    return next((found.text or "" for found in container.xml("meta.xml").iter(_DC_TITLE)), "")


def _shown(value: str, kind: str, currency: str) -> str:
    if kind == "percentage":
        return general(round(float(value) * 100, 10)) + "%"
    if kind == "boolean":
        return value.upper()
    return f"{value} {currency}".strip()


def _flat(parent: etree._Element, tag: str) -> Iterator[etree._Element]:
    """Rows or columns in order, through their groups; not those of tables inside cells."""
    for child in parent:
        if child.tag == tag:
            yield child
        elif child.tag in _GROUPS:
            yield from _flat(child, tag)


def _repeated(element: etree._Element, name: str) -> int:
    return max(1, int(element.get(f"{TABLE}{name}", "1")))
