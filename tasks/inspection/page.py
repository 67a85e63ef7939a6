"""The HTML page of an inspection: one file that asks no host for anything and runs no script.

All that comes from the document is escaped by the template; a content security policy forbids the rest.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from jinja2 import Template
from markupsafe import Markup, escape

from pincite.schemas.counting import counted, decimal
from pincite.schemas.html_templates import environment
from pincite.schemas.locators import char_fragment
from pincite.schemas.records import Extraction, Page
from pincite.tasks.extraction.pdf.page_record import IMAGE_TYPE, Corners, Point, Sheet
from pincite.tasks.inspection.inspect import (
    Inspection,
    Leaf,
    Summary,
    leaves_of,
    other_pages,
    shown_end,
    summary_of,
)

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
BADGE = 78.0  # of the longer side of a page: the height of a block's number
CONFIDENCE = ((60, "poor"), (80, "weak"), (90, "fair"), (101, "good"))
"""Words of OCR under a confidence, and their class; the first is the default of `ocr.low_confidence`."""

LAYERS = (
    ("blocks", "text blocks", "swatch-text"),
    ("tables", "tables", "swatch-table"),
    ("words", "OCR words", "swatch-word"),
    ("left-out", "running lines left out", "swatch-left-out"),
    ("chunks", "chunks", "swatch-chunk"),
)

_SIGNS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: "\u2421"}
_HERE = Path(__file__).parent


def page_of(inspection: Inspection) -> str:
    """The whole page."""
    summary, extraction = summary_of(inspection), inspection.extraction
    kinds = (
        dict(enumerate(one.kind for one in extraction.blocks))
        if extraction
        else defaultdict[int, str](lambda: "paragraph")
    )
    present = {layer for sheet in inspection.sheets for layer in _layers(sheet, kinds)}
    present |= {"chunks"} if inspection.chunks else set()
    rest, others = other_pages(inspection)
    return _template().render(
        inspection=inspection,
        text=extraction.text if extraction else "",
        kinds=kinds,
        figures=tuple(_figures(summary, extraction)) if summary and extraction else (),
        leaves=leaves_of(inspection),
        layers=[one for one in LAYERS if one[0] in present],
        rest=rest,
        others=others,
        end=shown_end(inspection),
        policy=Markup(POLICY),
        image_type=IMAGE_TYPE,
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    made = environment(_HERE, _visible)
    made.filters |= {
        "about": _about,
        "badges": _badges,
        "by_chunk": lambda part: [
            (key, list(runs)) for key, runs in groupby(part.runs, lambda run: run.chunk)
        ],
        "characters": lambda chunk: char_fragment(chunk.start, chunk.end),
        "grade": lambda confidence: next(name for limit, name in CONFIDENCE if confidence < limit),
    }
    style = Markup((_HERE / "inspection.css").read_text(encoding="utf-8"))
    made.globals |= {"style": style, "zip": zip}
    return made.get_template("inspection.html.j2")


def _visible(text: str) -> Markup:
    """The text escaped; controls are shown by their signs, and a line end that is no "\\n" stays what it is."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    return escape(whole.translate(_SIGNS)).replace("\r", Markup("&#13;"))


def _layers(sheet: Sheet, kinds: Mapping[int, str]) -> Iterator[str]:
    """What is drawn over a page."""
    if sheet.words:
        yield "words"
    if sheet.left_out:
        yield "left-out"
    for area in sheet.blocks:
        yield "tables" if kinds[area.block] == "table" else "blocks"


def _figures(summary: Summary, extraction: Extraction) -> Iterator[tuple[str, str, str]]:
    """(label, value, note)."""
    extractor, _, version = summary.extractor.partition(" ")
    yield "extractor", extractor, f"{version} · {summary.media_type}"
    if summary.pages:
        yield "pages", f"{summary.pages:,}", ""
    yield "characters", f"{summary.characters:,}", ""
    if summary.pages:
        read = f"{summary.ocr_pages:,} of {counted(summary.pages, 'page')}" if summary.ocr_pages else ""
        yield "OCR share", f"{summary.ocr_share:.0%}", read
        weakest = f"of 100; weakest line {summary.weakest_line or 0:.0f}"
        confidence = summary.ocr_confidence
        yield "OCR confidence", decimal(confidence, 0), "" if confidence is None else weakest
    yield "tables", f"{summary.tables:,}", ""
    yield "headings", f"{summary.headings:,}", ""
    over = f", {summary.over_window} over the window" if summary.over_window else ""
    yield "chunks", f"{summary.chunks:,}", f"up to {counted(summary.longest_chunk, 'word-piece')}{over}"
    if summary.marks.total:
        yield "marks", f"{summary.marks.total:,}", str(summary.marks)
    yield "warnings", f"{len(extraction.warnings):,}", ""


def _about(leaf: Leaf) -> str:
    """Size, how it was read, chunks."""
    told = []
    if leaf.page:
        told += [f"{leaf.page.width:.0f} × {leaf.page.height:.0f} pt", _reading(leaf.page)]
    ordinals = [run.chunk for part in leaf.parts for run in part.runs if run.chunk is not None]
    if ordinals:
        first, last = min(ordinals), max(ordinals)
        told.append(f"chunk {first}" if first == last else f"chunks {first}–{last}")
    return " · ".join(told)


def _reading(page: Page) -> str:
    if not page.ocr:
        return "text layer" if page.end > page.start else "no text"
    return "OCR" if page.ocr_confidence is None else f"OCR at confidence {page.ocr_confidence:.0f}"


@dataclass(frozen=True, slots=True)
class Badge:
    """The number of a block where its reading begins, in points on the page."""

    block: int
    corners: Corners  # of the block's area
    first: bool  # of the areas of its block
    text: str
    unit: float  # the height of its letters
    wide: float
    x: float
    y: float


def _badges(sheet: Sheet, numbers: Mapping[int, int]) -> Iterator[Badge]:
    unit, seen = max(sheet.width, sheet.height) / BADGE, set[int]()
    for area in sheet.blocks:
        first = area.block not in seen
        seen.add(area.block)
        text = str(numbers.get(area.block, "")) + ("" if first else "…")
        wide = unit * (0.7 * len(text) + 0.6)
        x, y = _badge_place(area.corners, wide, 1.3 * unit, sheet.width)
        yield Badge(area.block, area.corners, first, text, unit, wide, x, y)


def _badge_place(corners: Corners, wide: float, high: float, width: float) -> tuple[float, float]:
    """The upper left of a number that stands before the first line, wherever this begins on the page."""
    (x, y), right, _, below = corners
    along = _direction((x, y), right)
    down = _direction((x, y), below)
    back = (abs(along[0]) * wide + abs(along[1]) * high) / 2 + 1
    forth = (abs(down[0]) * wide + abs(down[1]) * high) / 2
    x += down[0] * forth - along[0] * back - wide / 2
    y += down[1] * forth - along[1] * back - high / 2
    return min(max(x, 0.0), width - wide), max(y, 0.0)


def _direction(start: Point, end: Point) -> Point:
    length = math.dist(start, end) or 1.0
    return (end[0] - start[0]) / length, (end[1] - start[1]) / length
