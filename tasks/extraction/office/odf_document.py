"""OpenDocument texts (.odt) and presentations (.odp): headings, paragraphs, lists, tables, boxes, notes, slides.

container check → content.xml → blocks. OpenDocument 1.3 part 3: 4 (structure), 5 (paragraphs), 9 (tables), 10
(drawings). Running lines, hidden text and what tracked changes deleted are left out and named.
"""

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.marks import STRUCK
from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.base.zip_container import Container, damage_as_unreadable, open_container
from pincite.tasks.extraction.office.odf_text import (
    DRAW,
    OFFICE,
    PRESENTATION,
    STYLE,
    TABLE,
    TEXT,
    XLINK,
    OdfLines,
    TextStyles,
)
from pincite.tasks.extraction.office.ods import odf_title, refuse_encrypted

_MEDIA = "application/vnd.oasis.opendocument."
_COLUMNS = 63
_WRAPPERS = {f"{TEXT}{name}" for name in ("section", "index-body", "index-title", "table-of-content", "bibliography",
             "alphabetical-index", "illustration-index", "table-index", "user-index", "object-index",
             "numbered-paragraph")}  # fmt: skip
_ROWS = {f"{TABLE}{name}" for name in ("table-header-rows", "table-rows", "table-row-group")}
_MOST_DEEP = 200  # elements within elements: deeper ones are hostile


