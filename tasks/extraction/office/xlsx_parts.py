"""What a workbook says beside its values, which openpyxl's read-only mode passes over.

Sheets and their state, hidden rows and columns, formulas without a stored value, comments, text boxes, pictures.
ECMA-376 part 1, 18.3 (worksheets), 18.7 (comments), 20.5 (drawings).
"""

import io
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lxml import etree

from pincite.schemas.errors import Unreadable
from pincite.schemas.locators import column_letters
from pincite.tasks.extraction.base.marks import DrawnRun, Position, written
from pincite.tasks.extraction.base.zip_container import Container

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
THREADED = "{http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments}"
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_ROWS = 1_048_576  # of one sheet; a larger number is damage, and openpyxl would count up to it
_ON = ("1", "true")
_POSITIONS: dict[str, Position] = {"superscript": "raised", "subscript": "lowered"}
_THREAD_STUB = "[Threaded comment]"  # what older programs are shown in place of a thread


@dataclass(slots=True)
class SheetParts:
    """One sheet, apart from its values."""

    name: str
    hidden: bool = False
    other: str = ""  # the kind of a sheet without cells: a chart, a dialog, macros
    hidden_rows: list[int] = field(default_factory=list)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)  # first and last, both inside
    formulas: dict[str, str] = field(default_factory=dict)  # without a stored value, by coordinate
    drawn: dict[str, str] = field(default_factory=dict)  # words with marks of rich text, by coordinate
    comments: list[tuple[str, str]] = field(default_factory=list)  # (coordinate, words)
    boxes: list[str] = field(default_factory=list)
    named: list[tuple[str, str, str]] = field(default_factory=list)  # (warning code, message, thing)


def read_parts(container: Container) -> list[SheetParts]:
    """Every sheet of the workbook, in the order of its tabs."""
    workbook = _workbook_name(container)
    relations = _relations(container, workbook)
    strings = _drawn_strings(container, relations.values())
    sheets = []
    for entry in container.xml(workbook).iter(f"{S}sheet"):
        kind, target = relations.get(entry.get(f"{R}id", ""), ("", ""))
        sheet = SheetParts(entry.get("name", ""), entry.get("state", "visible") != "visible")
        if kind == "worksheet":
            _read_sheet(container.read(target), target, sheet, strings)
        else:
            sheet.other = kind or "sheet that the file does not hold"
        for related_kind, related in _relations(container, target).values():
            _RELATED.get(related_kind, _ignore)(container, related, sheet)
        sheets.append(sheet)
    return sheets


def core_title(container: Container) -> str:
    """The title in the file's properties, "" when there is none."""
    if "docProps/core.xml" not in container:
        return ""
    return container.xml("docProps/core.xml").findtext(_DC_TITLE) or ""


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive numbers: [1, 2, 3, 7] as [(1, 3), (7, 7)]."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _workbook_name(container: Container) -> str:
    for kind, target in _relations(container, "").values():
        if kind == "officeDocument":
            return target
    raise Unreadable("the file names no workbook: it is damaged")


def _relations(container: Container, part: str) -> dict[str, tuple[str, str]]:
    """By id: (last word of the type, name of the target part). Targets outside the file are left out."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if path not in container:
        return {}
    return {
        relation.get("Id", ""): (
            posixpath.basename(relation.get("Type", "")),
            posixpath.normpath(posixpath.join("/", folder, relation.get("Target", ""))).lstrip("/"),
        )
        for relation in container.xml(path).iter(_RELATION)
        if relation.get("TargetMode") != "External"
    }


def _drawn_strings(container: Container, parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By index in the table of strings: those with raised, lowered or struck words."""
    drawn = {}
    for kind, target in parts:
        if kind == "sharedStrings" and target in container:
            for index, item in enumerate(container.xml(target).iterchildren(f"{S}si")):
                if words := _drawn(item):
                    drawn[str(index)] = words
    return drawn


def _drawn(item: etree._Element) -> str:
    """Rich text with its marks; "" for one without any."""
    runs = []
    for run in item.iterchildren(f"{S}r", f"{S}t"):
        text = run.text or "" if run.tag == f"{S}t" else run.findtext(f"{S}t") or ""
        align, strike = run.find(f"{S}rPr/{S}vertAlign"), run.find(f"{S}rPr/{S}strike")
        position = _POSITIONS.get(align.get("val", ""), "") if align is not None else ""
        runs.append(DrawnRun(text, position, strike is not None and strike.get("val", "1") in _ON))
    return written(runs) if any(run.position or run.struck for run in runs) else ""


