"""The words of one version: which of them are forms of a word, and which are spelled nearly as it is.

Nothing is made of the whole vocabulary before somebody asks: words with one stem begin alike, so a few are looked at.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import snowballstemmer
from rapidfuzz import process
from rapidfuzz.distance import OSA

from pincite.retrieval.loaded_version import Corpus

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian",
    "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
"""Snowball (Porter 2001) by ISO 639-1."""

_LEAST_STEMMED = 4  # letters
_ALIKE = 4  # first letters that forms of a word share
_MOST_FORMS = 8  # of one word: more are another word
_OFFERED = 3
_PREFIX = 5  # letters: the index also has the first five of longer words


class Vocabulary:
    """Over the terms of a corpus, which holds codes and parts of words too."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def forms_of(self, word: str) -> tuple[str, ...]:
        """Other words of the index with the stem that it has in one of the index's languages; sorted."""
        if len(word) < _LEAST_STEMMED:
            return ()
        found: set[str] = set()
        near = [other for other in self._beginning(word[:_ALIKE]) if other != word]
        for language in self._stemmed:
            stem = _stem(language, word)
            found.update(other for other in near if _stem(language, other) == stem)
        words = sorted(other for other in found if self._is_word(other))
        return tuple(words) if len(words) <= _MOST_FORMS else ()

    def spelled_nearly(self, word: str) -> tuple[str, ...]:
        """The words that one slip of the pen turns into this one, two in a long word; those in most chunks first.

        Damerau's slips: a letter more, less or another, or two that changed places.
        """
        slips = 1 if len(word) < 8 else 2
        if len(word) < _LEAST_STEMMED:
            return ()
        choices: list[str] = []
        for pack in self._corpus.packs:
            words = pack.terms.cast(pa.large_string())
            lengths = pc.utf8_length(words)
            near = pc.and_(
                pc.greater_equal(lengths, len(word) - slips), pc.less_equal(lengths, len(word) + slips)
            )
            choices += words.filter(near).to_pylist()
        close = process.extract(word, set(choices), scorer=OSA.distance, score_cutoff=slips, limit=50)
        ranked = sorted(
            (distance, -len(self._corpus.rows_of(other)), other)
            for other, distance, _ in close
            if other != word and self._is_word(other)
        )
        least = min((distance for distance, _, _ in ranked), default=0)
        return tuple(other for distance, _, other in ranked if distance == least)[:_OFFERED]

    @cached_property
    def _stemmed(self) -> tuple[str, ...]:
        """The algorithms for the languages of the index."""
        languages = self._corpus.snapshot.languages()
        return tuple(sorted({_STEMMERS[one] for one in languages if one in _STEMMERS}))

    def _is_word(self, term: str) -> bool:
        """Whether a live passage has it, as a word and not just as the beginning of longer ones."""
        rows = self._corpus.rows_of(term)
        if not len(rows) or not term.isalpha():
            return False
        if len(term) != _PREFIX:
            return True
        longer = [self._corpus.rows_of(one) for one in self._beginning(term) if one != term and one.isalpha()]
        return len(rows) > len(np.unique(np.concatenate(longer))) if longer else True

    def _beginning(self, prefix: str) -> Iterator[str]:
        """The terms that begin so, those of no live passage too."""
        wanted = prefix.encode()
        seen: set[str] = set()
        for pack in self._corpus.packs:
            at = bisect_left(pack.terms, wanted, key=lambda one: one.as_py())
            while at < len(pack.terms) and (term := pack.terms[at].as_py()).startswith(wanted):
                seen.add(term.decode())
                at += 1
        return iter(sorted(seen))


_stemming = threading.Lock()  # a stemmer keeps the word that it is at


@lru_cache(maxsize=32)
def _stemmer(language: str) -> snowballstemmer.stemmer:
    return snowballstemmer.stemmer(language)


@lru_cache(maxsize=20_000)
def _stem(language: str, word: str) -> str:
    with _stemming:
        stem: str = _stemmer(language).stemWord(word)
    return stem
