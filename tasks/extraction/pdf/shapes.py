"""Ruled lines and images of a PDF page, from pdfium's page objects."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from pincite.tasks.extraction.pages.table import Rule
from pincite.tasks.extraction.pdf.words import FAR, NEAR_WHITE, Frame

MAX_OBJECTS = 30_000  # of one page that are looked at; a drawing with more is no table
MAX_SEGMENTS = 20_000
MAX_DEPTH = 8  # of nested form XObjects
THIN = 3.0  # points; a box up to this thick is a line

Matrix = tuple[float, float, float, float, float, float]
_UNIT: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as it stands on the page as shown."""

    x0: float
    top: float
    x1: float
    bottom: float
    pixels: int


@dataclass(frozen=True, slots=True)
class Shapes:
    rules: tuple[Rule, ...]
    pictures: tuple[Picture, ...]
    objects: int  # paths, texts and images that were counted
    texts: int  # of them texts
    complete: bool  # False when there were too many to look at all


@dataclass(slots=True)
class _Count:
    objects: int = 0
    texts: int = 0
    segments: int = 0


def read_shapes(page: pdfium.PdfPage, frame: Frame) -> Shapes:
    """Rules and pictures in `frame`."""
    count = _Count()
    rules: list[Rule] = []
    pictures: list[Picture] = []
    for kind, item, matrix in _objects(page.raw, count):
        if kind == raw.FPDF_PAGEOBJ_PATH:
            found = _rules(item, matrix, frame, count)
            rules += [rule for rule in found if -FAR < rule.x0 + rule.top + rule.x1 + rule.bottom < FAR]
        elif kind == raw.FPDF_PAGEOBJ_IMAGE:
            picture = _picture(item, matrix, frame)
            if -FAR < picture.x0 + picture.top + picture.x1 + picture.bottom < FAR:
                pictures.append(picture)
        elif kind == raw.FPDF_PAGEOBJ_TEXT:
            count.texts += 1
    complete = count.objects < MAX_OBJECTS and count.segments < MAX_SEGMENTS
    return Shapes(tuple(rules), tuple(pictures), count.objects, count.texts, complete)


def _objects(page: Any, count: _Count) -> Iterator[tuple[int, Any, Matrix]]:
    """(type, object, matrix of the forms around it), forms opened."""
    total = min(raw.FPDFPage_CountObjects(page), MAX_OBJECTS)
    for index in range(total):
        yield from _opened(raw.FPDFPage_GetObject(page, index), _UNIT, 0, count)


def _opened(item: Any, matrix: Matrix, depth: int, count: _Count) -> Iterator[tuple[int, Any, Matrix]]:
    if count.objects >= MAX_OBJECTS:
        return
    count.objects += 1
    kind = raw.FPDFPageObj_GetType(item)
    if kind != raw.FPDF_PAGEOBJ_FORM:
        yield kind, item, matrix
        return
    if depth == MAX_DEPTH:
        return
    inner = _times(_matrix(item), matrix)
    for index in range(max(0, raw.FPDFFormObj_CountObjects(item))):
        if count.objects >= MAX_OBJECTS:
            return
        yield from _opened(raw.FPDFFormObj_GetObject(item, index), inner, depth + 1, count)


def _matrix(item: Any) -> Matrix:
    m = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(item, m):
        return _UNIT
    return m.a, m.b, m.c, m.d, m.e, m.f


def _times(first: Matrix, then: Matrix) -> Matrix:
    """The matrix that applies `first` and then `then` (PDF 32000-1, 8.3.4)."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = then
    return (
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + m,
    )


def _apply(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _bounds(item: Any, matrix: Matrix, frame: Frame) -> tuple[float, float, float, float]:
    """(x0, top, x1, bottom) as shown; pdfium gives bounds in the space of the form that holds the object."""
    left, bottom, right, top = (ctypes.c_float(0.0) for _ in range(4))
    raw.FPDFPageObj_GetBounds(item, left, bottom, right, top)
    corners = [_apply(matrix, x.value, y.value) for x in (left, right) for y in (bottom, top)]
    xs, ys = zip(*corners, strict=True)
    return frame.box(min(xs), min(ys), max(xs), max(ys))


def _picture(item: Any, matrix: Matrix, frame: Frame) -> Picture:
    width, height = ctypes.c_uint(0), ctypes.c_uint(0)
    raw.FPDFImageObj_GetImagePixelSize(item, width, height)
    return Picture(*_bounds(item, matrix, frame), width.value * height.value)


def _rules(item: Any, matrix: Matrix, frame: Frame, count: _Count) -> Iterator[Rule]:
    """The horizontal and vertical lines that the path draws, edges of filled boxes included."""
    if not _drawn(item):
        return
    x0, top, x1, bottom = _bounds(item, matrix, frame)
    if x1 - x0 <= THIN or bottom - top <= THIN:
        yield _thin(x0, top, x1, bottom)
        return
    segments = raw.FPDFPath_CountSegments(item)
    if segments <= 0 or count.segments + segments > MAX_SEGMENTS:
        count.segments += max(segments, 0)
        return
    count.segments += segments
    yield from _segments(item, segments, _times(_matrix(item), matrix), frame)


def _thin(x0: float, top: float, x1: float, bottom: float) -> Rule:
    if x1 - x0 >= bottom - top:
        middle = (top + bottom) / 2
        return Rule(x0, middle, x1, middle)
    middle = (x0 + x1) / 2
    return Rule(middle, top, middle, bottom)


def _segments(item: Any, segments: int, matrix: Matrix, frame: Frame) -> Iterator[Rule]:
    x, y = ctypes.c_float(0.0), ctypes.c_float(0.0)
    start = last = (0.0, 0.0)
    for index in range(segments):
        segment = raw.FPDFPath_GetPathSegment(item, index)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        here = _apply(matrix, x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = here
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield from _straight(last, here, frame)
        last = here
        if raw.FPDFPathSegment_GetClose(segment):
            yield from _straight(here, start, frame)
            last = start


def _straight(a: tuple[float, float], b: tuple[float, float], frame: Frame) -> Iterator[Rule]:
    x0, top, x1, bottom = frame.box(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))
    if (x1 - x0 <= 1.0) != (bottom - top <= 1.0):
        yield _thin(x0, top, x1, bottom)


def _drawn(item: Any) -> bool:
    """Whether the path leaves a mark: stroked, or filled with something else than white."""
    fill, stroke = ctypes.c_int(0), ctypes.c_int(0)
    raw.FPDFPath_GetDrawMode(item, fill, stroke)
    if stroke.value:
        return True
    if not fill.value:
        return False
    red, green, blue, alpha = (ctypes.c_uint(0) for _ in range(4))
    if not raw.FPDFPageObj_GetFillColor(item, red, green, blue, alpha):
        return True
    return alpha.value > 0 and min(red.value, green.value, blue.value) < NEAR_WHITE + 8
