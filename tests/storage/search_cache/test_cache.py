"""The search cache: whatever happens to it, what is read from it is what the segments have."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.schemas.errors import IndexBroken
from pincite.storage.search_cache import cache
from pincite.storage.search_cache.array_file import FORMAT
from pincite.storage.search_cache.cache import Cover, open_cover, refresh_cache
from pincite.storage.search_cache.packs import Pack
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot, document_name
from tests.storage.building import (
    AS_NOBODY,
    POLICY,
    SPACE,
    fill,
    open_to_all,
    reindex,
    require_nobody,
    run_apart,
)

ROOT = Path(__file__).parents[3]
Words = dict[str, dict[tuple[str, int], int]]


def rows_of(pack: Pack, run: int) -> range:
    return range(int(pack.first[run]), int(pack.first[run + 1]))


def held(cover: Cover, snapshot: Snapshot) -> tuple[dict[tuple[str, int], str], Words]:
    """(content by document and ordinal, frequency by term and the same) of all that is live, by plain loops."""
    live = dict(zip(snapshot.keys.documents.tolist(), snapshot.keys.revisions.tolist(), strict=True))
    contents: dict[tuple[str, int], str] = {}
    words: Words = {}
    for pack, serves in zip(cover.packs, cover.serves, strict=True):
        keys = {}
        for run, (document, revision) in enumerate(
            zip(pack.documents.tolist(), pack.revisions.tolist(), strict=True)
        ):
            if live.get(document) == revision and pack.units[pack.unit_of[run]] in serves:
                for row in rows_of(pack, run):
                    keys[row] = (document_name(document), int(pack.ordinals[row]))
        for row, key in keys.items():
            assert key not in contents, "a chunk is in one pack"
            (contents[key],) = pack.show(row, ["content"])
        for place, term in enumerate(pack.terms.to_pylist()):
            for at in range(int(pack.starts[place]), int(pack.starts[place + 1])):
                if (row := int(pack.rows[at])) in keys:
                    words.setdefault(term.decode(), {})[keys[row]] = int(pack.tf[at])
    return contents, words


def stored(snapshot: Snapshot) -> tuple[dict[tuple[str, int], str], Words]:
    """The same out of Parquet."""
    rows = snapshot.chunks(["document_id", "ordinal", "content"]).to_pylist()
    contents = {(row["document_id"], row["ordinal"]): row["content"] for row in rows}
    words: Words = {}
    for segment in snapshot.of_kind("postings"):
        for row in snapshot.rows(segment).to_pylist():
            words.setdefault(row["term"], {})[row["document_id"], row["ordinal"]] = row["tf"]
    return contents, words


def check(index: Path, version: int | None = None) -> Cover:
    with Index.open(index) as opened, opened.snapshot(version) as snapshot:
        cover = open_cover(snapshot)
        assert held(cover, snapshot) == stored(snapshot)
        return cover


def refresh(index: Path) -> None:
    with Index.open(index) as opened:
        refresh_cache(opened)


def packs(index: Path) -> list[Path]:
    return sorted((index / "cache").glob("*.pack"))


def texts(*numbers: int, turn: int = 0) -> dict[str, str]:
    return {f"{number}.txt": f"# T\n\nword{number} turn{turn}\n\nmore of it" for number in numbers}


def test_a_search_makes_the_cache_and_the_next_one_reads_it(index: Path, source: Path, monkeypatch) -> None:
    reindex(index, fill(source, texts(*range(7))))
    assert [one.path for one in check(index).packs] == packs(index)
    monkeypatch.setattr(cache, "pack_units", None)  # nothing is read from Parquet again
    check(index)


def test_replaced_and_deleted_rows_are_left_out_at_each_version(index: Path, source: Path) -> None:
    reindex(index, fill(source, texts(0, 1, 2, 3)))
    check(index)
    reindex(index, fill(source, texts(0, 1, turn=1) | texts(3)))
    cover = check(index)
    assert sum(len(pack) for pack in cover.packs) > 6, "packs keep what is not live"
    refresh(index)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        newest = snapshot.version
    for version in range(newest + 1):
        check(index, version)
    assert len(packs(index)) == 1, "old versions are read from the same pack"


def test_many_small_commits_make_few_packs(index: Path, source: Path) -> None:
    known: tuple[Pack, ...] = ()
    with Index.create(index, SPACE) as opened:
        for number in range(40):
            reindex(index, fill(source, texts(*range(number + 1))))
            with opened.snapshot() as snapshot:
                cover = open_cover(snapshot, known)
                known = cover.packs
                assert held(cover, snapshot) == stored(snapshot)
            assert len(cover.packs) <= 4
    assert len(packs(index)) <= 4, "what was joined is deleted"
    refresh(index)
    assert len(packs(index)) == 1
    assert len(check(index).packs) == 1


def test_what_is_new_is_all_that_is_read_from_parquet(index: Path, source: Path, monkeypatch) -> None:
    reindex(index, fill(source, texts(*range(60))))
    refresh(index)
    read: list[int] = []
    packing = cache.pack_units

    def counted(folder, units, space):
        read.append(sum(unit.rows for unit in units))
        return packing(folder, units, space)

    monkeypatch.setattr(cache, "pack_units", counted)
    reindex(index, fill(source, texts(*range(60)) | texts(1, turn=1)))
    check(index)
    assert read == [2]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6, 0.9, 0.999])
def test_a_flipped_byte_is_found_and_the_pack_made_again(
    index: Path, source: Path, share: float, caplog: pytest.LogCaptureFixture
) -> None:
    reindex(index, fill(source, texts(*range(9))))
    check(index)
    (path,) = packs(index)
    before = path.read_bytes()
    after = bytearray(before)
    place = next(at for at in range(int(share * len(before)), len(before)) if before[at])  # what pads is 0
    after[place] ^= 0x40
    path.write_bytes(after)
    check(index)
    assert path.read_bytes() == before
    assert "made again" in caplog.text and str(path) in caplog.text


SPOILED: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "short": lambda data: data[:5],
    "cut off": lambda data: data[: len(data) // 2],
    "the format before": lambda data: data.replace(FORMAT, b"PINPACK1"),
    "a later format": lambda data: data.replace(FORMAT, b"PINPACK9"),
    "not a pack": lambda data: b"hello" * 1_000,
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_file_that_is_no_pack_of_this_format_is_made_again(index: Path, source: Path, spoiled: str) -> None:
    reindex(index, fill(source, texts(*range(5))))
    check(index)
    (path,) = packs(index)
    before = path.read_bytes()
    for look in (refresh, check):
        path.write_bytes(SPOILED[spoiled](before))
        assert path.read_bytes() != before
        look(index)
        assert path.read_bytes() == before
    check(index)


def test_what_another_process_joined_to_the_same_meanwhile_stays(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reindex(index, fill(source, texts(*range(9))))
    check(index)
    reindex(index, fill(source, texts(*range(10))))
    check(index)
    *_, small = sorted(packs(index), key=lambda path: -path.stat().st_size)
    assert len(packs(index)) == 2
    opening, others = cache._open, [refresh]

    def joined_meanwhile(path: Path) -> Pack | None:
        if path == small and others:
            others.pop()(index)
        return opening(path)

    monkeypatch.setattr(cache, "_open", joined_meanwhile)
    refresh(index)
    assert not others and len(packs(index)) == 1


def test_a_cache_that_is_deleted_is_made_again(index: Path, source: Path) -> None:
    reindex(index, fill(source, texts(*range(5))))
    check(index)
    for path in packs(index):
        path.unlink()
    check(index)
    (index / "cache").joinpath(packs(index)[0].name).unlink()
    (index / "cache").rmdir()
    check(index)


def test_where_the_cache_can_t_be_written_it_is_made_in_memory_and_said(
    index: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reindex(index, fill(source, texts(*range(5))))
    (index / "cache").write_text("not a folder")
    for _ in range(2):
        assert [pack.path for pack in check(index).packs] == [None]
    assert caplog.text.count("can't be written") == 1, "once a process"
    refresh(index)


READ = """
import sys
from pathlib import Path
from tests.storage.search_cache.test_cache import check
print([pack.path for pack in check(Path(sys.argv[1])).packs])
"""


def test_a_reader_without_rights_on_the_cache_is_told_on_stderr(index: Path, source: Path) -> None:
    require_nobody()
    reindex(index, fill(source, texts(*range(5))))
    (index / "cache").mkdir()
    open_to_all(index)
    for path in (index, *index.rglob("*")):
        path.chmod(0o755 if path.name == "cache" else 0o777)  # SQLite needs its folder
    said = run_apart(READ, index, prefix=AS_NOBODY)
    assert "[None]" in said and "can't be written" in said and "Permission denied" in said


REFRESH = """
import sys
from pathlib import Path
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index
with Index.open(Path(sys.argv[1])) as index:
    print("begins", flush=True)
    while True:
        refresh_cache(index)
        for path in (index.path / "cache").glob("*.pack"):
            path.unlink()
