"""The blocks of an HTML tree in reading order.

The walk keeps its own stack: a page may be nested deeper than Python recurses.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from lxml import etree

from pincite.schemas.counting import counted
from pincite.tasks.extraction.base.marks import STRUCK, DrawnRun, Position, struck_words, written
from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.web.html_boilerplate import BlockFacts, Surroundings, own_blocks
from pincite.tasks.extraction.web.html_table import grid, is_data
from pincite.tasks.extraction.web.html_visibility import Visibility, name
from pincite.tasks.extraction.web.mathml import formula, is_formula

# fmt: off
_BREAKING = frozenset({
    "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "header",
    "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "p", "search",
    "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})
# fmt: on
"""Elements that begin and end a block of their own."""

_BREAKING_CELLS = _BREAKING | {"h1", "h2", "h3", "h4", "h5", "h6", "pre"}
_LINE_BREAKING = frozenset({"br", "option", "text"})  # `text` of SVG
_BEFORE = dict.fromkeys(_LINE_BREAKING, "\n") | {"q": "“", "rt": "("}
_AFTER = {"q": "”", "rt": ")"}
"""What a browser draws around an element, a reading over its characters as its brackets."""
_REPLACED = frozenset({"img", "input"})
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
_QUOTED = 60  # characters of boilerplate that its warning quotes
_SOFT_HYPHEN = "\xad"

Event = tuple[Literal["start", "end", "text", "whole"], etree._Element, str]


def read_tree(
    root: etree._Element,
    builder: TextBuilder,
    include_hidden: bool,
    main_text: Callable[[], str] | None = None,
) -> str:
    """Appends the visible blocks and the warnings; returns the words of the first h1, or "".

    `main_text` gives the main text of a page from the web, "" where there is none: with it, what is of the site
    around the page becomes boilerplate.
    """
    visibility = Visibility(root, include_hidden)
    reader = _Reader(builder, visibility)
    first = builder.count
    if visibility.shows(root):
        reader.read(root)
    for code, message in visibility.warnings():
        builder.warn(code, message)
    if main_text is not None:
        _mark_boilerplate(builder, first, reader.facts, main_text)
    return reader.first_heading


def _mark_boilerplate(
    builder: TextBuilder, first: int, facts: Sequence[BlockFacts], main_text: Callable[[], str]
) -> None:
    written = builder.block_texts(first)
    own = own_blocks(written, facts, main_text())
    builder.boilerplate(first, own)
    marked = [words for one, (_, words) in zip(own, written, strict=True) if not one]
    if marked:
        size = counted(sum(map(len, marked)), "character")
        message = (
            f"{counted(len(marked), 'block')} of the site around the page ({size}), in the text and not found by "
            f"searches, the first begins: {one_line(marked[0])[:_QUOTED]!r}"
        )
        builder.warn("boilerplate", message)


class _Reader:
    """Collects a line of text until a block begins or ends; list lines until their outermost item ends."""

    def __init__(self, builder: TextBuilder, visibility: Visibility) -> None:
        self._builder = builder
        self._first = builder.count
        self._visibility = visibility
        self._line: list[DrawnRun] = []
        self._ink = _Ink(visibility)
        self._lists: list[int | None] = []  # of each open list, the number of its next item; None for bullets
        self._marker = ""  # of the item that has no line yet
        self._items: list[str] = []
        self._around = Surroundings(visibility.of_site)
        self.first_heading = ""

    @property
    def facts(self) -> Sequence[BlockFacts]:
        """Of each block that was appended, in order."""
        return self._around.facts

    def read(self, root: etree._Element) -> None:
        for kind, element, text in _walk(root, self._visibility, _is_whole):
            tag = name(element)
            match kind:
                case "text":
                    self._around.read(text)
                    self._line.append(self._ink.draw(_SPACE.sub(" ", text)))
                case "whole":
                    self._whole(element, tag)
                case "start":
                    self._ink.enter(element)
                    self._start(element, tag)
                    self._around.enter(element)
                case "end":
                    self._end(tag)
                    self._ink.leave()
                    self._around.leave()
        self._close_items()
        for words in self._ink.struck:
            self._builder.name(*STRUCK, words)

    def _start(self, element: etree._Element, tag: str) -> None:
        if tag in _BEFORE:
            self._line.append(self._ink.draw(_BEFORE[tag]))
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
        if tag in _AFTER:
            self._line.append(self._ink.draw(_AFTER[tag]))
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
        if tag in _REPLACED or tag == "math":
            self._line.append(self._ink.draw(_replacement(element, tag)))
            return
        if tag in _EMBEDDED:
            self._builder.name("not-followed", "embedded and not read", _source(element))
            return
        self._close_items()
        self._around.read_whole(element)
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
            self._builder.table(grid(element, self._visibility.shows, self._cell_words))
        self._note_blocks()
        self._around.leave()

    def _note_blocks(self) -> None:
        """Tells where the walk is to the blocks that it just wrote."""
        self._around.block(self._builder.count - self._first - len(self._around.facts))

    def _words(self, element: etree._Element, verbatim: bool = False) -> str:
        """The visible text inside an element, blocks and breaks as line ends."""
        if verbatim:
            events = _walk(element, self._visibility, _is_replaced)
            return "".join(_verbatim(event, element) for event in events).replace(_SOFT_HYPHEN, "")
        runs: list[DrawnRun] = []
        for kind, inner, text in _walk(element, self._visibility, _is_replaced):
            tag = name(inner)
            if kind == "text":
                runs.append(self._ink.draw(_SPACE.sub(" ", text)))
            elif kind == "whole":
                runs.append(self._ink.draw("" if tag in _EMBEDDED else _replacement(inner, tag)))
            else:
                if kind == "start":
                    self._ink.enter(inner)
                around = (_BEFORE if kind == "start" else _AFTER).get(tag, "")
                if (
                    not around
                    and inner is not element
                    and (tag in _BREAKING or _HEADING.fullmatch(tag) or tag == "pre")
                ):
                    around = "\n"
                runs.append(self._ink.draw(around))
                if kind == "end":
                    self._ink.leave()
        return _clean(self._ink.written(runs).replace(_SOFT_HYPHEN, ""))

    def _cell_words(self, cell: etree._Element) -> str:
        """A cell on one line: the items of a list in it are parted by semicolons."""
        words = self._words(cell)
        listed = next(cell.iter("li", "dt"), None) is not None
        return "; ".join(filter(None, map(str.strip, words.split("\n")))) if listed else words

    def _flush(self) -> None:
        text = _clean(self._ink.written(self._line).replace(_SOFT_HYPHEN, ""))
        self._line.clear()
        if not text:
            return
        if not self._lists:
            self._builder.paragraph(text)
            self._note_blocks()
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
            self._note_blocks()

    def _next_marker(self) -> str:
        number = self._lists[-1]
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "


class _Ink:
    """How the words of the element that the walk is in are drawn: an outer element's way holds inside it."""

    def __init__(self, visibility: Visibility) -> None:
        self._visibility = visibility
        self._open: list[tuple[Position, bool]] = [("", False)]
        self.struck: list[str] = []

    def enter(self, element: etree._Element) -> None:
        position, struck = self._visibility.ink(element)
        outer_position, outer_struck = self._open[-1]
        self._open.append((position or outer_position, struck or outer_struck))

    def leave(self) -> None:
        self._open.pop()

    def draw(self, text: str) -> DrawnRun:
        return DrawnRun(text, *self._open[-1])

    def written(self, runs: list[DrawnRun]) -> str:
        self.struck += struck_words(runs)
        return written(runs)


def _verbatim(event: Event, root: etree._Element) -> str:
    """The words of one event in preformatted text, where white space and signs are code."""
    kind, inner, text = event
    tag = name(inner)
    if kind == "whole":
        return "" if tag in _EMBEDDED else _replacement(inner, tag)
    if kind == "text" or tag in _BEFORE or tag in _AFTER:
        return text or (_BEFORE if kind == "start" else _AFTER).get(tag, "")
    return "\n" if tag in _BREAKING and inner is not root else ""


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
    return name(element) in _REPLACED or name(element) in _EMBEDDED or is_formula(element)


def _replacement(element: etree._Element, tag: str) -> str:
    """The words shown in place of a picture or in a field, set off by spaces; a formula on one line."""
    if tag == "math":
        return formula(element)
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
