"""BM25 as in section 4 of the spec: Robertson and Zaragoza 2009, with Lucene's idf, which is never negative.

score = sum over query terms of idf(t) * f(k1+1) / (f + k1(1 - b + b|d|/avgdl))
"""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pincite.retrieval.tie_order import Floats, Mask, Order, Rows, as_numbered, best_first

K1 = 1.2
B = 0.75

Counts = npt.NDArray[np.int32]
Number = TypeVar("Number", float, Floats)
_FEW = 16_384  # rows: to score them all costs less than to find out which need not be
_ROUNDING = 1e-9  # of a score: sums of the same shares in another order differ by less


@dataclass(frozen=True, slots=True)
class TermPostings:
    """The chunks that hold one term: each row once, ascending, with its frequency there (at least 1)."""

    rows: Counts
    tf: Counts
    most: int  # the highest frequency; 0 when there is none


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 knows of a corpus."""

    N: int
    avgdl: float
    norms: Floats  # of each row, k1(1 - b + b|d|/avgdl)


def statistics(lengths: Floats, live: Mask | None = None) -> Statistics:
    """Of a corpus whose chunks have these lengths in terms, repeats counted; with `live` only of those rows."""
    counted = lengths if live is None else lengths[live]
    avgdl = float(counted.mean()) if len(counted) else 0.0
    return Statistics(len(counted), avgdl, norm(lengths, avgdl))


def idf(n: int, N: int) -> float:
    """ln(1 + (N - n + 0.5)/(n + 0.5)): the weight of a term that `n` of `N` chunks hold; always above 0."""
    return math.log(1.0 + (N - n + 0.5) / (n + 0.5))


def norm(length: Number, avgdl: float, k1: float = K1, b: float = B) -> Number:
    """k1(1 - b + b|d|/avgdl), of one chunk or of many. A corpus of empty chunks has `avgdl` 0."""
    return k1 * (1.0 - b + b * (length / avgdl if avgdl > 0 else length))


def bm25(tf: Number, length: Number, avgdl: float, idf: float, k1: float = K1, b: float = B) -> Number:
    """The share of one term in the score of one chunk, or of many when `tf` and `length` are arrays.

    `length` and `avgdl` are in terms. In a corpus of empty chunks every share is 0.
    """
    return _share(tf, norm(length, avgdl, k1, b), idf, k1)


def _share(tf: float | Floats | Counts, norm: Number, weight: float, k1: float = K1) -> Number:
    share: Number = weight * (tf * (k1 + 1.0)) / (tf + norm)  # type: ignore[assignment]  # tf and norm have one shape
    return share


Grown = tuple[float, Mapping[str, int]]
"""The length in terms of a chunk with what it was grown by, and how often each term stands in that."""


@dataclass(frozen=True, slots=True)
class TermShare:
    """What one term of a query gives to the score of one chunk."""

    term: str
    tf: int  # how often the chunk has it
    chunks: int  # that have it
    repeats: int  # in the query
    share: float


@dataclass(frozen=True, slots=True)
class _Term:
    term: str
    repeats: int  # in the query
    postings: TermPostings
    weight: float  # idf, times how often the query has it
    most: float  # no chunk has a larger share


class BM25Scores:
    """The BM25 scores of one query.

    A term that the query repeats counts each time. Terms are added in the order in which the query first
    names them, so that chunks with the same frequencies and length get the same bits and tie.
    """

    def __init__(
        self,
        query: Sequence[str],
        postings: Mapping[str, TermPostings],
        corpus: Statistics,
        order: Order = as_numbered,
        among: Mask | None = None,
        halved: Set[str] = frozenset(),
    ) -> None:
        """`postings` of all rows that count in the statistics; with `among` the other rows score 0.

        Terms of `halved` count half.
        """
        self._norms = corpus.norms
        self._avgdl = corpus.avgdl
        self._order = order
        self._among = among
        repeats: dict[str, int] = {}
        for term in query:
            repeats[term] = repeats.get(term, 0) + 1
        self._terms = [
            _term(term, times, postings[term], corpus.N, 0.5 if term in halved else 1.0)
            for term, times in repeats.items()
            if term in postings and len(postings[term].rows)
        ]

    @property
    def most(self) -> float:
        """What no chunk's score can reach: sum of idf(t) * (k1+1) over the terms that the index has."""
        return sum(term.weight for term in self._terms) * (K1 + 1.0)

    def of(self, rows: Rows) -> Floats:
        """float64[rows], the score of each of these rows; 0 where no term occurs."""
        total = np.zeros(len(rows), dtype=np.float64)
        for term in self._terms:
            total += self._of_term(term, rows)[1]
        return total if self._among is None else np.where(self._among[rows], total, 0.0)

    def of_grown(self, rows: Rows, grown: Sequence[Grown]) -> Floats:
        """float64[rows], the score of each row as if it had what it was grown by."""
        total = np.zeros(len(rows), dtype=np.float64)
        for term in self._terms:
            total += self._of_term(term, rows, grown)[1]
        return total

    def shares(self, rows: Rows, grown: Sequence[Grown] = ()) -> list[tuple[TermShare, ...]]:
        """Of what the score of each of these rows is the sum, in the order of the query; rows that pass `among`.

        With `grown` of the scores of `of_grown`.
        """
        found: list[list[TermShare]] = [[] for _ in range(len(rows))]
        for term in self._terms:
            tfs, shares = self._of_term(term, rows, grown)
            for place in np.flatnonzero(tfs).tolist():
                one = TermShare(
                    term.term, int(tfs[place]), len(term.postings.rows), term.repeats, float(shares[place])
                )
                found[place].append(one)
        return [tuple(one) for one in found]

    def _of_term(self, term: _Term, rows: Rows, grown: Sequence[Grown] = ()) -> tuple[Counts, Floats]:
        """(the frequency of the term in each row, its share in the score), of the rows as they are or grown."""
        wanted, held = rows.astype(np.int32), term.postings.rows
        at = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
        tf = np.where(held[at] == wanted, term.postings.tf[at], 0)
        if not grown:
            return tf, _share(tf, self._norms[rows], term.weight)
        lengths, beyond = zip(*grown, strict=True)
        tf = tf + np.array([one.get(term.term, 0) for one in beyond], dtype=np.int32)
        return tf, _share(tf, norm(np.array(lengths), self._avgdl), term.weight)

    def best(self, k: int) -> tuple[Rows, Floats]:
        """The `k` rows of the highest scores above 0, best first, ties by chunk id: a prefix of the best k+1."""
        if len(self._norms) < _FEW:
            sums = self._sums()
            rows = np.flatnonzero(sums)
            return best_first(rows, sums[rows], k, self._order)
        rows = self._candidates(k)
        scores = self.of(rows)
        found = scores > 0
        return best_first(rows[found], scores[found], k, self._order)

    def _sums(self) -> Floats:
        """float64, the score of every row."""
        sums = np.zeros(len(self._norms), dtype=np.float64)
        for term in self._terms:
            rows = term.postings.rows
            sums[rows] += _share(term.postings.tf, self._norms[rows], term.weight)
        return sums if self._among is None else np.where(self._among, sums, 0.0)

    def _candidates(self, k: int) -> Rows:
        """Rows among which the best `k` are.

        MaxScore (Turtle and Flood 1995): once the k-th best sum so far is more than all terms to come can
        give together, a row that none of the terms before holds is not among the best. Rare terms come first,
        since they give most and their rows are few.
        """
        terms = sorted(self._terms, key=lambda term: -term.most)
        to_come = np.append(np.cumsum([term.most for term in reversed(terms)])[::-1], 0.0)
        sums = np.zeros(len(self._norms), dtype=np.float64)
        rows = np.empty(0, dtype=np.int32)
        floor = 0.0
        for place, term in enumerate(terms):
            if floor > to_come[place] * (1.0 + _ROUNDING):
                break
            rows = np.concatenate([rows, self._add(sums, term)])
            if 0 < k <= len(rows):
                floor = float(np.partition(sums[rows], len(rows) - k)[len(rows) - k])
        else:
            place = len(terms)
        near: Counts = rows[sums[rows] + to_come[place] >= floor * (1.0 - _ROUNDING)]
        return near.astype(np.int64)

    def _add(self, sums: Floats, term: _Term) -> Counts:
        """Adds the shares of a term to the sums by row, and returns the rows that had none before."""
        rows, tf = term.postings.rows, term.postings.tf
        if self._among is not None:
            passes = self._among[rows]
            rows, tf = rows[passes], tf[passes]
        before = sums[rows]
        sums[rows] = before + _share(tf, self._norms[rows], term.weight)
        fresh: Counts = rows[before == 0.0]
        return fresh


def _term(term: str, repeats: int, postings: TermPostings, N: int, counts: float) -> _Term:
    weight = counts * repeats * idf(len(postings.rows), N)
    return _Term(
        term, repeats, postings, weight, weight * (K1 + 1.0) * postings.most / (postings.most + _LEAST_NORM)
    )


_LEAST_NORM = K1 * (1.0 - B)  # of a chunk without terms
