"""Whatever was indexed, replaced and deleted, a search finds what plain loops over the live passages find."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.encoders.terms import passage_terms, terms
from pincite.retrieval.searcher import Searcher, open_index
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index

WORDS = ["zebra", "lion", "err-4042", "故乡", "насос", "the"]
PASSAGES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), max_size=4)
FOLDERS = st.dictionaries(st.sampled_from(["a.txt", "b.txt", "c/d.txt", "e.txt"]), PASSAGES, max_size=4)
HISTORIES = st.lists(st.tuples(FOLDERS, st.booleans()), min_size=1, max_size=3)


def live_passages(index: Index) -> list[tuple[str, str, np.ndarray]]:
    """(chunk id, content, vector) of what is live, in chunk-id order."""
    with index.snapshot() as snapshot:
        table = snapshot.chunks(["chunk_id", "content", "embedding"])
        return [
            (r["chunk_id"], r["content"], np.array(r["embedding"], np.float16)) for r in table.to_pylist()
        ]


def plain_bm25(query: str, passages: list[tuple[str, str, np.ndarray]]) -> dict[str, float]:
    """Section 4 of the spec as it is written there."""
    counts = {chunk: Counter(passage_terms(content)) for chunk, content, _ in passages}
    average = sum(one.total() for one in counts.values()) / max(len(counts), 1)
    scores = {}
    for chunk, one in counts.items():
        score = 0.0
        for term in terms(query):
            n = sum(term in other for other in counts.values())
            idf = math.log(1 + (len(counts) - n + 0.5) / (n + 0.5))
            f = one[term]
            score += f and idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * one.total() / average))
        if score > 0:
            scores[chunk] = score
    return scores


def check_bm25(searcher: Searcher, passages: list[tuple[str, str, np.ndarray]], query: str) -> None:
    found = searcher.search(query, mode="bm25", k=100, fold_duplicates=False).hits
    expected = plain_bm25(query, passages)
    assert {hit.chunk_id: hit.score for hit in found} == pytest.approx(expected, abs=1e-6)
    assert [hit.chunk_id for hit in found] == sorted(
        expected, key=lambda chunk: (-round(expected[chunk], 9), chunk)
    )


def check_dense(searcher: Searcher, passages: list[tuple[str, str, np.ndarray]], vector: np.ndarray) -> None:
    found = searcher.search("zebra", mode="dense", k=100, vector=vector, fold_duplicates=False).hits
    wide = vector.astype(np.float64)
    cosines = {chunk: float(one.astype(np.float64) @ wide) for chunk, _, one in passages}
    order = sorted(cosines, key=lambda chunk: (-round(cosines[chunk], 12), chunk))
    assert [hit.chunk_id for hit in found] == order
    assert {hit.chunk_id: hit.score for hit in found} == pytest.approx(cosines, abs=1e-12)


@settings(max_examples=5, deadline=None)
@given(HISTORIES, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join))
def test_after_any_history_a_search_finds_what_plain_loops_find(
    tmp_path_factory: pytest.TempPathFactory, small_index_in, history, query: str
) -> None:
    small_index = small_index_in(tmp_path_factory.mktemp("history"))
    vector = np.random.default_rng(1).standard_normal(small_index.space.dimension).astype(np.float32)
    vector /= np.linalg.norm(vector)
    small_index.write({})
    with open_index(small_index.path) as kept_open, Index.open(small_index.path) as index:
        for files, refreshed in history:
            small_index.write(files)
            if refreshed:
                refresh_cache(index)
            passages = live_passages(index)
            with open_index(small_index.path) as fresh:
                for searcher in (kept_open, fresh):
                    check_bm25(searcher, passages, query)
                    check_dense(searcher, passages, vector)
                assert kept_open.search(query, vector=vector) == fresh.search(query, vector=vector)


def test_equal_passages_tie_by_chunk_id_though_they_lie_in_several_packs(small_index) -> None:
    documents: dict[str, list[str]] = {}
    small_index.write({})
    with open_index(small_index.path) as searcher:
        for number in (5, 3, 9, 1, 7):
            documents[f"{number}.txt"] = ["the same zebra"] * 2
            small_index.write(documents)
            for mode in ("bm25", "dense", "hybrid"):
                found = searcher.search("zebra", mode=mode, fold_duplicates=False, k=20).hits
                if mode != "hybrid":
                    ids = [hit.chunk_id for hit in found]
                    assert ids == sorted(ids)
                assert found[:3] == searcher.search("zebra", mode=mode, fold_duplicates=False, k=3).hits
                assert len(found) == 2 * len(documents)


@pytest.mark.parametrize("count", [3, 12])
def test_many_commits_without_a_refresh_find_what_one_commit_has(small_index, live_space, count: int) -> None:
    passages = {f"{number:02}.txt": [f"zebra number{number}", "lion"] for number in range(count)}
    vector = np.ones(small_index.space.dimension, dtype=np.float32) / small_index.space.dimension**0.5
    for end in range(1, count + 1, max(1, count // 8)):
        small_index.write(dict(list(passages.items())[:end]))
    small_index.write(passages)
    once = replace(small_index, path=small_index.path.with_name("once"))
    once.write(passages)
    for mode in ("bm25", "dense", "hybrid"):
        with open_index(small_index.path) as many, open_index(once.path) as one:
            found = many.search("zebra number1 lion", mode=mode, k=100, vector=vector).hits
            expected = one.search("zebra number1 lion", mode=mode, k=100, vector=vector).hits
        assert found == expected
