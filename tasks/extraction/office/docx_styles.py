"""What the styles of a Word document say: heading levels, hidden text, and the numbers before list items.

ECMA-376 part 1, 17.7 (styles) and 17.9 (numbering).
"""

import re
from dataclasses import dataclass

from lxml import etree

from pincite.tasks.extraction.base.marks import Position
from pincite.tasks.extraction.office.docx_text import W, own_ink

_HEADING_NAME = re.compile(r"heading (\d)", re.IGNORECASE)
_OFF = ("0", "false", "off")
_LEVEL_REFERENCE = re.compile(r"%(\d)")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LEVELS = 9


@dataclass(frozen=True, slots=True)
class ListItem:
    level: int  # 0 is the outermost
    mark: str  # "-" for a bullet, the number as shown otherwise, "" for a list without marks


class Styles:
    """Looks a property up in a paragraph's style and the styles that it is based on."""

    def __init__(self, root: etree._Element | None) -> None:
        found = root.findall(f"{W}style") if root is not None else []
        self._styles = {style.get(f"{W}styleId", ""): style for style in found}
        self._default = next(
            (
                style.get(f"{W}styleId", "")
                for style in found
                if style.get(f"{W}type") == "paragraph" and style.get(f"{W}default") in ("1", "true", "on")
            ),
            "",
        )

    def heading_level(self, paragraph: etree._Element) -> int:
        """1 to 9 for a heading, 1 for the title, 0 for other paragraphs."""
        outline = paragraph.find(f"{W}pPr/{W}outlineLvl")
        if outline is not None:
            return _outline_level(outline)
        for style in self._chain(self.style_id(paragraph)):
            name = style.find(f"{W}name")
            words = name.get(f"{W}val", "") if name is not None else ""
            if match := _HEADING_NAME.fullmatch(words):
                return int(match[1])
            if words.casefold() == "title":
                return 1
            outline = style.find(f"{W}pPr/{W}outlineLvl")
            if outline is not None:
                return _outline_level(outline)
        return 0

    def is_title(self, paragraph: etree._Element) -> bool:
        names = (style.find(f"{W}name") for style in self._chain(self.style_id(paragraph)))
        return any(name is not None and name.get(f"{W}val", "").casefold() == "title" for name in names)

    def hides(self, style_id: str) -> bool:
        """Whether text of this character style is hidden."""
        for style in self._chain(style_id):
            vanish = style.find(f"{W}rPr/{W}vanish")
            if vanish is not None:
                return vanish.get(f"{W}val", "1") not in _OFF
        return False

    def ink(self, style_id: str) -> tuple[Position, bool]:
        """(raised or lowered, struck) of text in this style."""
        position: Position | None = None
        struck: bool | None = None
        for style in self._chain(style_id):
            own_position, own_struck = own_ink(style.find(f"{W}rPr"))
            position = own_position if position is None else position
            struck = own_struck if struck is None else struck
        return position or "", bool(struck)

    def numbering(self, paragraph: etree._Element) -> tuple[str, int] | None:
        """(numId, level) of a numbered paragraph. numId 0 takes the numbering of the style away."""
        own = paragraph.find(f"{W}pPr/{W}numPr")
        number, level = _number_and_level(own)
        if number is None:
            for style in self._chain(self.style_id(paragraph)):
                number, of_style = _number_and_level(style.find(f"{W}pPr/{W}numPr"))
                level = of_style if level is None else level
                if number is not None:
                    break
        return (number, level or 0) if number not in (None, "0") and number is not None else None

    def style_id(self, paragraph: etree._Element) -> str:
        style = paragraph.find(f"{W}pPr/{W}pStyle")
        return style.get(f"{W}val", "") if style is not None else self._default

    def _chain(self, style_id: str) -> list[etree._Element]:
        chain: list[etree._Element] = []
        while (style := self._styles.get(style_id)) is not None and style not in chain:
            chain.append(style)
            based = style.find(f"{W}basedOn")
            style_id = based.get(f"{W}val", "") if based is not None else ""
        return chain


