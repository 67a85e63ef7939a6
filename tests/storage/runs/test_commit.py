"""Leases and publishing: all of a document or nothing, and never by a stale job."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from pincite.schemas.errors import Failure
from pincite.schemas.records import DocumentWarning
from pincite.storage.checks.verify import verify
from pincite.storage.ledger import schema, transactions
from pincite.storage.runs.commit import fail, lease, publish
from pincite.storage.runs.registration import register
from pincite.storage.runs.runs import Run, begin_run, finish_run
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover
from tests.storage.building import LEASE_S, POLICY, SPACE, fill, finished, found, reindex, states, work


def take(run: Run, document_id: str) -> Finished:
    job = lease(run, document_id, POLICY, LEASE_S)
    assert job is not None
    return finished(job, Path(job.absolute).read_text(encoding="utf-8"))


def test_a_document_is_leased_once(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
        (document_id,) = discover(run, POLICY).pending
        job = lease(run, document_id, POLICY, LEASE_S)
        assert job is not None
        assert (job.path, job.absolute, job.attempt, job.revision) == ("a.txt", str(source / "a.txt"), 1, 1)
        assert lease(run, document_id, POLICY, LEASE_S) is None


def test_a_job_whose_source_moved_on_never_publishes(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "old words"})
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
        stale = take(run, discover(run, POLICY).pending[0])
        (source / "a.txt").write_text("newer words")
        newer = take(run, discover(run, POLICY).pending[0])
        assert newer.job.source_version == stale.job.source_version + 1
        assert publish(run, [stale], POLICY) == frozenset()
        assert not fail(run, stale.job, Failure("extract", "error", "too late"))
        assert found(index) == {}
        assert publish(run, [newer, stale], POLICY) == {newer.job.document_id}
        assert publish(run, [stale], POLICY) == frozenset()
        finish_run(run)
    assert found(index) == {"a.txt": ["newer words"]}


def test_a_job_whose_lease_another_run_took_never_publishes(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    with Index.create(index, SPACE) as opened:
        with pytest.raises(RuntimeError), begin_run(opened, "reindex", str(source)) as slow:
            late = take(slow, discover(slow, POLICY).pending[0])
            raise RuntimeError("a hang that was broken off")
        with begin_run(opened, "reindex", str(source)) as run:
            work(run, discover(run, POLICY).pending)
            assert publish(slow, [late], POLICY) == frozenset()
            assert not fail(slow, late.job, Failure("extract", "error", "too late"))
            finish_run(run)
    assert states(index) == {"a.txt": ("indexed", None)}
    with Index.open(index) as opened:
        assert all(check.ok for check in verify(opened))


@pytest.mark.parametrize(
    "moved_on",
    [{"source_version": 2}, {"revision": 2}, {"lease_owner": "another run"}, {"state": "pending"}],
    ids=lambda change: next(iter(change)),
)
def test_each_part_of_the_compare_and_set_holds_alone(
    index: Path, source: Path, moved_on: dict[str, object]
) -> None:
    fill(source, {"a.txt": "words"})
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
        late = take(run, discover(run, POLICY).pending[0])
        with transactions.writing(opened.engine) as connection:
            connection.execute(schema.documents.update().values(moved_on))
        assert publish(run, [late], POLICY) == frozenset()
        assert not fail(run, late.job, Failure("extract", "error", "too late"))
    assert found(index) == {}


def test_a_job_of_a_deleted_document_never_publishes(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
        late = take(run, discover(run, POLICY).pending[0])
        register(run, [], POLICY)
        assert publish(run, [late], POLICY) == frozenset()
    assert found(index) == {}


def test_documents_without_any_term_are_published_in_many_commits(index: Path, source: Path) -> None:
    # Empty segments of postings have the same bytes, so the same name: a name is unique in the ledger.
    def without_terms(one: Finished) -> Finished:
        return replace(one, prepared=replace(one.prepared, terms=tuple({} for _ in one.prepared.chunks)))

    for name in ("a.txt", "b.txt"):
        (source / name).write_text(f"!!! {name}")
        assert reindex(index, source, change=without_terms).indexed == 1
    assert found(index) == {"a.txt": ["!!! a.txt"], "b.txt": ["!!! b.txt"]}
    with Index.open(index) as opened:
        assert [check for check in verify(opened) if not check.ok] == []


@pytest.mark.parametrize("part", ["text", "title", "warning", "page"])
def test_what_can_not_be_stored_ends_only_its_document(index: Path, source: Path, part: str) -> None:
    def spoil(one: Finished) -> Finished:
        extraction = one.prepared.extraction
        if one.job.path != "b.txt":
            return one
        if part == "text":
            extraction = replace(extraction, text=extraction.text + "\ud83d")
        elif part == "warning":
            extraction = replace(extraction, warnings=(DocumentWarning("code", "\udcff"),))
        elif part == "page":
            extraction = replace(extraction, pages=(replace(extraction.pages[0], number=2**40),))
        title = "\ud800" if part == "title" else one.title
        return replace(one, title=title, prepared=replace(one.prepared, extraction=extraction))

    fill(source, {"a.txt": "first", "b.txt": "second", "c.txt": "third"})
    counts = reindex(index, source, change=spoil)
    assert (counts.indexed, counts.failed) == (2, 1)
    assert found(index) == {"a.txt": ["first"], "c.txt": ["third"]}
    state, reason = states(index)["b.txt"]
    assert state == "failed"
    assert reason is not None and reason.startswith("it can't be stored: ")


def test_a_reason_in_any_characters_is_stored(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
        one = take(run, discover(run, POLICY).pending[0])
        assert fail(run, one.job, Failure("extract", "error", "bad \udcff, 坏\n\0'\"%s"))
        finish_run(run)
    assert states(index) == {"a.txt": ("failed", "bad \\udcff, 坏\n\0'\"%s")}


def test_counts_are_of_the_rows_that_were_written(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "one two two\n\nthree", "b.txt": "four"})
    reindex(index, source)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        assert [(one.path, one.chunks, one.postings, one.characters) for one in snapshot.documents()] == [
            ("a.txt", 2, 3, 18),
            ("b.txt", 1, 1, 4),
        ]
        rows = {
            segment.kind: pq.read_metadata(index / segment.file).num_rows for segment in snapshot.segments
        }
        assert rows == {segment.kind: segment.rows for segment in snapshot.segments}
        assert rows == {"texts": 2, "chunks": 3, "postings": 4}


def test_vectors_come_back_bit_for_bit_in_chunk_order(index: Path, source: Path) -> None:
    kept: dict[str, np.ndarray] = {}

    def remember(one: Finished) -> Finished:
        kept[one.job.document_id] = one.vectors
        return one

    fill(source, {f"{n}.txt": "\n\n".join(f"passage {n} {m}" for m in range(n + 1)) for n in range(7)})
    reindex(index, source, change=remember)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        rows = snapshot.chunks(["embedding", "document_id", "ordinal"]).to_pylist()
    assert len(rows) == sum(range(1, 8))
    for row in rows:
        assert np.array_equal(np.float32(row["embedding"]), kept[row["document_id"]][row["ordinal"]])


def test_each_publish_reads_the_space_only(index: Path, source: Path) -> None:
    # A commit that read all live documents would cost more with each document that is there.
    fill(source, {f"{n}.txt": f"words {n}" for n in range(6)})
    statements: list[str] = []
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
        pending = discover(run, POLICY).pending
        sa.event.listen(
            opened.engine,
            "before_cursor_execute",
            lambda _c, _cur, statement, *_: statements.append(statement),
        )
        work(run, pending)
    assert not any("FROM revisions" in statement for statement in statements)
