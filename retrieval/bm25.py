"""BM25 as in section 4 of the spec: Robertson and Zaragoza 2009, with Lucene's idf, which is never negative.

score = sum over query terms of idf(t) * f(k1+1) / (f + k1(1 - b + b|d|/avgdl))
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

K1 = 1.2
B = 0.75

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Number = TypeVar("Number", float, Floats)


@dataclass(frozen=True, slots=True)
class TermPostings:
    """The chunks that hold one term: each row once, with its frequency there (at least 1)."""

    rows: Rows
    tf: Floats


def idf(n: int, N: int) -> float:
    """ln(1 + (N - n + 0.5)/(n + 0.5)): the weight of a term that `n` of `N` chunks hold; always above 0."""
    return math.log(1.0 + (N - n + 0.5) / (n + 0.5))


def bm25(tf: Number, length: Number, avgdl: float, idf: float, k1: float = K1, b: float = B) -> Number:
    """The share of one term in the score of one chunk, or of many when `tf` and `length` are arrays.

    `length` and `avgdl` are in terms. A corpus of empty chunks has `avgdl` 0, and every share there is 0.
    """
    relative = length / avgdl if avgdl > 0 else length
    return idf * (tf * (k1 + 1.0)) / (tf + k1 * (1.0 - b + b * relative))


def scores(
    query: Sequence[str], postings: Mapping[str, TermPostings], lengths: Floats, k1: float = K1, b: float = B
) -> Floats:
    """float64[N], a score for each of the N chunks whose lengths in terms are given; 0 where no term occurs.

    A term that the query repeats counts each time. Terms are added in the order in which the query first
    names them, so that chunks with the same frequencies and length get the same bits and tie.
    """
    total = np.zeros(len(lengths), dtype=np.float64)
    avgdl = float(lengths.mean()) if len(lengths) else 0.0
    repeats: dict[str, int] = {}
    for term in query:
        repeats[term] = repeats.get(term, 0) + 1
    for term, times in repeats.items():
        found = postings.get(term)
        if found is None or not len(found.rows):
            continue
        weight = times * idf(len(found.rows), len(lengths))
        total[found.rows] += bm25(found.tf, lengths[found.rows], avgdl, weight, k1, b)
    return total


def best(scores: Floats, k: int) -> Rows:
    """The rows of the `k` highest scores above 0, best first, ties by row: top-k is a prefix of top-(k+1)."""
    rows = np.flatnonzero(scores > 0)
    if 0 < k < len(rows):
        floor = np.partition(scores[rows], len(rows) - k)[len(rows) - k]
        rows = rows[scores[rows] >= floor]
    order = np.lexsort((rows, -scores[rows]))
    return rows[order][:k].astype(np.int64)
