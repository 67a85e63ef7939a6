"""What only old versions had goes after the grace time, and a living reader keeps what it reads."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken, UsageError, VersionGone
from pincite.storage.erasure.forget import forget
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.reader_leases import LEASE_S, Lease
from pincite.storage.maintenance.vacuum import freeable
from pincite.storage.queries.sql import query
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from tests.storage.building import PERMANENT, fill, found, reindex
from tests.storage.maintaining import broken_checks, compacted, files, vacuumed

ROOT = Path(__file__).parents[3]

READER = """
import sys
from pathlib import Path
from pincite.schemas.errors import VersionGone
from pincite.storage.snapshots.index import Index
index, leased = Path(sys.argv[1]), sys.argv[2] == "leased"
with Index.open(index) as opened:
    with (opened.held_snapshot if leased else opened.snapshot)() as snapshot:
        print("reads", snapshot.version, flush=True)
        for line in sys.stdin:
            try:
                print(*snapshot.chunks(["content"])["content"].to_pylist(), flush=True)
            except VersionGone as error:
                print("gone:", error, flush=True)
"""


def start_reader(index: Path, kind: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", READER, str(index), kind],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline().startswith("reads")
    return process


def ask(process: "subprocess.Popen[str]") -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def history(index: Path, source: Path) -> None:
    for turn in range(3):
        reindex(index, fill(source, {"a.txt": f"# A\n\nturn{turn}", "b.txt": "# B\n\nsame"}))


def test_what_only_old_versions_had_is_taken_away(index: Path, source: Path) -> None:
    history(index, source)
    reindex(index, fill(source, {"a.txt": "# A\n\nturn3"}))
    compacted(index)
    before = found(index)
    assert freeable(index_of(index), 0.0)[0] > 0
    done = vacuumed(index)
    assert done.files == 12 and done.bytes_freed > 0 and done.revisions == 4 and done.attempts == 3
    assert len(files(index)) == 3 and found(index) == before
    assert broken_checks(index) == []
    assert vacuumed(index).files == 0
    reindex(index, fill(source, {"a.txt": "# A\n\nturn4"}))
    assert found(index) == {"a.txt": ["turn4"]} and broken_checks(index) == []


def index_of(path: Path) -> Index:
    opened = Index.open(path)
    opened.close()  # its pool makes new connections when they are needed
    return opened


def test_an_older_version_is_refused_and_the_oldest_is_named(index: Path, source: Path) -> None:
    history(index, source)
    oldest = vacuumed(index).oldest
    with Index.open(index) as opened:
        with pytest.raises(VersionGone, match=f"version 1 is no longer kept.*has the versions {oldest} to"):
            query(opened, "SELECT 1", version=1)
        with pytest.raises(UsageError, match="there is no version 99"), opened.snapshot(99):
            pass
        assert query(opened, "SELECT 1", version=oldest).num_rows == 1


def test_a_reader_that_follows_over_a_vacuum_misses_no_change(index: Path, source: Path) -> None:
    history(index, source)
    with Index.open(index) as opened:
        with opened.snapshot(1) as earlier:
            assert len(earlier.keys.documents) == 2
        reindex(index, fill(source, {"b.txt": "# B\n\nsame"}))
        vacuumed(index)
        with opened.snapshot() as now:
            now.follow(earlier)
            assert len(now.keys.documents) == 1


def test_the_grace_time_keeps_what_was_replaced_a_moment_ago(index: Path, source: Path) -> None:
    history(index, source)
    before = found(index, 1)
    assert vacuumed(index, grace_s=3_600).files == 0
    assert found(index, 1) == before
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        past = schema.versions.c.version <= 2
        connection.execute(schema.versions.update().where(past).values(committed_at=time.time() - 7_200))
    done = vacuumed(index, grace_s=3_600)
    assert done.oldest == 2, "version 2 was the newest one an hour ago"
    assert found(index, 2) == {"a.txt": ["turn1"], "b.txt": ["same"]}


def test_the_last_failure_before_the_horizon_is_kept(index: Path, source: Path) -> None:
    reindex(index, fill(source, {"a.txt": PERMANENT}))
    reindex(index, fill(source, {"a.txt": f"{PERMANENT} again"}))
    reindex(index, fill(source, {"b.txt": "words"}))
    vacuumed(index)
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        attempts = connection.execute(sa.select(schema.attempts.c.reason)).scalars().all()
    assert attempts == [f"{PERMANENT} again", None]
    assert broken_checks(index) == []


def test_a_reader_with_a_lease_reads_on_while_vacuum_works(index: Path, source: Path) -> None:
    history(index, source)
    with start_reader(index, "leased") as reader:
        version = found_version(index)
        reindex(index, fill(source, {"a.txt": "# A\n\nturn9"}))
        compacted(index)
        done = vacuumed(index)
        assert done.oldest == version
        assert done.held_by == (done.held_by[0],) and f"process {reader.pid} on" in done.held_by[0]
        assert sorted(ask(reader).split()) == ["same", "turn2"], "trap 5: its files are still there"
        reader.kill()
    assert vacuumed(index).oldest > version, "a dead reader holds nothing"
    assert len(files(index)) == 3


def test_a_reader_without_a_lease_is_told_what_happened(index: Path, source: Path) -> None:
    history(index, source)
    with start_reader(index, "unleased") as reader:
        reindex(index, fill(source, {"a.txt": "# A\n\nturn9"}))
        compacted(index)
        vacuumed(index)
        said = ask(reader)
        assert said.startswith("gone: the version that was being read is no longer kept"), said
        assert "Ask again for the newest version" in said
        reader.send_signal(signal.SIGKILL)


def found_version(index: Path) -> int:
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        return snapshot.version


def test_a_lease_that_ran_out_holds_nothing(index: Path, source: Path) -> None:
    history(index, source)
    with Index.open(index) as opened:
        Lease(opened.engine).hold(1)
        with transactions.writing(opened.engine) as connection:
            connection.execute(schema.readers.update().values(host="another", lease_until=time.time() + 60))
        assert vacuumed(index).oldest == 1, "nothing is known of a process on another host: its time counts"
        with transactions.writing(opened.engine) as connection:
            connection.execute(schema.readers.update().values(lease_until=time.time() - 1))
        assert vacuumed(index).oldest > 1


def test_a_lease_is_written_once_not_for_each_search(index: Path, source: Path) -> None:
    history(index, source)
    with Index.open(index) as opened:
        statements: list[str] = []
        sa.event.listen(opened.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
        lease = Lease(opened.engine)
        lease.hold(2)
        written = len(statements)
        for _ in range(100):
            lease.hold(2)
        assert len(statements) == written > 0
        lease.hold(3)
        with transactions.reading(opened.engine) as connection:
            rows = connection.execute(sa.select(schema.readers).order_by(schema.readers.c.version)).all()
        left = [row.lease_until - time.time() for row in rows]
        assert [row.version for row in rows] == [2, 3], "searches of the former version may still be at it"
        assert left[0] < 180 < LEASE_S - 60 < left[1]
        lease.release()
        with transactions.reading(opened.engine) as connection:
            assert connection.execute(sa.select(schema.readers)).all() == []
        vacuumed(index)
        with pytest.raises(VersionGone):
            Lease(opened.engine).hold(1)


def test_a_file_that_is_lost_is_damage_not_vacuum(index: Path, source: Path) -> None:
    history(index, source)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        (index / snapshot.of_kind("chunks")[0].file).unlink()
        with pytest.raises(IndexBroken, match="is missing: restore"):
            snapshot.chunks(["content"])


def test_the_ledger_is_on_the_disk_before_files_go(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reindex(index, fill(source, {"a.txt": "# A\n\none"}))
    reindex(index, fill(source, {"a.txt": "# A\n\ntwo"}))
    compacted(index)
    steps: list[str] = []
    sync, unlink = os.fsync, Path.unlink

    def synced(number: int) -> None:
        steps.append(Path(os.readlink(f"/proc/self/fd/{number}")).name)
        sync(number)

    def unlinked(path: Path, missing_ok: bool = False) -> None:
        steps.append(path.suffix)
        unlink(path, missing_ok)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "unlink", unlinked)
    assert vacuumed(index).files > 0
    assert "ledger.sqlite-wal" in steps[: steps.index(".parquet")]
    steps.clear()
    with Index.open(index) as opened:
        forget(opened, find(opened, "a.txt"))
    assert "ledger.sqlite-wal" in steps[: steps.index(".parquet")]
