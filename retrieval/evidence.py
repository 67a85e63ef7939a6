"""What words prove: a rare code of the question that stands in a passage as it was asked.

A cosine distance can't tell one error code from another, and says nothing of a document that the model can't read.
So a passage with such a code passes a threshold whatever its distance, and a distance of a document that the model
can't read passes none.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pincite.encoders.terms import whole_words
from pincite.retrieval.bm25 import TermPostings
from pincite.retrieval.ranking import Ranked
from pincite.retrieval.tie_order import Mask

RARE_CHUNKS = 10
RARE_SHARE = 0.01
"""A word is rare that no more chunks hold than this many, or than this share of all."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """`proved`: rows whose words are evidence. `unread`: rows of documents that the model can't read."""

    proved: frozenset[int]
    unread: Mask | None

    def with_unread(self, rows: Iterable[int]) -> "Evidence":
        """These rows are proved too, where the model can't read them: their words must decide."""
        if self.unread is None:
            return self
        return Evidence(self.proved | {row for row in rows if self.unread[row]}, self.unread)

    def marked(self, ranked: list[Ranked]) -> list[Ranked]:
        """The list with what a threshold must know of each row."""
        if not self.proved and self.unread is None:
            return ranked
        return [
            one._replace(
                proved=one.row in self.proved, unread=self.unread is not None and bool(self.unread[one.row])
            )
            for one in ranked
        ]


def evidence_of(
    query: str, postings: Mapping[str, TermPostings], chunks: int, unread: Mask | None
) -> Evidence:
    """`postings` of the words of the query, by term, of an index with so many chunks. Only codes are evidence."""
    most = max(RARE_CHUNKS, math.floor(RARE_SHARE * chunks))
    codes = (
        postings[word].rows.tolist() for word in whole_words(query) if _is_code(word) and word in postings
    )
    return Evidence(frozenset(row for rows in codes if len(rows) <= most for row in rows), unread)


def absent_codes(query: str, postings: Mapping[str, TermPostings]) -> tuple[str, ...]:
    """The codes of a question that stand nowhere in the index, in order."""
    return tuple(
        word
        for word in whole_words(query)
        if _is_code(word) and not (word in postings and len(postings[word].rows))
    )


def _is_code(word: str) -> bool:
    letters = any(character.isalpha() for character in word)
    return len(word) > 3 and letters and any(character.isdecimal() for character in word)
