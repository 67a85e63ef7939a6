"""Locators: fragments that name a place in a document.

`#char=from,to` on the canonical text; `#page=12` (PDF Open Parameters); `#t=132.4,158.9`
(W3C Media Fragments); sheet and A1 range for spreadsheets; `#slide=3`; `#entry=` for parts of a container.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol, TypeVar
from urllib.parse import quote

from pincite.schemas.records import Place

_CELLS = re.compile(r"(?P<sheet>.*)!(?P<c0>[A-Z]+)(?P<r0>\d+)(?::(?P<c1>[A-Z]+)(?P<r1>\d+))?", re.DOTALL)


def char_fragment(start: int, end: int) -> str:
    return f"#char={start},{end}"


_CHAR = re.compile(r"(?P<document>.+)#(?:[^#]*&)?char=(?P<start>\d{1,10}),(?P<end>\d{1,10})", re.DOTALL)


def parse_passage(passage: str) -> tuple[str, int, int] | None:
    """(document, start, end) of "DOCUMENT#char=from,to" or "DOCUMENT#page=3&char=from,to"; None for anything else.

    The name of a document may hold a "#".
    """
    match = _CHAR.fullmatch(passage)
    return (match["document"], int(match["start"]), int(match["end"])) if match else None


class Stretch(Protocol):
    """Anything that stands on `[start, end)` of the canonical text."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


AnyStretch = TypeVar("AnyStretch", bound=Stretch)


def overlapping(stretches: Sequence[AnyStretch], start: int, end: int) -> Sequence[AnyStretch]:
    """Those of `stretches`, ordered and apart from each other, that share a character with `[start, end)`."""
    first = bisect_right(stretches, start, key=attrgetter("end"))
    last = bisect_left(stretches, end, key=attrgetter("start"))
    return stretches[first:last]


def place_fragment(places: Sequence[Place]) -> str:
    """The fragment for a passage that stands on `places`; "" when the source has no places.

    A passage over several pages is located by its first page; over several cues by the time from the first
    to the last; over several cells of one sheet by the range around them.
    """
    if not places:
        return ""
    first = places[0]
    match first.kind:
        case "page" | "slide":
            return f"#{first.kind}={first.label}"
        case "time":
            begins, ends = zip(*(place.label.split(",") for place in places), strict=True)
            return f"#t={min(begins, key=float)},{max(ends, key=float)}"
        case "cells":
            sheet, a1 = cell_range([place.label for place in places])
            return f"#sheet={quote(sheet, safe='')}&range={a1}"
        case "entry":
            return f"#entry={quote(_common_entry([place.label for place in places]), safe='/')}"


def _common_entry(labels: Sequence[str]) -> str:
    """The one label, or the longest path that all labels lie below (a JSON pointer, RFC 6901)."""
    if len(set(labels)) == 1 or not labels[0].startswith("/"):
        return labels[0]
    parts = [label.split("/") for label in labels]
    shared = [steps[0] for steps in zip(*parts, strict=False) if len(set(steps)) == 1]
    return "/".join(shared) or "/"


def cell_range(labels: Sequence[str]) -> tuple[str, str]:
    """(sheet, A1 range around all labels of the first label's sheet)."""
    parsed = [match for label in labels if (match := _CELLS.fullmatch(label))]
    if not parsed:
        raise ValueError(f"not a cell range: {labels[0]!r}; expected 'Sheet!A1:B2'")
    sheet = parsed[0]["sheet"]
    corners = [
        (column_number(column), int(row))
        for match in parsed
        if match["sheet"] == sheet
        for column, row in (
            (match["c0"], match["r0"]),
            (match["c1"] or match["c0"], match["r1"] or match["r0"]),
        )
    ]
    columns, rows = zip(*corners, strict=True)
    low, high = (
        f"{column_letters(column)}{row}"
        for column, row in ((min(columns), min(rows)), (max(columns), max(rows)))
    )
    return sheet, low if low == high else f"{low}:{high}"


def column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def column_letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
