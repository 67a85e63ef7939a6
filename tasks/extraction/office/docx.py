"""Word documents (.docx): paragraphs, headings, lists, tables, notes, comments, text boxes in reading order.

container check → python-docx → body → blocks. Running headers and footers, deleted and hidden text are left
out and named in warnings.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

from docx.document import Document
from docx.exceptions import PythonDocxError
from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.opc.exceptions import OpcError
from docx.opc.part import Part, PartFactory, XmlPart
from docx.package import Package
from docx.parts.document import DocumentPart
from lxml import etree

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.base.zip_container import damage_as_unreadable, open_container, parse_xml
from pincite.tasks.extraction.office.docx_styles import Numbering, Styles
from pincite.tasks.extraction.office.docx_text import MC, A, Attached, ParagraphReader, W, running_words
from pincite.tasks.extraction.office.pptx_shapes import chart_rows

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

# Templates and files with macros are the same inside; python-docx knows only the plain kind.
PartFactory.part_type_for |= {
    f"application/{kind}.main+xml": DocumentPart
    for kind in (
        "vnd.openxmlformats-officedocument.wordprocessingml.template",
        "vnd.ms-word.document.macroEnabled",
        "vnd.ms-word.template.macroEnabledTemplate",
    )
}

_WRAPPERS = {f"{W}{name}" for name in ("sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag")}
_DELETED = {f"{W}del", f"{W}moveFrom"}
_IDENTIFIES = re.compile(r"\d{3}|\S@\S")  # an invoice, a revision, a year, a telephone, an address
_COLUMNS = 63  # of a table: Word's own limit, so that a hostile span stays small


def extract_docx(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The document's text. Raises `Encrypted`, `Unreadable` or `LimitExceeded`."""
    progress(1)
    with (
        open_container(path, settings.limits, "Word") as container,
        damage_as_unreadable("Word", PythonDocxError, OpcError),
    ):
        document = cast(DocumentPart, Package.open(str(container.path)).main_document_part).document
        reader = DocumentReader(document, settings.include_hidden_text)
        reader.letterhead()
        reader.body(document.element.body)
        reader.running_text()
        title = reader.title or _core_title(document)
        return reader.builder.extraction(title, MEDIA_TYPE)


