"""Presentations (.pptx): one section and one place 'slide' for each slide, its notes and comments included.

container check → python-pptx for slides, layouts and notes → shapes in the order of the slide → blocks. Slide
numbers, dates and footers are left out and named; hidden slides are read and named.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lxml import etree
from pptx.exc import PythonPptxError
from pptx.opc.constants import RELATIONSHIP_TYPE as RT
from pptx.opc.package import Part
from pptx.package import Package
from pptx.slide import Slide

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.marks import STRUCK
from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.base.zip_container import damage_as_unreadable, open_container, parse_xml
from pincite.tasks.extraction.office.pptx_shapes import (
    MC,
    A,
    P,
    Words,
    chart_rows,
    struck_text,
    table_rows,
    text_body,
)

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DIAGRAM_URI = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_RUNNING = ("sldNum", "dt", "ftr", "hdr")
_TITLES = ("title", "ctrTitle")
_LISTS = ("body", "obj", "")  # placeholders that hold points; a placeholder without a type is an "obj"
_OFF = ("0", "false")


def extract_pptx(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The text of all slides. Raises `Encrypted`, `Unreadable` or `LimitExceeded`."""
    builder = TextBuilder()
    with (
        open_container(path, settings.limits, "PowerPoint") as container,
        damage_as_unreadable("PowerPoint", PythonPptxError),
    ):
        # Not `pptx.Presentation`, which refuses slide shows and templates.
        presentation = Package.open(str(container.path)).presentation_part.presentation
        title = ""
        for number, slide in enumerate(presentation.slides, start=1):
            progress(number)
            reader = SlideReader(builder, slide, number, settings.include_hidden_text)
            with builder.place("slide", str(number)):
                reader.append()
            title = title or reader.document_title
        title = _core_title(presentation.part) or title
    return builder.extraction(title, MEDIA_TYPE)