class Numbering:
    """Counts the items of every list, so that each gets the number that Word shows."""

    def __init__(self, root: etree._Element | None) -> None:
        self._levels: dict[str, dict[int, etree._Element]] = {}  # by abstract list
        self._lists: dict[str, tuple[str, dict[int, int]]] = {}  # numId: abstract list, start overrides
        self._counts: dict[str, list[int | None]] = {}
        self._begun: set[str] = set()
        if root is not None:
            self._read(root)

    def next(self, number: str, level: int) -> ListItem:
        """The next item of a list. An unknown list has bullets."""
        abstract, overrides = self._lists.get(number, ("", {}))
        levels = self._levels.get(abstract, {})
        level = min(max(level, 0), _LEVELS - 1)
        if level not in levels:
            return ListItem(level, "-")
        counts = self._counts.setdefault(abstract, [None] * _LEVELS)
        if number not in self._begun:
            self._begun.add(number)
            for overridden, start in overrides.items():
                counts[overridden] = start - 1
        current = counts[level]
        counts[level] = _start(levels[level]) if current is None else current + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        return ListItem(level, self._mark(levels, counts, level))

    def _mark(self, levels: dict[int, etree._Element], counts: list[int | None], level: int) -> str:
        if _value(levels[level], "numFmt", "decimal") == "bullet":
            return "-"
        legal = levels[level].find(f"{W}isLgl") is not None

        def number(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            if at not in levels:
                return ""
            count = counts[at]
            shown = _start(levels[at]) if count is None else count
            return format_number(shown, "decimal" if legal else _value(levels[at], "numFmt", "decimal"))

        return _LEVEL_REFERENCE.sub(number, _value(levels[level], "lvlText", "")).strip()

    def _read(self, root: etree._Element) -> None:
        for abstract in root.findall(f"{W}abstractNum"):
            self._levels[abstract.get(f"{W}abstractNumId", "")] = {
                int(level.get(f"{W}ilvl", "0")): level for level in abstract.findall(f"{W}lvl")
            }
        for number in root.findall(f"{W}num"):
            overrides = {
                int(override.get(f"{W}ilvl", "0")): int(_value(override, "startOverride", "1"))
                for override in number.findall(f"{W}lvlOverride")
                if override.find(f"{W}startOverride") is not None
            }
            self._lists[number.get(f"{W}numId", "")] = (_value(number, "abstractNumId", ""), overrides)


def format_number(number: int, style: str) -> str:
    """`number` as ECMA-376 17.18.59 shows it; styles of other scripts are shown in decimal digits."""
    if style == "none":
        return ""
    if style == "decimalZero":
        return f"{number:02d}"
    if style in ("lowerLetter", "upperLetter") and number > 0:
        # z is followed by aa, not by a number with base 26.
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if style == "upperLetter" else letters
    if style in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        digits = ""
        for value, sign in _ROMAN:
            times, number = divmod(number, value)
            digits += sign * times
        return digits.upper() if style == "upperRoman" else digits
    return str(number)


def _value(element: etree._Element, name: str, missing: str) -> str:
    child = element.find(f"{W}{name}")
    return child.get(f"{W}val", missing) if child is not None else missing


def _start(level: etree._Element) -> int:
    return int(_value(level, "start", "1"))


def _outline_level(outline: etree._Element) -> int:
    level = int(outline.get(f"{W}val", "9"))
    return level + 1 if level < _LEVELS else 0  # 9 is body text


def _number_and_level(properties: etree._Element | None) -> tuple[str | None, int | None]:
    if properties is None:
        return None, None
    number, level = properties.find(f"{W}numId"), properties.find(f"{W}ilvl")
    return (
        number.get(f"{W}val") if number is not None else None,
        int(level.get(f"{W}val", "0")) if level is not None else None,
    )
