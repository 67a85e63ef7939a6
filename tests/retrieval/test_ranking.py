import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.retrieval import bm25, dense
from pincite.retrieval.ranking import (
    DENSE_WEIGHT,
    LEG_DEPTH,
    bm25_ranking,
    dense_ranking,
    hybrid_ranking,
    rrf_ranking,
)
from pincite.retrieval.spread import Spread, spread_of
from tests.retrieval.plain import lexical_of, unit, vectors_of


def corpus(rows: int, seed: int) -> tuple[dense.Vector, dense.Vectors, bm25.BM25Scores]:
    """A query, vectors with many ties in two blocks, and BM25 scores of which half are 0."""
    draw = np.random.default_rng(seed)
    matrix = unit(max(rows // 2, 1), 16, seed)[draw.integers(0, max(rows // 2, 1), rows)]
    scores = np.where(draw.random(rows) < 0.5, 0.0, draw.integers(1, 9, rows).astype(np.float64))
    return unit(1, 16, seed + 1)[0].astype(np.float32), vectors_of(matrix, rows // 3), lexical_of(scores)


def spread(query: dense.Vector, vectors: dense.Vectors) -> Spread:
    return spread_of(query, vectors.of(np.arange(len(vectors))))


def test_the_score_is_the_share_of_bm25_and_the_standard_score_of_the_cosine() -> None:
    query, vectors, lexical = corpus(300, 1)
    cosines = vectors.similarities(query, np.arange(300))
    scores = lexical.of(np.arange(300)) / lexical.most
    scores += 0.05 * (cosines - cosines.mean()) / cosines.std()
    best = np.lexsort((np.arange(300), -scores))[:20]
    found = hybrid_ranking(query, vectors, lexical, 20, spread(query, vectors))[:20]
    assert [one.row for one in found] == best.tolist()
    assert [one.score for one in found] == pytest.approx(scores[best].tolist(), abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 900), st.integers(0, 1_000), st.integers(1, 950))
def test_no_row_is_missed_though_few_are_looked_at(rows: int, seed: int, k: int) -> None:
    query, vectors, lexical = corpus(rows, seed)
    known = spread(query, vectors)
    every = np.arange(rows)
    scores = lexical.of(every) / (lexical.most or 1.0)
    scores = scores + DENSE_WEIGHT * known.z(vectors.similarities(query, every))
    best = np.lexsort((every, -scores))[:k].tolist()
    assert [one.row for one in hybrid_ranking(query, vectors, lexical, k, known)[:k]] == best


def test_where_all_cosines_are_the_same_the_words_decide() -> None:
    matrix = np.tile(unit(1, 4, 0), (5, 1))
    lexical = lexical_of(np.array([0.0, 2.0, 1.0, 3.0, 0.0]))
    query, vectors = unit(1, 4, 1)[0].astype(np.float32), vectors_of(matrix)
    found = hybrid_ranking(query, vectors, lexical, 5, Spread(0.5, 0.0))
    assert [one.row for one in found] == [3, 1, 2, 0, 4]


def test_a_chunk_of_both_legs_comes_once_with_both_ranks_and_measures() -> None:
    matrix = np.eye(3, dtype=np.float32)
    lexical = lexical_of(np.array([0.0, 2.5, 1.0]))
    first = rrf_ranking(matrix[1], vectors_of(matrix), lexical, 3)[0]
    assert (first.row, first.dense_rank, first.bm25_rank, first.bm25) == (1, 1, 1, lexical.best(1)[1][0])
    assert first.cosine_distance == pytest.approx(0, abs=1e-7)
    assert first.score == pytest.approx(2 / 61)


def test_a_chunk_found_by_bm25_alone_has_its_cosine_distance() -> None:
    rows = LEG_DEPTH + 50
    matrix = np.zeros((rows, 2), dtype=np.float32)
    matrix[:, 0] = 1.0
    matrix[rows - 1] = (0.0, 1.0)  # farther than all the others
    scores = np.zeros(rows)
    scores[rows - 1] = 4.0
    query = np.array([1.0, 0.0], dtype=np.float32)
    found = rrf_ranking(query, vectors_of(matrix), lexical_of(scores), 10)
    one = next(one for one in found if one.row == rows - 1)
    assert (one.dense_rank, one.bm25_rank, one.cosine_distance) == (None, 1, pytest.approx(1.0))
    assert one.score == pytest.approx(1 / 61)


@settings(deadline=None)
@given(st.integers(1, 2 * LEG_DEPTH + 40), st.integers(0, 1_000), st.data())
def test_every_order_is_total_and_top_k_a_prefix(rows: int, seed: int, data: st.DataObject) -> None:
    query, vectors, lexical = corpus(rows, seed)
    k = data.draw(st.one_of(st.integers(1, rows + 2), st.sampled_from([LEG_DEPTH - 1, LEG_DEPTH])))
    for ranking in (
        lambda k: dense_ranking(query, vectors, k),
        lambda k: bm25_ranking(lexical, k),
        lambda k: rrf_ranking(query, vectors, lexical, k),
        lambda k: hybrid_ranking(query, vectors, lexical, k, spread(query, vectors)),
    ):
        found, longer = ranking(k)[:k], ranking(k + 1)[: k + 1]
        assert longer[:k] == found
        keys = [(-one.score, one.row) for one in longer]
        assert keys == sorted(set(keys))


@pytest.mark.parametrize("rows", [1, 5, LEG_DEPTH, 3 * LEG_DEPTH])
def test_k_larger_than_the_corpus_gives_every_chunk_once(rows: int) -> None:
    query, vectors, lexical = corpus(rows, 3)
    known = spread(query, vectors)
    for every in (
        rrf_ranking(query, vectors, lexical, rows + 7),
        hybrid_ranking(query, vectors, lexical, rows + 7, known),
    ):
        assert sorted(one.row for one in every) == list(range(rows))
    assert len(dense_ranking(query, vectors, rows + 7)) == rows
    assert len(bm25_ranking(lexical, rows + 7)) == int((lexical.of(np.arange(rows)) > 0).sum())


def test_the_depth_of_the_legs_cuts_nothing_out_of_the_first_ten() -> None:
    draw = np.random.default_rng(0)
    for seed in range(20):
        query = unit(1, 16, seed)[0].astype(np.float32)
        vectors = vectors_of(unit(2_000, 16, seed + 100))
        scores = draw.random(2_000)
        near = vectors.nearest(query, 2_000)[0]
        ranks = np.empty(2_000), np.empty(2_000)
        ranks[0][near] = np.arange(1, 2_001)
        ranks[1][np.argsort(-scores)] = np.arange(1, 2_001)
        whole = np.argsort(-(1 / (60 + ranks[0]) + 1 / (60 + ranks[1])), kind="stable")[:10]
        found = {one.row for one in rrf_ranking(query, vectors, lexical_of(scores), 10)}
        assert set(whole.tolist()) <= found


def test_an_empty_corpus_ranks_nothing() -> None:
    query, empty, nothing = np.ones(1, dtype=np.float32), dense.Vectors([]), lexical_of(np.empty(0))
    assert hybrid_ranking(query, empty, nothing, 5, Spread(0.0, 0.0)) == []
    assert rrf_ranking(query, empty, nothing, 5) == []
    assert dense_ranking(query, empty, 5) == []
    assert bm25_ranking(nothing, 5) == []
