"""Which rows answer a query, best first: one function a mode.

Rows stand in chunk-id order, so ties go by chunk id.
Every order here is total and independent of `k`: the top k is a prefix of the top k+1.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from retrieval import bm25, dense
from retrieval.fusion import RRF_K, reciprocal_rank_fusion

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


def dense_ranking(query: dense.Vector, matrix: dense.Matrix, k: int) -> list[Ranked]:
    """The `k` nearest rows, scored by cosine."""
    rows, cosines = dense.nearest(query, matrix, k)
    found = zip(rows.tolist(), cosines.tolist(), dense.distances(cosines).tolist(), strict=True)
    return [
        Ranked(row, cosine, cosine_distance=distance, dense_rank=rank)
        for rank, (row, cosine, distance) in enumerate(found, start=1)
    ]


def bm25_ranking(scores: bm25.Floats, k: int) -> list[Ranked]:
    """The `k` best rows of those that hold any term of the query."""
    rows = bm25.best(scores, k)
    found = zip(rows.tolist(), scores[rows].tolist(), strict=True)
    return [
        Ranked(row, score, bm25=score, bm25_rank=rank) for rank, (row, score) in enumerate(found, start=1)
    ]


def hybrid_ranking(query: dense.Vector, matrix: dense.Matrix, scores: bm25.Floats, k: int) -> list[Ranked]:
    """The fused legs: at least `k` rows, or all that there are; the nearest row is always among them.

    Behind the fused rows, as far as `k` asks, follow the rows of no leg by their dense rank, with its share
    of the RRF score, so that a `k` over the size of the corpus brings the corpus.
    """
    rows, _ = dense.nearest(query, matrix, max(k, LEG_DEPTH))
    near, lexical = rows.tolist(), bm25.best(scores, LEG_DEPTH).tolist()
    fused = reciprocal_rank_fusion([near[:LEG_DEPTH], lexical])
    seen = {row for row, _ in fused}
    beyond = [(row, rank) for rank, row in enumerate(near, start=1) if row not in seen]
    fused += [(row, 1.0 / (RRF_K + rank)) for row, rank in beyond]
    dense_ranks = {row: rank for rank, row in enumerate(near[:LEG_DEPTH], start=1)} | dict(beyond)
    bm25_ranks = {row: rank for rank, row in enumerate(lexical, start=1)}
    cosines = dense.similarities(query, matrix[np.array([row for row, _ in fused], dtype=np.int64)])
    return [
        Ranked(row, score, distance, float(scores[row]), dense_ranks.get(row), bm25_ranks.get(row))
        for (row, score), distance in zip(fused, dense.distances(cosines).tolist(), strict=True)
    ]
