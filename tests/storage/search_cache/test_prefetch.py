"""What a run packs before its commit is what searches need of it, and harms nobody where the commit never comes."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.schemas.records import Space
from pincite.storage.runs.commit import lease, publish
from pincite.storage.runs.runs import begin_run
from pincite.storage.search_cache import cache
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.search_cache.packs import Pack, Serving
from pincite.storage.search_cache.prefetch import PacksAhead
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import CommitGroup
from pincite.tasks.discover import discover
from tests.storage import building
from tests.storage.building import LEASE_S, POLICY, fill, finished, found, reindex
from tests.storage.forgetting import FILES, bytes_of, forgotten
from tests.storage.maintaining import broken_checks, compacted, vacuumed
from tests.storage.migrating import WIDE, make, migrate_to, nightly
from tests.storage.search_cache.test_cache import check, packs, refresh, texts

ROOT = Path(__file__).parents[3]


@contextmanager
def somebody_reads(index: Path) -> Iterator[None]:
    with Index.open(index) as opened, opened.held_snapshot():
        yield


@pytest.fixture(autouse=True)
def packing_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run of these tests, as those of the product."""
    monkeypatch.setattr(building, "publish", partial(publish, ahead=PacksAhead()))


def nothing_is_packed(*_arguments: object) -> None:
    raise AssertionError("a search had to read Parquet")


