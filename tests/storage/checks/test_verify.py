"""Verify finds planted damage, each by the check that is about it."""

import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from pincite.schemas.records import Check
from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.checks.verify import verify
from pincite.storage.ledger import schema, transactions
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.segments.segment import write_segment
from pincite.storage.snapshots.index import LEDGER_FILE, Index
from tests.storage.building import PERMANENT, SPACE, fill, reindex

DOCUMENTS = {
    "a.txt": "# Alpha\n\nred green\n\nblue blue",
    "b.txt": "yellow",
    "c.txt": "black\n\nwhite",
    "d.txt": PERMANENT,
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of three documents and a failed one, in which nothing is wrong."""
    folder = tmp_path_factory.mktemp("kept")
    reindex(folder / "index", fill(folder / "source", DOCUMENTS))
    return folder / "index"


@pytest.fixture
def sound(kept: Path, index: Path) -> Path:
    """A copy of it, to plant damage in."""
    shutil.copytree(kept, index)
    assert broken(index) == {}
    return index


def checks(index: Path) -> tuple[Check, ...]:
    with Index.open(index) as opened:
        return verify(opened)


def broken(index: Path) -> dict[str, tuple[str, ...]]:
    return {check.name: check.problems for check in checks(index) if not check.ok}


def set_rows(index: Path, table: sa.Table, **values: object) -> None:
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        connection.execute(table.update().values(**values))


def segment_file(index: Path, kind: str) -> Path:
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        return index / snapshot.of_kind(kind)[0].file


def rewrite(index: Path, kind: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Changes rows as a fault of the writer would: the file and what the ledger says of it agree."""
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        (old,) = snapshot.of_kind(kind)
        table = change(pq.read_table(index / old.file).cast(SEGMENT_SCHEMAS[kind]))
        values = asdict(write_segment(opened.places, kind, table))
        with transactions.writing(opened.engine) as connection:
            connection.execute(
                schema.segments.update().where(schema.segments.c.kind == kind).values(**values)
            )


def put(column: str, value: object, row: int = 0) -> Callable[[pa.Table], pa.Table]:
    """Puts one value into one row."""

    def change(table: pa.Table) -> pa.Table:
        values = table[column].to_pylist()
        values[row] = value
        return table.set_column(
            table.schema.get_field_index(column),
            table.schema.field(column),
            pa.array(values, table[column].type),
        )

    return change


def test_every_check_looks_at_something(sound: Path) -> None:
    assert {check.name: check.count for check in checks(sound)} == {
        "ledger is intact": 1,
        "states agree with what is live": 4,
        "no document is held by a run that ended": 4,
        "counts of each run add up": 1,
        "counts of each run are those of its documents": 1,
        "segments are there, unchanged and complete": 3,
        "no document is without chunks": 3,
        "each chunk is a slice of its text": 5,
        "chunks are numbered without a gap": 5,
        "vectors are finite and of unit length": 5,
        "places of chunks are right": 5,
        "stamps are those of the space": 5,
        "counts of each document are those of what is stored": 5,
        "chunks over the window are flagged": 5,
        "all text lies in a chunk": 5,
        "no chunk is over the window": 5,
        "each document has one text": 3,
        "chunk counts equal the rows": 5,
        "posting counts equal the rows": 6,
        "postings account for every term": 7,
    }


def test_an_empty_index_is_sound(index: Path, source: Path) -> None:
    reindex(index, source)
    assert broken(index) == {}


SEGMENTS = "segments are there, unchanged and complete"


@pytest.mark.parametrize("kind", ["texts", "chunks", "postings"])
def test_a_missing_segment_is_found(sound: Path, kind: str) -> None:
    path = segment_file(sound, kind)
    path.unlink()
    (problem,) = broken(sound)[SEGMENTS]
    assert path.name in problem and "is missing: restore the file" in problem


@pytest.mark.parametrize("kind", ["texts", "chunks", "postings"])
@pytest.mark.parametrize("place", [0, 0.3, 0.6, 0.999])
def test_one_changed_byte_is_found_wherever_it_is(sound: Path, kind: str, place: float) -> None:
    path = segment_file(sound, kind)
    data = bytearray(path.read_bytes())
    data[int(len(data) * place)] ^= 1
    path.write_bytes(data)
    (problem,) = broken(sound)[SEGMENTS]
    assert path.name in problem and "is not what was written" in problem


def test_a_cut_segment_is_found(sound: Path) -> None:
    path = segment_file(sound, "chunks")
    os.truncate(path, path.stat().st_size // 2)
    assert list(broken(sound)) == [SEGMENTS]


@pytest.mark.parametrize(
    ("table", "values", "check"),
    [
        (schema.segments, {"rows": 999}, SEGMENTS),
        (schema.revisions, {"chunks": 7}, "chunk counts equal the rows"),
        (schema.revisions, {"postings": 7}, "posting counts equal the rows"),
        (schema.revisions, {"characters": 7}, "counts of each document are those of what is stored"),
        (schema.revisions, {"pages": 7}, "counts of each document are those of what is stored"),
        (schema.revisions, {"over_window": 7}, "counts of each document are those of what is stored"),
        (
            schema.revisions,
            {"warnings": [{"code": "x"}]},
            "counts of each document are those of what is stored",
        ),
        (schema.revisions, {"source_sha256": "0"}, "stamps are those of the space"),
        (schema.revisions, {"extractor": "another"}, "stamps are those of the space"),
        (schema.revisions, {"ended_version": 1}, "states agree with what is live"),
        (schema.spaces, {"fingerprint": "another"}, "stamps are those of the space"),
        (schema.documents, {"state": "deleted"}, "states agree with what is live"),
        (schema.documents, {"reason": None}, "states agree with what is live"),
        (schema.runs, {"discovered": 5}, "counts of each run add up"),
        (schema.runs, {"indexed": None}, "counts of each run add up"),
        (schema.runs, {"indexed": 4, "discovered": 5}, "counts of each run are those of its documents"),
        (schema.runs, {"failed": 0, "unchanged": 1}, "counts of each run are those of its documents"),
        (schema.attempts, {"outcome": "failed"}, "counts of each run are those of its documents"),
        (schema.documents, {"last_outcome": "indexed"}, "counts of each run are those of its documents"),
        (
            schema.documents,
            {"state": "running", "lease_owner": "a run that is gone"},
            "no document is held by a run that ended",
        ),
        (
            schema.documents,
            {"state": "running", "lease_owner": None},
            "no document is held by a run that ended",
        ),
    ],
)
def test_a_wrong_count_or_state_in_the_ledger_is_found(
    sound: Path, table: sa.Table, values: dict[str, object], check: str
) -> None:
    set_rows(sound, table, **values)
    assert check in broken(sound)


def test_a_row_that_names_what_is_not_there_is_found(sound: Path) -> None:
    with Index.open(sound) as opened, opened.engine.connect() as connection:
        raw = connection.connection.dbapi_connection
        assert raw is not None
        raw.execute("PRAGMA foreign_keys=OFF")
        raw.execute("DELETE FROM documents WHERE path = 'a.txt'")
        raw.execute("COMMIT") if raw.in_transaction else None
        raw.execute("PRAGMA foreign_keys=ON")
    assert (
        "a row of revisions names a row of documents that is not there" in broken(sound)["ledger is intact"]
    )


def test_a_damaged_page_of_the_ledger_is_found_or_refused(sound: Path) -> None:
    with Index.open(sound) as opened, transactions.reading(opened.engine) as connection:
        root = connection.exec_driver_sql(
            "SELECT rootpage FROM sqlite_master WHERE name = 'attempts'"
        ).scalar_one()
        size = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
    with (sound / LEDGER_FILE).open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * 64)
    assert list(broken(sound)) == ["ledger is intact"]


LONG = [1.001, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "change", "check"),
    [
        ("chunks", put("content", "another"), "each chunk is a slice of its text"),
        ("chunks", put("start", 1, row=1), "each chunk is a slice of its text"),
        ("texts", put("text", "another"), "each chunk is a slice of its text"),
        ("chunks", put("ordinal", 9), "chunks are numbered without a gap"),
        ("chunks", put("chunk_id", "x"), "chunks are numbered without a gap"),
        ("chunks", lambda table: pa.concat_tables([table, table.slice(0, 1)]), "chunk counts equal the rows"),
        (
            "chunks",
            lambda table: pa.concat_tables([table, table.slice(0, 1)]),
            "chunks are numbered without a gap",
        ),
        ("chunks", lambda table: table.slice(1), "chunk counts equal the rows"),
        ("chunks", lambda table: table.slice(1), "all text lies in a chunk"),
        ("chunks", put("embedding", LONG), "vectors are finite and of unit length"),
        ("chunks", put("embedding", [float("nan")] * 8), "vectors are finite and of unit length"),
        ("chunks", put("embedding", [0.0] * 8), "vectors are finite and of unit length"),
        ("chunks", put("embedding", []), "vectors are finite and of unit length"),
        ("chunks", put("embedding", [1.0] + [0.0] * 6), "vectors are finite and of unit length"),
        ("chunks", put("tokens", 257), "no chunk is over the window"),
        ("chunks", put("tokens", 257), "chunks over the window are flagged"),
        ("chunks", put("over_window", True), "chunks over the window are flagged"),
        ("chunks", put("over_window", True), "counts of each document are those of what is stored"),
        ("chunks", put("locator", "#char=0,1"), "places of chunks are right"),
        ("chunks", put("page_last", 2), "places of chunks are right"),
        ("chunks", put("model", "another"), "stamps are those of the space"),
        ("chunks", put("dimension", 9), "stamps are those of the space"),
        ("chunks", put("terms", 99), "postings account for every term"),
        ("chunks", put("revision", 9), "chunk counts equal the rows"),
        ("texts", put("title", "another"), "stamps are those of the space"),
        ("texts", lambda table: table.slice(1), "each document has one text"),
        ("texts", lambda table: pa.concat_tables([table, table.slice(0, 1)]), "each document has one text"),
        ("postings", lambda table: table.slice(1), "posting counts equal the rows"),
        (
            "postings",
            lambda table: pa.concat_tables([table, table.slice(0, 1)]),
            "posting counts equal the rows",
        ),
        ("postings", put("tf", 5), "postings account for every term"),
    ],
)
def test_a_wrong_row_is_found(
    sound: Path, kind: str, change: Callable[[pa.Table], pa.Table], check: str
) -> None:
    rewrite(sound, kind, change)
    assert check in broken(sound)


