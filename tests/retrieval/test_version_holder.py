"""Which version a search sees, and what it costs to look."""

import pytest

from pincite.retrieval.searcher import open_index
from pincite.schemas.errors import UsageError
from pincite.storage.snapshots.snapshot import Snapshot


def test_a_pinned_session_sees_its_version_whatever_is_indexed(small_index) -> None:
    small_index.write({"a.txt": ["zebra old"], "b.txt": ["zebra beside"]})
    with open_index(small_index.path) as newest:
        version = newest.search("zebra", mode="bm25").version
        with open_index(small_index.path, version=version) as pinned:
            before = pinned.search("zebra")
            small_index.write({"a.txt": ["zebra new"]})
            after = pinned.search("zebra")
        assert after.version == before.version == version
        assert [hit.content for hit in after.hits] == [hit.content for hit in before.hits]
        assert [hit.stale for hit in before.hits] == [False, False]
        assert sorted(hit.stale_reason for hit in after.hits) == [
            "the document has been deleted since",
            "the file has changed since",
        ]
        assert [hit.content for hit in newest.search("zebra").hits] == ["zebra new"]
    with open_index(small_index.path, version=0) as pinned:
        assert pinned.search("zebra").hits == ()


@pytest.mark.parametrize("version", [-1, 99])
def test_a_version_that_never_was_is_wrong_use(small_index, version: int) -> None:
    small_index.write({"a.txt": ["zebra"]})
    with pytest.raises(UsageError, match=f"no version {version}"):
        open_index(small_index.path, version=version)


def test_a_snapshot_is_read_once_a_version(small_index, monkeypatch: pytest.MonkeyPatch) -> None:
    small_index.write({"a.txt": ["zebra"], "b.txt": ["zebra lion"]})
    read: list[int] = []
    reading = Snapshot.read.__func__

    def counted(cls, connection, index, version):
        read.append(version)
        return reading(cls, connection, index, version)

    monkeypatch.setattr(Snapshot, "read", classmethod(counted))
    with open_index(small_index.path) as searcher:
        for _ in range(3):
            first = searcher.search("zebra", mode="bm25").version
        small_index.write({"a.txt": ["zebra tiger"], "b.txt": ["zebra lion"]})
        read.clear()
        for _ in range(3):
            second = searcher.search("zebra", mode="bm25").version
    assert second > first and read == [second]


def test_more_documents_than_sqlite_takes_at_once_have_their_stale_marks(small_index) -> None:
    documents = {f"{number:04}.txt": [f"zebra n{number}"] for number in range(620)}
    small_index.write(documents)
    small_index.write(documents | {"0600.txt": ["zebra new"]}, failing=["0600.txt"])
    with open_index(small_index.path) as searcher:
        hits = searcher.search("zebra", mode="bm25", k=1_000).hits
    assert len(hits) == 620 and [hit.document for hit in hits if hit.stale] == ["0600.txt"]
