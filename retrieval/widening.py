"""The words of a query in the index, and what is searched for those that no passage has."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pincite.encoders.terms import terms, whole_words
from pincite.retrieval.bm25 import BM25Scores, TermPostings
from pincite.retrieval.evidence import Evidence, absent_codes, evidence_of
from pincite.retrieval.evidence_score import word_weights
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.tie_order import Mask
from pincite.retrieval.vocabulary import Vocabulary

_QUOTES = frozenset('"“”„«»\u201f')
FEW = 3
"""A word that fewer chunks have is searched by its other forms too."""


@dataclass(frozen=True, slots=True)
class QueryWords:
    """`words`: each whole word with its postings.

    `widened`: words that few passages or none have, with what is searched beside them. `forms`: what of that is
    another form of a word, which counts half. `offered`: words that stand nowhere, with those that may have been
    meant.
    """

    query: str
    words: Mapping[str, TermPostings]
    widened: Mapping[str, tuple[str, ...]]
    forms: frozenset[str] = frozenset()
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def terms(self) -> list[str]:
        """What BM25 is asked for."""
        known = terms(self.query)
        added = (one for others in self.widened.values() for one in others)
        return [*known, *dict.fromkeys(one for one in added if one not in self.words)]

    @property
    def absent(self) -> tuple[str, ...]:
        """Codes of the query that stand nowhere."""
        return absent_codes(self.query, self.words)

    def lexical(self, corpus: Corpus, among: Mask | None = None) -> BM25Scores:
        return corpus.lexical(self.terms, among, self.forms)

    def weights(self, corpus: Corpus) -> dict[str, float]:
        """What each word of the query weighs."""
        return word_weights(self.query, self.words, len(corpus))

    def evidence(self, corpus: Corpus) -> Evidence:
        return evidence_of(self.query, self.words, len(corpus), corpus.unread)


def query_words(query: str, corpus: Corpus) -> QueryWords:
    """A word that no passage has is widened to those of the index that differ in accents, or in ae for ä, alone.

    A word that few passages have is widened to its other forms (Snowball, by the languages of the index). What is
    found by neither may be misspelt: then words are offered, and none is searched in its place. Exact forms come
    first: where a word stands often enough, nothing else is searched for it, nor in a query in quotes.
    """
    words = corpus.postings_of(whole_words(query))
    asked = query.strip()
    if asked[:1] in _QUOTES and asked[-1:] in _QUOTES:
        return QueryWords(query, words, {})
    vocabulary = Vocabulary(corpus)
    widened, offered, forms = {}, {}, set[str]()
    for word, found in words.items():
        if len(found.rows) >= FEW or not word.isalpha():
            continue
        alike = () if len(found.rows) else corpus.spelled_alike(word)
        others = vocabulary.forms_of(word)
        forms.update(one for one in others if one not in alike)
        if alike or others:
            widened[word] = tuple(dict.fromkeys([*alike, *others]))
        elif not len(found.rows) and (meant := vocabulary.spelled_nearly(word)):
            offered[word] = meant
    return QueryWords(query, words, widened, frozenset(forms), offered)