def test_a_row_doubled_in_another_segment_is_found(sound: Path) -> None:
    with Index.open(sound) as opened, opened.snapshot() as snapshot:
        (segment,) = snapshot.of_kind("chunks")
        planted = asdict(write_segment(opened.places, "chunks", snapshot.rows(segment).slice(0, 1)))
        values = planted | {"space_id": snapshot.space_id, "began_version": snapshot.version}
        with transactions.writing(opened.engine) as connection:
            connection.execute(schema.segments.insert().values(**values))
    assert {"chunk counts equal the rows", "chunks are numbered without a gap"} <= set(broken(sound))


def test_a_document_without_chunks_is_found(index: Path, source: Path) -> None:
    def without_chunks(one: Finished) -> Finished:
        prepared = replace(one.prepared, chunks=(), terms=())
        return replace(one, prepared=prepared, vectors=np.zeros((0, SPACE.dimension), np.float32))

    reindex(index, fill(source, {"a.txt": "words"}), change=without_chunks)
    assert broken(index)["no document is without chunks"] == ("a.txt has no chunks",)


def test_what_the_writer_published_wrongly_is_named_by_document(index: Path, source: Path) -> None:
    def wrong(one: Finished) -> Finished:
        chunks = tuple(replace(chunk, content="not the words") for chunk in one.prepared.chunks)
        return replace(one, prepared=replace(one.prepared, chunks=chunks)) if one.job.path == "b.txt" else one

    reindex(index, fill(source, DOCUMENTS), change=wrong)
    assert broken(index)["each chunk is a slice of its text"] == (
        "b.txt: chunk 0 is not the slice 0 to 6 of the text",
    )


def test_at_most_twenty_problems_of_a_check_are_kept(index: Path, source: Path) -> None:
    reindex(index, fill(source, {f"{n:02}.txt": f"words {n}" for n in range(30)}))
    set_rows(index, schema.revisions, chunks=5)
    problems = broken(index)["chunk counts equal the rows"]
    assert len(problems) == 20
    assert problems[0] == "00.txt has 1 chunk, not 5"


def test_verify_changes_nothing(sound: Path) -> None:
    segment_file(sound, "chunks").unlink()
    before = {path: path.read_bytes() for path in sorted(sound.rglob("*")) if path.is_file()}
    broken(sound)
    after = {path: path.read_bytes() for path in sorted(sound.rglob("*")) if path.is_file()}
    assert after == before