class SlideReader:
    """Appends one slide. A slide without a title is headed by its number, so that its text has a section."""

    def __init__(self, builder: TextBuilder, slide: Slide, number: int, include_hidden: bool) -> None:
        self._builder = builder
        self._slide = slide
        self._number = number
        self._include_hidden = include_hidden
        self._root = slide.part._element
        self._shapes = list(self._walk(self._root.find(f"{P}cSld/{P}spTree")))
        self._title_shape = next((shape for shape in self._shapes if _placeholder(shape) in _TITLES), None)
        self.title = self._title()

    @property
    def document_title(self) -> str:
        """The title of a title slide; that of any other slide is only its own."""
        shape = self._title_shape
        return self.title if shape is not None and _placeholder(shape) == "ctrTitle" else ""

    def append(self) -> None:
        """Heading, shapes in the order of the slide, notes, comments."""
        if self._root.get("show") in _OFF:
            self._builder.name("hidden-slide", "hidden slides, read", f"{self._number} {self.title}".strip())
        if self.title:
            self._builder.heading(self.title, 2)
        else:
            self._builder.stand_in(f"Slide {self._number}", 2)
        for shape in self._shapes:
            if shape is not self._title_shape:
                _SHAPES[shape.tag](self, shape)
        self._notes()
        self._comments()
        for words in struck_text(self._root):
            self._builder.name(*STRUCK, words)

    def _walk(self, parent: etree._Element | None) -> Iterator[etree._Element]:
        """Shapes in order, those of groups in their place; of alternatives the first that holds any."""
        for child in parent if parent is not None else ():
            if child.tag == f"{P}grpSp":
                yield from self._walk(child)
            elif child.tag == f"{MC}AlternateContent":
                choices = (list(self._walk(choice)) for choice in child)
                yield from next((shapes for shapes in choices if shapes), [])
            elif child.tag in _SHAPES and not self._hidden(child):
                yield child

    def _hidden(self, shape: etree._Element) -> bool:
        properties = _properties(shape)
        if self._include_hidden or properties is None or properties.get("hidden") not in ("1", "true"):
            return False
        words = one_line(" ".join(text.text or "" for text in shape.iter(f"{A}t")))
        self._builder.name("hidden-text", "hidden shapes, left out", words or self._named(shape))
        return True

    def _title(self) -> str:
        body = self._title_shape.find(f"{P}txBody") if self._title_shape is not None else None
        return one_line(" ".join(words.text for words in text_body(body))) if body is not None else ""

    def _text_shape(self, shape: etree._Element) -> None:
        body = shape.find(f"{P}txBody")
        if body is None:
            return
        lines = list(text_body(body))
        kind = _placeholder(shape)
        if kind in _RUNNING:
            words = one_line(" ".join(line.text for line in lines))
            if words and kind != "sldNum":
                self._builder.name("running-text", "footers and dates, left out", words)
        else:
            self._lines(lines, points=kind in _LISTS and len(lines) > 1)

    def _lines(self, lines: list[Words], points: bool) -> None:
        """Points become one list; paragraphs of a text box stay paragraphs."""
        items: list[str] = []
        for line in lines:
            if line.bullet is True or (line.bullet is None and (points or line.level)):
                items.append("  " * line.level + (line.mark or "-") + " " + line.text)
                continue
            self._builder.paragraph("\n".join(items), kind="list")
            items = []
            self._builder.paragraph(line.text)
        self._builder.paragraph("\n".join(items), kind="list")

    def _picture(self, shape: etree._Element) -> None:
        self._builder.name("embedded-image", "embedded images are not read", self._named(shape))

    def _frame(self, shape: etree._Element) -> None:
        """A table, a chart, a diagram or an embedded object."""
        data = shape.find(f"{A}graphic/{A}graphicData")
        if data is None:
            return
        grid = data.find(f"{A}tbl")
        relation_id = next(
            (value for part in data.iter() for key, value in part.items() if key.startswith(_R)), ""
        )
        if grid is not None:
            self._builder.table(table_rows(grid))
        elif data.get("uri", "").endswith("/chart"):
            self._chart(relation_id, self._named(shape))
        elif data.get("uri") == _DIAGRAM_URI:
            self._diagram(data)
        else:
            self._builder.name("embedded-object", "embedded objects are not read", self._named(shape))

    def _chart(self, relation_id: str, name: str) -> None:
        title, rows = chart_rows(self._part_xml(relation_id))
        self._builder.paragraph(title)
        self._builder.table(rows)
        if not rows:
            self._builder.name("chart", "charts without stored figures are not read", name)

    def _diagram(self, data: etree._Element) -> None:
        """SmartArt: its words in the order of its data model."""
        relation_id = next((value for part in data for key, value in part.items() if key == f"{_R}dm"), "")
        lines = [
            words.text
            for body in self._part_xml(relation_id).iter()
            if _is_body(body)
            for words in text_body(body)
        ]
        self._builder.paragraph("\n".join(f"- {one_line(line)}" for line in lines), kind="list")

    def _notes(self) -> None:
        if not self._slide.has_notes_slide:
            return
        tree = self._slide.notes_slide.part._element.find(f"{P}cSld/{P}spTree")
        for shape in self._walk(tree):
            body = shape.find(f"{P}txBody")
            if body is not None and _placeholder(shape) in ("body", None):
                text = "\n".join(words.text for words in text_body(body))
                self._builder.paragraph(f"Notes: {text}" if text.strip() else "")

    def _comments(self) -> None:
        """Both kinds: `p:text` of the old ones, a text body in the threads of newer programs."""
        for relation in self._slide.part.rels.values():
            if relation.is_external or "comments" not in relation.reltype.rsplit("/", 1)[-1].lower():
                continue
            for element in _root(relation.target_part).iter():
                old = element.text or "" if element.tag == f"{P}text" else ""
                new = "\n".join(words.text for words in text_body(element)) if _is_body(element) else ""
                if (old + new).strip():
                    self._builder.paragraph(f"Comment: {old or new}")

    def _part_xml(self, relation_id: str) -> etree._Element:
        return _root(self._slide.part.related_part(relation_id))

    def _named(self, shape: etree._Element) -> str:
        properties = _properties(shape)
        name = "" if properties is None else properties.get("descr") or properties.get("name") or ""
        return f"{name} on slide {self._number}"

    def _line(self, shape: etree._Element) -> None:
        """A connector holds no text."""


_SHAPES: dict[Any, Callable[[SlideReader, etree._Element], None]] = {
    f"{P}sp": SlideReader._text_shape,
    f"{P}pic": SlideReader._picture,
    f"{P}graphicFrame": SlideReader._frame,
    f"{P}cxnSp": SlideReader._line,
}


def _placeholder(shape: etree._Element) -> str | None:
    """The type of a placeholder, "" for one without a type, None for any other shape."""
    found = shape.find(f"{P}nvSpPr/{P}nvPr/{P}ph")
    return None if found is None else found.get("type", "")


def _properties(shape: etree._Element) -> etree._Element | None:
    return next(shape.iter(f"{P}cNvPr"), None)


def _is_body(element: etree._Element) -> bool:
    return (
        isinstance(element.tag, str)
        and element.tag.rsplit("}", 1)[-1] in ("txBody", "t")
        and len(element) > 0
    )


def _root(part: Part) -> etree._Element:
    own: etree._Element | None = getattr(part, "_element", None)
    return own if own is not None else parse_xml(part.blob, str(part.partname))


def _core_title(part: Part) -> str:
    """The title in the file's properties; "PowerPoint Presentation" is what programs write for none."""
    if not any(relation.reltype == RT.CORE_PROPERTIES for relation in part.package._rels.values()):
        return ""
    title = str(part.package.core_properties.title)
    return "" if title == "PowerPoint Presentation" else title
