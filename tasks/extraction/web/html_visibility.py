"""Which elements of an HTML page are not shown, and which belong to the site rather than to the page."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from lxml import etree

from pincite.tasks.extraction.base.marks import Position
from pincite.tasks.extraction.base.text_builder import one_line

# fmt: off
NEVER_SHOWN = frozenset({
    "script", "style", "template", "noscript", "title", "meta", "link", "base", "datalist",
    "desc", "defs", "metadata", "annotation", "param", "source", "track", "col", "colgroup", "noframes",
    "rp",
})
# fmt: on
"""Without text of their own to read. Not `head`: libxml2 leaves in it what it takes for unknown elements.
A browser does not show `noscript`; `annotation` repeats MathML."""

_SITE_ROLES = frozenset({"navigation", "banner", "contentinfo", "search", "menu", "menubar"})
_SITE_FRAME = frozenset({"header", "footer", "aside"})
_CONTENT = ("main", "article", "section")
_WHOLE_PAGE = frozenset({"html", "body", "main"})
"""Hidden by a style sheet only until a script has run; a reader sees them."""

_HIDING = re.compile(
    r"(?:^|[;{\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|opacity\s*:\s*0?\.?0+\s*(?:[;!}]|$)|font-size\s*:\s*(?:0(?:px|pt|em|rem|%)?|[01](?:\.\d+)?p[xt])\s*(?:[;!}]|$)"
    r"|(?:left|top|text-indent)\s*:\s*-\d{4,})",
    re.IGNORECASE,
)
_STRIKING = re.compile(r"text-decoration(?:-line)?\s*:[^;}]*line-through", re.IGNORECASE)
_RAISING = re.compile(r"vertical-align\s*:\s*super\b", re.IGNORECASE)
_LOWERING = re.compile(r"vertical-align\s*:\s*sub\b", re.IGNORECASE)
_STRUCK_TAGS = frozenset({"s", "strike", "del"})
_POSITION_TAGS: dict[str, Position] = {"sup": "raised", "sub": "lowered"}
_SHOWING = re.compile(r"display\s*:\s*(?!none)\w|visibility\s*:\s*visible", re.IGNORECASE)
_BRACES = re.compile(r"[{}]")
_SIMPLE = re.compile(r"(?P<tag>[a-z][\w-]*)?(?P<part>[.#][\w-]+)?", re.IGNORECASE)
Selector = tuple[str, str]
"""(tag, ".class" or "#id"); either may be ""."""

_SHOWN_WORDS = 60  # characters of a hidden text that its warning quotes


@dataclass(slots=True)
class LeftOut:
    """What was kept out of the canonical text, counted for the warnings."""

    hidden: list[str] = field(default_factory=list)  # their text


class Visibility:
    """Decides for each element of one page. A rule of a style sheet counts when its selector is a plain tag,
    class or id, and no other rule shows the same; rules for some media only hide nothing."""

    def __init__(self, root: etree._Element, include_hidden: bool) -> None:
        self._include_hidden = include_hidden
        sheets = [list(_rules(_without_comments(style.text or ""))) for style in root.iter("style")]
        self._hiding = _hiding_selectors(sheets)
        self._striking = {found for sheet in sheets for found in _selectors(sheet, _STRIKING, for_all=True)}
        self._has_content = next(root.iter("main", "article"), None) is not None or bool(
            root.xpath("boolean(//*[@role='main'])")
        )
        self.left_out = LeftOut()

    def shows(self, element: etree._Element) -> bool:
        """Whether this element's text is the page's own and visible; counts what is not."""
        tag = name(element)
        if not tag or (tag in NEVER_SHOWN and element.get("shadowrootmode") is None):
            return False
        if not self._include_hidden and self._hidden(element, tag):
            words = one_line("".join(map(str, element.itertext())))
            if words:
                self.left_out.hidden.append(words)
            return False
        return True

    def ink(self, element: etree._Element) -> tuple[Position, bool]:
        """(raised or lowered, struck): how this element draws its words."""
        tag = name(element)
        style = element.get("style") or ""
        position = _POSITION_TAGS.get(tag, "")
        if style and not position:
            position = "raised" if _RAISING.search(style) else "lowered" if _LOWERING.search(style) else ""
        struck = tag in _STRUCK_TAGS or bool(style and _STRIKING.search(style))
        return position, struck or (bool(self._striking) and _matches(element, tag, self._striking))

    def warnings(self) -> Iterable[tuple[str, str]]:
        """(code, message) of all that was left out."""
        if self.left_out.hidden:
            first = self.left_out.hidden[0][:_SHOWN_WORDS]
            count = len(self.left_out.hidden)
            yield "hidden-text", f"{count} hidden element(s) with text left out, the first begins: {first!r}"

    def _hidden(self, element: etree._Element, tag: str) -> bool:
        if element.get("hidden") is not None or (tag == "dialog" and element.get("open") is None):
            return True
        if tag == "input" and (element.get("type") or "").lower() == "hidden":
            return True
        if _HIDING.search(element.get("style") or ""):
            return True
        return bool(self._hiding) and tag not in _WHOLE_PAGE and _matches(element, tag, self._hiding)

    def of_site(self, element: etree._Element) -> bool:
        """Whether the element itself says that it is not of the page but of the site around it."""
        tag = name(element)
        if tag in {"html", "body", *_CONTENT}:
            return False
        if tag == "nav" or (element.get("role") or "").lower() in _SITE_ROLES:
            return True
        if tag not in _SITE_FRAME or not self._has_content:
            return False
        inside = any(
            name(above) in _CONTENT or above.get("role") == "main" for above in element.iterancestors()
        )
        # Many a page has its only title in a header before its main part.
        return not inside and next(element.iter("h1", "main", "article"), None) is None


def name(element: etree._Element) -> str:
    """The element's name without its namespace; "" of comments and processing instructions."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""


