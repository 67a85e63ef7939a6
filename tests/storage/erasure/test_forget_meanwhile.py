"""What others do while a document is forgotten: none brings it back, and none sees half of it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pincite.schemas.errors import VersionGone
from pincite.storage.documents.texts import read_texts
from pincite.storage.maintenance import export_import
from pincite.storage.queries import sql
from pincite.storage.search_cache.cache import open_cover
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import allow_again
from tests.storage.building import fill, reindex
from tests.storage.forgetting import FILES, bytes_of, forgotten, make

ROOT = Path(__file__).parents[3]

# A search that has read the segments and writes its pack only when it is told to.
SLOW_SEARCH = """
import sys
from pathlib import Path
import pincite.storage.search_cache.cache as cache
from pincite.storage.snapshots.index import Index
pack = cache.pack_units
def slowly(*arguments):
    packed = pack(*arguments)
    print("read", flush=True)
    sys.stdin.readline()
    return packed
cache.pack_units = slowly
with Index.open(Path(sys.argv[1])) as opened, opened.snapshot() as snapshot:
    print(len(cache.open_cover(snapshot).packs), flush=True)
"""


def slow_search(index: Path, code: str) -> "subprocess.Popen[str]":
    """A search in a process of its own, which says "read" and goes on when it is told to."""
    return subprocess.Popen(
        [sys.executable, "-c", code, str(index)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_search_of_another_process_that_read_it_before_writes_no_pack_of_it_afterwards(
    index: Path, source: Path
) -> None:
    reindex(index, fill(source, FILES))
    with slow_search(index, SLOW_SEARCH) as search:
        assert search.stdout is not None and search.stdout.readline() == "read\n"
        assert forgotten(index).proof.found == ()
        told, _ = search.communicate("go\n")
    assert told == "1\n", "it goes on with a pack in memory"
    assert b"rzezina" not in bytes_of(index)


def test_the_forgetting_waits_for_a_search_that_is_just_writing(index: Path, source: Path) -> None:
    reindex(index, fill(source, FILES))
    code = SLOW_SEARCH.replace("cache.pack_units", "cache.join_packs").replace("pack_units", "join_packs")
    with slow_search(index, code) as search:
        assert search.stdin is not None and search.stdout is not None and search.stdout.readline() == "read\n"
        with ThreadPoolExecutor(1) as other:
            done = other.submit(forgotten, index)
            with pytest.raises(TimeoutError):
                done.result(timeout=1.0)
            search.stdin.write("go\n")
            search.stdin.flush()
            assert search.stdout.readline() == "1\n"
            assert done.result().proof.found == () and done.result().erased.side_files == 1
    assert b"rzezina" not in bytes_of(index)


def test_a_reader_that_holds_a_version_is_told_that_its_files_went_or_reads_the_others(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(index, source)
    with Index.open(index) as opened:
        for version in (1, None):
            reindex(index, fill(source, FILES))
            with opened.held_snapshot(version) as held:
                ids = [one.document_id for one in held.documents()]
                reading = {
                    "chunks": lambda held=held: held.chunks(["content"]),
                    "postings": lambda held=held: held.postings(["nothing"]),
                    "cover": lambda held=held: open_cover(held),
                }
                forgotten(index)
                for read in reading.values():
                    with pytest.raises(VersionGone, match="no longer kept"):
                        read()
                assert [one.document.path for one in read_texts(opened, ids, held.version).values()] == [
                    "public.txt"
                ]
            allow_again(opened, "letters/brzezina-case.txt")


@pytest.mark.parametrize("asked", ["FROM chunks", "FROM texts", "SELECT count(*) FROM postings"])
def test_a_query_in_sql_is_told_that_its_files_went(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    make(index, source)
    views = sql._make_views

    def meanwhile(*arguments: Any) -> None:
        views(*arguments)
        forgotten(index)

    monkeypatch.setattr(sql, "_make_views", meanwhile)
    with Index.open(index) as opened:
        with pytest.raises(VersionGone, match="no longer kept"):
            sql.query(opened, asked)
        monkeypatch.undo()
        assert sql.query(opened, "SELECT path FROM documents").to_pylist() == [{"path": "public.txt"}]


def test_an_export_that_a_forgetting_overtakes_is_told_and_leaves_nothing(
    index: Path, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(index, source)
    write = export_import._write_archive

    def meanwhile(*arguments: Any) -> int:
        forgotten(index)
        return write(*arguments)

    monkeypatch.setattr(export_import, "_write_archive", meanwhile)
    with Index.open(index) as opened, pytest.raises(VersionGone, match="no longer kept"):
        export_import.export_index(opened, tmp_path / "all.tar")
    assert not list(tmp_path.glob("*.tar")) and not list(tmp_path.glob(".pincite*"))
