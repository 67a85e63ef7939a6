"""The words of one WordprocessingML paragraph, and what hangs on it: boxes, notes, comments, pictures.

Element names follow ECMA-376 part 1, 17.3 (runs), 17.13.5 (revisions), 20.4 (drawings).
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from lxml import etree

from pincite.tasks.extraction.base.marks import STRUCK, DrawnRun, Position, struck_words, written
from pincite.tasks.extraction.office.word_formulas import M, formula

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
WP = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
PIC = "{http://schemas.openxmlformats.org/drawingml/2006/picture}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
VML = "{urn:schemas-microsoft-com:vml}"

_FIXED = {
    f"{W}tab": "\t",
    f"{W}ptab": "\t",
    f"{W}br": "\n",
    f"{W}cr": "\n",
    f"{W}noBreakHyphen": "-",
    f"{W}softHyphen": "",
}
_LEFT_OUT = {f"{W}{name}" for name in ("pPr", "rPr", "instrText", "delInstrText", "rubyPr", "sdtPr", "tblPr")}
_DELETED = {f"{W}{name}" for name in ("del", "moveFrom", "delText")}
_SYMBOL_FONT = range(0xF000, 0xF100)  # positions in Symbol or Wingdings, not Unicode characters
_OFF = ("0", "false", "off")
_PAGE_FIELD = re.compile(r"\b(?:PAGE|NUMPAGES|SECTIONPAGES)\b", re.IGNORECASE)
_POSITIONS: dict[str, Position] = {"superscript": "raised", "subscript": "lowered"}


@dataclass(slots=True)
class Attached:
    """What one paragraph or table refers to, in order."""

    boxes: list[etree._Element] = field(default_factory=list)  # w:txbxContent
    notes: list[tuple[str, str]] = field(default_factory=list)  # (footnote or endnote, id)
    comments: list[str] = field(default_factory=list)  # ids
    named: list[tuple[str, str, str]] = field(default_factory=list)  # (warning code, message, thing)
    diagrams: list[str] = field(default_factory=list)  # relationship ids of SmartArt data
    charts: list[str] = field(default_factory=list)  # relationship ids
    words: list[str] = field(default_factory=list)  # of shapes that hold text of their own: WordArt


class RunStyles(Protocol):
    """What styles say about the runs that name them."""

    def hides(self, style_id: str) -> bool: ...

    def ink(self, style_id: str) -> tuple[Position, bool]: ...

    def style_id(self, paragraph: etree._Element) -> str: ...


class ParagraphReader:
    """Reads paragraphs; numbers the notes in the order of their references."""

    def __init__(self, styles: RunStyles, include_hidden: bool) -> None:
        self._styles = styles
        self._include_hidden = include_hidden
        self._marks: dict[tuple[str, str], str] = {}

    def read(self, element: etree._Element, attached: Attached) -> str:
        """The visible words below `element`; what else hangs there goes to `attached`."""
        runs = list(self._walk(element, attached))
        attached.named.extend((*STRUCK, words) for words in struck_words(runs))
        return written(runs)

    def mark(self, kind: str, note_id: str) -> str:
        """The mark of a note, as in Markdown: "[^1]"."""
        return self._marks.setdefault((kind, note_id), f"[^{len(self._marks) + 1}]")

    def _walk(self, element: etree._Element, attached: Attached) -> Iterator[DrawnRun]:
        for child in element:
            if isinstance(child.tag, str) and child.tag not in _LEFT_OUT:
                yield from self._one(child, attached)

    def _one(self, child: etree._Element, attached: Attached) -> Iterator[DrawnRun]:
        tag = child.tag
        if tag == f"{W}t":
            yield DrawnRun(child.text or "")
        elif tag in _FIXED:
            yield DrawnRun(_FIXED[tag])
        elif tag in _DELETED:
            attached.named.append(
                ("tracked-deletion", "deleted in tracked changes, left out", _all_text(child))
            )
        elif tag == f"{W}r" and self._hidden(child):
            attached.named.append(("hidden-text", "hidden text, left out", _all_text(child)))
        elif tag == f"{W}r":
            position, struck = self._ink(child)
            for run in self._walk(child, attached):
                yield DrawnRun(run.text, position or run.position, struck or run.struck)
        elif tag == f"{MC}AlternateContent":
            yield from map(DrawnRun, self._alternative(child, attached))
        elif tag in _SPECIAL:
            yield from map(DrawnRun, _SPECIAL[tag](self, child, attached))
        else:
            yield from self._walk(child, attached)

    def _hidden(self, run: etree._Element) -> bool:
        if self._include_hidden:
            return False
        vanish = run.find(f"{W}rPr/{W}vanish")
        if vanish is not None:
            return vanish.get(f"{W}val", "1") not in _OFF
        style = run.find(f"{W}rPr/{W}rStyle")
        return style is not None and self._styles.hides(style.get(f"{W}val", ""))

    def _ink(self, run: etree._Element) -> tuple[Position, bool]:
        """(raised or lowered, struck): as the run says, else its style, else the style of its paragraph."""
        position, struck = own_ink(run.find(f"{W}rPr"))
        if position is not None and struck is not None:
            return position, struck
        named = run.find(f"{W}rPr/{W}rStyle")
        paragraph = next(run.iterancestors(f"{W}p"), None)
        of_run = self._styles.ink(named.get(f"{W}val", "")) if named is not None else ("", False)
        of_paragraph = (
            self._styles.ink(self._styles.style_id(paragraph)) if paragraph is not None else ("", False)
        )
        return (
            (of_run[0] or of_paragraph[0]) if position is None else position,
            (of_run[1] or of_paragraph[1]) if struck is None else struck,
        )

    def _alternative(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        """The first choice that holds anything: the others say the same for older programs."""
        for choice in element:
            if isinstance(choice.tag, str):
                found = Attached()
                text = self.read(choice, found)
                if text or found != Attached():
                    _extend(attached, found)
                    yield text
                    return

    def _symbol(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        code = int(element.get(f"{W}char", "FFFD"), 16)
        if code in _SYMBOL_FONT:
            font = f"{element.get(f'{W}font', 'a symbol font')} {code - 0xF000:#x}"
            attached.named.append(("unmapped-symbol", "symbols without a Unicode character", font))
            yield "\ufffd"
        else:
            yield chr(code)

    def _note(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        kind = "footnote" if element.tag == f"{W}footnoteReference" else "endnote"
        note_id = element.get(f"{W}id", "")
        attached.notes.append((kind, note_id))
        yield self.mark(kind, note_id)

    def _comment(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        attached.comments.append(element.get(f"{W}id", ""))
        yield from ()

    def _box(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        attached.boxes.append(element)
        yield from ()

    def _drawing(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        properties = next(element.iter(f"{WP}docPr"), None)
        name = _name_of(properties)
        if next(element.iter(f"{PIC}pic"), None) is not None:
            attached.named.append(("embedded-image", "embedded images are not read", name))
        attached.charts.extend(_relation(chart, "id") for chart in element.iter(f"{CHART}chart"))
        for diagram in element.iter(f"{DIAGRAM}relIds"):
            attached.diagrams.append(_relation(diagram, "dm"))
        yield self.read(element, attached)

    def _picture(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        for image in element.iter(f"{VML}imagedata"):
            name = next((value for key, value in image.items() if key.endswith("title")), "")
            attached.named.append(("embedded-image", "embedded images are not read", name))
        if element.tag == f"{W}object":
            attached.named.append(("embedded-object", "embedded objects are not read", _program(element)))
        attached.words.extend(path.get("string", "") for path in element.iter(f"{VML}textpath"))
        yield self.read(element, attached)

    def _ruby(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        base, above = element.find(f"{W}rubyBase"), element.find(f"{W}rt")
        yield self.read(base, attached) if base is not None else ""
        yield f"({self.read(above, attached)})" if above is not None else ""

    def _formula(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        yield formula(element)

    def _checkbox(self, element: etree._Element, attached: Attached) -> Iterator[str]:
        ticked = element.find(f"{W}checked")
        if ticked is None:
            ticked = element.find(f"{W}default")
        yield "☒" if ticked is not None and ticked.get(f"{W}val", "1") not in _OFF else "☐"


_SPECIAL: dict[str, Callable[[ParagraphReader, etree._Element, Attached], Iterator[str]]] = {
    f"{W}sym": ParagraphReader._symbol,
    f"{W}footnoteReference": ParagraphReader._note,
    f"{W}endnoteReference": ParagraphReader._note,
    f"{W}commentReference": ParagraphReader._comment,
    f"{W}txbxContent": ParagraphReader._box,
    f"{W}drawing": ParagraphReader._drawing,
    f"{W}pict": ParagraphReader._picture,
    f"{W}object": ParagraphReader._picture,
    f"{W}ruby": ParagraphReader._ruby,
    f"{W}checkBox": ParagraphReader._checkbox,
    f"{M}oMath": ParagraphReader._formula,
}


def own_ink(properties: etree._Element | None) -> tuple[Position | None, bool | None]:
    """(raised or lowered, struck) as run properties say themselves; None where they say nothing."""
    if properties is None:
        return None, None
    align = properties.find(f"{W}vertAlign")
    position: Position | None = None if align is None else _POSITIONS.get(align.get(f"{W}val", ""), "")
    lines = [
        line.get(f"{W}val", "1") not in _OFF
        for name in ("strike", "dstrike")
        if (line := properties.find(f"{W}{name}")) is not None
    ]
    return position, any(lines) if lines else None


def running_words(root: etree._Element) -> str:
    """The words of a header or footer, paragraphs parted by spaces, without the results of PAGE and NUMPAGES."""
    parts: list[str] = []
    fields: list[str] = []  # instructions of the fields that are open
    for element in root.iter(f"{W}p", f"{W}t", f"{W}tab", f"{W}fldChar", f"{W}instrText"):
        if element.tag in (f"{W}p", f"{W}tab"):
            parts.append(" ")
        elif element.tag == f"{W}instrText":
            fields[-1:] = [(fields[-1] if fields else "") + (element.text or "")]
        elif element.tag == f"{W}fldChar":
            kind = element.get(f"{W}fldCharType")
            if kind == "begin":
                fields.append("")
            elif kind == "end" and fields:
                fields.pop()
        else:
            simple = (above.get(f"{W}instr", "") for above in element.iterancestors(f"{W}fldSimple"))
            if not any(_PAGE_FIELD.search(field) for field in (*fields, *simple)):
                parts.append(element.text or "")
    return "".join(parts)


def _relation(element: etree._Element, name: str) -> str:
    return next((value for key, value in element.items() if key.endswith(f"}}{name}")), "")


def _extend(attached: Attached, found: Attached) -> None:
    attached.boxes.extend(found.boxes)
    attached.notes.extend(found.notes)
    attached.comments.extend(found.comments)
    attached.named.extend(found.named)
    attached.diagrams.extend(found.diagrams)
    attached.words.extend(found.words)
    attached.charts.extend(found.charts)


def _name_of(properties: etree._Element | None) -> str:
    return "" if properties is None else properties.get("descr") or properties.get("name") or ""


def _all_text(element: etree._Element) -> str:
    return "".join(part.text or "" for part in element.iter(f"{W}t", f"{W}delText"))


def _program(element: etree._Element) -> str:
    return next((value for part in element.iter() for key, value in part.items() if key == "ProgID"), "")