"""


def test_a_kill_while_the_cache_is_written_leaves_nothing_that_is_read(index: Path, source: Path) -> None:
    reindex(index, fill(source, {f"{n}.txt": "# T" + f"\n\nword{n} " * 100 for n in range(12)}))
    process = subprocess.Popen(
        [sys.executable, "-c", REFRESH, str(index)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "begins\n"
    for _ in range(50):  # until one is caught at it
        while not (half := list((index / "cache").glob(".*.tmp"))):
            assert process.poll() is None
        process.send_signal(signal.SIGSTOP)
        if half[0].exists():
            break
        process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert half[0].exists()
    check(index)
    refresh(index)
    assert list((index / "cache").glob(".*.tmp")) == []
    assert len(packs(index)) == 1


def test_what_a_writer_that_is_alive_writes_is_not_swept(index: Path, source: Path) -> None:
    reindex(index, fill(source, texts(0)))
    with cache._appearing(index / "cache" / "x.pack") as file:
        file.write(b"half")
        refresh(index)
        assert len(list((index / "cache").glob(".*.tmp"))) == 1


def test_a_pack_that_another_process_joined_meanwhile_is_looked_for_again(
    index: Path, source: Path, monkeypatch
) -> None:
    reindex(index, fill(source, texts(*range(3))))
    check(index)
    (old,) = packs(index)
    copy = old.with_name("f" * 32 + ".pack")
    opening = cache._open

    def joined_meanwhile(path: Path) -> Pack | None:
        if path == old and old.exists():
            os.rename(old, copy)
        return opening(path)

    monkeypatch.setattr(cache, "_open", joined_meanwhile)
    monkeypatch.setattr(cache, "pack_units", None)  # it is not made anew
    assert [pack.path for pack in check(index).packs] == [copy]


def test_a_lost_segment_is_named_by_search_and_fails_no_run(
    index: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    reindex(index, fill(source, texts(*range(3))))
    next((index / "segments" / "chunks").glob("*.parquet")).unlink()
    refresh(index)
    assert "not up to date" in caplog.text and "segments/chunks" in caplog.text
    with pytest.raises(IndexBroken, match="segments/chunks"):
        check(index)


NAMES = st.integers(0, 6)
FOLDERS = st.dictionaries(NAMES, st.integers(0, 2), max_size=6)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(FOLDERS, st.sampled_from(["look", "refresh", "nothing"])), min_size=1, max_size=6))
def test_after_any_history_every_version_reads_as_the_segments_have_it(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[dict[int, int], str]]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    index, source = folder / "index", folder / "source"
    before = 0
    for files, then in history:
        emptied = replace(POLICY, confirmed_deletions=None if files else before)
        before = len(files)
        written = {k: v for n, turn in files.items() for k, v in texts(n, turn=turn).items()}
        reindex(index, fill(source, written), emptied)
        if then == "look":
            check(index)
        elif then == "refresh":
            refresh(index)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        newest = snapshot.version
    for version in range(newest + 1):
        check(index, version)
        for before in range(version + 1):
            check_keys_that_follow(index, before, version)


def check_keys_that_follow(index: Path, before: int, version: int) -> None:
    with Index.open(index) as opened, opened.snapshot(before) as earlier, opened.snapshot(version) as later:
        whole = later.keys
        with opened.snapshot(version) as following:
            following.follow(earlier)
            for name in ("documents", "revisions", "encoder_fit"):
                assert getattr(following.keys, name).tolist() == getattr(whole, name).tolist()
