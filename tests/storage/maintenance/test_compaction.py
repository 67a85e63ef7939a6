"""Many small segments become few; what can be found, at any version, stays what it was."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from pincite.schemas.errors import IndexBusy
from pincite.storage.ledger import schema, transactions
from pincite.storage.maintenance import compaction
from pincite.storage.maintenance.compaction import Compacted, compact, compact_when_many
from pincite.storage.queries.sql import query
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.snapshots.index import Index
from tests.storage.building import POLICY, fill, found, reindex
from tests.storage.maintaining import broken_checks, compacted, files, vacuumed


def grow(index: Path, source: Path, turns: int = 5) -> dict[str, str]:
    """A document more with each run, the first one replaced each time: of its rows most are dead."""
    texts: dict[str, str] = {}
    for turn in range(turns):
        texts |= {"a.txt": f"# A\n\nturn{turn}", f"{turn}.txt": f"# T{turn}\n\nwords{turn}\n\nmore{turn}"}
        reindex(index, fill(source, texts))
    return texts


def live_segments(index: Path) -> list[tuple[str, int]]:
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        return [(segment.kind, segment.rows) for segment in snapshot.segments]


def test_small_segments_become_one_of_each_kind_without_dead_rows(index: Path, source: Path) -> None:
    grow(index, source)
    before = found(index)
    done = compacted(index)
    assert (done.segments_before, done.segments_after) == (15, 3)
    assert done.dead_rows > 0
    assert sorted(live_segments(index)) == [("chunks", 11), ("postings", 11), ("texts", 6)]
    assert found(index) == before
    assert broken_checks(index) == []


def test_every_older_version_reads_as_before(index: Path, source: Path) -> None:
    grow(index, source)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        newest = snapshot.version
    before = [found(index, version) for version in range(newest + 1)]
    assert compacted(index).version == newest + 2, "one for the texts, one for chunks with their postings"
    assert [found(index, version) for version in range(newest + 1)] == before
    with Index.open(index) as opened:
        (row,) = query(opened, "SELECT count(*) AS n FROM chunks", version=1).to_pylist()
    assert row["n"] == len([content for contents in before[1].values() for content in contents])


def test_what_is_compact_is_left_alone(index: Path, source: Path) -> None:
    grow(index, source)
    version = compacted(index).version
    left = files(index)
    assert compacted(index) == Compacted(version, 3, 3)
    assert files(index) == left


def test_a_segment_without_live_rows_ends_and_none_begins(index: Path, source: Path) -> None:
    reindex(index, fill(source, {"a.txt": "words"}))
    reindex(index, fill(source, {}), replace(POLICY, confirmed_deletions=1))
    done = compacted(index)
    assert (done.segments_before, done.segments_after, done.bytes_written) == (3, 0, 0)
    assert found(index) == {} and found(index, 1) == {"a.txt": ["words"]}


def test_rows_that_stood_in_a_file_before_get_another_file(index: Path, source: Path) -> None:
    # a alone, then with b, then alone again: the same rows as at first, while the first file is still read.
    reindex(index, fill(source, {"a.txt": "# A\n\nwords"}))
    first = files(index)
    reindex(index, fill(source, {"a.txt": "# A\n\nwords", "b.txt": "# B\n\nothers"}))
    compacted(index)
    reindex(index, fill(source, {"a.txt": "# A\n\nwords"}))
    compacted(index)
    assert found(index) == found(index, 1) == {"a.txt": ["words"]}
    assert set(first) < set(files(index))
    vacuumed(index)
    assert not set(first) & set(files(index))
    assert found(index) == {"a.txt": ["words"]}
    assert broken_checks(index) == []


def test_full_segments_stay_apart(index: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "FULL_ROWS", {"texts": 4, "chunks": 8, "postings": 8})
    grow(index, source)
    compacted(index)
    assert max(rows for _, rows in live_segments(index)) <= 8
    assert 1 < len([kind for kind, _ in live_segments(index) if kind == "texts"]) < 5
    assert broken_checks(index) == []
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        assert 1 < len(snapshot.units) < 5
        for unit in snapshot.units:
            chunks, postings = (
                {
                    key
                    for one in segments
                    for key in snapshot.rows(one, ["document_id"])["document_id"].to_pylist()
                }
                for segments in (unit.chunks, unit.postings)
            )
            assert chunks == postings, "a document has all its chunks and postings in one unit"


def test_a_run_compacts_only_when_there_are_many(index: Path, source: Path) -> None:
    grow(index, source, turns=3)
    with Index.open(index) as opened, begin_run(opened, "compact", "") as run:
        assert compact_when_many(run, most=3) is None
        done = compact_when_many(run, most=2)
        assert done is not None and done.segments_after == 3
        finish_run(run)


def test_texts_that_only_another_space_has_live_are_kept(index: Path, source: Path) -> None:
    reindex(index, fill(source, {"a.txt": "# A\n\nwords", "b.txt": "# B\n\nothers"}))
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        row = dict(connection.execute(sa.select(schema.spaces)).mappings().one())
        connection.execute(schema.spaces.insert().values(row | {"space_id": 2, "model": "another"}))
        for one in connection.execute(sa.select(schema.revisions)).mappings().all():
            connection.execute(schema.revisions.insert().values(dict(one) | {"space_id": 2}))
        ended = schema.revisions.c.space_id == 1
        connection.execute(schema.revisions.update().where(ended).values(ended_version=1))
    compacted(index)
    assert [kind for kind, rows in live_segments(index) if rows] == ["texts"]


def test_a_publication_in_between_is_never_lost(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It can't happen under the lock; the compare-and-set is for the day when it does.
    grow(index, source)
    before = found(index)
    write = compaction.write_segment

    def and_publish(*arguments: object) -> object:
        with Index.open(index) as other, transactions.writing(other.engine) as connection:
            compaction.new_version(connection, "another")
        return write(*arguments)  # type: ignore[arg-type]  # passed through

    monkeypatch.setattr(compaction, "write_segment", and_publish)
    with (
        Index.open(index) as opened,
        pytest.raises(IndexBusy, match="compact again"),
        begin_run(opened, "compact", "") as run,
    ):
        compact(run)
    assert found(index) == before
