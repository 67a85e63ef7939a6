"""Which rows answer a query, best first: one function a mode.

Ties go by chunk id. Every order here is total and independent of `k`: the top k is a prefix of the top k+1.
"""

from collections.abc import Sequence, Set
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from pincite.retrieval import bm25, dense
from pincite.retrieval.bm25 import Grown
from pincite.retrieval.fusion import RRF_K, reciprocal_rank_fusion
from pincite.retrieval.spread import Spread
from pincite.retrieval.tie_order import Floats, Mask, Order, Rows
from pincite.retrieval.windows import LOOKED_AT, Window, Windows, apart

Mode = Literal["hybrid", "dense", "bm25", "rrf"]

LEG_DEPTH = 200
"""How many chunks each leg brings to the fusion by rank: fixed, as a depth that grew with `k` would reorder the top.

A chunk that neither leg brings scores below 2/(60 + 200), so it can't belong to the first 70.
"""

DENSE_WEIGHT = 0.05
"""What one standard deviation of the cosine counts beside a BM25 score of 0 to 1 (docs/retrieval.md)."""

_ROUNDING = 1e-9


Number = TypeVar("Number", float, Floats)


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
    window: Window | None = None  # what is shown of it, where chunks are grown
    grown: Grown | None = None  # what its BM25 score counts then

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
    spread: Spread,
    among: Mask | None = None,
    unread: Mask | None = None,
) -> list[Ranked]:
    """At least `k` rows, or all that there are: BM25 divided by the most that the query can reach, + .05 z(cosine).

    The first `k` are the best of all rows. Behind them follow the others that one of the two legs had among its
    first 200. With `among` only of those; `lexical` scores others 0 already. The cosine of rows of `unread`, whose
    document the model can't read, counts as a middling one, and only those with a word of the query are found.
    """
    read = among if unread is None else ~unread if among is None else among & ~unread
    depth = max(k, LEG_DEPTH)
    while True:
        near, cosines = vectors.nearest(query, depth, read)
        words, scores = lexical.best(depth)
        rows = np.concatenate([near, np.setdiff1d(words, near)])
        similar = np.concatenate([cosines, vectors.similarities(query, rows[len(near) :])])
        matched = lexical.of(rows)
        standard = spread.z(similar)
        if unread is not None:
            standard[unread[rows]] = 0.0
        weighed = _weighed(matched, standard, lexical.most)
        if len(near) < depth and len(words) < depth:
            break
        # No row that neither leg brought has more words, or is nearer, than the last of each.
        least = float(spread.z(cosines[-1:])[0]) if len(near) == depth else -np.inf
        unseen = _weighed(
            scores[-1] if len(words) == depth else 0.0,
            least if unread is None else max(least, 0.0),
            lexical.most,
        )
        if np.count_nonzero(weighed > unseen + _ROUNDING) >= k:
            break
        depth *= 4
    dense_ranks, bm25_ranks = _ranks(near.tolist()), _ranks(words.tolist())
    order = np.lexsort((vectors.order(rows), -weighed))
    beyond = order[k:][np.isin(rows[order[k:]], [*dense_ranks, *bm25_ranks])]
    order = np.concatenate([order[:k], beyond])
    found = zip(
        rows[order].tolist(),
        weighed[order].tolist(),
        dense.distances(similar[order]).tolist(),
        matched[order].tolist(),
        strict=True,
    )
    return [
        Ranked(row, score, distance, of_words, dense_ranks.get(row), bm25_ranks.get(row))
        for row, score, distance, of_words in found
    ]


def ranked_by_windows(
    ranked: list[Ranked], lexical: bm25.BM25Scores, windows: Windows, among: Mask | None = None
) -> list[Ranked]:
    """A hybrid ranking, its first 50 in the order of their windows' BM25 scores, which replace those of the chunks.

    The others follow as they were; none of them counts more than the last window.
    """
    head, tail = ranked[:LOOKED_AT], ranked[LOOKED_AT:]
    if not head:
        return []
    grown = [windows.of(one.row, among) for one in head]
    rows = np.array([one.row for one in head], dtype=np.int64)
    counted = windows.terms_of(rows, grown)
    scores = lexical.of_grown(rows, counted)
    before = np.array([one.bm25 for one in head])
    weighed = np.array([one.score for one in head]) + (scores - before) / (lexical.most or 1.0)
    order = np.lexsort((windows.order(rows), -weighed)).tolist()
    first = [
        head[place]._replace(
            score=float(weighed[place]), bm25=float(scores[place]), window=grown[place], grown=counted[place]
        )
        for place in order
    ]
    least = first[-1].score
    return first + [one._replace(score=min(one.score, least)) for one in tail]


def apart_from_better(kept: Sequence[Ranked], windows: Windows, document_numbers: Rows) -> list[Ranked]:
    """These rows, each with what no better one of them shows; without those of which too little is left."""
    shown: dict[int, list[tuple[int, int]]] = {}
    found = []
    for one in kept:
        others = shown.setdefault(int(document_numbers[one.row]), [])
        window = apart(one.window or windows.alone(one.row), others)
        if window is not None:
            others.append((window.start, window.end))
            found.append(one._replace(window=window))
    return found


def rrf_ranking(
    query: dense.Vector,
    vectors: dense.Vectors,
    lexical: bm25.BM25Scores,
    k: int,
    among: Mask | None = None,
    unread: Mask | None = None,
) -> list[Ranked]:
    """The legs fused by rank, the founding reference: at least `k` rows, or all; the nearest is among them.

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


def _weighed(matched: Number, standard: Number, most: float) -> Number:
    """BM25 as a share of the most that the query can reach, and what its distance adds."""
    words: Number = matched / most if most else matched
    return words + DENSE_WEIGHT * standard


def _by_row(rows: Rows, values: Floats) -> dict[int, float]:
    return dict(zip(rows.tolist(), values.tolist(), strict=True))


def _places(order: Order, rows: Set[int]) -> dict[int, int]:
    """The place of each of these rows among them in chunk-id order."""
    known = np.array(sorted(rows), dtype=np.int64)
    return dict(zip(known.tolist(), order(known).tolist(), strict=True))


def _ranks(rows: list[int]) -> dict[int, int]:
    """The rank of each row in its leg; how much deeper than the leg was looked depends on `k`, so those have none."""
    return {row: rank for rank, row in enumerate(rows[:LEG_DEPTH], start=1)}