class DocumentReader:
    """Appends the blocks of one document. List items wait until the list ends, to become one block."""

    def __init__(self, document: Document, include_hidden: bool) -> None:
        self.builder = TextBuilder()
        self.title = ""
        self._part = document.part
        self._styles = Styles(self._related(RT.STYLES))
        self._numbering = Numbering(self._related(RT.NUMBERING))
        self._include_hidden = include_hidden
        self._reader = ParagraphReader(self._styles, include_hidden)
        self._notes = {
            "footnote": _by_id(self._related(RT.FOOTNOTES), "footnote"),
            "endnote": _by_id(self._related(RT.ENDNOTES), "endnote"),
        }
        self._comments = _by_id(self._related(RT.COMMENTS), "comment")
        self._shown_notes: set[tuple[str, str]] = set()
        self._items: list[str] = []

    def body(self, parent: etree._Element) -> None:
        """The paragraphs and tables below `parent`, in order."""
        self._blocks(parent)
        self._end_list()

    def letterhead(self) -> None:
        """Once, before the text, what identifies the document: headers and footers with a number or an address."""
        for text in self._running():
            if _IDENTIFIES.search(text):
                self.builder.paragraph(text)

    def running_text(self) -> None:
        """Names what else stands in headers and footers: it is on every page and in no chunk."""
        for text in self._running():
            if not _IDENTIFIES.search(text):
                self.builder.name("running-text", "headers and footers, left out", text)

    def _running(self) -> list[str]:
        """The different texts of headers, then of footers, without page numbers."""
        texts: dict[str, bool] = {}
        for kind in (RT.HEADER, RT.FOOTER):
            parts = (
                relation.target_part
                for relation in self._part.rels.values()
                if relation.reltype == kind and not relation.is_external
            )
            for text in sorted(one_line(running_words(_root(part))) for part in parts):
                texts[text] = True
        return list(filter(None, texts))

    def _blocks(self, parent: etree._Element) -> None:
        for child in parent:
            if child.tag == f"{W}p":
                self._paragraph(child)
            elif child.tag == f"{W}tbl":
                self._end_list()
                self._table(child)
            elif child.tag in _DELETED:
                words = "".join(text.text or "" for text in child.iter(f"{W}t", f"{W}delText"))
                self.builder.name("tracked-deletion", "deleted in tracked changes, left out", words)
            elif child.tag == f"{W}altChunk":
                self.builder.name("embedded-object", "embedded objects are not read", "an imported document")
            elif child.tag == f"{MC}AlternateContent":
                self._blocks(child[0])
            elif isinstance(child.tag, str):
                self._blocks(child)  # content controls, insertions and what else may wrap a paragraph

    def _paragraph(self, paragraph: etree._Element) -> None:
        attached = Attached()
        text = self._reader.read(paragraph, attached).strip()
        if text and not self._include_hidden and self._styles.hides(self._styles.style_id(paragraph)):
            self.builder.name("hidden-text", "hidden text, left out", text)
            text = ""
        if text:
            self._append(paragraph, text)
        self._attachments(attached)

    def _append(self, paragraph: etree._Element, text: str) -> None:
        level = self._styles.heading_level(paragraph)
        numbering = self._styles.numbering(paragraph)
        item = self._numbering.next(*numbering) if numbering else None
        if level:
            self._end_list()
            mark = f"{item.mark} " if item and item.mark not in ("", "-") else ""
            self.builder.heading(mark + text, level)
            if self._styles.is_title(paragraph) and not self.title:
                self.title = one_line(text)
        elif item:
            indent = "  " * item.level
            mark = f"{item.mark} " if item.mark else ""
            self._items.append(indent + mark + text.replace("\n", f"\n{indent}{' ' * len(mark)}"))
        else:
            self._end_list()
            self.builder.paragraph(text)

    def _end_list(self) -> None:
        if self._items:
            items, self._items = self._items, []
            self.builder.paragraph("\n".join(items), kind="list")

    def _table(self, table: etree._Element) -> None:
        if self._is_frame(table):
            for cell in _children(table, "tr", "tc"):
                self.body(cell)
            return
        attached = Attached()
        self.builder.table(self._rows(table, attached))
        self._attachments(attached)

    def _is_frame(self, table: etree._Element) -> bool:
        """Whether it is a page layout drawn with a table, not a table of data.

        One cell, one row around other tables, or headings inside.
        """
        rows = [list(_children(row, "tc")) for row in _children(table, "tr")]
        inner = any(next(cell.iter(f"{W}tbl"), None) is not None for row in rows for cell in row)
        if sum(map(len, rows)) == 1 or (len(rows) == 1 and inner):
            return True
        return any(self._styles.heading_level(paragraph) for paragraph in table.iter(f"{W}p"))

    def _rows(self, table: etree._Element, attached: Attached) -> list[list[str]]:
        """Cells on the grid of the table: a merged cell has its text at its upper left corner."""
        rows = []
        for row in _children(table, "tr"):
            if row.find(f"{W}trPr/{W}del") is not None:
                self.builder.name("tracked-deletion", "deleted in tracked changes, left out", "a table row")
                continue
            cells = [""] * _span(row, f"{W}trPr/{W}gridBefore", 0)
            for cell in _children(row, "tc"):
                merge = cell.find(f"{W}tcPr/{W}vMerge")
                covered = merge is not None and merge.get(f"{W}val", "continue") == "continue"
                text = self._cell(cell, attached)
                # Word keeps, and does not show, what stood in a cell before it was merged into the one above.
                cells.append("" if covered else text)
                cells.extend([""] * (_span(cell, f"{W}tcPr/{W}gridSpan", 1) - 1))
            rows.append(cells)
        return rows if any(any(row) for row in rows) else []

    def _cell(self, cell: etree._Element, attached: Attached) -> str:
        """All of a cell on one line; of a table in it, cells are separated by commas, rows by semicolons."""
        pieces = []
        for child in _content(cell):
            if child.tag == f"{W}p":
                numbering = self._styles.numbering(child)
                text = one_line(self._reader.read(child, attached))
                mark = self._numbering.next(*numbering).mark if numbering and text else ""
                pieces.append(f"{mark} {text}".strip() if mark != "-" else text)
            elif child.tag == f"{W}tbl":
                inner = self._rows(child, attached)
                pieces.append("; ".join(", ".join(filter(None, row)) for row in inner))
        return " ".join(filter(None, pieces))

    def _attachments(self, attached: Attached) -> None:
        """Boxes, notes and comments follow the paragraph or table on which they hang."""
        for code, message, thing in attached.named:
            if thing or code not in ("hidden-text", "tracked-deletion"):
                self.builder.name(code, message, thing)
        if replace(attached, named=[]) != Attached():
            self._end_list()
        for words in attached.words:
            self.builder.paragraph(words)
        for box in attached.boxes:
            self.body(box)
        for relation_id in attached.diagrams:
            self._diagram(relation_id)
        for relation_id in attached.charts:
            title, rows = chart_rows(_root(self._part.related_parts[relation_id]))
            self.builder.paragraph(title)
            self.builder.table(rows)
        for kind, note_id in attached.notes:
            self._note(kind, note_id)
        for comment_id in attached.comments:
            self._comment(comment_id)

    def _diagram(self, relation_id: str) -> None:
        """SmartArt: its words in the order of its data model."""
        for paragraph in _root(self._part.related_parts[relation_id]).iter(f"{A}p"):
            self.builder.paragraph("".join(text.text or "" for text in paragraph.iter(f"{A}t")))

    def _note(self, kind: str, note_id: str) -> None:
        note = self._notes[kind].get(note_id)
        if note is None:
            self.builder.name("missing-note", "notes that the file refers to and does not hold", note_id)
        elif (kind, note_id) not in self._shown_notes:
            self._shown_notes.add((kind, note_id))
            self._aside(f"{self._reader.mark(kind, note_id)}: ", note)

    def _comment(self, comment_id: str) -> None:
        comment = self._comments.get(comment_id)
        if comment is not None:
            author = comment.get(f"{W}author", "")
            self._aside(f"Comment by {author}: " if author else "Comment: ", comment)

    def _aside(self, lead: str, element: etree._Element) -> None:
        attached = Attached()
        paragraphs = [self._reader.read(paragraph, attached).strip() for paragraph in element.iter(f"{W}p")]
        self.builder.paragraph(lead + "\n".join(filter(None, paragraphs)))
        self._attachments(attached)

    def _related(self, relation_type: str) -> etree._Element | None:
        for relation in self._part.rels.values():
            if relation.reltype == relation_type and not relation.is_external:
                return _root(relation.target_part)
        return None


