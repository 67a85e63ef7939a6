"""Number format codes of spreadsheets, taken apart: ECMA-376 part 1, 18.8.31."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, cast

Kind = Literal["text", "digit", "point", "comma", "percent", "exponent", "slash", "at", "general", "field",
               "elapsed", "meridiem", "fraction", "end"]  # fmt: skip

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.?)|_(?P<room>.?)|\*(?P<fill>.?)|\[(?P<bracket>[^\]]{0,60})\]'
    r"|(?P<general>General)|(?P<meridiem>AM/PM|A/P)|(?P<exponent>E[+-])|(?P<field>y+|m+|d+|h+|s+|b+|e+)"
    r"|(?P<fraction>\.0+(?=[^0#?]|$))|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d{1,20}(?:\.\d{0,20})?(?:E[+-]?\d{1,3})?)", re.IGNORECASE)
_COMPARED: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
}  # fmt: skip
_SIGNS: dict[str, Kind] = {
    "0": "digit", "#": "digit", "?": "digit", ".": "point", ",": "comma", "%": "percent", "/": "slash", "@": "at",
    ";": "end",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FormatToken:
    kind: Kind
    text: str  # as shown, for "text"; as written otherwise


@dataclass(frozen=True)
class FormatSection:
    """One of up to four parts of a code: positive, negative, zero, text; or what a condition says."""

    tokens: tuple[FormatToken, ...]
    comparison: str = ""  # "<", ">=", ...; "" without a condition
    bound: float = 0.0

    def admits(self, value: float) -> bool:
        return _COMPARED[self.comparison](value, self.bound)

    def has(self, *kinds: Kind) -> bool:
        return any(token.kind in kinds for token in self.tokens)

    @cached_property
    def is_date(self) -> bool:
        """A fraction of a second alone is a number, as are digits before it."""
        return self.has("field", "elapsed", "meridiem") and not self.has("digit")


@lru_cache(maxsize=1024)
def sections_of(code: str) -> tuple[FormatSection, ...]:
    """The parts of a code, at least one."""
    sections: list[FormatSection] = []
    tokens: list[FormatToken] = []
    comparison, bound = "", 0.0
    for match in _TOKEN.finditer(code):
        condition = _CONDITION.fullmatch(match["bracket"] or "")
        if condition:
            comparison, bound = condition[1], float(condition[2])
            continue
        token = _token(match)
        if token.kind == "end":
            sections.append(FormatSection(tuple(_settled(tokens)), comparison, bound))
            tokens, comparison, bound = [], "", 0.0
        else:
            tokens.append(token)
    return (*sections, FormatSection(tuple(_settled(tokens)), comparison, bound))


def _token(match: re.Match[str]) -> FormatToken:
    group = match.lastgroup
    written = match[0]
    if group in ("quoted", "escaped"):
        return FormatToken("text", match[group])
    if group in ("room", "fill"):
        return FormatToken("text", " " if group == "room" else "")
    if group == "bracket":
        inner = match["bracket"]
        if _ELAPSED.fullmatch(inner):
            return FormatToken("elapsed", inner.lower())
        return FormatToken("text", inner[1:].split("-")[0] if inner.startswith("$") else "")
    if group == "other":
        return FormatToken(_SIGNS.get(written, "text"), written)
    return FormatToken(cast(Kind, group), written)  # the other groups are named as their kinds


def _settled(tokens: list[FormatToken]) -> list[FormatToken]:
    """ ".0" after a time is a fraction of a second; in a number it is a point and digits, and "e" is a letter."""
    dated = any(
        token.kind in ("field", "elapsed") and token.text[0].lower() not in "eb" for token in tokens
    ) or (not any(token.kind in ("digit", "fraction") for token in tokens))
    numeric = any(token.kind == "digit" for token in tokens) or not dated
    settled: list[FormatToken] = []
    for token in tokens:
        if token.kind == "fraction" and numeric:
            settled += [FormatToken("point", "."), *(FormatToken("digit", "0") for _ in token.text[1:])]
        elif token.kind == "field" and numeric and token.text[0].lower() in "eb":
            settled.append(FormatToken("text", token.text))
        elif token.kind == "exponent" and not numeric:
            settled += [FormatToken("field", "e"), FormatToken("text", token.text[1])]
        else:
            settled.append(token)
    return settled
