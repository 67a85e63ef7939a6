"""The chunks of one version as an evaluation looks at them: which of them answer a question, and what they cost.

They go by their row in the corpus that ranks them (`pincite.retrieval.loaded_version`).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from pincite.encoders.wordpieces import WordPieces
from pincite.evaluation.occurrences import Needles
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.ranking import Ranked
from pincite.retrieval.windows import MOST, Windows
from pincite.schemas.evaluation import Cost, Judge, Question
from pincite.storage.snapshots.snapshot import Snapshot

NEEDLE = "needle"
Truth = tuple[str, ...]

_COLUMNS = (
    "chunk_id",
    "document_id",
    "header",
    "text",
    "content",
    "start",
    "end",
    "locator",
    "page_first",
    "page_last",
    "tokens",
)
_BETWEEN = "\0"  # in no canonical text, so in no needle that stands in one


@dataclass(frozen=True, slots=True)
class EvaluatedChunk:
    """One live chunk; `header` and `overlap` are what stands before the content in the embedded text."""

    chunk_id: str
    document: str  # path
    text: str
    content: str
    header: str
    overlap: str
    start: int
    end: int
    locator: str
    pages: range  # 1-based; empty where the document has none
    tokens: int  # word-pieces, special tokens included


Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Ground:
    """One answerable question against one index."""

    question: Question
    needle: int  # number of its ground truth: phrasings of one needle share it
    evidence: frozenset[int]  # rows that answer it
    destroyed: bool  # it has a needle that no content holds whole
    destroyed_in_text: bool  # nor any embedded text
    grown: frozenset[int] = frozenset()  # rows whose windows hold a needle
    places: Mapping[int, tuple[Range, ...]] = field(default_factory=dict)  # of them: where the needles stand

    def rows(self, windows: bool) -> frozenset[int]:
        """The rows that answer it, as chunks or as windows."""
        return self.evidence | self.grown if windows else self.evidence

    def is_destroyed(self, windows: bool) -> bool:
        return self.destroyed and not (windows and self.grown)

    def right(self, kept: Sequence[Ranked]) -> frozenset[int]:
        """The rows of a list that answer it as they are shown: a window that was cut back may no longer do so."""
        return frozenset(one.row for one in kept if self._shows(one))

    def _shows(self, one: Ranked) -> bool:
        if one.window is None or one.row not in self.places:
            return one.row in self.evidence
        return any(one.window.start <= start and end <= one.window.end for start, end in self.places[one.row])


class Passages:
    """The live chunks of a snapshot by their row in the corpus."""

    def __init__(self, snapshot: Snapshot, corpus: Corpus, windows: Windows | None = None) -> None:
        self._snapshot = snapshot
        self._windows = windows
        self.window = snapshot.space.window
        paths = {document.document_id: document.path for document in snapshot.documents()}
        rows = np.flatnonzero(corpus.live)
        in_order = rows[np.argsort(corpus.order(rows))].tolist()  # by chunk id, as the table is
        table = snapshot.chunks(_COLUMNS).to_pylist()
        self.chunks: Mapping[int, EvaluatedChunk] = {
            row: _chunk(columns, paths[columns["document_id"]])
            for row, columns in zip(in_order, table, strict=True)
        }

    def grounds(self, questions: Sequence[Question], judge: Judge) -> tuple[list[Ground], list[str]]:
        """(the answerable questions with their evidence, ids of those that can't be judged by these chunks).

        A question goes by its needle, else by its chunk ids, its documents or its pages. One that names chunks of
        another chunker or revision can't be judged.
        """
        numbers: dict[Truth, int] = {}
        places = self._places(questions) if self._windows else {}
        grounds: list[Ground] = []
        unjudged: list[str] = []
        for question in questions:
            if not question.answerable:
                continue
            number = numbers.setdefault(ground_truth(question), len(numbers))
            if question.needle:
                found = self._by_needle(question, number, judge)
                grounds.append(self._in_windows(found, places) if self._windows else found)
                continue
            named = self._named(question)
            if named is None:
                unjudged.append(question.id)
            else:
                grounds.append(Ground(question, number, named, False, False))
        return grounds, unjudged

    def _by_needle(self, question: Question, number: int, judge: Judge) -> Ground:
        quoted = self._with_copies(self._holding(question, "content"))
        embedded = quoted if quoted and judge == "content" else self._holding(question, "text")
        return Ground(question, number, quoted if judge == "content" else embedded, not quoted, not embedded)

    def _places(self, questions: Sequence[Question]) -> dict[str, list[tuple[str, int]]]:
        """(document, start) of every needle, wherever it stands."""
        needles = Needles(needle for one in questions for needle in (one.needle, *one.needles) if needle)
        paths = {document.document_id: document.path for document in self._snapshot.documents()}
        found: dict[str, list[tuple[str, int]]] = {}
        for segment in self._snapshot.of_kind("texts"):
            for row in self._snapshot.rows(segment, ("document_id", "text")).to_pylist():
                for needle, start in needles.places(row["text"]):
                    found.setdefault(needle, []).append((paths[row["document_id"]], start))
        return found

    def _in_windows(self, ground: Ground, places: Mapping[str, Sequence[tuple[str, int]]]) -> Ground:
        """The ground with the rows whose windows hold a needle, and where it stands in each."""
        question, windows = ground.question, self._windows
        assert windows is not None
        within = set(question.documents or filter(None, [question.document]))
        found: dict[int, list[Range]] = {}
        for needle in filter(None, (question.needle, *question.needles)):
            for path, start in places.get(needle, ()):
                if within and path not in within and not self._is_copied(ground, path):
                    continue
                end = start + len(needle)
                for row in self.parts(path, start - MOST, end + MOST):
                    window = windows.of(row)
                    if window.start <= start and end <= window.end:
                        found.setdefault(row, []).append((start, end))
        return replace(
            ground, grown=frozenset(found), places={row: tuple(ranges) for row, ranges in found.items()}
        )

    def _is_copied(self, ground: Ground, path: str) -> bool:
        """Whether a document has a copy of a passage that answers the question."""
        return any(self.chunks[row].document == path for row in ground.evidence)

    def _with_copies(self, rows: frozenset[int]) -> frozenset[int]:
        """These rows and those with the same content: a search shows one hit for all of them."""
        return frozenset(row for one in rows for row in self._rows_by_content[self.chunks[one].content])

    @cached_property
    def _rows_by_content(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, chunk in self.chunks.items():
            rows.setdefault(chunk.content, []).append(row)
        return rows

    def _holding(self, question: Question, where: Judge) -> frozenset[int]:
        joined = self._joined_contents if where == "content" else self._joined_texts
        further = frozenset(row for needle in question.needles for row in joined.rows_with(needle))
        if not question.document and not question.documents:
            return further | frozenset(joined.rows_with(question.needle))
        return further | frozenset(
            row
            for path in (question.documents or (question.document,))
            for row in self._rows_of.get(path, ())
            if question.needle in getattr(self.chunks[row], where)
        )

    def _named(self, question: Question) -> frozenset[int] | None:
        """Rows of what the question names; None when these chunks have nothing of it."""
        if question.chunk_ids:
            return self._by_chunk_ids(question)
        return self._by_documents(question) if question.documents else self._by_pages(question)

    def _by_documents(self, question: Question) -> frozenset[int] | None:
        rows = frozenset(row for path in question.documents for row in self._rows_of.get(path, ()))
        return rows or None

    def _by_chunk_ids(self, question: Question) -> frozenset[int] | None:
        rows = [self.row_of.get(one) for one in question.chunk_ids]
        known = frozenset(row for row in rows if row is not None)
        return known or None

    def _by_pages(self, question: Question) -> frozenset[int] | None:
        rows = self._rows_of.get(question.document)
        if rows is None:
            return None
        wanted = set(question.pages)
        return frozenset(row for row in rows if not wanted.isdisjoint(self.chunks[row].pages))

    def parts(self, document: str, start: int, end: int) -> list[int]:
        """Rows of a document that share a character with `[start, end)` of its text, in text order."""
        rows = self._rows_of.get(document, ())
        return [row for row in rows if self.chunks[row].start < end and start < self.chunks[row].end]

    @cached_property
    def _rows_of(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, chunk in self.chunks.items():
            rows.setdefault(chunk.document, []).append(row)
        return rows

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each chunk id."""
        return {chunk.chunk_id: row for row, chunk in self.chunks.items()}

    @cached_property
    def _joined_contents(self) -> "_Joined":
        return _Joined({row: chunk.content for row, chunk in self.chunks.items()})

    @cached_property
    def _joined_texts(self) -> "_Joined":
        return _Joined({row: chunk.text for row, chunk in self.chunks.items()})

    def cost(self, wordpieces: WordPieces) -> Cost:
        """Counted by the model's own tokenizer."""
        special = wordpieces.count("a") - 1  # special tokens and prompt; "a" is one piece to every model
        chunks = self.chunks.values()
        tokens = sum(chunk.tokens - special for chunk in chunks)
        header_tokens = _pieces([chunk.header for chunk in chunks], wordpieces, special)
        return Cost(
            chunks=len(chunks),
            tokens=tokens,
            header_tokens=header_tokens,
            overlap_tokens=_pieces([chunk.overlap for chunk in chunks], wordpieces, special),
            header_share=header_tokens / tokens if tokens else None,
            over_window=sum(chunk.tokens > self.window for chunk in chunks),
            cut_tokens=sum(max(0, chunk.tokens - self.window) for chunk in chunks),
        )


def _chunk(columns: Mapping[str, Any], document: str) -> EvaluatedChunk:
    before = columns["text"][: len(columns["text"]) - len(columns["content"])]
    header = f"[{columns['header']}]\n"
    first, last = columns["page_first"], columns["page_last"]
    return EvaluatedChunk(
        columns["chunk_id"],
        document,
        columns["text"],
        columns["content"],
        header=header if before.startswith(header) else "",
        overlap=before.removeprefix(header),
        start=columns["start"],
        end=columns["end"],
        locator=columns["locator"],
        pages=range(0) if first is None else range(first, last + 1),
        tokens=columns["tokens"],
    )


def ground_truth(question: Question) -> Truth:
    """What two phrasings of one needle have in common: by what they are judged, and its names."""
    if question.needle:
        # it stands once: whether the set names its document changes nothing
        return (NEEDLE, question.needle, *question.needles)
    if question.chunk_ids:
        return ("chunks", *sorted(question.chunk_ids))
    if question.documents:
        return ("documents", *sorted(question.documents))
    return ("pages", question.document, *map(str, sorted(question.pages)))


def _pieces(texts: Sequence[str], wordpieces: WordPieces, special: int) -> int:
    """Word-pieces of all texts, each distinct one cut once."""
    times = Counter(text for text in texts if text)
    counts = wordpieces.count_many(list(times))
    return sum((count - special) * n for count, n in zip(counts, times.values(), strict=True))


class _Joined:
    """Many strings as one, in which a needle is found at once."""

    def __init__(self, strings: Mapping[int, str]) -> None:
        self._rows = list(strings)
        self._text = _BETWEEN.join(strings.values())
        self._starts = [0, *accumulate(len(one) + len(_BETWEEN) for one in strings.values())]

    def rows_with(self, needle: str) -> Iterator[int]:
        at = self._text.find(needle)
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            yield self._rows[place]
            at = self._text.find(needle, self._starts[place + 1])