def _matches(element: etree._Element, tag: str, selectors: set[Selector]) -> bool:
    marks = ["", f"#{element.get('id')}", *(f".{word}" for word in (element.get("class") or "").split())]
    return any((tag_, mark) in selectors for mark in marks for tag_ in ("", tag))


Rule = tuple[str, str, bool]
"""(selectors, declarations, whether it holds for all media)."""


def _without_comments(sheet: str) -> str:
    parts: list[str] = []
    at = 0
    while (start := sheet.find("/*", at)) >= 0:
        parts.append(sheet[at:start])
        end = sheet.find("*/", start + 2)
        at = end + 2 if end >= 0 else len(sheet)
    return "".join((*parts, sheet[at:]))


def _rules(sheet: str) -> Iterable[Rule]:
    """All rules of a sheet, those inside @media and its kind as not for all."""
    preludes: list[str] = []  # of the blocks that are open
    at = 0
    for brace in _BRACES.finditer(sheet):
        words = sheet[at : brace.start()]
        at = brace.end()
        if brace[0] == "{":
            preludes.append(words.rpartition(";")[2].strip())
        elif preludes:
            prelude = preludes.pop()
            if prelude and not prelude.startswith("@"):
                yield prelude, words, not any(each.startswith("@") for each in preludes)


def _hiding_selectors(sheets: Iterable[list[Rule]]) -> set[Selector]:
    hiding: set[Selector] = set()
    showing: set[Selector] = set()
    for rules in sheets:
        hiding.update(_selectors(rules, _HIDING, for_all=True))
        showing.update(_selectors(rules, _SHOWING))
    return hiding - showing


def _selectors(rules: Iterable[Rule], effect: re.Pattern[str], for_all: bool = False) -> Iterable[Selector]:
    """The plain selectors of all rules with this effect."""
    for selectors, declarations, holds_for_all in rules:
        if (holds_for_all or not for_all) and effect.search(declarations):
            for selector in map(str.strip, selectors.split(",")):
                match = _SIMPLE.fullmatch(selector)
                if match and selector:
                    yield (match["tag"] or "").lower(), match["part"] or ""
