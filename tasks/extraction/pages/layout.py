"""From word boxes to reading order: regions by white gutters, lines, blocks.

A gutter is a tall empty rectangle with running text on both sides (after Breuel, "Two geometric algorithms
for layout analysis", 2002, here on a grid of cells instead of by branch and bound). Words are re-ordered only
where one is found; elsewhere they are read line by line. The same code serves PDF text and OCR.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

MIN_GUTTER = 0.6  # of the usual word height: a narrower white strip is a space between words
MIN_GUTTER_LINES = 2.4  # height of a gutter, in usual word heights
MIN_COLUMN = 5.0  # usual line width on each side, in word heights: narrower are labels or cells
WIDE_COLUMN = 14.0  # from this usual width on, lines are running text even where they are ragged
PART_GAP = 1.2  # of the word height: what stands so far apart on a line is no sentence
GRID = 1 / 8  # side of a cell, in usual word heights
MAX_CELLS = 4_000_000
SAME_LINE = 0.5  # overlap of two words of one line, as part of the lower one's height
PARAGRAPH_GAP = 1.3  # distance of two lines, as part of the usual distance, that ends a block
MAX_DEPTH = 40

_SIGN = re.compile(r"[•◦▪‣●○■□➢✓]")
_BULLET = re.compile(r"[•◦▪‣●○■□–—*·➢✓-]|(\(?(\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4})[.)])")


@dataclass(frozen=True, slots=True)
class WordBox:
    """One word; (x0, top) is its upper left and (x1, bottom) its lower right corner."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    confidence: int | None = None  # of OCR, 0 to 100


W = TypeVar("W", bound=WordBox)


@dataclass(frozen=True, slots=True)
class Gutter:
    x0: float
    x1: float
    top: float
    bottom: float


def reading_order(words: Sequence[WordBox], width: float, height: float) -> list[list[list[WordBox]]]:
    """Blocks of lines of words in reading order; every word once. `width`, `height`: of the page."""
    return [block for region in regions(words, width, height) for block in blocks_of(lines_of(region))]


def regions(words: Sequence[W], width: float, height: float) -> list[list[W]]:
    """The words parted at gutters, in reading order; one region when there is no gutter."""
    if not words:
        return []
    return _split(list(words), is_rtl(words), 0)


def _split(words: list[W], rtl: bool, depth: int) -> list[list[W]]:
    gutter = find_gutter(words) if depth < MAX_DEPTH else None
    if gutter is None:
        return [words]
    centre = (gutter.x0 + gutter.x1) / 2
    above = [word for word in words if middle(word) < gutter.top]
    below = [word for word in words if middle(word) > gutter.bottom]
    band = [word for word in words if gutter.top <= middle(word) <= gutter.bottom]
    left = [word for word in band if word.x0 + word.x1 < 2 * centre]
    right = [word for word in band if word.x0 + word.x1 >= 2 * centre]
    parts = [above, *((right, left) if rtl else (left, right)), below]
    return [region for part in parts if part for region in _split(part, rtl, depth + 1)]


def middle(word: WordBox) -> float:
    return (word.top + word.bottom) / 2


def usual_height(words: Sequence[WordBox]) -> float:
    """The median height of the words, at least a tiny positive number."""
    return max(median(word.bottom - word.top for word in words), 1e-3)


def find_gutter(words: Sequence[WordBox]) -> Gutter | None:
    """The tallest gutter that parts running text from running text; None when there is none."""
    if len(words) < 4:
        return None
    unit = usual_height(words)
    boxes = np.array([(w.x0, w.top, w.x1, w.bottom) for w in words], dtype=np.float64)
    best: Gutter | None = None
    for candidate in _candidates(boxes, unit):
        if not _has_sides(boxes, candidate, unit):
            continue
        if best is not None and candidate.bottom - candidate.top <= best.bottom - best.top:
            break  # candidates come tallest first, and trimming only shortens
        fitted = _fit(words, candidate, unit)
        if fitted and (best is None or fitted.bottom - fitted.top > best.bottom - best.top):
            best = fitted
    return best


