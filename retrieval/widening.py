"""The words of a query in the index, and what is searched for those that no passage has."""

from collections.abc import Mapping
from dataclasses import dataclass

from pincite.encoders.terms import terms, whole_words
from pincite.retrieval.bm25 import TermPostings
from pincite.retrieval.evidence import Evidence, absent_codes, evidence_of
from pincite.retrieval.evidence_score import word_weights
from pincite.retrieval.loaded_version import Corpus

_QUOTES = frozenset('"“”„«»\u201f')


@dataclass(frozen=True, slots=True)
class QueryWords:
    """`words`: each whole word with its postings; `widened`: those without any, with what stands for them."""

    query: str
    words: Mapping[str, TermPostings]
    widened: Mapping[str, tuple[str, ...]]

    @property
    def terms(self) -> list[str]:
        """What BM25 is asked for."""
        return [*terms(self.query), *(one for alike in self.widened.values() for one in alike)]

    @property
    def absent(self) -> tuple[str, ...]:
        """Codes of the query that stand nowhere."""
        return absent_codes(self.query, self.words)

    def weights(self, corpus: Corpus) -> dict[str, float]:
        """What each word of the query weighs."""
        return word_weights(self.query, self.words, len(corpus))

    def evidence(self, corpus: Corpus) -> Evidence:
        return evidence_of(self.query, self.words, len(corpus), corpus.unread)


def query_words(query: str, corpus: Corpus) -> QueryWords:
    """A word that no passage has is widened to those of the index that differ in accents, or in ae for ä, alone.

    Exact forms come first: where a word stands anywhere, nothing else is searched for it, nor in a query in quotes.
    """
    words = corpus.postings_of(whole_words(query))
    asked = query.strip()
    if asked[:1] in _QUOTES and asked[-1:] in _QUOTES:
        return QueryWords(query, words, {})
    missing = [word for word, found in words.items() if not len(found.rows) and word.isalpha()]
    return QueryWords(
        query, words, {word: alike for word in missing if (alike := corpus.spelled_alike(word))}
    )
