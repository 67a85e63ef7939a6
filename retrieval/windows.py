"""Windows: a chunk grown by whole sentences of its neighbours. They are ranked anew, shown and cited.

A chunk that ends between a question's two halves is found by one of them; its window has both.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import regex

from pincite.encoders.sentences import sentence_cuts
from pincite.encoders.terms import passage_terms
from pincite.retrieval.bm25 import Grown
from pincite.retrieval.loaded_version import ChunkText, Corpus
from pincite.retrieval.tie_order import Floats, Mask, Rows

LOOKED_AT = 50
"""How many chunks of a ranking are grown: fixed, so that the first k do not depend on k."""

MOST = 1_000  # characters of a window, unless its chunk has more
_MOST_GAP = 8  # characters between two chunks: white space. Over more, something was left out there
_MEASURED = 64  # windows whose mean length stands for that of all: within some 3 %
_LEAST_LEFT = 20  # characters of a chunk that no better window shows; fewer are no passage
_MOST_KEPT = 2_000  # windows in memory: some 10 MB
_BY_LINES = regex.compile(
    r"^(?:\||```)", regex.MULTILINE
)  # tables and code: a full stop in them ends nothing
_LINE_END = regex.compile(r"\n+")


@dataclass(frozen=True, slots=True)
class Window:
    """`[start, end)` of the stored text, around the chunk `[chunk_start, chunk_end)`.

    `rows`: the first and the last chunk that it takes text from. `terms`: how often each term stands in what it has
    beyond its chunk, which has `length` terms more.
    """

    start: int
    end: int
    chunk_start: int
    chunk_end: int
    rows: tuple[int, int]
    terms: Mapping[str, int]
    length: int


class Windows:
    """The windows of one version. A window depends on its chunk alone, so those that were grown are kept."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._kept: dict[int, Window] = {}

    def of(self, row: int, among: Mask | None = None) -> Window:
        """The window of a row; with `among` only chunks that pass it lend their sentences."""
        if among is not None:
            return _grown(self._corpus, row, among)
        known = self._kept.get(row)
        if known is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            known = self._kept[row] = _grown(self._corpus, row, None)
        return known

    def alone(self, row: int) -> Window:
        """A row as it is, not grown."""
        chunk = self._corpus.chunk_text(row)
        return Window(chunk.start, chunk.end, chunk.start, chunk.end, (row, row), {}, 0)

    def text_of(self, window: Window) -> str:
        """What a window shows. The white space between two chunks is not known here."""
        first, last = window.rows
        return _within(self._corpus, range(first, last + 1), window.start, window.end)

    def terms_of(self, rows: Rows, grown: Sequence[Window]) -> list[Grown]:
        """The windows of these rows as BM25 counts them: the mean window as long as the mean chunk."""
        scaled = self._lengths(rows, grown) * self._scale
        return list(zip(scaled.tolist(), (one.terms for one in grown), strict=True))

    def _lengths(self, rows: Rows, grown: Sequence[Window]) -> Floats:
        lengths: Floats = self._corpus.lengths[rows] + np.array([one.length for one in grown])
        return lengths

    @cached_property
    def _scale(self) -> float:
        """The mean length of chunks to that of windows, which is taken of some that a hash chooses."""
        rows = self._corpus.sampled_rows(_MEASURED)
        mean = self._lengths(rows, [self.of(row) for row in rows.tolist()]).mean() if len(rows) else 0.0
        return float(self._corpus.statistics.avgdl / mean) if mean else 1.0

    def order(self, rows: Rows) -> Rows:
        return self._corpus.order(rows)


def _grown(corpus: Corpus, row: int, among: Mask | None) -> Window:
    """Sentence by sentence, in turn behind and before the chunk, as long as the next one has room."""
    chunk = corpus.chunk_text(row)
    first, last = corpus.run_of(row)
    start, end, rows = chunk.start, chunk.end, {row}
    room = MOST - (end - start)
    sides = deque(
        [
            _behind(corpus, chunk, range(row + 1, last), room),
            _before(corpus, chunk, range(row - 1, first - 1, -1), room),
        ]
    )
    while sides:
        side = sides.popleft()
        edge, lent_by = next(side, (None, row))
        if edge is None or max(end, edge) - min(start, edge) > MOST or not (among is None or among[lent_by]):
            continue
        start, end = min(start, edge), max(end, edge)
        rows.add(lent_by)
        sides.append(side)
    terms = Counter(passage_terms(_within(corpus, sorted(rows - {row}), start, end)))
    return Window(start, end, chunk.start, chunk.end, (min(rows), max(rows)), terms, terms.total())


def _within(corpus: Corpus, rows: Iterable[int], start: int, end: int) -> str:
    """What chunks have in `[start, end)`."""
    parts = map(corpus.chunk_text, rows)
    return "\n\n".join(one.content[max(0, start - one.start) : max(0, end - one.start)] for one in parts)


Edge = tuple[int, int]
"""Where a window may end, and the chunk that it has taken text from up to there."""


def _behind(corpus: Corpus, chunk: ChunkText, rows: Iterable[int], room: int) -> Iterator[Edge]:
    """Where the sentences behind a chunk end, up to where something was left out."""
    end = chunk.end
    for row in rows:
        other = corpus.chunk_text(row)
        if not 0 <= other.start - end <= _MOST_GAP:
            return
        yield from ((edge, row) for edge in _ends(other, room))
        end = other.end


def _before(corpus: Corpus, chunk: ChunkText, rows: Iterable[int], room: int) -> Iterator[Edge]:
    """Where the sentences before a chunk start, the last one first, likewise."""
    start = chunk.start
    for row in rows:
        other = corpus.chunk_text(row)
        if not 0 <= start - other.end <= _MOST_GAP:
            return
        yield from ((edge, row) for edge in _starts(other, room))
        start = other.start


def _ends(chunk: ChunkText, room: int) -> Iterator[int]:
    """Where sentences of a chunk end that has only so much room, then where it ends itself."""
    content = chunk.content
    for cut in _cuts(content, 0, min(len(content), room + 1)):
        end = len(content[:cut].rstrip())
        if 0 < end < len(content):
            yield chunk.start + end
    yield chunk.end


def _starts(chunk: ChunkText, room: int) -> Iterator[int]:
    """Where sentences of a chunk start, the last one first, then where it starts itself."""
    content = chunk.content
    cuts = [
        cut for cut in _cuts(content, max(0, len(content) - room - 1), len(content)) if cut < len(content)
    ]
    yield from (chunk.start + cut for cut in reversed(cuts) if cut > 0)
    yield chunk.start


def _cuts(content: str, start: int, end: int) -> Iterator[int]:
    if _BY_LINES.search(content):
        return (match.end() for match in _LINE_END.finditer(content, start, end))
    return sentence_cuts(content, start, end)


def apart(window: Window, shown: Sequence[tuple[int, int]]) -> Window | None:
    """What a window has that better ones of its document do not show; None when too little of its chunk is left.

    `shown` are the ranges that they show; no two overlap.
    """
    pieces = [(window.chunk_start, window.chunk_end)]
    for start, end in shown:
        pieces = [
            piece
            for left, right in pieces
            for piece in ((left, min(right, start)), (max(left, end), right))
            if piece[0] < piece[1]
        ]
    left, right = max(pieces, key=lambda piece: piece[1] - piece[0], default=(0, 0))
    if right - left < min(_LEAST_LEFT, window.chunk_end - window.chunk_start):
        return None
    begin = max([window.start, *(end for _, end in shown if end <= left)])
    stop = min([window.end, *(start for start, _ in shown if start >= right)])
    return replace(window, start=begin, end=stop)