def _candidates(boxes: NDArray[np.float64], unit: float) -> list[Gutter]:
    """Empty rectangles at least MIN_GUTTER wide and MIN_GUTTER_LINES tall, tallest first, then widest."""
    left, top, right, bottom = boxes[:, 0].min(), boxes[:, 1].min(), boxes[:, 2].max(), boxes[:, 3].max()
    cell = unit * GRID
    cell = max(cell, float(np.sqrt(max((right - left) * (bottom - top), 1e-6) / MAX_CELLS)))
    columns, rows = int((right - left) / cell) + 1, int((bottom - top) / cell) + 1
    full = np.zeros((rows + 1, columns + 1), dtype=np.int32)
    # Each box is shrunk a little, so that boxes which touch by rounding leave the strip open.
    x0 = np.clip(np.floor((boxes[:, 0] - left) / cell + 0.5).astype(int), 0, columns - 1)
    x1 = np.clip(np.ceil((boxes[:, 2] - left) / cell - 0.5).astype(int), x0 + 1, columns)
    y0 = np.clip(np.floor((boxes[:, 1] - top) / cell + 0.5).astype(int), 0, rows - 1)
    y1 = np.clip(np.ceil((boxes[:, 3] - top) / cell - 0.5).astype(int), y0 + 1, rows)
    np.add.at(full, (y0, x0), 1)
    np.add.at(full, (y1, x1), 1)
    np.add.at(full, (y0, x1), -1)
    np.add.at(full, (y1, x0), -1)
    ink = full.cumsum(axis=0).cumsum(axis=1)[:rows, :columns] > 0
    strip = max(1, round(MIN_GUTTER * unit / cell))
    return _tall_runs(ink, strip, max(1, round(MIN_GUTTER_LINES * unit / cell)), (left, top, cell))


def _tall_runs(
    ink: NDArray[np.bool_], strip: int, tall: int, origin: tuple[float, float, float]
) -> list[Gutter]:
    """Runs of rows in which `strip` neighbouring cells are empty; equal extents are merged sideways."""
    rows, columns = ink.shape
    if columns <= strip:
        return []
    sums = np.concatenate([np.zeros((rows, 1), dtype=np.int32), ink.cumsum(axis=1, dtype=np.int32)], axis=1)
    empty = sums[:, strip:] == sums[:, :-strip]
    padded = np.zeros((rows + 2, empty.shape[1]), dtype=np.int8)
    padded[1:-1] = empty
    edges = np.diff(padded, axis=0).T
    starts, ends = np.argwhere(edges == 1), np.argwhere(edges == -1)
    long = ends[:, 1] - starts[:, 1] >= tall
    left, top, cell = origin
    merged: dict[tuple[int, int], list[list[int]]] = {}
    for x, y0, y1 in np.column_stack([starts[long], ends[long, 1]]).tolist():
        spans = merged.setdefault((y0, y1), [])
        if spans and x <= spans[-1][1] + 1:
            spans[-1][1] = x
        else:
            spans.append([x, x])
    found = [
        Gutter(left + x0 * cell, left + (x1 + strip) * cell, top + y0 * cell, top + y1 * cell)
        for (y0, y1), spans in merged.items()
        for x0, x1 in spans
    ]
    found.sort(key=lambda g: (-round((g.bottom - g.top) / cell), -(g.x1 - g.x0), g.x0))
    return found[:60]


def _has_sides(boxes: NDArray[np.float64], gutter: Gutter, unit: float) -> bool:
    """Whether words stand on both sides, wide enough for columns: most white strips are ragged margins."""
    middles = (boxes[:, 1] + boxes[:, 3]) / 2
    band = boxes[(middles >= gutter.top) & (middles <= gutter.bottom)]
    left = band[:, 0] < gutter.x0
    if left.all() or not left.any():
        return False
    before = gutter.x0 - band[left, 0].min()
    after = band[~left, 2].max() - gutter.x1
    return float(min(before, after)) >= MIN_COLUMN * unit * 0.9


