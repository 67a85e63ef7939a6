"""The words of OpenDocument paragraphs and how they are drawn. OpenDocument 1.3 part 3: 6 (text), 16 (styles)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lxml import etree

from pincite.tasks.extraction.base.marks import DrawnRun, Position, struck_words, written

_BASE = "urn:oasis:names:tc:opendocument:xmlns"
OFFICE, TABLE, TEXT = (f"{{{_BASE}:{name}:1.0}}" for name in ("office", "table", "text"))
DRAW, STYLE, PRESENTATION = (f"{{{_BASE}:{name}:1.0}}" for name in ("drawing", "style", "presentation"))
XLINK = "{http://www.w3.org/1999/xlink}"

_NOT_SHOWN = {f"{OFFICE}annotation", f"{OFFICE}annotation-end", f"{TEXT}note", f"{TEXT}tracked-changes"}
_FIXED = {f"{TEXT}tab": "\t", f"{TEXT}line-break": "\n", f"{TEXT}soft-page-break": ""}
_PERCENT = re.compile(r"(-?\d{1,4})(?:\.\d{1,9})?%")


@dataclass(frozen=True, slots=True)
class TextStyle:
    """What a style says of itself; None where its parent decides."""

    parent: str = ""
    position: Position | None = None
    struck: bool | None = None
    hidden: bool | None = None
    outline: int = 0  # 1 to 10 for a heading


class TextStyles:
    """Looks a property up in a style and those that it is based on."""

    def __init__(self, roots: Iterable[etree._Element]) -> None:
        self._styles = {
            style.get(f"{STYLE}name", ""): _read(style)
            for root in roots
            for style in root.iter(f"{STYLE}style")
        }

    def ink(self, name: str) -> tuple[Position, bool]:
        """(raised or lowered, struck)."""
        chain = self._chain(name)
        position: Position = next((style.position for style in chain if style.position is not None), "")
        return position, next((style.struck for style in chain if style.struck is not None), False)

    def hides(self, name: str) -> bool:
        return next((style.hidden for style in self._chain(name) if style.hidden is not None), False)

    def outline(self, name: str) -> int:
        return next((style.outline for style in self._chain(name) if style.outline), 0)

    def is_a(self, name: str, ancestor: str) -> bool:
        """Whether a style is `ancestor`, or based on it."""
        return any(each == ancestor for each in self._names(name))

    def _chain(self, name: str) -> list[TextStyle]:
        return [self._styles[each] for each in self._names(name) if each in self._styles]

    def _names(self, name: str) -> list[str]:
        names: list[str] = []
        while name and name not in names:
            names.append(name)
            name = self._styles[name].parent if name in self._styles else ""
        return names


class OdfLines:
    """Reads paragraphs; remembers what in them is struck, hidden and noted."""

    def __init__(self, styles: TextStyles, include_hidden: bool = True) -> None:
        self.styles = styles
        self._include_hidden = include_hidden
        self.struck: list[str] = []
        self.hidden: list[str] = []
        self.notes: list[etree._Element] = []  # text:note elements, in order
        self.comments: list[etree._Element] = []  # office:annotation elements
        self.frames: list[etree._Element] = []  # draw elements that hang on a paragraph

    def line(self, element: etree._Element) -> str:
        """The words of a paragraph or heading, with marks."""
        ink = self.styles.ink(element.get(f"{TEXT}style-name", ""))
        runs = list(self._runs(element, *ink))
        self.struck += struck_words(runs)
        return written(runs)

    def paragraphs(self, parent: etree._Element) -> str:
        """The paragraphs right below `parent`, one a line."""
        return "\n".join(self.line(each) for each in parent.iterchildren(f"{TEXT}p", f"{TEXT}h"))

    def _runs(self, element: etree._Element, position: Position, struck: bool) -> Iterator[DrawnRun]:
        yield DrawnRun(element.text or "", position, struck)
        for child in element:
            yield from self._child(child, position, struck)
            yield DrawnRun(child.tail or "", position, struck)

    def _child(self, child: etree._Element, position: Position, struck: bool) -> Iterator[DrawnRun]:
        tag = child.tag
        if tag == f"{TEXT}s":
            yield DrawnRun(" " * min(int(child.get(f"{TEXT}c", "1")), 1000), position, struck)
        elif tag in _FIXED:
            yield DrawnRun(_FIXED[str(tag)], position, struck)
        elif tag == f"{TEXT}note":
            self.notes.append(child)
            yield DrawnRun(f"[^{len(self.notes)}]")
        elif tag == f"{OFFICE}annotation":
            self.comments.append(child)
        elif tag == f"{TEXT}ruby-text":
            yield DrawnRun("(" + "".join(map(str, child.itertext())) + ")")
        elif not isinstance(tag, str) or tag in _NOT_SHOWN:
            return
        elif tag.startswith(DRAW):
            self.frames.append(child)
        else:
            yield from self._span(child, position, struck)

    def _span(self, child: etree._Element, position: Position, struck: bool) -> Iterator[DrawnRun]:
        name = child.get(f"{TEXT}style-name", "")
        if not self._include_hidden and (self.styles.hides(name) or child.tag == f"{TEXT}hidden-text"):
            self.hidden.append("".join(map(str, child.itertext())))
            return
        own_position, own_struck = self.styles.ink(name)
        yield from self._runs(child, own_position or position, own_struck or struck)


def _read(style: etree._Element) -> TextStyle:
    parent = style.get(f"{STYLE}parent-style-name", "")
    level = style.get(f"{STYLE}default-outline-level", "")
    outline = int(level) if level.isascii() and level.isdigit() and len(level) < 3 else 0
    properties = style.find(f"{STYLE}text-properties")
    if properties is None:
        return TextStyle(parent, outline=outline)
    line = properties.get(f"{STYLE}text-line-through-style") or properties.get(
        f"{STYLE}text-line-through-type"
    )
    shown = properties.get(f"{TEXT}display")
    return TextStyle(
        parent,
        _position(properties.get(f"{STYLE}text-position")),
        None if line is None else line != "none",
        None if shown is None else shown == "none",
        outline,
    )


def _position(value: str | None) -> Position | None:
    """ "super 58%", "sub", "33% 80%": above or below the line, and the size."""
    if value is None:
        return None
    first = value.split()[0] if value.split() else ""
    percent = _PERCENT.fullmatch(first)
    raised_by = int(percent[1]) if percent else {"super": 1, "sub": -1}.get(first, 0)
    return "raised" if raised_by > 0 else "lowered" if raised_by < 0 else ""
