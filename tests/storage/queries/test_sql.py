"""SQL over a snapshot: the views, and nothing but the views."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.schemas.errors import IndexBroken, UsageError
from pincite.storage.queries.sql import query
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, fill, reindex


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with a replaced, a deleted and a failed document; no test may change it."""
    folder = tmp_path_factory.mktemp("kept")
    source = fill(
        folder / "source", {"a.txt": "# Alpha\n\nred green\n\nblue", "b.txt": "red red", "c.txt": "old"}
    )
    reindex(folder / "index", source)
    (source / "b.txt").write_text("yellow yellow")
    (source / "c.txt").unlink()
    (source / "d.txt").write_text(PERMANENT)
    reindex(folder / "index", source)
    return folder / "index"


@pytest.fixture
def opened(kept: Path) -> Iterator[Index]:
    with Index.open(kept) as one:
        yield one


def rows(opened: Index, sql: str, version: int | None = None) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in query(opened, sql, version).to_pylist()]


def test_the_views_show_the_live_rows(opened: Index) -> None:
    assert rows(opened, "SELECT content FROM chunks ORDER BY content") == [
        ("blue",),
        ("red green",),
        ("yellow yellow",),
    ]
    assert rows(opened, "SELECT term, sum(tf) FROM postings GROUP BY ALL ORDER BY ALL") == [
        ("blue", 1),
        ("green", 1),
        ("red", 1),
        ("yellow", 2),
    ]
    assert rows(opened, "SELECT title, length(text) FROM texts ORDER BY title") == [("Alpha", 24), ("b", 13)]
    assert rows(opened, "SELECT path, state, chunks, title FROM documents ORDER BY path") == [
        ("a.txt", "indexed", 2, "Alpha"),
        ("b.txt", "indexed", 1, "b"),
        ("d.txt", "failed", None, None),
    ]
    assert rows(opened, "SELECT path, stage, kind, reason, page, attempts FROM failures") == [
        ("d.txt", "embed", "error", PERMANENT, 2, 1)
    ]
    assert rows(opened, "SELECT count(*), min(len(embedding)), max(len(embedding)) FROM chunks") == [
        (3, 8, 8)
    ]


def test_views_join(opened: Index) -> None:
    sql = """SELECT d.path, c.content FROM documents d JOIN chunks c USING (document_id)
             JOIN texts t USING (document_id) WHERE t.text[c.start + 1 : c."end"] = c.content ORDER BY ALL"""
    assert rows(opened, sql) == [("a.txt", "blue"), ("a.txt", "red green"), ("b.txt", "yellow yellow")]


def test_an_older_version_is_asked_by_its_number(opened: Index) -> None:
    assert rows(opened, "SELECT content FROM chunks ORDER BY content", version=1) == [
        ("blue",),
        ("old",),
        ("red green",),
        ("red red",),
    ]
    with pytest.raises(UsageError, match="there is no version 99: the index has the versions 0 to"):
        query(opened, "SELECT 1", version=99)
    assert rows(opened, "SELECT count(*) FROM chunks", version=0) == [(0,)]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{out}'",
        "COPY chunks TO '{out}' (FORMAT parquet)",
        "EXPORT DATABASE '{out}'",
        "ATTACH '{out}' AS other",
        "ATTACH '{secret}' AS other",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM read_blob('{secret}')",
        "SELECT * FROM '{secret}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('{segment}')",
        "SELECT * FROM 'https://example.invalid/a.parquet'",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "SET lock_configuration = false",
        "INSTALL httpfs",
        "LOAD httpfs",
        "IMPORT DATABASE '{folder}'",
        "INSERT INTO chunks VALUES (1)",
        "DELETE FROM documents",
        "DROP TABLE documents",
        "SELECT * FROM opened",
        "SELECT * FROM Index",
        "SELEKT 1",
        "SELECT nothing FROM chunks",
        "SELECT 1/0 FROM nowhere",
        "SELECT CAST('x' AS INTEGER)",
    ],
)
def test_files_network_and_changes_are_out_of_reach(opened: Index, tmp_path: Path, sql: str) -> None:
    secret, out = tmp_path / "secret.csv", tmp_path / "out"
    secret.write_text("secret\n1\n")
    with opened.snapshot() as snapshot:
        segment = opened.path / snapshot.segments[0].file
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="the query can't be run: ") as caught:
        query(opened, sql.format(out=out, secret=secret, folder=tmp_path, segment=segment))
    assert "Views are: documents, failures, texts, chunks, postings" in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before
    assert rows(opened, "SELECT count(*) FROM documents") == [(3,)]


def test_what_stands_around_the_call_is_no_table(opened: Index) -> None:
    secrets = query(opened, "SELECT 42 AS secret")
    assert secrets.num_rows == 1
    with pytest.raises(UsageError, match="secrets"):
        query(opened, "SELECT * FROM secrets")


def test_a_missing_or_damaged_segment_is_a_broken_index_not_a_wrong_query(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path / "index")
    with Index.open(tmp_path / "index") as opened:
        with opened.snapshot() as snapshot:
            path = opened.path / snapshot.of_kind("chunks")[0].file
        data = path.read_bytes()
        path.write_bytes(data[:4] + b"\xff" * (len(data) - 8) + data[-4:])
        with pytest.raises(IndexBroken, match="is not what was written"):
            query(opened, "SELECT content, embedding FROM chunks")
        path.unlink()
        with pytest.raises(IndexBroken, match="is missing"):
            query(opened, "SELECT content FROM chunks")
        with pytest.raises(UsageError):
            query(opened, "SELECT nothing FROM chunks")
        assert rows(opened, "SELECT count(*) FROM texts") == [(2,)]


def test_a_statement_without_rows_and_a_description(opened: Index) -> None:
    assert query(opened, "CREATE TEMP TABLE t AS SELECT 1").num_rows in (0, 1)
    assert [row[0] for row in rows(opened, "DESCRIBE documents")][:3] == ["document_id", "source", "path"]
