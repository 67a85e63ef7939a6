"""The product's own chunks: what strategy E does, with its faults corrected (spec section 2).

    headings of every level   the section path; one without a body is content
    text before the first     kept, as is all text that no block claims
    paragraphs, lists         whole where they fit 512 characters, joined up to that inside a section
    sentences, rows, lines    whole wherever the window allows; cut ever finer where not
    tables                    the header row stands in the header of each chunk
    window                    counted with the encoder's own tokenizer, header included; never exceeded

A paragraph that has to be cut is cut into parts of about equal length, so that no short tail is left.
Chunks don't overlap, and every character but white space and headings lies in one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import regex

from pincite.schemas.records import Chunk, Extraction
from pincite.tasks.chunking.cascade import TARGET, TextUnit, units
from pincite.tasks.chunking.headers import SEPARATOR, Headers, embedded_text, fit_headers
from pincite.tasks.chunking.sections import segments

_LEAD = TARGET // 4  # a shorter chunk (a caption, "for example:") also joins what has to be cut
_GRAPHEME = regex.compile(r"\X")


def structural_chunks(
    extraction: Extraction, title: str, count_tokens: Callable[[Sequence[str]], list[int]], window: int
) -> tuple[Chunk, ...]:
    """Chunks in text order, tokens counted; () for a text of white space alone.

    Only a single code point that is itself over `window` gives a chunk with `over_window`.
    """
    found = list(segments(extraction))
    special = count_tokens([""])[0]

    def cost(texts: Sequence[str]) -> list[int]:
        return [tokens - special for tokens in count_tokens(texts)] if texts else []

    paths = dict.fromkeys(segment.path for segment in found)
    repeats = dict.fromkeys(segment.repeat for segment in found)
    headers = fit_headers(title, paths, repeats, cost, window)
    room = window - special
    parts = units(
        extraction.text, found, lambda segment: room - headers.price(segment.path, segment.repeat), cost
    )
    drafts = list(_packed(parts, headers, room))
    return tuple(_finished(extraction.text, drafts, headers, count_tokens, window))


@dataclass(slots=True)
class _Draft:
    """A chunk that grows."""

    units: list[TextUnit]
    tokens: int  # of the units, without header
    repeat: str

    @property
    def start(self) -> int:
        return self.units[0].start

    @property
    def end(self) -> int:
        return self.units[-1].end


def _packed(parts: Sequence[TextUnit], headers: Headers, room: int) -> Iterator[_Draft]:
    """Units joined in order as long as they belong together and fit."""
    shares = _shares(parts, headers, room)
    draft: _Draft | None = None
    for unit in parts:
        if draft and _belongs(draft, unit, shares) and _fits(draft, unit, headers, room):
            draft.units.append(unit)
            draft.tokens += unit.tokens
            draft.repeat = draft.repeat or unit.segment.repeat
            continue
        if draft:
            yield draft
        draft = _Draft([unit], unit.tokens, unit.segment.repeat)
    if draft:
        yield draft


def _belongs(draft: _Draft, unit: TextUnit, shares: dict[tuple[int, int], int]) -> bool:
    """Whether the unit may stand in one chunk with those before it, if there is room."""
    last = draft.units[-1]
    if last.segment.section != unit.segment.section:
        return False
    length = draft.end - draft.start
    if last.whole == unit.whole:
        share = shares[unit.whole]
        return _part(last, share) == _part(unit, share) or length < share // 2
    return length < _LEAD or not (last.whole in shares or unit.whole in shares)


def _part(unit: TextUnit, share: int) -> int:
    """Which of the equal parts of its whole the middle of the unit lies in."""
    return ((unit.start + unit.end) // 2 - unit.whole[0]) // share


def _fits(draft: _Draft, unit: TextUnit, headers: Headers, room: int) -> bool:
    repeat = unit.segment.repeat
    if draft.repeat and repeat and draft.repeat != repeat:
        return False
    price = headers.price(unit.segment.path, draft.repeat or repeat)
    return unit.end - draft.start <= TARGET and price + draft.tokens + unit.tokens <= room


def _shares(parts: Sequence[TextUnit], headers: Headers, room: int) -> dict[tuple[int, int], int]:
    """For all that had to be cut, the length of its parts in characters: as few as fit, of equal length."""
    tokens: dict[tuple[int, int], int] = {}
    prices: dict[tuple[int, int], int] = {}
    for unit in parts:
        if unit.whole != (unit.start, unit.end):
            tokens[unit.whole] = tokens.get(unit.whole, 0) + unit.tokens
            prices[unit.whole] = headers.price(unit.segment.path, unit.segment.repeat)
    shares = {}
    for (start, end), total in tokens.items():
        count = max(ceil((end - start) / TARGET), ceil(total / max(1, room - prices[start, end])))
        shares[start, end] = ceil((end - start) / count)
    return shares


def _finished(
    text: str,
    drafts: Sequence[_Draft],
    headers: Headers,
    count_tokens: Callable[[Sequence[str]], list[int]],
    window: int,
) -> Iterator[Chunk]:
    """The chunks of the drafts, numbered. Counts of parts need not add up (a word cut in two may take more
    word-pieces than its halves), so the text itself is counted, and one over the window is halved."""
    found: list[Chunk] = []
    waiting = list(drafts)
    while waiting:
        chunks = [_chunk(text, draft, headers) for draft in waiting]
        counts = count_tokens([chunk.text for chunk in chunks])
        again: list[_Draft] = []
        for draft, chunk, tokens in zip(waiting, chunks, counts, strict=True):
            halves = _halves(text, draft) if tokens > window else []
            if halves:
                again += halves
            else:
                found.append(replace(chunk, tokens=tokens, over_window=tokens > window))
        waiting = again
    found.sort(key=lambda chunk: chunk.start)
    return (replace(chunk, ordinal=ordinal) for ordinal, chunk in enumerate(found))


def _chunk(text: str, draft: _Draft, headers: Headers) -> Chunk:
    path = draft.units[0].segment.path
    header = headers.text(path, draft.repeat)
    content = text[draft.start : draft.end]
    return Chunk(
        ordinal=0,
        text=embedded_text(header, content),
        content=content,
        header=header,
        section=SEPARATOR.join(path),
        start=draft.start,
        end=draft.end,
        tokens=0,
    )


def _halves(text: str, draft: _Draft) -> list[_Draft]:
    """Two drafts for one: cut between units, else graphemes, else code points; [] for a single code point."""
    if len(draft.units) > 1:
        middle = len(draft.units) // 2
        parts = [draft.units[:middle], draft.units[middle:]]
        return [replace(draft, units=part) for part in parts]
    unit = draft.units[0]
    starts = [match.start() for match in _GRAPHEME.finditer(text, unit.start, unit.end)]
    if len(starts) == 1:
        starts = list(range(unit.start, unit.end))
    if len(starts) == 1:
        return []
    middle = starts[len(starts) // 2]
    spans = [_trimmed(text, unit.start, middle), _trimmed(text, middle, unit.end)]
    return [
        replace(draft, units=[replace(unit, start=start, end=end)]) for start, end in spans if start < end
    ]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    raw = text[start:end]
    start += len(raw) - len(raw.lstrip())
    return start, start + len(raw.strip())
