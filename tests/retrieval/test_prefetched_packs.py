"""Whoever packs what, and when: the scores are those of a cache that was made from nothing."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pincite.retrieval.searcher import Searcher, open_index
from pincite.storage.runs.commit import publish
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.search_cache.prefetch import PacksAhead
from pincite.storage.segments.segment import Segment
from pincite.storage.snapshots.index import Index
from tests.retrieval import conftest


class Read(PacksAhead):
    """A run that is searched between a pack and the commit that it is for."""

    def __init__(self, searcher: Searcher) -> None:
        super().__init__()
        self.searcher = searcher

    def make(self, index: Index, written: Sequence[Segment], space_id: int, join: bool = True) -> None:
        super().make(index, written, space_id, join)
        scores(self.searcher)


def scores(searcher: Searcher) -> list[tuple[str, float, str]]:
    found = searcher.search("zebra number1", mode="bm25", k=100, fold_duplicates=False).hits
    return [(hit.chunk_id, hit.score, hit.content) for hit in found]


def fresh_scores(index: Path) -> list[tuple[str, float, str]]:
    with open_index(index) as searcher:
        return scores(searcher)


def test_scores_of_a_run_that_was_read_between_its_packs_and_its_commits_are_those_of_a_fresh_cache(
    small_index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {f"{number}.txt": [f"zebra number{number}", "zebra lion lion"] for number in range(4)}
    first = dict(list(documents.items())[:1])
    small_index.write(first)
    with open_index(small_index.path) as searcher:
        scores(searcher)
        small_index.write(dict(list(documents.items())[:2]))  # packed by nobody
        with monkeypatch.context() as patch:
            patch.setattr(conftest, "publish", partial(publish, ahead=Read(searcher)))
            small_index.write(dict(list(documents.items())[:3]))
            small_index.write(documents)
        seen = scores(searcher), fresh_scores(small_index.path)
    with Index.open(small_index.path) as index:
        refresh_cache(index)
    refreshed = fresh_scores(small_index.path)
    shutil.rmtree(small_index.path / "cache")
    expected = fresh_scores(small_index.path)
    assert len(expected) == 8
    assert seen == (expected, expected) and refreshed == expected