def test_a_search_reads_no_parquet_of_what_was_committed_while_somebody_read(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reindex(index, fill(source, texts(*range(7))))
    assert packs(index) == [], "nobody read"
    check(index)
    with somebody_reads(index):
        for turn in range(1, 9):
            reindex(index, fill(source, texts(*range(7)) | texts(turn % 7, 10 + turn, turn=turn)))
            with monkeypatch.context() as patch:
                patch.setattr(cache, "pack_units", nothing_is_packed)
                assert len(check(index).packs) <= 4
    assert len(packs(index)) <= 4, "what was joined is deleted"


def test_a_compaction_leaves_nothing_to_read_from_parquet(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.storage.maintenance.whole_index.refresh_cache", lambda _index: None)
    reindex(index, fill(source, texts(0)))
    with somebody_reads(index):
        for last in range(2, 6):
            reindex(index, fill(source, texts(*range(last))))
        before = check(index).serves
        compacted(index)
        monkeypatch.setattr(cache, "pack_units", nothing_is_packed)
        after = check(index).serves
    assert len(after) == 1 and not after[0] & frozenset().union(*before)


KILLED = """
import os, signal, sys
from functools import partial
from pathlib import Path
import pincite.storage.runs.commit as commit
from pincite.storage.search_cache.prefetch import PacksAhead
from tests.storage import building
commit.new_version = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
building.publish = partial(commit.publish, ahead=PacksAhead())
building.reindex(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def killed_before_the_commit(index: Path, source: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(index), str(source)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL


def test_a_kill_before_the_commit_leaves_what_the_index_had(index: Path, source: Path) -> None:
    reindex(index, fill(source, texts(0, 1)))
    with somebody_reads(index):
        check(index)
        before, there = found(index), packs(index)
        killed_before_the_commit(index, fill(source, texts(0, 1, 2)))
        assert packs(index) != there, "it was packed"
        assert found(index) == before
        check(index)
        reindex(index, fill(source, texts(0, 3)))
        check(index)
    refresh(index)
    (pack,) = check(index).packs
    assert [pack.path] == packs(index) and b"word2" not in bytes_of(index / "cache")
    assert broken_checks(index) == []


def test_a_document_whose_pack_was_never_committed_is_forgotten_too(index: Path, source: Path) -> None:
    reindex(index, fill(source, FILES))
    with somebody_reads(index):
        killed_before_the_commit(
            index, fill(source, FILES | {"letters/brzezina-case.txt": "# New\n\nrzezina"})
        )
        assert b"rzezina" in b"".join(path.read_bytes() for path in packs(index))
        done = forgotten(index)
    assert done.proof.found == () and b"rzezina" not in bytes_of(index)
    check(index)


def test_a_job_that_was_overtaken_is_in_no_search(index: Path, source: Path) -> None:
    reindex(index, fill(source, texts(0, 1)))
    fill(source, texts(0, 1, turn=1))
    with somebody_reads(index):
        with Index.open(index) as opened, begin_run(opened, "reindex", str(source)) as slow:
            ids = discover(slow, POLICY).pending
            jobs = [lease(slow, one, POLICY, LEASE_S) for one in ids]
            late = [finished(job, f"late {job.path}") for job in jobs if job]
        reindex(index, source)
        with Index.open(index) as opened, begin_run(opened, "reindex", str(source)) as run:
            assert publish(run, late, POLICY, PacksAhead()) == frozenset()
        assert any(b"late" in path.read_bytes() for path in packs(index))
        check(index)
    refresh(index)
    check(index)
    assert not any(b"late" in path.read_bytes() for path in packs(index))


def test_where_it_can_t_be_written_the_run_goes_on_without_and_says_so_once(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reindex(index, fill(source, texts(0)))
    (index / "cache").write_text("not a folder")
    read: list[int] = []
    packing = cache.pack_units

    def counted(folder: Path, units: Sequence[CommitGroup], space: Space) -> Pack:
        read.append(sum(unit.rows for unit in units))
        return packing(folder, units, space)

    run = PacksAhead()
    monkeypatch.setattr(building, "publish", partial(publish, ahead=run))
    with somebody_reads(index), monkeypatch.context() as patch:
        patch.setattr(cache, "pack_units", counted)
        reindex(index, fill(source, texts(*range(7))))  # two commits
        assert read == [6] and run._known == (), "no pack is held in memory, for nobody"
    assert caplog.text.count("not made ahead") == 1 and "File exists" in caplog.text
    check(index)
    assert len(found(index)) == 7


def test_on_a_full_disk_the_run_goes_on_without_and_leaves_no_half_of_a_pack(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reindex(index, fill(source, texts(0)))
    joining = cache.join_packs

    def full(parts: Sequence[Serving], dimension: int, file: BinaryIO) -> None:
        joining(parts, dimension, file)
        raise OSError(28, "No space left on device")

    with somebody_reads(index), monkeypatch.context() as patch:
        patch.setattr(cache, "join_packs", full)
        reindex(index, fill(source, texts(*range(7))))
        assert list((index / "cache").iterdir()) == []
    assert caplog.text.count("not made ahead") == 1 and "No space left" in caplog.text
    check(index)


def test_a_space_that_is_not_searched_is_not_packed(index: Path, source: Path) -> None:
    make(index, fill(source, texts(*range(4))))
    assert migrate_to(index, WIDE)
    with somebody_reads(index):
        nightly(index, fill(source, texts(*range(4), turn=1)))
        assert {pack.codes.shape[1] for pack in check(index).packs} == {WIDE.dimension}


NAMES = st.integers(0, 5)
FOLDERS = st.dictionaries(NAMES, st.integers(0, 2), min_size=1, max_size=5)
THEN = st.sampled_from(["look", "refresh", "compact", "vacuum", "nothing"])


@settings(max_examples=4, deadline=None)
@given(st.lists(st.tuples(FOLDERS, THEN), min_size=2, max_size=4))
def test_after_any_history_of_packs_made_ahead_each_version_reads_as_the_segments_have_it(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[dict[int, int], str]]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    index, source = folder / "index", folder / "source"
    reindex(index, fill(source, texts(0)))
    everything = replace(POLICY, confirmed_deletions=10)
    with somebody_reads(index):
        for files, then in history:
            written = {k: v for n, turn in files.items() for k, v in texts(0, n, turn=turn).items()}
            reindex(index, fill(source, written), everything)
            if then == "look":
                check(index)
            elif then == "refresh":
                with Index.open(index) as opened:
                    refresh_cache(opened)
            elif then == "compact":
                compacted(index)
            elif then == "vacuum":
                vacuumed(index)
        with Index.open(index) as opened:
            newest = opened.newest_version()
        for version in range(1, newest + 1):
            check(index, version)