def _fit(words: Sequence[WordBox], gutter: Gutter, unit: float) -> Gutter | None:
    """The gutter trimmed to where text stands beside it; None when it does not part running text."""
    slack = unit * GRID
    band = [w for w in words if gutter.top - slack <= middle(w) <= gutter.bottom + slack]
    centre = (gutter.x0 + gutter.x1) / 2
    left = lines_of([w for w in band if w.x0 + w.x1 < 2 * centre])
    right = lines_of([w for w in band if w.x0 + w.x1 >= 2 * centre])
    if not left or not right:
        return None
    top, bottom = _trim(left, right, gutter, unit)
    left = [line for line in left if top <= middle(line[0]) <= bottom]
    right = [line for line in right if top <= middle(line[0]) <= bottom]
    few = min(len(left), len(right))
    wide = gutter.x1 - gutter.x0 >= 1.2 * unit
    enough = few >= 2 and (wide or few >= 4)
    if not enough and not (few == 1 and wide and max(len(left), len(right)) >= 5):
        return None
    if not (_runs_on(left, unit) and _runs_on(right, unit)):
        return None
    return Gutter(gutter.x0, gutter.x1, top, bottom)


def _trim(
    left: list[list[WordBox]], right: list[list[WordBox]], gutter: Gutter, unit: float
) -> tuple[float, float]:
    """(top, bottom) without a line or two that stand apart above or below and belong to both columns."""
    top, bottom = gutter.top, gutter.bottom
    for one, other in ((left, right), (right, left)):
        first = min(word.top for word in other[0])
        lone = [line for line in one if line_bottom(line) <= first]
        if 1 <= len(lone) <= 2 and first - line_bottom(lone[-1]) > unit:
            top = max(top, (line_bottom(lone[-1]) + first) / 2)
        last = line_bottom(other[-1])
        lone = [line for line in one if line_top(line) >= last]
        if 1 <= len(lone) <= 2 and len(one) > len(lone):
            before = line_bottom(one[-len(lone) - 1])
            if line_top(lone[0]) - max(last, before) > 2 * unit:
                bottom = min(bottom, (line_top(lone[0]) + max(last, before)) / 2)
    return top, bottom


def _runs_on(lines: list[list[WordBox]], unit: float) -> bool:
    """Whether the lines look like running text rather than labels, numbers or the cells of a table."""
    parts = [part for line in lines for part in parted(line, PART_GAP * unit)]
    widths = [line_x1(part) - line_x0(part) for part in parts]
    usual = median(widths)
    if usual < MIN_COLUMN * unit:
        return False
    texts = ["".join(word.text for word in part) for part in parts]
    letters = sum(1 for text in texts for c in text if c.isalpha())
    if letters < 0.5 * sum(map(len, texts)):
        return False
    # Lines of a paragraph begin in the middle of a sentence; cells of a table rarely do.
    if sum(1 for text in texts[1:] if text[:1].islower()) >= 0.3 * len(parts):
        return True
    filled = usual / max(widths)
    if usual >= WIDE_COLUMN * unit:
        return filled >= 0.55
    spaced = median(map(len, parts)) >= 3 or not any(map(str.isascii, texts))
    return spaced and filled >= 0.8


def parted(line: Sequence[W], gap: float) -> list[list[W]]:
    """The words of a line from left to right, parted where at least `gap` is white."""
    parts: list[list[W]] = []
    end = 0.0
    for word in sorted(line, key=lambda w: (w.x0, w.x1)):
        if parts and word.x0 - end < gap:
            parts[-1].append(word)
            end = max(end, word.x1)
        else:
            parts.append([word])
            end = word.x1
    return parts


def line_x0(line: Sequence[WordBox]) -> float:
    return min(word.x0 for word in line)


def line_x1(line: Sequence[WordBox]) -> float:
    return max(word.x1 for word in line)


def line_top(line: Sequence[WordBox]) -> float:
    return min(word.top for word in line)


def line_bottom(line: Sequence[WordBox]) -> float:
    return max(word.bottom for word in line)


def lines_of(words: Sequence[W]) -> list[list[W]]:
    """Lines from top to bottom, each in the order in which its script is read."""
    lines: list[tuple[list[W], list[float]]] = []
    for word in sorted(words, key=lambda w: (middle(w), w.x0, w.text)):
        height = word.bottom - word.top
        best, most = None, SAME_LINE
        for line in lines[-4:]:
            top, bottom = line[1]
            overlap = (min(bottom, word.bottom) - max(top, word.top)) / max(min(height, bottom - top), 1e-3)
            if overlap >= most:
                best, most = line, overlap
        if best is None:
            lines.append(([word], [word.top, word.bottom]))
            continue
        best[0].append(word)
        # The extent of a line is that of its tallest word, but an initial over several lines must not draw
        # the lines below into the first.
        tallest = best[1][1] - best[1][0]
        if tallest < height <= 1.8 * tallest:
            best[1][:] = [word.top, word.bottom]
    lines.sort(key=lambda line: (line[1][0] + line[1][1], line[0][0].x0))
    some_rtl = any(not word.text.isascii() and _direction(word.text) == "R" for word in words)
    sorted_lines = [sorted(line, key=lambda word: (word.x0, word.x1)) for line, _ in lines]
    return [_right_to_left(line) if some_rtl and is_rtl(line) else line for line in sorted_lines]


