"""A workbook that openpyxl refuses, written anew with only what the values need.

openpyxl reads every style and property strictly; other programs write some that it refuses ("expected <class
'openpyxl.styles.fills.Fill'>"), though they say nothing about the text. Number formats are kept: they decide how
dates and percentages are shown.
"""

import io
import zipfile
from copy import deepcopy

from lxml import etree

from pincite.tasks.extraction.base.zip_container import Container
from pincite.tasks.extraction.office.xlsx_parts import S

_STYLES = "xl/styles.xml"
_DROPPED = ("docProps/", "customXml/", "xl/theme/")
_FORMAT_ATTRIBUTES = ("numFmtId", "applyNumberFormat")
# What stands in a worksheet beside its cells; each is parsed strictly, and none holds text.
_KEPT = {f"{S}{name}" for name in ("dimension", "cols", "sheetData", "mergeCells")}


def plain_copy(container: Container) -> io.BytesIO:
    """The package without properties, looks and rules. Raises `Unreadable` when its XML is broken."""
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w") as archive:
        for name in container.names:
            if name == _STYLES:
                archive.writestr(name, etree.tostring(_number_formats(container.xml(name))))
            elif name.startswith("xl/worksheets/") and name.endswith(".xml"):
                archive.writestr(name, etree.tostring(_cells(container.xml(name))))
            elif name.endswith((".xml", ".rels")) and not name.startswith(_DROPPED):
                archive.writestr(name, container.read(name))
    copy.seek(0)
    return copy


def _number_formats(styles: etree._Element) -> etree._Element:
    """A style sheet with one font, fill and border for all, and the number format of each cell style."""
    plain = etree.Element(f"{S}styleSheet")
    plain.extend(deepcopy(list(styles.iterchildren(f"{S}numFmts"))))
    for group in ("fonts/font", "fills/fill/patternFill", "borders/border", "cellStyleXfs/xf"):
        element = plain
        for name in group.split("/"):
            element = etree.SubElement(element, f"{S}{name}")
    formats = etree.SubElement(plain, f"{S}cellXfs")
    for style in styles.iterfind(f"{S}cellXfs/{S}xf"):
        kept = {name: value for name in _FORMAT_ATTRIBUTES if (value := style.get(name)) is not None}
        etree.SubElement(formats, f"{S}xf", kept)
    return plain


def _cells(worksheet: etree._Element) -> etree._Element:
    for element in list(worksheet):
        if element.tag not in _KEPT:
            worksheet.remove(element)
    return worksheet
