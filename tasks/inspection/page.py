"""The HTML page of an inspection: one file that asks no host for anything and runs no script.

All that comes from the document goes through `_escaped`; a content security policy forbids the rest.
"""

import base64
import html
import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from pincite.schemas.counting import counted
from pincite.schemas.locators import char_fragment
from pincite.schemas.records import DocumentWarning, Extraction, Page
from pincite.tasks.extraction.pdf.page_record import IMAGE_TYPE, BlockArea, Corners, Point, Sheet, WordArea
from pincite.tasks.inspection.inspect import (
    Inspection,
    Leaf,
    Part,
    Summary,
    TextRun,
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

_VISIBLE = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: "\u2421"}
_STYLE = Path(__file__).with_name("inspection.css")


def page_of(inspection: Inspection) -> str:
    """The whole page."""
    leaves = leaves_of(inspection)
    summary = summary_of(inspection)
    title = _escaped(_one_line(inspection.title))
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">',
            f"<title>{title} – Pincite inspect</title>",
            f"<style>{_STYLE.read_text(encoding='utf-8')}</style></head><body>",
            *_head(inspection, summary),
            *_toolbar(inspection, leaves),
            "<main>",
            *(line for leaf in leaves for line in _leaf(inspection, leaf)),
            _left_out(inspection),
            "</main></body></html>",
            "",
        ]
    )


def _escaped(text: str) -> str:
    """The text as HTML, in elements and in quoted attributes; controls are shown by their signs."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    return html.escape(whole.translate(_VISIBLE)).replace("\r", "&#13;")


def _one_line(text: str) -> str:
    """The text on one line, its control characters shown: none can turn what stands beside it around."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in " ".join(text.split())
    )


def _head(inspection: Inspection, summary: Summary | None) -> Iterator[str]:
    name = _escaped(_one_line(inspection.name))
    yield '<header class="top"><p class="kicker">Pincite inspect</p>'
    yield f"<h1><bdi>{_escaped(_one_line(inspection.title))}</bdi></h1>"
    if inspection.title != inspection.name:
        yield f'<p class="file"><bdi>{name}</bdi></p>'
    if inspection.failure is not None:
        failure = inspection.failure
        where = f", page {failure.page}" if failure.page else ""
        yield (
            f'<div class="failure" role="alert"><b>Failed in {_escaped(failure.stage)}{where}: '
            f"{_escaped(failure.kind)}.</b> {_escaped(failure.reason)}</div>"
        )
    if summary is not None and inspection.extraction is not None:
        yield '<dl class="figures">'
        yield from (
            f"<div><dt>{label}</dt><dd>{_escaped(value)}</dd>{note}</div>"
            for label, value, note in _figures(summary, inspection.extraction)
        )
        yield "</dl>"
        yield from _warnings(inspection.extraction.warnings)
    yield "</header>"


def _figures(summary: Summary, extraction: Extraction) -> Iterator[tuple[str, str, str]]:
    """(label, value, note as HTML)."""
    extractor, _, version = summary.extractor.partition(" ")
    yield "extractor", extractor, f"<small>{_escaped(version)} · {_escaped(summary.media_type)}</small>"
    if summary.pages:
        yield "pages", f"{summary.pages:,}", ""
    yield "characters", f"{summary.characters:,}", ""
    if summary.pages:
        read = (
            f"<small>{summary.ocr_pages:,} of {counted(summary.pages, 'page')}</small>"
            if summary.ocr_pages
            else ""
        )
        yield "OCR share", f"{summary.ocr_share:.0%}", read
        confidence = summary.ocr_confidence
        yield (
            "OCR confidence",
            "–" if confidence is None else f"{confidence:.0f}",
            ""
            if confidence is None
            else f"<small>of 100; weakest line {summary.weakest_line or 0:.0f}</small>",
        )
    yield "tables", f"{summary.tables:,}", ""
    yield "headings", f"{summary.headings:,}", ""
    over = f", {summary.over_window} over the window" if summary.over_window else ""
    yield (
        "chunks",
        f"{summary.chunks:,}",
        f"<small>up to {counted(summary.longest_chunk, 'word-piece')}{over}</small>",
    )
    if summary.marks.total:
        yield "marks", f"{summary.marks.total:,}", f"<small>{summary.marks}</small>"
    yield "warnings", f"{len(extraction.warnings):,}", ""


def _warnings(warnings: Sequence[DocumentWarning]) -> Iterator[str]:
    if not warnings:
        return
    yield '<ul class="warnings">'
    for warning in warnings:
        page = f' <a href="#p{warning.page}">page {warning.page}</a>' if warning.page else ""
        yield f"<li><code>{_escaped(warning.code)}</code>{page} <bdi>{_escaped(warning.message)}</bdi></li>"
    yield "</ul>"


