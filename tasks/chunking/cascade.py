"""Stretches of text into units that fit: whole where possible, else cut at the next finer boundary."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import regex

from pincite.encoders.sentences import sentence_cuts
from pincite.schemas.records import BlockKind
from pincite.tasks.chunking.sections import SectionPart

TARGET = 512  # characters of a chunk, as in strategy E
_WHOLE = 2 * TARGET  # characters up to which a sentence or a line of code stays whole if the window allows
_ROW = 8 * TARGET  # a row of a table is cut only by the window; this bounds rows that word-pieces don't see
_PIECE = 32  # graphemes of a word too long to keep

Cuts = Callable[[str, int, int], Iterator[int]]
"""(text, start, end) to positions at which the stretch may be parted."""


def _after(pattern: str) -> Cuts:
    compiled = regex.compile(pattern)
    return lambda text, start, end: (match.end() for match in compiled.finditer(text, start, end))


def _before(pattern: str) -> Cuts:
    compiled = regex.compile(pattern, regex.MULTILINE)
    return lambda text, start, end: (match.start() for match in compiled.finditer(text, start, end))


def _code_points(text: str, start: int, end: int) -> Iterator[int]:
    return iter(range(start, end))


@dataclass(frozen=True, slots=True)
class Level:
    """One way to part a stretch, and how long its parts may be."""

    cuts: Cuts
    limit: int  # characters; a longer part goes to the next level, as does one that is over the budget
    independent: bool = False  # the parts are wholes of their own, such as paragraphs


_BREAK = r"(?:\r\n|[\n\v\f\r\x85\u2028\u2029])"
_BLANK_LINE = _after(rf"{_BREAK}(?:[^\S\n\v\f\r\x85\u2028\u2029]*+{_BREAK})++|\u2029")
_LINE = _after(rf"{_BREAK}++")
_ITEM = _before(r"^[^\S\n]*+(?:[-*+•‣◦▪·–—]|\d{1,4}[.)]|\p{L}[.)])(?=\s)")
_FINER = (
    Level(_after(r"[,;:–—]\s++|[，、；：،؛]\s*+"), _WHOLE),
    Level(_after(r"\s++"), _WHOLE),
    Level(_after(rf"\X{{1,{_PIECE}}}+"), _WHOLE),
    Level(_after(r"\X"), _WHOLE),
    Level(_code_points, _WHOLE),
)
_SENTENCES = (Level(sentence_cuts, _WHOLE), Level(_LINE, _WHOLE), *_FINER)
_PROSE = (Level(_BLANK_LINE, TARGET, independent=True), *_SENTENCES)
_LEVELS: dict[BlockKind, tuple[Level, ...]] = {
    "paragraph": _PROSE,
    "heading": _PROSE,
    "list": (Level(_ITEM, TARGET, independent=True), *_SENTENCES),
    "table": (Level(_LINE, _ROW), Level(_after(r"\|\s*+|\t++"), _WHOLE), *_FINER),
    "code": (Level(_BLANK_LINE, TARGET, independent=True), Level(_LINE, _WHOLE), *_FINER),
}


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A stretch that is never cut again, without white space at its ends."""

    segment: SectionPart
    start: int
    end: int
    tokens: int  # word-pieces without special tokens
    whole: tuple[int, int]  # of which it is a part: the paragraph, table or piece of code; itself when uncut


@dataclass(frozen=True, slots=True)
class _Stretch:
    segment: SectionPart
    start: int
    end: int
    limit: int
    whole: tuple[int, int] | None = None


def units(
    text: str,
    stretches: Sequence[SectionPart],
    budget: Callable[[SectionPart], int],
    cost: Callable[[Sequence[str]], list[int]],
) -> list[TextUnit]:
    """Units in text order that hold every character but white space, each within the budget of its segment.

    `cost` is called once a level on all that is short enough, so its work is linear in the text. Only a
    single code point can be left over the budget.
    """
    waiting = [_Stretch(segment, segment.start, segment.end, TARGET) for segment in stretches]
    found: list[TextUnit] = []
    depth = 0
    while waiting:
        waiting = [_trimmed(text, stretch) for stretch in waiting]
        waiting = [stretch for stretch in waiting if stretch.start < stretch.end]
        short = [stretch for stretch in waiting if stretch.end - stretch.start <= stretch.limit]
        prices = cost([text[stretch.start : stretch.end] for stretch in short])
        fits: set[_Stretch] = set()
        for stretch, tokens in zip(short, prices, strict=True):
            if tokens <= budget(stretch.segment) or depth >= len(_LEVELS[stretch.segment.kind]):
                fits.add(stretch)
                whole = stretch.whole or (stretch.start, stretch.end)
                found.append(TextUnit(stretch.segment, stretch.start, stretch.end, tokens, whole))
        waiting = [
            part for stretch in waiting if stretch not in fits for part in _parts(text, stretch, depth)
        ]
        depth += 1
    return sorted(found, key=lambda unit: unit.start)


def _parts(text: str, stretch: _Stretch, depth: int) -> Iterator[_Stretch]:
    level = _LEVELS[stretch.segment.kind][depth]
    whole = None if level.independent else stretch.whole or (stretch.start, stretch.end)
    start = stretch.start
    for cut in [*level.cuts(text, stretch.start, stretch.end), stretch.end]:
        if cut > start:
            yield _Stretch(stretch.segment, start, cut, level.limit, whole)
            start = cut


def _trimmed(text: str, stretch: _Stretch) -> _Stretch:
    raw = text[stretch.start : stretch.end]
    start = stretch.start + len(raw) - len(raw.lstrip())
    return _Stretch(stretch.segment, start, start + len(raw.strip()), stretch.limit, stretch.whole)
