"""A search that is under way, or a session that is kept open, shows nothing of a document that was forgotten."""

import pytest

from pincite.retrieval import searcher as searching
from pincite.retrieval.searcher import Searcher, open_index
from pincite.storage.erasure.forget import forget
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from tests.storage.maintaining import compacted, vacuumed

DOCUMENTS = {"kept.txt": ["zebra kept"], "secret.txt": ["zebra secret"], "other.txt": ["lion"]}


def forgotten(path, name: str = "secret.txt") -> None:
    with Index.open(path) as index:
        assert forget(index, find(index, name)).erased.revisions


def test_a_pinned_session_forgets_at_once_and_reads_on_for_the_others(small_index) -> None:
    small_index.write(DOCUMENTS)
    with open_index(small_index.path) as newest:
        version = newest.search("zebra", mode="bm25").version
    with open_index(small_index.path, version=version) as pinned:
        assert {hit.document for hit in pinned.search("zebra", mode="bm25").hits} == {
            "kept.txt",
            "secret.txt",
        }
        forgotten(small_index.path)
        results = pinned.search("zebra", mode="bm25")
    assert ([hit.document for hit in results.hits], results.version) == (["kept.txt"], version)


@pytest.mark.parametrize(("where", "step"), [(Searcher, "_ranking"), (searching, "hits_of")])
def test_a_search_during_which_a_document_is_forgotten_answers_with_what_is_left(
    small_index, monkeypatch: pytest.MonkeyPatch, where: object, step: str
) -> None:
    small_index.write(DOCUMENTS)
    whole = getattr(where, step)
    left = ["secret.txt"]

    def meanwhile(*arguments: object) -> object:
        if left:
            forgotten(small_index.path, left.pop())
        return whole(*arguments)

    monkeypatch.setattr(where, step, meanwhile)
    with open_index(small_index.path) as searcher:
        assert [hit.document for hit in searcher.search("zebra", mode="bm25").hits] == ["kept.txt"]


def test_a_version_that_is_vacuumed_away_before_it_is_held_is_not_missed(
    small_index, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_index.write(DOCUMENTS)
    newer_snapshot = Index.newer_snapshot
    changes = [{**DOCUMENTS, "kept.txt": ["zebra changed"]}]

    def meanwhile(index: Index, known: int | None) -> object:
        seen = newer_snapshot(index, known)
        if changes:
            small_index.write(changes.pop())
            compacted(index.path)
            vacuumed(index.path)
        return seen

    monkeypatch.setattr(Index, "newer_snapshot", meanwhile)
    with open_index(small_index.path) as searcher:
        contents = {hit.content for hit in searcher.search("zebra", mode="bm25").hits}
    assert contents == {"zebra changed", "zebra secret"}


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
    assert {"zebra kept"} <= {hit.content for hit in after.hits} <= {"zebra kept", "lion"}
    assert after.searched == 2 and (not pinned or after.version == version)
