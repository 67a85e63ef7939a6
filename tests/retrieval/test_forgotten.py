"""Who searches while a document is forgotten goes on with the others, or is told that its version is gone."""

from pathlib import Path

import pytest

from retrieval import search
from retrieval.search import open_index
from schemas.errors import VersionGone
from storage.forget import forget
from storage.forgotten import find
from storage.index import Index

DOCUMENTS = {"a.txt": ["zebra secret"], "b.txt": ["zebra beside"], "c.txt": ["lion"]}


def forgotten(index: Path) -> None:
    with Index.open(index) as opened:
        assert forget(opened, find(opened, "a.txt")).proof.found == ()


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("mode", ["bm25", "dense", "hybrid"])
def test_a_searcher_goes_on_with_the_other_documents(small_index, pinned: bool, mode) -> None:
    small_index.write(DOCUMENTS)
    with Index.open(small_index.path) as opened:
        version = opened.newest_version()
    with open_index(small_index.path, version=version if pinned else None) as searcher:
        assert "zebra secret" in [hit.content for hit in searcher.search("zebra", mode=mode).hits]
        forgotten(small_index.path)
        after = searcher.search("zebra", mode=mode)
    assert {"zebra beside"} <= {hit.content for hit in after.hits} <= {"zebra beside", "lion"}
    assert after.searched == 2 and (not pinned or after.version == version)


@pytest.mark.parametrize("asked_before", [True, False])
@pytest.mark.parametrize("pinned", [True, False])
def test_a_search_that_is_under_way_is_told(
    small_index, monkeypatch: pytest.MonkeyPatch, pinned: bool, asked_before: bool
) -> None:
    small_index.write(DOCUMENTS)
    with Index.open(small_index.path) as opened:
        version = opened.newest_version()
    with open_index(small_index.path, version=version if pinned else None) as searcher:
        if asked_before:
            searcher.search("zebra", mode="bm25")
        best = search._best

        def meanwhile(*arguments, **options):
            forgotten(small_index.path)
            return best(*arguments, **options)

        monkeypatch.setattr(search, "_best", meanwhile)
        with pytest.raises(VersionGone, match="ask again"):
            searcher.search("zebra", mode="bm25")
        monkeypatch.undo()
        assert [hit.content for hit in searcher.search("zebra", mode="bm25").hits] == ["zebra beside"]