def _toolbar(inspection: Inspection, leaves: Sequence[Leaf]) -> Iterator[str]:
    """Which layers are shown, and the way to each page."""
    present = {"chunks"} if inspection.chunks else set()
    for sheet in inspection.sheets:
        present |= {"words"} if sheet.words else set()
        present |= {"left-out"} if sheet.left_out else set()
        kinds = {_kind(inspection.extraction, area) for area in sheet.blocks}
        present |= {"tables" if kind == "table" else "blocks" for kind in kinds}
    numbers = [leaf.page.number for leaf in leaves if leaf.page]
    if not present and len(numbers) < 2:
        return
    yield '<nav class="bar" aria-label="layers and pages"><div class="layers">'
    for layer, label, swatch in LAYERS:
        if layer in present:
            yield (
                f'<label><input type="checkbox" id="layer-{layer}" checked>'
                f'<i class="swatch {swatch}"></i>{label}</label>'
            )
    yield "</div>"
    if len(numbers) > 1:
        links = " ".join(f'<a href="#p{number}">{number}</a>' for number in numbers)
        yield f'<div class="pages">page {links}</div>'
    yield "</nav>"


def _kind(extraction: Extraction | None, area: BlockArea) -> str:
    return extraction.blocks[area.block].kind if extraction else "paragraph"


def _left_out(inspection: Inspection) -> str:
    """What of a long document is not on this page."""
    extraction = inspection.extraction
    if extraction is None:
        return ""
    rest, others = other_pages(inspection)
    if rest:
        of = counted(len(extraction.pages), "page was", "pages were")
        return (
            f'<p class="rest">{rest:,} of {of} read as well and not shown here: '
            f"<code>--pages {others}</code> shows others.</p>"
        )
    end, length = shown_end(inspection), len(extraction.text)
    return (
        ""
        if end == length
        else f'<p class="rest">{length - end:,} of {counted(length, "character")} not shown.</p>'
    )


def _leaf(inspection: Inspection, leaf: Leaf) -> Iterator[str]:
    number = leaf.page.number if leaf.page else leaf.sheet.number if leaf.sheet else None
    yield f'<section class="leaf"{f""" id="p{number}" """.rstrip() if number else ""}>'
    yield f"<header><h2>{f'Page {number}' if number else 'Canonical text'}</h2>{_about(leaf)}</header>"
    yield f'<div class="{"spread" if leaf.sheet else "alone"}">'
    numbers = {part.index: place for place, part in enumerate(_named(leaf), 1) if part.index is not None}
    if leaf.sheet:
        yield from _figure(inspection.extraction, leaf.sheet, numbers)
    if inspection.extraction is not None:
        yield '<div class="text">'
        drawn = {area.block for area in leaf.sheet.blocks} if leaf.sheet else set()
        for part in leaf.parts:
            yield _part(inspection, part, numbers, drawn)
        if not leaf.parts:
            yield '<p class="empty">No text on this page.</p>'
        yield "</div>"
    yield "</div></section>"


def _named(leaf: Leaf) -> list[Part]:
    return [part for part in leaf.parts if part.index is not None]


def _about(leaf: Leaf) -> str:
    """Size, how it was read, chunks."""
    told = []
    if leaf.page:
        told += [f"{leaf.page.width:.0f} × {leaf.page.height:.0f} pt", _reading(leaf.page)]
    ordinals = [run.chunk for part in leaf.parts for run in part.runs if run.chunk is not None]
    if ordinals:
        first, last = min(ordinals), max(ordinals)
        told.append(f"chunk {first}" if first == last else f"chunks {first}–{last}")
    return f"<span>{' · '.join(told)}</span>"


def _reading(page: Page) -> str:
    if not page.ocr:
        return "text layer" if page.end > page.start else "no text"
    return "OCR" if page.ocr_confidence is None else f"OCR at confidence {page.ocr_confidence:.0f}"


def _figure(extraction: Extraction | None, sheet: Sheet, numbers: dict[int, int]) -> Iterator[str]:
    """The page image with everything that was found drawn over it."""
    width, height = sheet.width, sheet.height
    if width <= 0 or height <= 0:
        yield f'<p class="empty">This page has no image. {_escaped(sheet.missing)}</p>'
        return
    yield f'<figure><div class="paper" style="--ratio:{width / height:.5f}">'
    if sheet.image:
        data = base64.b64encode(sheet.image).decode("ascii")
        yield f'<img alt="Page {sheet.number}" src="data:{IMAGE_TYPE};base64,{data}">'
    yield f'<svg viewBox="0 0 {width:.1f} {height:.1f}" preserveAspectRatio="none" aria-hidden="true">'
    yield '<g class="words">'
    yield from (_word(word) for word in sheet.words)
    yield '</g><g class="left-out">'
    for line in sheet.left_out:
        yield f"<polygon {_points(line.corners)}><title>left out: {_escaped(line.text)}</title></polygon>"
    yield "</g>"
    unit = max(width, height) / BADGE
    seen: set[int] = set()
    for area in sheet.blocks:
        yield _area(extraction, area, numbers, unit, width, area.block not in seen)
        seen.add(area.block)
    yield "</svg></div>"
    if sheet.missing:
        yield f"<figcaption>No page image: {_escaped(sheet.missing)}</figcaption>"
    yield "</figure>"