def _root(part: Part) -> etree._Element:
    return part.element if isinstance(part, XmlPart) else parse_xml(part.blob, str(part.partname))


def _by_id(root: etree._Element | None, name: str) -> dict[str, etree._Element]:
    found = root.findall(f"{W}{name}") if root is not None else []
    return {element.get(f"{W}id", ""): element for element in found}


def _content(parent: etree._Element) -> Iterator[etree._Element]:
    """Children, with those of content controls and insertions in their place."""
    for child in parent:
        if child.tag in _WRAPPERS:
            yield from _content(child)
        else:
            yield child


def _children(parent: etree._Element, name: str, *deeper: str) -> Iterator[etree._Element]:
    for child in _content(parent):
        if child.tag == f"{W}{name}":
            if deeper:
                yield from _children(child, *deeper)
            else:
                yield child


def _span(element: etree._Element, name: str, missing: int) -> int:
    span = element.find(name)
    return min(int(span.get(f"{W}val", str(missing))), _COLUMNS) if span is not None else missing


def _core_title(document: Document) -> str:
    """The title in the file's properties; python-docx invents one for files that have no properties."""
    if not any(relation.reltype == RT.CORE_PROPERTIES for relation in document.part.package.rels.values()):
        return ""
    return str(document.core_properties.title)
