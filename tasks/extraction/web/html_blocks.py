"""The blocks of an HTML tree in reading order.

The walk keeps its own stack: a page may be nested deeper than Python recurses.
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal

from lxml import etree

from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.web.html_table import grid, is_data
from pincite.tasks.extraction.web.html_visibility import Visibility, name

# fmt: off
_BREAKING = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "header",
    "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "p", "search",
    "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})
# fmt: on
"""Elements that begin and end a block of their own."""

_LINE_BREAKING = frozenset({"br", "option", "text"})  # `text` of SVG
_HEADING = re.compile(r"h([1-6])")
_LISTS = frozenset({"ul", "ol", "menu"})
_VERBATIM = frozenset({"pre", "listing", "xmp", "plaintext", "textarea"})
_EMBEDDED = frozenset({"iframe", "embed", "audio", "video", "frame", "canvas"})
# fmt: off
_SHOWN_INPUTS = frozenset({
    "", "text", "submit", "button", "reset", "search", "email", "number", "tel", "url", "date", "image",
})
# fmt: on
_SPACE = re.compile(r"[ \t\n\r\f\xa0]+")
_AROUND_BREAK = re.compile(r" *\n *")
_SOFT_HYPHEN = "\xad"

Event = tuple[Literal["start", "end", "text", "whole"], etree._Element, str]


def read_tree(root: etree._Element, builder: TextBuilder, include_hidden: bool) -> str:
    """Appends the visible blocks and the warnings; returns the words of the first h1, or ""."""
    visibility = Visibility(root, include_hidden)
    reader = _Reader(builder, visibility)
    if visibility.shows(root):
        reader.read(root)
    for code, message in visibility.warnings():
        builder.warn(code, message)
    return reader.first_heading


class _Reader:
    """Collects a line of text until a block begins or ends; list lines until their outermost item ends."""

    def __init__(self, builder: TextBuilder, visibility: Visibility) -> None:
        self._builder = builder
        self._visibility = visibility
        self._line: list[str] = []
        self._lists: list[int | None] = []  # of each open list, the number of its next item; None for bullets
        self._marker = ""  # of the item that has no line yet
        self._items: list[str] = []
        self.first_heading = ""

    def read(self, root: etree._Element) -> None:
        for kind, element, text in _walk(root, self._visibility, _is_whole):
            tag = name(element)
            match kind:
                case "text":
                    self._line.append(_SPACE.sub(" ", text))
                case "whole":
                    self._whole(element, tag)
                case "start":
                    self._start(element, tag)
                case "end":
                    self._end(tag)
        self._close_items()

    def _start(self, element: etree._Element, tag: str) -> None:
        if tag in _LINE_BREAKING:
            self._line.append("\n")
        elif tag == "q":
            self._line.append("“")
        elif tag == "object":
            self._builder.name("not-followed", "embedded and not read", _source(element))
        if tag not in _BREAKING:
            return
        self._flush()
        if tag in _LISTS or tag == "dl":
            self._lists.append(_first_number(element) if tag == "ol" else None)
        elif tag == "li" and self._lists:
            self._marker = self._next_marker()
        elif tag == "dt" and len(self._lists) == 1:
            self._close_items()

    def _end(self, tag: str) -> None:
        if tag == "q":
            self._line.append("”")
        if tag not in _BREAKING:
            return
        self._flush()
        if (tag in _LISTS or tag == "dl") and self._lists:
            self._lists.pop()
        if not self._lists or (tag == "li" and len(self._lists) == 1):
            self._close_items()
        if tag == "li":
            self._marker = ""

    def _whole(self, element: etree._Element, tag: str) -> None:
        """Headings, tables, code and what stands for a picture or a field."""
        if tag in {"img", "input"}:
            self._line.append(_replacement(element, tag))
            return
        if tag in _EMBEDDED:
            self._builder.name("not-followed", "embedded and not read", _source(element))
            return
        self._close_items()
        if heading := _HEADING.fullmatch(tag):
            words = one_line(self._words(element))
            self._builder.heading(words, int(heading[1]))
            if tag == "h1" and not self.first_heading:
                self.first_heading = words
        elif tag in _VERBATIM:
            self._builder.paragraph(self._words(element, verbatim=True).strip("\n"), "code")
        else:
            for caption in filter(self._visibility.shows, element.iterchildren("caption")):
                self._builder.paragraph(self._words(caption))
            self._builder.table(grid(element, self._visibility.shows, self._words))

    def _words(self, element: etree._Element, verbatim: bool = False) -> str:
        """The visible text inside an element, blocks and breaks as line ends."""
        parts: list[str] = []
        for kind, inner, text in _walk(element, self._visibility, _is_replaced):
            tag = name(inner)
            if kind == "text":
                parts.append(text if verbatim else _SPACE.sub(" ", text))
            elif kind == "whole":
                parts.append(_replacement(inner, tag) if tag in {"img", "input"} else "")
            elif tag == "q":
                parts.append("“" if kind == "start" else "”")
            elif (tag in _LINE_BREAKING and kind == "start") or (tag in _BREAKING and inner is not element):
                parts.append("\n")
        joined = "".join(parts).replace(_SOFT_HYPHEN, "")
        return joined if verbatim else _clean(joined)

    def _flush(self) -> None:
        text = _clean("".join(self._line).replace(_SOFT_HYPHEN, ""))
        self._line.clear()
        if not text:
            return
        if not self._lists:
            self._builder.paragraph(text)
            return
        indent = "  " * (len(self._lists) - 1)
        first = indent + self._marker
        rest = " " * len(first) if self._marker else indent
        self._items.append(first + text.replace("\n", "\n" + rest))
        self._marker = ""

    def _close_items(self) -> None:
        self._flush()
        if self._items:
            self._builder.paragraph("\n".join(self._items), "list")
            self._items.clear()

    def _next_marker(self) -> str:
        number = self._lists[-1]
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "


def _walk(
    root: etree._Element, visibility: Visibility, whole: Callable[[etree._Element], bool]
) -> Iterator[Event]:
    """Events of all that is visible inside `root`, itself included; a `whole` element is not entered."""
    yield "start", root, ""
    yield "text", root, root.text or ""
    stack = [(root, iter(root))]
    while stack:
        element, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            yield "end", element, ""
            child = element
        elif visibility.shows(child):
            if not whole(child):
                yield "start", child, ""
                yield "text", child, child.text or ""
                stack.append((child, iter(child)))
                continue
            yield "whole", child, ""
        if child is not root and child.tail:
            yield "text", child, child.tail


def _is_whole(element: etree._Element) -> bool:
    tag = name(element)
    return (
        _HEADING.fullmatch(tag) is not None
        or tag in _VERBATIM
        or _is_replaced(element)
        or (tag == "table" and is_data(element))
    )


def _is_replaced(element: etree._Element) -> bool:
    return name(element) in {"img", "input", *_EMBEDDED}


def _replacement(element: etree._Element, tag: str) -> str:
    """The words shown in place of a picture or in a field, set off by spaces."""
    if tag == "img":
        return f" {element.get('alt') or ''} "
    if (element.get("type") or "").lower() not in _SHOWN_INPUTS:
        return " "
    return f" {element.get('value') or element.get('placeholder') or element.get('alt') or ''} "


def _source(element: etree._Element) -> str:
    source = element.get("src") or element.get("data") or ""
    return f"{name(element)} {source}" if source else name(element)


def _first_number(element: etree._Element) -> int:
    start = (element.get("start") or "").strip()
    return int(start) if start.isascii() and start.isdigit() and len(start) < 9 else 1


def _clean(text: str) -> str:
    """Runs of spaces as one, none around line ends."""
    return _AROUND_BREAK.sub("\n", re.sub(" {2,}", " ", text)).strip(" \n")
