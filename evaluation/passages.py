"""The chunks of one version as an evaluation looks at them: which of them answer a question, and what they cost.

They go by their row in the corpus that ranks them (`pincite.retrieval.loaded_version`).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from pincite.encoders.wordpieces import WordPieces
from pincite.retrieval.loaded_version import Corpus
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


@dataclass(frozen=True, slots=True)
class Ground:
    """One answerable question against one index."""

    question: Question
    needle: int  # number of its ground truth: phrasings of one needle share it
    evidence: frozenset[int]  # rows that answer it
    destroyed: bool  # it has a needle that no content holds whole
    destroyed_in_text: bool  # nor any embedded text


class Passages:
    """The live chunks of a snapshot by their row in the corpus."""

    def __init__(self, snapshot: Snapshot, corpus: Corpus) -> None:
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
        grounds: list[Ground] = []
        unjudged: list[str] = []
        for question in questions:
            if not question.answerable:
                continue
            number = numbers.setdefault(ground_truth(question), len(numbers))
            if question.needle:
                grounds.append(self._by_needle(question, number, judge))
                continue
            named = self._named(question)
            if named is None:
                unjudged.append(question.id)
            else:
                grounds.append(Ground(question, number, named, False, False))
        return grounds, unjudged

    def _by_needle(self, question: Question, number: int, judge: Judge) -> Ground:
        quoted = self._holding(question, "content")
        embedded = quoted if quoted and judge == "content" else self._holding(question, "text")
        return Ground(question, number, quoted if judge == "content" else embedded, not quoted, not embedded)

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
