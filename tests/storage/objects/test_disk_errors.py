"""A disk that is full or can't be written ends an operation with a clear message, and the index stays intact."""

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pincite.schemas.errors import PinciteError, UsageError
from pincite.storage.checks.doctor import examine
from pincite.storage.erasure.forget import forget
from pincite.storage.locks.reader_leases import Lease
from pincite.storage.maintenance.whole_index import compact_index, vacuum_index
from pincite.storage.migration.state import newest_migration
from pincite.storage.queries.index_report import index_report
from pincite.storage.queries.sql import query
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from tests.storage.building import POLICY, SPACE, fill, found, reindex, run_apart
from tests.storage.maintaining import broken_checks, compacted, files, vacuumed
from tests.storage.migrating import WIDE, migrate_to

OPERATIONS: dict[str, Callable[[Index], object]] = {
    "compact": compact_index,
    "vacuum": lambda index: vacuum_index(index, 0.0),
    "forget": lambda index: forget(index, find(index, "a.txt")),
    "migrate": lambda index: migrate_to(index.path, WIDE),
}

LIMITED = """
import resource, signal, sys
from pathlib import Path
from pincite.schemas.errors import PinciteError
from pincite.storage.snapshots.index import Index
from tests.storage.building import reindex
from tests.storage.objects.test_disk_errors import OPERATIONS
index, source, limit = Path(sys.argv[1]), Path(sys.argv[2]), int(Path(sys.argv[3]).name)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for name in ("reindex", *OPERATIONS):
    try:
        if name == "reindex":
            reindex(index, source)
        else:
            with Index.open(index) as opened:
                OPERATIONS[name](opened)
        print(name, "done")
    except PinciteError as error:
        print(name, type(error).__name__, error)
"""


def grow(index: Path, source: Path) -> dict[str, list[str]]:
    for turn in range(3):
        reindex(index, fill(source, {"a.txt": f"# A\n\nturn{turn}", "b.txt": "# B\n\n" + "others " * 200}))
    return found(index)


def fill_up(filler: Path, but_bytes: int = 0) -> None:
    with filler.open("wb", buffering=0) as file:
        with suppress(OSError):
            while file.write(b"x" * 4_096):
                pass
        file.truncate(max(0, file.tell() - but_bytes))


def test_an_index_is_made_whole_or_not_at_all_however_much_room_there_is(small_disk: Path) -> None:
    filler, made = small_disk / "filler", set()
    for room in range(0, 800_000, 24_000):
        index = small_disk / "index"
        fill_up(filler, room)
        try:
            Index.create(index, SPACE).close()
            made.add(True)
        except UsageError as error:
            assert "disk has room" in str(error)
            assert not index.exists() or not list(index.iterdir())
            made.add(False)
        filler.unlink()
        with Index.create(index, SPACE) as opened:
            assert opened.newest_version() == 0
        assert broken_checks(index) == []
        shutil.rmtree(index)
    assert made == {True, False}


def test_a_full_disk_ends_each_operation_and_breaks_nothing(small_disk: Path, source: Path) -> None:
    index = small_disk / "index"
    before = grow(index, source)
    here = files(index)
    filler = small_disk / "filler"
    fill_up(filler)
    (source / "c.txt").write_text("# C\n\nnew")
    with pytest.raises(UsageError, match="that the disk has room"):
        reindex(index, source)
    for operation in OPERATIONS.values():
        with pytest.raises(PinciteError, match="that the disk has room"), Index.open(index) as opened:
            operation(opened)
    assert files(index) == here
    filler.unlink()
    assert found(index) == before and broken_checks(index) == []
    reindex(index, source)
    compacted(index)
    vacuumed(index)
    assert migrate_to(index, WIDE)
    assert found(index)["c.txt"] == ["new"] and broken_checks(index) == []


@pytest.mark.parametrize("limit", [2_000, 20_000])
def test_a_limit_on_files_ends_each_operation_and_breaks_nothing(
    index: Path, source: Path, tmp_path: Path, limit: int
) -> None:
    before = grow(index, source)
    (source / "c.txt").write_text("# C\n\n" + "\n\n".join(f"word{number}" * 30 for number in range(400)))
    said = run_apart(LIMITED, index, source, tmp_path / str(limit))
    assert "Traceback" not in said
    lines = [line for line in said.splitlines() if line.split()[0] in ("reindex", *OPERATIONS)]
    assert [line.split()[0] for line in lines] == ["reindex", *OPERATIONS], said
    assert "disk has room" in lines[0]
    now = found(index)
    assert "c.txt" not in now and now["b.txt"] == before["b.txt"]
    assert now.get("a.txt", before["a.txt"]) == before["a.txt"], "forgotten, or as it was"
    assert broken_checks(index) == []
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is None or migration.state == "building", "it is not half switched"
    reindex(index, source)
    assert len(found(index)["c.txt"]) == 400 and broken_checks(index) == []


def test_a_read_only_disk_is_searched_and_not_written(
    small_disk: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = small_disk / "index"
    before = grow(index, source)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert not os.access(index, os.W_OK)
    with pytest.raises(UsageError, match="Read-only file system"):
        reindex(index, source)
    with Index.open(index) as opened:
        for operation in OPERATIONS.values():
            with pytest.raises(UsageError, match="Read-only file system"):
                operation(opened)
        assert query(opened, "SELECT count(*) AS n FROM chunks").to_pylist() == [{"n": 2}]
        assert index_report(opened, POLICY.recipe).chunks == 2
        assert not any(one.level == "wrong" and one.area != "disk" for one in examine(opened, POLICY.recipe))
        lease = Lease(opened.engine)
        caplog.clear()
        lease.hold(1)
        lease.hold(2)
        lease.release()
    assert ["without a lease" in record.message for record in caplog.records] == [True], "said once"
    assert found(index) == before and broken_checks(index) == []
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
    compacted(index)
    assert found(index) == before
