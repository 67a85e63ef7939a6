"""The reference strategies A to F of spec section 2, reproducible to the character.

The rule of E is `chunkDocument` of the founding documents, ported with the meaning that its regular
expressions have in JavaScript: `.`, `^` and `$` stop at LF, CR, U+2028 and U+2029; `\\s` and `trim` take the
white space of ECMA-262 (U+FEFF in, U+0085 and U+001C to U+001F out). Offsets and the budget count code
points, where JavaScript counts UTF-16 units: the cuts differ only on text with characters beyond U+FFFF.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from pincite.schemas.records import Chunk

TARGET = 512  # characters
OVERLAP = 64  # characters

# WhiteSpace and LineTerminator of ECMA-262, sections 12.2 and 12.3.
JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_LINE_END = "\n\r\u2028\u2029"
_HEADING = regex.compile(rf"(?:^|(?<=[{_LINE_END}]))## ([^{_LINE_END}]++)")
_HEADING_LINE = regex.compile(rf"## [^{_LINE_END}]++\n")
_PARAGRAPH = regex.compile(r"[^\n](?:[^\n]++|\n(?!\n))*+")
_SENTENCE = regex.compile(rf"[^.!?]*+[.!?]*+[{JS_SPACE}]*+")


@dataclass(frozen=True, slots=True)
class Cut:
    """A stretch of the document and the header of its section."""

    start: int
    end: int
    header: str = ""
    section: str = ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Which of the three ingredients a strategy has."""

    boundaries: bool
    header: bool
    overlap: bool


RECIPES = {
    "A": Recipe(boundaries=False, header=False, overlap=False),
    "B": Recipe(boundaries=False, header=False, overlap=True),
    "C": Recipe(boundaries=True, header=False, overlap=False),
    "D": Recipe(boundaries=True, header=False, overlap=True),
    "E": Recipe(boundaries=True, header=True, overlap=False),
    "F": Recipe(boundaries=True, header=True, overlap=True),
}


def reference_chunks(document: str, title: str, recipe: Recipe) -> list[Chunk]:
    """Chunks in text order, `tokens` 0: they are counted by the caller.

    A and B cut every 512 characters and trim nothing; a stretch of white space alone makes no chunk.
    Overlap is the last 64 characters of the chunk before, joined to the next by a line feed where the two
    don't touch; it enters `text` only.
    """
    cuts = boundary_cuts(document, title) if recipe.boundaries else blind_cuts(document)
    chunks: list[Chunk] = []
    for cut in cuts:
        content = document[cut.start : cut.end]
        header = cut.header if recipe.header else ""
        lead = f"[{header}]\n" if recipe.header else ""
        if recipe.overlap and chunks:
            lead += chunks[-1].content[-OVERLAP:] + ("" if chunks[-1].end == cut.start else "\n")
        chunks.append(
            Chunk(len(chunks), lead + content, content, header, cut.section, cut.start, cut.end, tokens=0)
        )
    return chunks


def blind_cuts(document: str, target: int = TARGET) -> Iterator[Cut]:
    for start in range(0, len(document), target):
        if document[start : start + target].strip():
            yield Cut(start, min(start + target, len(document)))


def boundary_cuts(document: str, title: str, target: int = TARGET) -> Iterator[Cut]:
    """The cuts of `chunkDocument`: text before the first `## ` is dropped once there is one."""
    heads = [(match.start(), match[1].strip(JS_SPACE)) for match in _HEADING.finditer(document)] or [(0, "")]
    ends = [start for start, _ in heads[1:]] + [len(document)]
    for (start, section), end in zip(heads, ends, strict=True):
        header = f"{title} > {section}" if section else title
        heading_line = _HEADING_LINE.match(document, start, end)
        for low, high in _section_spans(document, heading_line.end() if heading_line else start, end, target):
            raw = document[low:high]
            content = raw.strip(JS_SPACE)
            if content:
                lead = len(raw) - len(raw.lstrip(JS_SPACE))
                yield Cut(low + lead, low + lead + len(content), header, section)


def _section_spans(document: str, start: int, end: int, target: int) -> Iterator[tuple[int, int]]:
    """Paragraphs joined up to `target`; one over it is cut at sentence ends and shares no chunk."""
    opened: tuple[int, int] | None = None
    for match in _PARAGRAPH.finditer(document, start, end):
        low, high = match.span()
        if opened and (high - low > target or high - opened[0] > target):
            yield opened
            opened = None
        if high - low > target:
            yield from _sentence_spans(document, low, high, target)
        else:
            opened = (opened[0] if opened else low, high)
    if opened:
        yield opened


def _sentence_spans(document: str, start: int, end: int, target: int) -> Iterator[tuple[int, int]]:
    opened: tuple[int, int] | None = None
    for match in _SENTENCE.finditer(document, start, end):
        low, high = match.span()
        if low == high:
            continue
        if opened and high - opened[0] > target:
            yield opened
            opened = None
        opened = (opened[0] if opened else low, high)
    if opened:
        yield opened