def extract_odt(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The document's text. Raises `Encrypted`, `Unreadable` or `LimitExceeded`."""
    progress(1)
    with (
        open_container(path, settings.limits, "OpenDocument") as container,
        damage_as_unreadable("OpenDocument"),
    ):
        refuse_encrypted(container)
        reader = OdfReader(container, settings.include_hidden_text)
        body = reader.content.find(f"{OFFICE}body/{OFFICE}text")
        if body is None:
            raise Unreadable("the OpenDocument file holds no text document")
        reader.blocks(body)
        reader.running_text()
        title = reader.title or odf_title(container)
    return reader.finished(title, f"{_MEDIA}text")


def extract_odp(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The text of all slides, or of all pages of a drawing."""
    with (
        open_container(path, settings.limits, "OpenDocument") as container,
        damage_as_unreadable("OpenDocument"),
    ):
        refuse_encrypted(container)
        reader = OdfReader(container, settings.include_hidden_text)
        slides = list(reader.content.iterfind(f"{OFFICE}body/*/{DRAW}page"))
        for number, slide in enumerate(slides, start=1):
            progress(number)
            with reader.builder.place("slide", str(number)):
                reader.slide(slide, number)
        title = odf_title(container)
    return reader.finished(title, f"{_MEDIA}presentation")


class OdfReader:
    """Appends the blocks of one document."""

    def __init__(self, container: Container, include_hidden: bool) -> None:
        self.builder = TextBuilder()
        self.title = ""
        self.content = container.xml("content.xml")
        self._page_styles = container.xml("styles.xml") if "styles.xml" in container else None
        roots = [self.content] if self._page_styles is None else [self._page_styles, self.content]
        self._styles = TextStyles(roots)
        self._numbered = {
            style.get(f"{STYLE}name", "")
            for root in roots
            for style in root.iter(f"{TEXT}list-style")
            if style.find(f"{TEXT}list-level-style-number") is not None
        }
        self._include_hidden = include_hidden
        self._lines = OdfLines(self._styles, include_hidden)
        self._told = (0, 0)  # notes and comments that stand in the text
        self._depth = 0

    def finished(self, title: str, media_type: str) -> Extraction:
        for words in self._lines.struck:
            self.builder.name(*STRUCK, words)
        for words in self._lines.hidden:
            self.builder.name("hidden-text", "hidden text, left out", words)
        for change in self.content.iter(f"{TEXT}deletion"):
            words = "".join(map(str, change.itertext()))
            self.builder.name("tracked-deletion", "deleted in tracked changes, left out", words)
        return self.builder.extraction(title, media_type)

    def blocks(self, parent: etree._Element) -> None:
        """What stands below `parent`, in order."""
        self._depth += 1
        if self._depth > _MOST_DEEP:
            raise Unreadable(f"elements nested more than {_MOST_DEEP} deep: not read")
        for child in parent:
            self._block(child)
        self._depth -= 1

    def slide(self, page: etree._Element, number: int) -> None:
        """The title as a heading, shapes in the order of the file, notes."""
        titles = [
            frame for frame in page.iter(f"{DRAW}frame") if frame.get(f"{PRESENTATION}class") == "title"
        ]
        title = (
            one_line(" ".join(self._lines.paragraphs(box) for box in titles[:1] for box in box))
            if titles
            else ""
        )
        if title:
            self.builder.heading(title, 2)
        else:
            self.builder.stand_in(f"Slide {number}", 2)
        for shape in page:
            if shape.tag == f"{PRESENTATION}notes":
                notes = [self._lines.line(line) for line in shape.iter(f"{TEXT}p")]
                words = "\n".join(filter(str.strip, notes))
                self.builder.paragraph(f"Notes: {words}" if words else "")
            elif shape not in titles[:1]:
                self._shape(shape)
        self._asides()

    def running_text(self) -> None:
        """Names what stands in headers and footers."""
        texts = set()
        for root in () if self._page_styles is None else (self._page_styles,):
            for line in root.iter(
                f"{STYLE}header", f"{STYLE}footer", f"{STYLE}header-first", f"{STYLE}footer-first"
            ):
                texts.add(one_line("".join(map(str, line.itertext()))))
        for text in sorted(filter(None, texts)):
            self.builder.name("running-text", "headers and footers, left out", text)

    def _block(self, child: etree._Element) -> None:
        tag = child.tag
        if tag in (f"{TEXT}p", f"{TEXT}h"):
            self._paragraph(child)
        elif tag == f"{TEXT}list":
            items = list(self._items(child, 0, child.get(f"{TEXT}style-name", "")))
            self.builder.paragraph("\n".join(items), kind="list")
            self._asides()
        elif tag == f"{TABLE}table":
            self.builder.table(self._rows(child))
            self._asides()
        elif tag in _WRAPPERS:
            if child.get(f"{TEXT}display") != "none" or self._include_hidden:
                self.blocks(child)
            else:
                self.builder.name("hidden-text", "hidden text, left out", "".join(map(str, child.itertext())))
        elif isinstance(tag, str) and tag.startswith(DRAW):
            self._shape(child)

    def _paragraph(self, element: etree._Element) -> None:
        style = element.get(f"{TEXT}style-name", "")
        text = self._lines.line(element)
        if not self._include_hidden and self._styles.hides(style) and text.strip():
            self._lines.hidden.append(text)
            text = ""
        level = int(element.get(f"{TEXT}outline-level", "1")) if element.tag == f"{TEXT}h" else 0
        is_title = self._styles.is_a(style, "Title")
        if level or is_title:
            self.builder.heading(text, level or 1)
            self.title = self.title or (one_line(text) if is_title else "")
        else:
            self.builder.paragraph(text)
        self._asides()

    def _items(self, element: etree._Element, level: int, style: str) -> Iterator[str]:
        """The lines of a list, numbers counted where its style numbers."""
        number = 0
        for item in element.iterchildren(f"{TEXT}list-item", f"{TEXT}list-header"):
            first = item.tag == f"{TEXT}list-item"
            start = item.get(f"{TEXT}start-value", "")
            number = int(start) if first and start.isdecimal() else number + first
            for part in item:
                if part.tag == f"{TEXT}list" and level < _MOST_DEEP:
                    yield from self._items(part, level + 1, part.get(f"{TEXT}style-name", style))
                elif part.tag in (f"{TEXT}p", f"{TEXT}h") and (line := self._lines.line(part).strip()):
                    mark = (f"{number}. " if style in self._numbered else "- ") if first else "  "
                    yield "  " * level + mark + line.replace("\n", " ")
                    first = False

    def _rows(self, table: etree._Element) -> list[list[str]]:
        rows: list[list[str]] = []
        for row in _flat_rows(table):
            cells: list[str] = []
            for cell in row.iterchildren(f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                repeated = min(int(cell.get(f"{TABLE}number-columns-repeated", "1")), _COLUMNS)
                covered = cell.tag == f"{TABLE}covered-table-cell"
                cells += ["" if covered else self._cell(cell)] * repeated
            rows.append(cells[:_COLUMNS])
        return rows if any(any(row) for row in rows) else []

    def _cell(self, cell: etree._Element) -> str:
        """All of a cell on one line; of a table in it, cells are separated by commas, rows by semicolons."""
        pieces = []
        for part in cell:
            if part.tag in (f"{TEXT}p", f"{TEXT}h"):
                pieces.append(one_line(self._lines.line(part)))
            elif part.tag == f"{TEXT}list":
                pieces.append(
                    "; ".join(one_line(line).removeprefix("- ") for line in self._items(part, 0, ""))
                )
            elif part.tag == f"{TABLE}table":
                pieces.append("; ".join(", ".join(filter(None, row)) for row in self._rows(part)))
        return " ".join(filter(None, pieces))

    def _shape(self, shape: etree._Element) -> None:
        """A text box, a table, a picture or an object; groups are entered, other shapes hold paragraphs."""
        name = shape.get(f"{DRAW}name", "")
        for part in [shape, *shape] if shape.tag == f"{DRAW}frame" else [shape]:
            if part.tag == f"{DRAW}image":
                self.builder.name(
                    "embedded-image", "embedded images are not read", name or part.get(f"{XLINK}href", "")
                )
                return
            if part.tag in (f"{DRAW}object", f"{DRAW}object-ole", f"{DRAW}plugin"):
                self.builder.name("embedded-object", "embedded objects are not read", name)
                return
            if part is not shape or shape.tag != f"{DRAW}frame":
                self.blocks(part) if part.tag != f"{TABLE}table" else self._block(part)

    def _asides(self) -> None:
        """Notes, comments and boxes follow the block on which they hang."""
        frames, self._lines.frames = self._lines.frames, []
        for frame in frames:
            self._shape(frame)
        notes, comments = self._told
        self._told = (len(self._lines.notes), len(self._lines.comments))
        for number in range(notes, self._told[0]):
            body = self._lines.notes[number].find(f"{TEXT}note-body")
            words = self._lines.paragraphs(body) if body is not None else ""
            self.builder.paragraph(f"[^{number + 1}]: {words}")
        for comment in self._lines.comments[comments : self._told[1]]:
            author = next((each.text for each in comment if str(each.tag).endswith("}creator")), "")
            words = self._lines.paragraphs(comment)
            self.builder.paragraph(f"Comment by {author}: {words}" if author else f"Comment: {words}")


def _flat_rows(parent: etree._Element) -> Iterator[etree._Element]:
    for child in parent:
        if child.tag == f"{TABLE}table-row":
            yield child
        elif child.tag in _ROWS:
            yield from _flat_rows(child)