def is_rtl(words: Sequence[WordBox]) -> bool:
    """Whether most strong characters are of a script that runs from right to left."""
    rtl = ltr = 0
    for word in words:
        direction = _direction(word.text)
        rtl += direction == "R"
        ltr += direction == "L"
    return rtl > ltr


def _direction(text: str) -> str:
    """ "R", "L", or "" when no character has a strong direction (UAX 9)."""
    if text.isascii():
        return "L" if any(c.isalpha() for c in text) else ""
    for character in text:
        bidi = unicodedata.bidirectional(character)
        if bidi in ("R", "AL"):
            return "R"
        if bidi == "L":
            return "L"
    return ""


def _right_to_left(line: list[W]) -> list[W]:
    """A line sorted by x, from right to left with the words of other scripts turned back in place."""
    ordered: list[W] = []
    foreign: list[W] = []
    for word in reversed(line):
        direction = _direction(word.text)
        if direction == "L" or (not direction and foreign and any(c.isdigit() for c in word.text)):
            foreign.append(word)
            continue
        ordered += reversed(foreign)
        foreign = []
        ordered.append(word)
    return [*ordered, *reversed(foreign)]


def blocks_of(lines: Sequence[list[W]]) -> list[list[list[W]]]:
    """The lines of one region parted into paragraphs, headings and list items."""
    if not lines:
        return []
    pitch = _usual_pitch(lines)
    left, right = min(map(line_x0, lines)), max(map(line_x1, lines))
    blocks = [[lines[0]]]
    for before, line in pairwise(lines):
        if _starts_block(before, line, pitch, (left, right), len(blocks[-1])):
            blocks.append([line])
        else:
            blocks[-1].append(line)
    return blocks


def _height(line: Sequence[WordBox]) -> float:
    return max(float(median(word.bottom - word.top for word in line)), 1e-3)


def _usual_pitch(lines: Sequence[Sequence[WordBox]]) -> float:
    """The usual distance between the bottoms of neighbouring lines; 1.5 heights when there is no telling."""
    gaps = sorted(
        line_bottom(b) - line_bottom(a)
        for a, b in pairwise(lines)
        if 0 < line_bottom(b) - line_bottom(a) < 2.5 * _height(b)
    )
    return gaps[len(gaps) // 3] if gaps else 1.5 * _height(lines[0])


def _starts_block(
    before: Sequence[WordBox],
    line: Sequence[WordBox],
    pitch: float,
    margins: tuple[float, float],
    lines_so_far: int,
) -> bool:
    height, height_before = _height(line), _height(before)
    distance = line_bottom(line) - line_bottom(before)
    tolerance = 1.15 if line[0].confidence is None else 1.5  # boxes of OCR vary with the letters
    if max(height, height_before) > tolerance * min(height, height_before):
        return True
    if distance > PARAGRAPH_GAP * pitch or distance < -0.5 * height:
        return True
    width = margins[1] - margins[0]
    ragged = line_x1(before) < margins[1] - 0.15 * width
    if ragged and distance > 1.9 * height:
        return True
    if _SIGN.fullmatch(line[0].text) and len(line) > 1:
        return True
    if _BULLET.fullmatch(line[0].text) and len(line) > 1 and (ragged or line_x0(line) > line_x0(before) - 1):
        return _BULLET.fullmatch(before[0].text) is not None or ragged
    indent = line_x1(before) - line_x1(line) if is_rtl(line) else line_x0(line) - line_x0(before)
    indented = 0.7 * height < indent < 5 * height and abs(line_x0(before) - margins[0]) < 0.5 * height
    return indented and (lines_so_far > 1 or ragged)
