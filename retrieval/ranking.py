"""Which rows answer a query, best first: one function a mode.

Ties go by chunk id. Every order here is total and independent of `k`: the top k is a prefix of the top k+1.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np

from retrieval import bm25, dense
from retrieval.fusion import RRF_K, reciprocal_rank_fusion
from retrieval.order import Mask, Order

Mode = Literal["hybrid", "dense", "bm25"]

LEG_DEPTH = 200
"""How many chunks each leg brings to the fusion: fixed, as a depth that grew with `k` would reorder the top.

A chunk that neither leg brings scores below 2/(60 + 200), so it can't belong to the first 70.
"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """One row with all that is known of it; None where the mode does not measure it. Ranks are 1-based."""

    row: int
    score: float
    cosine_distance: float | None = None
    bm25: float | None = None
    dense_rank: int | None = None
    bm25_rank: int | None = None
    folded: tuple[int, ...] = ()  # rows that this one stands for (`retrieval.folding`)
    rerank_score: float | None = None  # (`retrieval.rerank`)
    rank_before: int | None = None


def dense_ranking(
    query: dense.Vector, vectors: dense.Vectors, k: int, among: Mask | None = None
) -> list[Ranked]:
    """The `k` nearest rows, scored by cosine; with `among` only of those."""
    rows, cosines = vectors.nearest(query, k, among)
    found = zip(rows.tolist(), cosines.tolist(), dense.distances(cosines).tolist(), strict=True)
    return [
        Ranked(row, cosine, cosine_distance=distance, dense_rank=rank)
        for rank, (row, cosine, distance) in enumerate(found, start=1)
    ]


def bm25_ranking(lexical: bm25.Scores, k: int) -> list[Ranked]:
    """The `k` best rows of those that hold any term of the query."""
    rows, scores = lexical.best(k)
    found = zip(rows.tolist(), scores.tolist(), strict=True)
    return [
        Ranked(row, score, bm25=score, bm25_rank=rank) for rank, (row, score) in enumerate(found, start=1)
    ]


def hybrid_ranking(
    query: dense.Vector,
    vectors: dense.Vectors,
    lexical: bm25.Scores,
    k: int,
    among: Mask | None = None,
    unread: Mask | None = None,
) -> list[Ranked]:
    """The fused legs: at least `k` rows, or all that there are; the nearest row is always among them.

    With `among` only of those; `lexical` scores others 0 already. Rows of `unread`, whose document the model can't
    read, take no place in the dense leg: both shares of their RRF score are BM25's.

    Behind the fused rows, as far as `k` asks, follow the rows of no leg by their dense rank, with its share
    of the RRF score, so that a `k` over the size of the corpus brings the corpus; rows of `unread` by BM25's.
    """
    depth = max(k, LEG_DEPTH)
    read = among if unread is None else ~unread if among is None else among & ~unread
    near = vectors.nearest(query, depth, read)[0].tolist()
    words = lexical.best(LEG_DEPTH if unread is None else depth)[0].tolist()
    first = _by_score(vectors.order, {*near, *words})
    fused = reciprocal_rank_fusion([near[:LEG_DEPTH], words[:LEG_DEPTH]])
    fused = sorted(
        [(row, 2.0 * score if unread is not None and unread[row] else score) for row, score in fused],
        key=first,
    )
    seen = {row for row, _ in fused}
    near_beyond = [(row, rank) for rank, row in enumerate(near, start=1) if row not in seen]
    words_beyond = [
        (row, rank)
        for rank, row in enumerate(words, start=1)
        if row not in seen and unread is not None and unread[row]
    ]
    fused += sorted([(row, 1.0 / (RRF_K + rank)) for row, rank in near_beyond + words_beyond], key=first)
    dense_ranks = _ranks(near) | dict(near_beyond)
    bm25_ranks = _ranks(words) | dict(words_beyond)
    rows = np.array([row for row, _ in fused], dtype=np.int64)
    distances = dense.distances(vectors.similarities(query, rows)).tolist()
    return [
        Ranked(row, score, distance, found, dense_ranks.get(row), bm25_ranks.get(row))
        for (row, score), distance, found in zip(fused, distances, lexical.of(rows).tolist(), strict=True)
    ]


def _by_score(order: Order, rows: Set[int]) -> Callable[[tuple[int, float]], tuple[float, int]]:
    """What sorts pairs of one of these rows and its score: best first, ties by chunk id."""
    known = np.array(sorted(rows), dtype=np.int64)
    places = dict(zip(known.tolist(), order(known).tolist(), strict=True))
    return lambda pair: (-pair[1], places[pair[0]])


def _ranks(rows: list[int]) -> dict[int, int]:
    """The rank of each row in its leg; how much deeper than the leg was looked depends on `k`, so those have none."""
    return {row: rank for rank, row in enumerate(rows[:LEG_DEPTH], start=1)}
