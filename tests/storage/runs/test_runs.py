"""Runs: one at a time, and what a killed one leaves is taken over."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken, IndexBusy
from pincite.schemas.records import Collection, Counts
from pincite.storage.checks.verify import verify
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.run_lock import LOCK_FILE, exclusive
from pincite.storage.queries.index_report import index_report
from pincite.storage.runs.commit import lease
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.segments.segment import FOLDER
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import SourceListing, discover, settle_if_idle
from tests.storage.building import LEASE_S, POLICY, SPACE, fill, found, reindex, states

ROOT = Path(__file__).parents[3]

HOLDER = """
import os, signal, sys
from pathlib import Path
from pincite.storage.runs.commit import lease
from pincite.storage.snapshots.index import Index
from pincite.storage.runs.runs import begin_run
from pincite.tasks.discover import discover
from tests.storage.building import POLICY, SPACE
index, source = map(Path, sys.argv[1:])
with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", str(source)) as run:
    for document_id in discover(run, POLICY).pending[:2]:
        assert lease(run, document_id, POLICY, 3600)
    (index / "segments" / "chunks").mkdir(parents=True)
    (index / "segments" / "chunks" / "half.tmp").write_bytes(b"PAR1")
    (index / "segments" / "chunks" / "unclaimed.parquet").write_bytes(b"PAR1")
    print("held", flush=True)
    signal.pause()
"""

WRITER = """
import os, signal, sys
from pathlib import Path
import pincite.storage.objects.local
from tests.storage.building import reindex
def die(descriptor):
    os.kill(os.getpid(), signal.SIGKILL)
