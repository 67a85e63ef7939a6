"""Which rows answer a query, best first: one function a mode.

Ties go by chunk id. Every order here is total and independent of `k`: the top k is a prefix of the top k+1.
"""

from collections.abc import Set
from typing import Literal, NamedTuple

import numpy as np

from pincite.retrieval import bm25, dense
from pincite.retrieval.fusion import RRF_K, reciprocal_rank_fusion
from pincite.retrieval.tie_order import Floats, Mask, Order, Rows

Mode = Literal["hybrid", "dense", "bm25"]

LEG_DEPTH = 200
"""How many chunks each leg brings to the fusion: fixed, as a depth that grew with `k` would reorder the top.

A chunk that neither leg brings scores below 2/(60 + 200), so it can't belong to the first 70.
"""


class Ranked(NamedTuple):
    """One row with all that is known of it; None where the mode does not measure it. Ranks are 1-based.

    A tuple, since a hybrid query makes some 300 of them: a frozen dataclass takes four times as long.
    """

    row: int
    score: float
    cosine_distance: float | None = None
    bm25: float | None = None
    dense_rank: int | None = None
    bm25_rank: int | None = None
    folded: tuple[int, ...] = ()  # rows that this one stands for (`near_duplicates`)
    rerank_score: float | None = None  # (`retrieval.rerank`)
    rank_before: int | None = None
    proved: bool = False  # words of the query are evidence here (`retrieval.evidence`)
    unread: bool = False  # of a document that the model can't read

    @property
    def cut_distance(self) -> float | None:
        """What a threshold compares: 0 where words are evidence; None, which passes none, of an unread document."""
        if self.proved:
            return 0.0
        return None if self.unread else self.cosine_distance


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


def bm25_ranking(lexical: bm25.BM25Scores, k: int) -> list[Ranked]:
    """The `k` best rows of those that hold any term of the query."""
    rows, scores = lexical.best(k)
    found = zip(rows.tolist(), scores.tolist(), strict=True)
    return [
        Ranked(row, score, bm25=score, bm25_rank=rank) for rank, (row, score) in enumerate(found, start=1)
    ]


def hybrid_ranking(
    query: dense.Vector,
    vectors: dense.Vectors,
    lexical: bm25.BM25Scores,
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
    cosines = _by_row(*vectors.nearest(query, depth, read))
    scores = _by_row(*lexical.best(LEG_DEPTH if unread is None else depth))
    near, words = list(cosines), list(scores)
    places = _places(vectors.order, {*near, *words})
    alone = set() if unread is None else {row for row in words if unread[row]}
    fused = reciprocal_rank_fusion([near[:LEG_DEPTH], words[:LEG_DEPTH]], alone=alone, places=places)
    seen = {row for row, _ in fused}
    near_beyond = [(row, rank) for rank, row in enumerate(near, start=1) if row not in seen]
    words_beyond = [
        (row, rank) for rank, row in enumerate(words, start=1) if row not in seen and row in alone
    ]
    beyond = [(row, 1.0 / (RRF_K + rank)) for row, rank in near_beyond + words_beyond]
    fused += sorted(beyond, key=lambda pair: (-pair[1], places[pair[0]]))
    dense_ranks = _ranks(near) | dict(near_beyond)
    bm25_ranks = _ranks(words) | dict(words_beyond)
    rows = [row for row, _ in fused]
    far = np.array([row for row in rows if row not in cosines], dtype=np.int64)
    cosines |= _by_row(far, vectors.similarities(query, far))
    other = np.array([row for row in rows if row not in scores], dtype=np.int64)
    scores |= _by_row(other, lexical.of(other))
    distances = dense.distances(np.array([cosines[row] for row in rows])).tolist()
    return [
        Ranked(row, score, distance, scores[row], dense_ranks.get(row), bm25_ranks.get(row))
        for (row, score), distance in zip(fused, distances, strict=True)
    ]


def _by_row(rows: Rows, values: Floats) -> dict[int, float]:
    return dict(zip(rows.tolist(), values.tolist(), strict=True))


def _places(order: Order, rows: Set[int]) -> dict[int, int]:
    """The place of each of these rows among them in chunk-id order."""
    known = np.array(sorted(rows), dtype=np.int64)
    return dict(zip(known.tolist(), order(known).tolist(), strict=True))


def _ranks(rows: list[int]) -> dict[int, int]:
    """The rank of each row in its leg; how much deeper than the leg was looked depends on `k`, so those have none."""
    return {row: rank for rank, row in enumerate(rows[:LEG_DEPTH], start=1)}
