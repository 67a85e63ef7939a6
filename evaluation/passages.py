"""The chunks of one version as an evaluation looks at them: which of them answer a question, and what they cost.

A row is a chunk's place in chunk-id order, as in `retrieval.corpus`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from encoders.wordpieces import WordPieces
from schemas.evaluation import Cost, Judge, Question
from storage.snapshot import Snapshot

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
NEEDLE = "needle"
Truth = tuple[str, ...]

_BETWEEN = "\0"  # in no canonical text, so in no needle that stands in one


@dataclass(frozen=True, slots=True)
class Ground:
    """One answerable question against one index."""

    question: Question
    needle: int  # number of its ground truth: phrasings of one needle share it
    evidence: frozenset[int]  # rows that answer it
    destroyed: bool  # it has a needle that no content holds whole
    destroyed_in_text: bool  # nor any embedded text


class Passages:
    """The live chunks of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.space = snapshot.space
        table = snapshot.chunks(_COLUMNS)
        paths = {document.document_id: document.path for document in snapshot.documents()}
        self.chunk_ids: list[str] = table["chunk_id"].to_pylist()
        self.document_ids: list[str] = table["document_id"].to_pylist()
        self.documents = [paths[one] for one in self.document_ids]
        self.headers: list[str] = table["header"].to_pylist()
        self.texts: list[str] = table["text"].to_pylist()
        self.contents: list[str] = table["content"].to_pylist()
        self.spans: list[tuple[int, int]] = list(
            zip(table["start"].to_pylist(), table["end"].to_pylist(), strict=True)
        )
        self.locators: list[str] = table["locator"].to_pylist()
        self.tokens: list[int] = table["tokens"].to_pylist()
        self._pages = list(zip(table["page_first"].to_pylist(), table["page_last"].to_pylist(), strict=True))

    def __len__(self) -> int:
        return len(self.chunk_ids)

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
        quoted = self._holding(question, self.contents, lambda: self._joined_contents)
        embedded = quoted
        if judge == "text" or not quoted:
            embedded = self._holding(question, self.texts, lambda: self._joined_texts)
        return Ground(question, number, quoted if judge == "content" else embedded, not quoted, not embedded)

    def _holding(
        self, question: Question, strings: Sequence[str], joined: Callable[[], "_Joined"]
    ) -> frozenset[int]:
        needle = question.needle
        if question.document:
            rows = self._rows_of.get(question.document, ())
            return frozenset(row for row in rows if needle in strings[row])
        return frozenset(joined().rows_with(needle))

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
        return frozenset(
            row
            for row in rows
            if (first := self._pages[row][0]) is not None
            and not wanted.isdisjoint(range(first, (self._pages[row][1] or first) + 1))
        )

    def parts(self, document: str, start: int, end: int) -> list[int]:
        """Rows of a document that share a character with `[start, end)` of its text."""
        return [
            row
            for row in self._rows_of.get(document, ())
            if self.spans[row][0] < end and start < self.spans[row][1]
        ]

    @cached_property
    def _rows_of(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, path in enumerate(self.documents):
            rows.setdefault(path, []).append(row)
        return rows

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each chunk id."""
        return {one: row for row, one in enumerate(self.chunk_ids)}

    @cached_property
    def _joined_contents(self) -> "_Joined":
        return _Joined(self.contents)

    @cached_property
    def _joined_texts(self) -> "_Joined":
        return _Joined(self.texts)

    def cost(self, wordpieces: WordPieces) -> Cost:
        """Counted by the model's own tokenizer; header and overlap are what stands before the content."""
        special = wordpieces.count("a") - 1  # special tokens and prompt; "a" is one piece to every model
        window = self.space.window
        leads = list(self._leads())
        tokens = sum(self.tokens) - special * len(self)
        header_tokens = _pieces([header for header, _ in leads], wordpieces, special)
        return Cost(
            chunks=len(self),
            tokens=tokens,
            header_tokens=header_tokens,
            overlap_tokens=_pieces([overlap for _, overlap in leads], wordpieces, special),
            header_share=header_tokens / tokens if tokens else None,
            over_window=sum(count > window for count in self.tokens),
            cut_tokens=sum(max(0, count - window) for count in self.tokens),
        )

    def _leads(self) -> Iterator[tuple[str, str]]:
        """(header, overlap) of each embedded text; "" where it has none."""
        for header, text, content in zip(self.headers, self.texts, self.contents, strict=True):
            before = text[: len(text) - len(content)]
            head = f"[{header}]\n"
            yield (head, before[len(head) :]) if before.startswith(head) else ("", before)


def ground_truth(question: Question) -> Truth:
    """What two phrasings of one needle have in common: by what they are judged, and its names."""
    if question.needle:
        return (NEEDLE, question.document, question.needle)
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

    def __init__(self, strings: Sequence[str]) -> None:
        self._text = _BETWEEN.join(strings)
        self._starts = [0, *accumulate(len(one) + len(_BETWEEN) for one in strings)][: len(strings)]

    def rows_with(self, needle: str) -> Iterator[int]:
        at = self._text.find(needle)
        while at >= 0:
            row = bisect_right(self._starts, at) - 1
            yield row
            at = self._text.find(needle, self._starts[row + 1] if row + 1 < len(self._starts) else at + 1)