def _read_sheet(data: bytes, name: str, sheet: SheetParts, strings: Mapping[str, str]) -> None:
    number = 0
    try:
        for _, element in etree.iterparse(
            io.BytesIO(data), tag=(f"{S}row", f"{S}col"), resolve_entities=False, no_network=True
        ):
            hidden = element.get("hidden") in _ON
            if element.tag == f"{S}col":
                if hidden:
                    sheet.hidden_columns.append((int(element.get("min", "1")), int(element.get("max", "1"))))
                continue
            number = int(element.get("r", number + 1))
            if number > _ROWS:
                raise Unreadable(f"the part {name!r} has a row {number}; no sheet has more than {_ROWS:,}")
            if hidden:
                sheet.hidden_rows.append(number)
            _read_cells(element, number, sheet, strings)
            element.clear()
            while (before := element.getprevious()) is not None and (
                parent := before.getparent()
            ) is not None:
                parent.remove(before)
    except etree.XMLSyntaxError as error:
        raise Unreadable(
            f"the part {name!r} is not well-formed XML ({error.msg}): the file is damaged"
        ) from error


def _read_cells(row: etree._Element, number: int, sheet: SheetParts, strings: Mapping[str, str]) -> None:
    """Formulas without a value, and rich text with marks."""
    for column, cell in enumerate(row, start=1):
        kind = cell.get("t")
        if kind == "s" and not strings:
            continue
        formula, inline = cell.find(f"{S}f"), cell.find(f"{S}is")
        value = cell.findtext(f"{S}v") or ""
        words = _drawn(inline) if inline is not None else strings.get(value, "") if kind == "s" else ""
        if words:
            sheet.drawn[cell.get("r", f"{column_letters(column)}{number}")] = words
        # "str": a formula whose value is the empty text
        if formula is not None and not value and inline is None and kind != "str":
            sheet.formulas[cell.get("r", f"{column_letters(column)}{number}")] = formula.text or ""


def _ignore(container: Container, part: str, sheet: SheetParts) -> None:
    """For relations that hold nothing to read: styles, printer settings, links."""


def _comments(container: Container, part: str, sheet: SheetParts) -> None:
    for comment in container.xml(part).iter(f"{S}comment"):
        words = "".join(text.text or "" for text in comment.iter(f"{S}t"))
        if not words.startswith(_THREAD_STUB):
            sheet.comments.append((comment.get("ref", ""), words))


def _threads(container: Container, part: str, sheet: SheetParts) -> None:
    for comment in container.xml(part).iter(f"{THREADED}threadedComment"):
        sheet.comments.append((comment.get("ref", ""), comment.findtext(f"{THREADED}text") or ""))


def _drawing(container: Container, part: str, sheet: SheetParts) -> None:
    root = container.xml(part)
    for body in root.iter(f"{XDR}txBody"):
        paragraphs = ("".join(text.text or "" for text in line.iter(f"{A}t")) for line in body.iter(f"{A}p"))
        sheet.boxes.append("\n".join(filter(None, paragraphs)))
    for picture in root.iter(f"{XDR}pic"):
        sheet.named.append(("embedded-image", "embedded images are not read", _name(picture)))
    for frame in root.iter(f"{XDR}graphicFrame"):
        if next(frame.iter(f"{CHART}chart"), None) is not None:
            sheet.named.append(("chart", "charts are not read; their figures are in the cells", _name(frame)))


def _name(shape: etree._Element) -> str:
    properties = next(shape.iter(f"{XDR}cNvPr"), None)
    return "" if properties is None else properties.get("descr") or properties.get("name") or ""


def _object(container: Container, part: str, sheet: SheetParts) -> None:
    sheet.named.append(("embedded-object", "embedded objects are not read", posixpath.basename(part)))


_RELATED = {
    "comments": _comments,
    "threadedComment": _threads,
    "drawing": _drawing,
    "oleObject": _object,
    "package": _object,
}