pincite.storage.objects.local.os = type("Os", (), {**vars(os), "fsync": staticmethod(die)})
reindex(*map(Path, sys.argv[1:]))
"""


def start(code: str, *arguments: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def test_two_runs_at_once_end_the_second_and_name_the_first(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    with start(HOLDER, index, source) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        try:
            with Index.open(index) as opened:
                named = f"process {holder.pid} on {socket.gethostname()}"
                with pytest.raises(IndexBusy, match=named):
                    reindex(index, source)
                with pytest.raises(IndexBusy, match=named):
                    settle_if_idle(opened, Collection("source", str(source)), POLICY)
                assert states(index) == {"a.txt": ("running", None)}, "the first run keeps its lease"
                assert all(check.ok for check in verify(opened))
                last_run = index_report(opened, POLICY.recipe).last_run
                assert last_run is not None and last_run["state"] == "running"
        finally:
            holder.kill()


def test_a_killed_run_is_taken_over_with_all_its_documents(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "first", "b.txt": "second", "c.txt": "third"})
    with start(HOLDER, index, source) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        holder.kill()
    assert states(index) == {
        "a.txt": ("running", None),
        "b.txt": ("running", None),
        "c.txt": ("pending", None),
    }
    with Index.open(index) as opened:
        broken = {check.name for check in verify(opened) if not check.ok}
        assert broken == {"no document is held by a run that ended"}
        assert isinstance(settle_if_idle(opened, Collection("source", str(source)), POLICY), SourceListing), (
            "an interrupted index never looks healthy"
        )
        last_run = index_report(opened, POLICY.recipe).last_run
        assert last_run is not None
        assert (last_run["state"], last_run["message"]) == ("broken", "its process ended before the run did")
    assert reindex(index, source) == Counts(3, indexed=3)
    assert found(index) == {"a.txt": ["first"], "b.txt": ["second"], "c.txt": ["third"]}
    assert not list((index / FOLDER).rglob("*.tmp")) and not list((index / FOLDER).rglob("unclaimed*"))
    with Index.open(index) as opened:
        assert all(check.ok for check in verify(opened))
        with transactions.reading(opened.engine) as connection:
            runs = connection.execute(sa.select(schema.runs).order_by(schema.runs.c.started_at)).all()
    assert [(run.state, run.message) for run in runs] == [
        ("broken", "its process ended before the run did"),
        ("completed", None),
    ]


def test_a_run_of_another_host_name_is_taken_over_too(index: Path, source: Path) -> None:
    # Each container has its own host name; the lock alone says whether a run is alive.
    fill(source, {"a.txt": "words"})
    with start(HOLDER, index, source) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        holder.kill()
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        connection.execute(schema.runs.update().values(host="another-container"))
    assert reindex(index, source) == Counts(1, indexed=1)
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        assert set(connection.scalars(sa.select(schema.runs.c.state))) == {"broken", "completed"}


def test_a_process_killed_while_it_writes_a_segment_leaves_none_that_a_reader_sees(
    index: Path, source: Path
) -> None:
    fill(source, {"a.txt": "first"})
    reindex(index, source)
    (source / "b.txt").write_text("second")
    with start(WRITER, index, source) as writer:
        assert writer.wait(60) == -signal.SIGKILL
    assert list((index / FOLDER).rglob("*.tmp")), "it died in the middle of the file"
    assert found(index) == {"a.txt": ["first"]}
    assert reindex(index, source) == Counts(2, indexed=1, unchanged=1)
    assert not list((index / FOLDER).rglob("*.tmp"))
    assert found(index) == {"a.txt": ["first"], "b.txt": ["second"]}


def test_a_run_that_ends_by_an_exception_frees_its_documents(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    with Index.create(index, SPACE) as opened:
        with pytest.raises(RuntimeError), begin_run(opened, "reindex", str(source)) as run:
            (pending,) = discover(run, POLICY).pending
            lease(run, pending, POLICY, LEASE_S)
            raise RuntimeError("the disk \udcff is gone")
        with transactions.reading(opened.engine) as connection:
            (row,) = connection.execute(sa.select(schema.runs)).all()
        assert (row.state, row.message) == ("broken", "RuntimeError: the disk \\udcff is gone")
        assert states(index) == {"a.txt": ("pending", None)}
        assert lease(run, pending, POLICY, LEASE_S) is None, "a task that comes late takes nothing"
        assert all(check.ok for check in verify(opened))


def test_a_run_over_another_source_frees_what_a_killed_run_held(
    index: Path, source: Path, tmp_path: Path
) -> None:
    fill(source, {"a.txt": "first", "b.txt": "second", "c.txt": "third"})
    holder = start(HOLDER, index, source)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    reindex(index, fill(tmp_path / "other", {"d.txt": "fourth"}))
    assert {state for state, _ in states(index).values()} == {"pending", "indexed"}


def test_the_lock_names_nobody_once_it_is_free(index: Path) -> None:
    index.mkdir()
    with exclusive(index), pytest.raises(IndexBusy, match=f"process {os.getpid()} on"), exclusive(index):
        pass
    assert (index / LOCK_FILE).read_text() == ""
    (index / LOCK_FILE).write_text("[]")
    with exclusive(index):
        (index / LOCK_FILE).write_text("")
        with pytest.raises(IndexBusy, match="by another run"), exclusive(index):
            pass


def test_an_idle_source_is_settled_with_its_counts(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# A\n\nwords", "b.txt": "# B\n\nothers"})
    with Index.create(index, SPACE) as opened:
        assert isinstance(settle_if_idle(opened, Collection("source", str(source)), POLICY), SourceListing)
        reindex(index, source)
        assert settle_if_idle(opened, Collection("source", str(source)), POLICY) == Counts(2, unchanged=2), (
            "also while change times are fresh"
        )
        (source / "a.txt").rename(source / "c.txt")
        (source / "b.txt").unlink()
        assert settle_if_idle(opened, Collection("source", str(source)), POLICY) == Counts(
            2, unchanged=1, deleted=1
        )
        assert found(index) == {"c.txt": ["words"]}
        (source / "c.txt").write_text("# A\n\nworse")
        assert isinstance(settle_if_idle(opened, Collection("source", str(source)), POLICY), SourceListing)
        with begin_run(opened, "reindex", str(source)) as run:
            assert len(discover(run, POLICY).pending) == 1
            with pytest.raises(IndexBusy):
                settle_if_idle(opened, Collection("source", str(source)), POLICY)
        with begin_run(opened, "reindex", str(source)) as run:
            assert lease(run, discover(run, POLICY).pending[0], POLICY, LEASE_S) is not None
            with pytest.raises(Exception, match="no outcome"):
                finish_run(run)


def test_a_run_over_an_index_that_lost_a_segment_says_so(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    reindex(index, source)
    lost = sorted((index / FOLDER / "postings").iterdir())[0]
    lost.unlink()
    with (
        Index.open(index) as opened,
        pytest.raises(IndexBroken, match=f"{lost.name} is missing"),
        begin_run(opened, "reindex", str(source)),
    ):
        raise AssertionError("the run began")
