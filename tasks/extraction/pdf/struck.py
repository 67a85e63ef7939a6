"""Struck words of a PDF: a line drawn through them, or a StrikeOut annotation (ISO 32000-1, 12.5.6.10)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pypdfium2 as pdfium
from pypdfium2 import raw

from pincite.tasks.extraction.base.marks import struck
from pincite.tasks.extraction.pages.layout import WordBox, lines_of
from pincite.tasks.extraction.pages.table import Rule
from pincite.tasks.extraction.pdf.words import Box, Frame

THROUGH = (
    0.3,
    0.75,
)  # of the height of a word, from its top: a line there goes through it, lower it underlines
THICK = 0.2  # of the height: thicker is a bar
COVERED = 0.75  # of a word's width
BEYOND = 0.6  # of the height of the words: a longer line is a rule of the page
MOST_MARKS = 2_000  # annotations of one page


def strike_marks(page: pdfium.PdfPage, frame: Frame) -> list[Box]:
    """The boxes of StrikeOut annotations in `frame`."""
    boxes = []
    for index in range(min(max(0, raw.FPDFPage_GetAnnotCount(page)), MOST_MARKS)):
        annotation = raw.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_STRIKEOUT:
                boxes += list(_quads(annotation, frame))
        finally:
            raw.FPDFPage_CloseAnnot(annotation)
    return boxes


def _quads(annotation: raw.FPDF_ANNOTATION, frame: Frame) -> Iterator[Box]:
    points = raw.FS_QUADPOINTSF()
    for index in range(raw.FPDFAnnot_CountAttachmentPoints(annotation)):
        if raw.FPDFAnnot_GetAttachmentPoints(annotation, index, points):
            across = (points.x1, points.x2, points.x3, points.x4)
            up = (points.y1, points.y2, points.y3, points.y4)
            yield frame.box(min(across), min(up), max(across), max(up))


def with_struck(
    words: Sequence[WordBox], rules: Sequence[Rule], marks: Sequence[Box]
) -> tuple[list[WordBox], list[Rule], list[str]]:
    """(the words with marks round those that are struck, the rules that strike none, what was struck)."""
    flat = [rule for rule in rules if rule.horizontal]
    if not words or not (flat or marks):
        return list(words), list(rules), []
    gone: dict[int, str] = {}
    used: set[int] = set()
    quoted: list[str] = []
    for line in lines_of(list(words)):
        for run in _runs(line, flat, marks, used):
            quoted.append(" ".join(word.text for word in run))
            gone |= {id(word): text for word, text in zip(run, _marked(run), strict=True)}
    kept = [replace(word, text=gone[id(word)]) if id(word) in gone else word for word in words]
    return kept, [rule for rule in rules if id(rule) not in used], quoted


def _runs(
    line: Sequence[WordBox], rules: Sequence[Rule], marks: Sequence[Box], used: set[int]
) -> Iterator[list[WordBox]]:
    """Neighbours of a line that one stroke goes through."""
    for rule in rules:
        through = [word for word in line if _goes_through(rule, word)]
        if _says_something(through) and _is_as_long(rule, through):
            used.add(id(rule))
            yield through
    for left, top, right, bottom in marks:
        inside = [
            word
            for word in line
            if top <= (word.top + word.bottom) / 2 <= bottom and _share(word, left, right) >= COVERED
        ]
        if inside:
            yield inside


def _says_something(words: Sequence[WordBox]) -> bool:
    """A line through a single sign is a part of a formula, or of the sign."""
    return sum(character.isalnum() for word in words for character in word.text) > 1


def _goes_through(rule: Rule, word: WordBox) -> bool:
    height = word.bottom - word.top
    at = ((rule.top + rule.bottom) / 2 - word.top) / max(height, 0.1)
    return (
        THROUGH[0] <= at <= THROUGH[1]
        and rule.bottom - rule.top <= THICK * height
        and _share(word, rule.x0, rule.x1) >= COVERED
    )


def _is_as_long(rule: Rule, words: Sequence[WordBox]) -> bool:
    beyond = BEYOND * max(word.bottom - word.top for word in words)
    return (
        rule.x0 >= min(word.x0 for word in words) - beyond
        and rule.x1 <= max(word.x1 for word in words) + beyond
    )


def _share(word: WordBox, left: float, right: float) -> float:
    return (min(word.x1, right) - max(word.x0, left)) / max(word.x1 - word.x0, 0.1)


def _marked(run: Sequence[WordBox]) -> list[str]:
    """The texts of neighbours with marks round them as one."""
    return struck(" ".join(word.text for word in run)).split(" ") if len(run) > 1 else [struck(run[0].text)]
