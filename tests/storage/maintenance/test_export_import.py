"""An exported index is the index; what is cut off or changed is refused; Parquet can be read by others."""

import subprocess
import sys
import tarfile
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken, UsageError
from pincite.storage.ledger import schema, transactions
from pincite.storage.maintenance.export_import import MANIFEST, export_index, export_parquet, import_index
from pincite.storage.objects.digest import sha256_of
from pincite.storage.snapshots.index import Index
from tests.storage.building import PERMANENT, fill, found, reindex, run_apart, states
from tests.storage.maintaining import broken_checks

ROOT = Path(__file__).parents[3]

WRITER = """
import sys
from pathlib import Path
from tests.storage.building import fill, reindex
from tests.storage.maintaining import compacted, vacuumed
index, source = map(Path, sys.argv[1:])
for turn in range(10**6):
    reindex(index, fill(source, {f"{n}.txt": f"# T\\n\\nturn{turn} part{n}" for n in range(turn % 3 + 2)}))
    if turn % 2:
        compacted(index)
        vacuumed(index)
    print(turn, flush=True)
"""


@pytest.fixture
def kept(index: Path, source: Path) -> Path:
    reindex(index, fill(source, {"a.txt": "# A\n\none\n\ntwo", "b.txt": "three", "c.txt": "four"}))
    reindex(index, fill(source, {"a.txt": "# A\n\nnew", "b.txt": "three", "c.txt": PERMANENT}))
    (index / "cache").mkdir(exist_ok=True)
    return index


def exported(index: Path, target: Path) -> Path:
    with Index.open(index) as opened:
        export_index(opened, target)
    return target


def test_an_import_is_the_index_with_its_versions(kept: Path, tmp_path: Path) -> None:
    done = import_index(exported(kept, tmp_path / "one.tar"), tmp_path / "new" / "index")
    assert (done.version, done.segments) == (2, 6)
    for version in (None, 0, 1):
        assert found(tmp_path / "new" / "index", version) == found(kept, version)
    assert states(tmp_path / "new" / "index") == states(kept)
    assert broken_checks(tmp_path / "new" / "index") == []
    assert not list(tmp_path.rglob(".pincite-*"))


def test_an_export_is_whole_while_a_run_writes(index: Path, source: Path, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(index), str(source)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None and writer.stdout.readline()
        for number in range(4):
            import_index(exported(index, tmp_path / f"{number}.tar"), tmp_path / f"index{number}")
            writer.stdout.readline()
        assert writer.poll() is None
        writer.kill()
    for number in range(4):
        names = {check.name for check in broken_checks(tmp_path / f"index{number}")}
        assert names <= {"no document is held by a run that ended"}, names


@pytest.mark.parametrize("cut", [100, 5_000, -2_000])
def test_a_half_archive_is_refused(kept: Path, tmp_path: Path, cut: int) -> None:
    whole = exported(kept, tmp_path / "one.tar").read_bytes()
    end = cut if cut > 0 else whole.rindex(b"PAR1")
    (tmp_path / "half.tar").write_bytes(whole[:end])
    with pytest.raises(UsageError, match="is no whole export of Pincite"):
        import_index(tmp_path / "half.tar", tmp_path / "new")
    assert not (tmp_path / "new").exists() and not list(tmp_path.glob(".pincite-*"))


def test_a_changed_archive_is_refused(kept: Path, tmp_path: Path) -> None:
    whole = bytearray(exported(kept, tmp_path / "one.tar").read_bytes())
    whole[whole.rindex(b"PAR1") - 40] ^= 1
    (tmp_path / "changed.tar").write_bytes(whole)
    with pytest.raises(UsageError, match="is not what was exported"):
        import_index(tmp_path / "changed.tar", tmp_path / "new")


def test_a_foreign_archive_writes_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "manifest").write_text('{"format": 1, "sha256": {"../outside": "x"}}')
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        archive.add(tmp_path / "manifest", MANIFEST)
        archive.add(tmp_path / "manifest", "../outside")
    with pytest.raises(UsageError, match="no part of an index"):
        import_index(tmp_path / "evil.tar", tmp_path / "new")
    (tmp_path / "text").write_text("no archive at all")
    with pytest.raises(UsageError, match="no whole export"):
        import_index(tmp_path / "text", tmp_path / "new")
    with pytest.raises(UsageError, match="no such file"):
        import_index(tmp_path / "nothing", tmp_path / "new")
    assert not (tmp_path / "outside").exists()


def test_nothing_is_overwritten_and_damage_is_not_exported(kept: Path, tmp_path: Path) -> None:
    archive = exported(kept, tmp_path / "one.tar")
    with pytest.raises(UsageError, match="exists"):
        exported(kept, archive)
    with pytest.raises(UsageError, match="there is something at"):
        import_index(archive, kept)
    segment = next((kept / "segments" / "texts").iterdir())
    segment.write_bytes(segment.read_bytes()[:-1] + b"x")
    with pytest.raises(IndexBroken, match="is not what was written"):
        exported(kept, tmp_path / "two.tar")
    assert not (tmp_path / "two.tar").exists()


def test_parquet_has_the_live_rows_and_others_read_it(kept: Path, tmp_path: Path) -> None:
    with Index.open(kept) as opened:
        assert export_parquet(opened, tmp_path / "not" / "yet" / "now") == {
            "documents": 3, "texts": 3, "chunks": 3, "postings": 3
        }  # fmt: skip
        export_parquet(opened, tmp_path / "then", version=1)
        with pytest.raises(UsageError, match="there is something at"):
            export_parquet(opened, tmp_path / "then")
    chunks, documents = tmp_path / "then" / "chunks.parquet", tmp_path / "then" / "documents.parquet"
    joined = f"SELECT path, content FROM '{chunks}' JOIN '{documents}' USING (document_id) ORDER BY ALL"
    assert duckdb.sql(joined).fetchall() == [
        ("a.txt", "one"), ("a.txt", "two"), ("b.txt", "three"), ("c.txt", "four")
    ]  # fmt: skip
    now = pq.read_table(tmp_path / "not" / "yet" / "now" / "chunks.parquet")["content"].to_pylist()
    assert sorted(now) == ["four", "new", "three"]


MEASURED = """
import resource, sys
from pathlib import Path
from pincite.storage.maintenance.export_import import export_index, import_index
from pincite.storage.snapshots.index import Index
what, source, target = sys.argv[1], *map(Path, sys.argv[2:])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if what == "export":
    with Index.open(source) as opened:
        export_index(opened, target)
else:
    import_index(source, target)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_large_member_is_never_whole_in_memory(kept: Path, tmp_path: Path) -> None:
    large_mib = 160
    with Index.open(kept) as opened, transactions.writing(opened.engine) as connection:
        row = connection.execute(sa.select(schema.segments).where(schema.segments.c.kind == "texts")).first()
        assert row is not None
        path = kept / row.file
        with path.open("ab") as file:
            file.truncate(large_mib << 20)
        values = {"sha256": sha256_of(path), "size_bytes": path.stat().st_size}
        here = schema.segments.c.segment_id == row.segment_id
        connection.execute(schema.segments.update().where(here).values(**values))
    archive, imported = tmp_path / "one.tar", tmp_path / "new"
    for what, source, target in (("export", kept, archive), ("import", archive, imported)):
        grown = run_apart(MEASURED, Path(what), source, target)
        assert int(grown) < large_mib // 3, what
    assert (imported / row.file).stat().st_size == large_mib << 20
