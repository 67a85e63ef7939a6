"""Documents that the embedding model can't read are found by their words, and say so."""

from functools import partial

import numpy as np
import pytest

from pincite.retrieval.filters import Filters
from pincite.retrieval.ranking import LEG_DEPTH, hybrid_ranking
from pincite.retrieval.searcher import open_index
from pincite.retrieval.spread import spread_of
from tests.retrieval.plain import lexical_of, vectors_of


def test_an_unread_document_takes_no_place_in_the_dense_leg(small_index, minilm, distant) -> None:
    query = minilm.embed_query("насос")
    vectors = {
        "насос синій": distant(query, 0.1),
        "ворота": distant(query, 0.05),
        "a pump": distant(query, 0.6),
    }
    small_index.write({"uk.txt": ["насос синій", "ворота"], "en.txt": ["a pump"]}, vectors, unread=["uk.txt"])
    with open_index(small_index.path) as searcher:
        hits = {hit.content: hit for hit in searcher.search("насос").hits}
        dense = searcher.search("насос", mode="dense").hits
    assert list(hits) == ["насос синій", "a pump"]  # no word of "ворота" was asked for
    found = hits["насос синій"]
    assert (found.dense_rank, found.bm25_rank, found.encoder_fit) == (None, 1, False)
    assert found.score == pytest.approx(1 / 2.2, abs=0.02)  # its words alone
    assert found.cosine_distance == pytest.approx(0.1, abs=2.0**-11)  # of float16
    assert (hits["a pump"].dense_rank, hits["a pump"].encoder_fit) == (1, True)
    assert [hit.content for hit in dense] == ["ворота", "насос синій", "a pump"]
    assert [hit.encoder_fit for hit in dense] == [False, False, True]


def test_its_words_come_before_what_is_near_by_chance(small_index) -> None:
    english = {f"{number}.txt": [f"a passage about engine {number}"] for number in range(30)}
    small_index.write(english | {"zz.txt": ["Заміна ущільнення насоса"]}, unread=["zz.txt"])
    with open_index(small_index.path) as searcher:
        assert searcher.search("ущільнення насоса").hits[0].document == "zz.txt"


def test_filters_and_unread_documents_go_together(small_index) -> None:
    small_index.write(
        {"a/uk.txt": ["насос"], "b/uk.txt": ["насос"], "a/en.txt": ["pump"]}, unread=["a/uk.txt", "b/uk.txt"]
    )
    with open_index(small_index.path) as searcher:
        hits = searcher.search("насос", filters=Filters(folders=("a",))).hits
    assert [hit.document for hit in hits] == ["a/uk.txt", "a/en.txt"]


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_top_k_stays_a_prefix_with_unread_rows(share: float) -> None:
    draw = np.random.default_rng(0)
    rows = 3 * LEG_DEPTH
    matrix = draw.standard_normal((rows, 8)).astype(np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    scores = np.where(draw.random(rows) < 0.2, 0.0, draw.integers(1, 50, rows).astype(np.float64))
    unread = draw.random(rows) < share
    query, vectors, lexical = matrix[0], vectors_of(matrix), lexical_of(scores)
    spread = spread_of(query, vectors.of(np.flatnonzero(~unread)))
    ranking = partial(hybrid_ranking, query, vectors, lexical, spread=spread, unread=unread)
    longest = ranking(rows + 5)
    for k in (1, 50, LEG_DEPTH, LEG_DEPTH + 1, 2 * LEG_DEPTH, rows - 1):
        found = ranking(k)
        assert found[:k] == longest[:k]
    keys = [(-one.score, one.row) for one in longest]
    assert keys == sorted(set(keys))
    assert {one.row for one in longest} == set(np.flatnonzero(~unread | (scores > 0)).tolist())
    assert all(one.dense_rank is None for one in longest if unread[one.row])