def _word(word: WordArea) -> str:
    title = f"{_escaped(word.text)} · confidence {word.confidence}"
    return (
        f'<polygon class="{_class(word.confidence)}" {_points(word.corners)}><title>{title}</title></polygon>'
    )


def _class(confidence: int) -> str:
    return next(name for limit, name in CONFIDENCE if confidence < limit)


def _points(corners: Corners) -> str:
    return f'points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}"'


def _area(
    extraction: Extraction | None,
    area: BlockArea,
    numbers: dict[int, int],
    unit: float,
    width: float,
    first: bool,
) -> str:
    """A block's outline with its number, where its reading begins; it leads to the block's text."""
    kind = _kind(extraction, area)
    layer = "tables" if kind == "table" else "blocks"
    number = str(numbers.get(area.block, "")) + ("" if first else "…")
    wide = unit * (0.7 * len(number) + 0.6)
    x, y = _badge_place(area.corners, wide, 1.3 * unit, width)
    where = f' id="x{area.block}"' if first else ""
    return (
        f'<a class="{layer} {kind}" href="#b{area.block}"{where}><polygon {_points(area.corners)}/>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{1.3 * unit:.1f}" rx="{0.25 * unit:.1f}"/>'
        f'<text x="{x + wide / 2:.1f}" y="{y + unit:.1f}" font-size="{unit:.1f}">{number}</text></a>'
    )


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


def _part(inspection: Inspection, part: Part, numbers: dict[int, int], drawn: set[int]) -> str:
    """A block with its number and kind, its text coloured by chunk."""
    kind, anchor, mark = "loose", "", "between blocks"
    if part.block is not None and part.index is not None:
        kind, anchor = part.block.kind, f' id="b{part.index}"'
        level = f" {part.block.level}" if part.block.level else ""
        mark = f"<b>{numbers[part.index]}</b> {kind}{level}"
        if part.index in drawn:
            mark = f'<a href="#x{part.index}">{mark}</a>'
    place = f"<code>{_escaped(part.place)}</code>" if part.place else ""
    body = "".join(_chunk_run(inspection, list(runs)) for _, runs in groupby(part.runs, _chunk_of))
    return (
        f'<div class="part {kind}"{anchor}><div class="mark">{mark} {place}</div>'
        f'<div class="words" dir="auto">{body}</div></div>'
    )


def _chunk_of(run: TextRun) -> int | None:
    return run.chunk


def _chunk_run(inspection: Inspection, runs: Sequence[TextRun]) -> str:
    """Runs of one chunk, or of none, after the chunk's name where it begins."""
    assert inspection.extraction is not None
    text = inspection.extraction.text
    body = "".join(_run(run, text[run.start : run.end]) for run in runs)
    ordinal = runs[0].chunk
    if ordinal is None:
        return body
    tag = _tag(inspection, ordinal, runs[0]) if runs[0].begins else ""
    return f'{tag}<span class="c{ordinal % 2}" title="chunk {ordinal}">{body}</span>'


def _run(run: TextRun, text: str) -> str:
    if run.confidence is None or run.confidence >= 90:
        return _escaped(text)
    title = f"OCR confidence {run.confidence}"
    return f'<span class="{_class(run.confidence)}" title="{title}">{_escaped(text)}</span>'


def _tag(inspection: Inspection, ordinal: int, run: TextRun) -> str:
    """The chunk's number, locators and length; it is no part of the text that a reader copies."""
    one = inspection.chunks[ordinal]
    if inspection.extraction and inspection.extraction.text[one.start : run.start].strip():
        told = "continues"
    else:
        characters = char_fragment(one.start, one.end)
        locator = inspection.locators[ordinal]
        place = "" if locator == characters else f"<code>{_escaped(locator)}</code> "
        window = ' <em class="over">over the window</em>' if one.over_window else ""
        told = f"{place}<code>{characters}</code> {counted(one.tokens, 'word-piece')}{window}"
    header = f' title="{_escaped(one.header)}"' if one.header else ""
    return f'<span class="tag t{ordinal % 2}"{header}><b>{ordinal}</b> {told}</span>'
