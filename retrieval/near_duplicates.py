"""Passages that say the same become one hit, which lists the others: near-duplicates of one document, and copies in
any document, which are the same to the letter."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import regex

from pincite.encoders.terms import normalize
from pincite.retrieval.ranking import Ranked

FOLD_WINDOW = 200
"""How many places behind a hit its near-duplicates are looked for: fixed, so that what a hit lists does not
depend on `k`. What says the same scores nearly the same, and stands near."""

_OVERLAP = 0.9  # of all words of both passages, the share that they have in common
_LENGTHS = 0.7  # least ratio of their lengths in BM25 terms: spares reading most passages
_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]\p{M}*|[\p{L}\p{M}\p{N}]+"
)
_MOST_READ = 20_000  # passages in memory: some 20 MB
_MOST_PAIRS = 200_000  # some 20 MB
Rows = npt.NDArray[np.int64]
Words = Counter[str]


class Likeness:
    """Which rows say nearly the same, of one document, or the very same, of any.

    `documents` numbers the document of each row, `lengths` is its length in terms, `contents` reads passages. Copies
    have one length, so passages of other documents are read where the lengths are equal only.
    """

    def __init__(
        self,
        documents: Rows,
        lengths: npt.NDArray[np.float64],
        contents: Callable[[Sequence[int]], list[str]],
    ) -> None:
        self._documents = documents
        self._lengths = lengths
        self._contents = contents
        self._content_of: dict[int, str] = {}
        self._words: dict[int, Words] = {}
        self._pairs: dict[tuple[int, int], bool] = {}

    def alike(self, row: int, others: Rows) -> npt.NDArray[np.bool_]:
        """bool[others]: whether each is a near-duplicate or a copy of `row`."""
        lengths, own = self._lengths[others], self._lengths[row]
        shorter, longer = np.minimum(lengths, own), np.maximum(lengths, own)
        here = self._documents[others] == self._documents[row]
        result: npt.NDArray[np.bool_] = (lengths == own) | (here & (shorter >= _LENGTHS * longer))
        result &= shorter > 0
        near = np.flatnonzero(result)
        if len(near):
            rows = others[near].tolist()
            contents = self._read([row, *rows])
            result[near] = [self._alike(row, other, contents) for other in rows]
        return result

    def same(self, row: int, other: int) -> bool:
        """Whether two rows are near-duplicates or copies: `alike` for one pair."""
        shorter, longer = sorted((self._lengths[row], self._lengths[other]))
        if shorter < _LENGTHS * longer or shorter <= 0:
            return False
        return self._alike(row, other, self._read([row, other]))

    def content(self, row: int) -> str:
        """What a row says, kept for the next time."""
        return self._read([row])[row]

    def _alike(self, row: int, other: int, contents: Mapping[int, str]) -> bool:
        if contents[row] == contents[other]:
            return True
        if self._documents[row] != self._documents[other]:
            return False
        # Remembered: who asks a thousand questions of one version meets the same pairs again and again.
        pair = (row, other) if row < other else (other, row)
        known = self._pairs.get(pair)
        if known is None:
            if len(self._pairs) >= _MOST_PAIRS:
                self._pairs = {}
            words = self._words_of(row, contents), self._words_of(other, contents)
            known = self._pairs[pair] = say_the_same(*words)
        return known

    def _read(self, rows: Sequence[int]) -> dict[int, str]:
        """What these rows say. Threads share what is kept, so it is replaced and never emptied."""
        if len(self._content_of) > _MOST_READ:
            self._content_of, self._words = {}, {}
        kept = self._content_of
        missing = [row for row in rows if row not in kept]
        kept |= zip(missing, self._contents(missing), strict=True)
        return {row: kept[row] for row in rows}

    def _words_of(self, row: int, contents: Mapping[int, str]) -> Words:
        kept = self._words
        if row not in kept:
            kept[row] = words_of(contents[row])
        return kept[row]


def words_of(content: str) -> Words:
    """The words of a passage with how often each occurs; characters where a script has no spaces."""
    return Counter(_WORD.findall(normalize(content)))


def say_the_same(one: Words, other: Words) -> bool:
    """Whether nine in ten words are common, and all that hold a digit: another number is another fact.

    False when either has no words.
    """
    totals = one.total(), other.total()
    if min(totals) < _OVERLAP * max(totals) or not one or not other:
        return False  # even if the shorter were part of the longer
    common = (one & other).total()
    if common < _OVERLAP * (sum(totals) - common):
        return False
    return _numbers(one) == _numbers(other)


def _numbers(words: Words) -> Words:
    return Counter(
        {
            word: times
            for word, times in words.items()
            if any(unicodedata.category(letter).startswith("N") for letter in word)
        }
    )


def fold(ranked: Sequence[Ranked], wanted: int, likeness: Likeness) -> tuple[list[Ranked], bool]:
    """(at most `wanted` rows, each with those that it stands for; whether more of the ranking changes nothing).

    From the best on, each row takes its near-duplicates in the window behind it out of the list. A longer
    ranking that begins with this one gives the same first rows, as soon as the second value is true.
    """
    rows = np.array([one.row for one in ranked], dtype=np.int64)
    taken = np.zeros(len(rows), dtype=bool)
    kept: list[Ranked] = []
    end = 0
    for place, one in enumerate(ranked):
        if len(kept) == wanted:
            break
        if taken[place]:
            continue
        end = place + 1 + FOLD_WINDOW
        window = place + 1 + np.flatnonzero(~taken[place + 1 : end])
        same = window[likeness.alike(one.row, rows[window])]
        taken[same] = True
        kept.append(one._replace(folded=tuple(rows[same].tolist())))
    return kept, len(kept) == wanted and end <= len(ranked)
