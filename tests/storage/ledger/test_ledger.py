"""The ledger and its folder: damaged, of another version, read-only, full, or made by many at once."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken, IndexBusy, PinciteError, SpaceMismatch, UsageError
from pincite.schemas.records import Counts
from pincite.storage.checks.verify import verify
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.sqlite import connect
from pincite.storage.segments.segment import FOLDER
from pincite.storage.snapshots.index import LEDGER_FILE, Index
from tests.storage.building import (
    AS_NOBODY,
    OF_ROOT_NO_MORE,
    SPACE,
    fill,
    found,
    open_to_all,
    reindex,
    require_nobody,
    run_apart,
)

ROOT = Path(__file__).parents[3]
REINDEX = """
import sys
from pathlib import Path
from pincite.schemas.errors import PinciteError
from tests.storage.building import reindex
try:
    print(reindex(*map(Path, sys.argv[1:])))
except PinciteError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"garbage " * 4_000),
        lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64),
        lambda path: os.truncate(path, 5_000),
        lambda path: os.truncate(path, 100),
        lambda path: os.truncate(path, 0),
        lambda path: path.unlink(),
    ],
)
def test_a_damaged_ledger_is_refused_and_no_segment_is_lost(index: Path, source: Path, damage) -> None:  # type: ignore[no-untyped-def]  # one of the lambdas above
    fill(source, {"a.txt": "words", "b.txt": "others"})
    reindex(index, source)
    kept = sorted((index / FOLDER).rglob("*.parquet"))
    damage(index / LEDGER_FILE)
    with pytest.raises(PinciteError), Index.open(index) as opened, opened.snapshot():
        pass
    with pytest.raises(IndexBroken, match=r"restore .* from a copy|Restore the index folder from a copy"):
        reindex(index, source)
    assert sorted((index / FOLDER).rglob("*.parquet")) == kept


def test_a_ledger_of_another_schema_version_is_refused_and_left_as_it_is(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    reindex(index, source)
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        connection.execute(schema.meta.update().values(value="7"))
        connection.exec_driver_sql("DROP TABLE attempts")
    for use in (
        lambda: Index.open(index),
        lambda: Index.create(index, SPACE),
        lambda: reindex(index, source),
    ):
        with pytest.raises(IndexBroken, match="schema version 7, this Pincite reads 3"):
            use()
    with connect(index / LEDGER_FILE).connect() as raw:
        assert not sa.inspect(raw).has_table("attempts")
    raw.engine.dispose()


def test_an_index_of_another_space_is_refused_with_both_names(index: Path) -> None:
    Index.create(index, SPACE).close()
    with pytest.raises(SpaceMismatch, match=r"model-of-tests .*; the settings ask for other \("):
        Index.create(index, replace(SPACE, model="other"))


def test_no_index_is_made_by_asking_for_one(index: Path) -> None:
    with pytest.raises(UsageError, match=r"no index at .*: make one with `pincite index SOURCE"):
        Index.open(index)
    assert not index.exists()


@pytest.mark.parametrize(
    "name", ["with space", "100%25", "a?b&c=d", "#1", "довідник", "line\nbreak", "a;b'c\"d"]
)
def test_an_index_folder_may_have_any_name(tmp_path: Path, source: Path, name: str) -> None:
    fill(source, {"a.txt": "words"})
    assert reindex(tmp_path / name, source) == Counts(1, indexed=1)
    assert (tmp_path / name / LEDGER_FILE).is_file()
    assert found(tmp_path / name) == {"a.txt": ["words"]}


def test_an_index_folder_that_can_not_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match=r"can't write .*file.*: (File exists|Not a directory)"):
            Index.create(path, SPACE)
    with pytest.raises(UsageError, match="not UTF-8"):
        Index.create(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")), SPACE)


def test_many_processes_make_one_index(index: Path, tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from pincite.storage.snapshots.index import Index
from tests.storage.building import SPACE
print("ready", flush=True)
sys.stdin.readline()
Index.create(Path(sys.argv[1]), SPACE).close()
print("made")
"""
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(index)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(4)
    ]
    for maker in makers:
        assert maker.stdout is not None and maker.stdout.readline() == "ready\n"
    said = []
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("\n")
        maker.stdin.flush()
    for maker in makers:
        said.append(maker.communicate(timeout=60)[0])
    assert said == ["made\n"] * 4
    assert [path.name for path in index.iterdir()] == [LEDGER_FILE]
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        assert len(connection.execute(sa.select(schema.spaces)).all()) == 1


def test_a_ledger_that_another_process_holds_is_busy_not_broken(index: Path) -> None:
    with Index.create(index, SPACE) as one, Index.open(index) as other:
        sa.event.listen(other.engine, "connect", lambda raw, _: raw.execute("PRAGMA busy_timeout=50"))
        other.engine.dispose()
        with (
            transactions.writing(one.engine),
            pytest.raises(IndexBusy, match="held by another process"),
            transactions.writing(other.engine),
        ):
            pass


def test_a_full_disk_ends_the_run_and_keeps_the_index(small_disk: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    index = small_disk / "index"
    assert reindex(index, source) == Counts(1, indexed=1)
    with (small_disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while ballast.write(b"x" * 4096):
                pass
        except OSError:
            pass
    (source / "b.txt").write_text("others")
    with pytest.raises(UsageError, match=r"see that .* the disk has room"):
        reindex(index, source)
    (small_disk / "ballast").unlink()
    assert found(index) == {"a.txt": ["words"]}
    assert not list((index / FOLDER).rglob("*.tmp"))
    assert reindex(index, source) == Counts(2, indexed=1, unchanged=1)
    with Index.open(index) as opened:
        assert all(check.ok for check in verify(opened))


@pytest.mark.parametrize("limit_bytes", [1_000, 40_000, 200_000])
def test_a_limit_on_file_size_ends_the_run_and_keeps_the_index(
    index: Path, source: Path, limit_bytes: int
) -> None:
    fill(source, {"a.txt": "words"})
    reindex(index, source)
    fill(source, {f"{n}.txt": "\n\n".join(os.urandom(100).hex() for _ in range(100)) for n in range(9)})
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_bytes},) * 2)"
    said = run_apart(f"{limited}\n{REINDEX}", index, source)
    assert said.startswith("UsageError "), said
    assert "see that its folder may be written and that the disk has room" in said
    with Index.open(index) as opened:
        broken = {check.name for check in verify(opened) if not check.ok}
        assert broken <= {"no document is held by a run that ended"}
    assert reindex(index, source).failed == 0
    with Index.open(index) as opened:
        assert all(check.ok for check in verify(opened))


def test_a_read_only_index_folder_is_a_clear_error(tmp_path: Path, source: Path) -> None:
    require_nobody()
    index = tmp_path / "index"
    fill(source, {"a.txt": "words"})
    reindex(index, source)
    open_to_all(index)
    said = run_apart(REINDEX, index, source, prefix=AS_NOBODY)
    assert said.startswith(f"UsageError can't write {index}/run.lock: Permission denied."), said
    said = run_apart(REINDEX, tmp_path / "new", source, prefix=AS_NOBODY)
    assert said.startswith(f"UsageError can't write {tmp_path}/new: Permission denied."), said
    assert found(index) == {"a.txt": ["words"]}


READ = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pincite.schemas.errors import PinciteError
from pincite.storage.snapshots.index import Index
from pincite.storage.ledger.transactions import reading, writing
index = Index.open(Path(sys.argv[1]))
print(index.newest_version(), flush=True)
elsewhere = ThreadPoolExecutor(1)
for line in sys.stdin:
    try:
        if line == "slow\\n":
            with reading(index.engine):
                print("reading", flush=True)
                sys.stdin.readline()
        elif line == "write\\n":
            with writing(index.engine) as connection:
                connection.exec_driver_sql("UPDATE meta SET value = value")
        elif line == "elsewhere\\n":
            print(elsewhere.submit(index.newest_version).result(), flush=True)
            continue
        print(index.newest_version(), flush=True)
    except PinciteError as error:
        print(type(error).__name__, error, flush=True)
"""


def test_who_may_only_read_the_folder_reads_each_version(index: Path, source: Path) -> None:
    """Nobody else has the ledger open, so SQLite would have to make the files of its WAL."""
    without_rights = OF_ROOT_NO_MORE if os.getuid() == 0 else ()
    if without_rights and not shutil.which("setpriv"):
        pytest.skip("needs setpriv, to give up what root may")

    def write(text: str) -> None:
        index.chmod(0o755)
        fill(source, {"a.txt": text})
        reindex(index, source)
        index.chmod(0o555)

    index.mkdir()
    write("words")
    code = f"import sys; sys.path[:0] = {[str(ROOT), *sys.path]!r}\n{READ}"
    command = [*without_rights, sys.executable, "-c", code, str(index)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin is not None and reader.stdout is not None

        def ask(line: str) -> str:
            assert reader.stdin is not None and reader.stdout is not None
            print(line, file=reader.stdin, flush=True)
            return reader.stdout.readline().strip()

        try:
            assert reader.stdout.readline() == "1\n"
            write("newer words")
            assert ask("read") == "2"
            assert ask("elsewhere") == "2", "threads share what one of them opened"
            assert ask("write").startswith("UsageError the ledger can't be read or written: ")
            assert ask("slow") == "reading"
            write("newest words")
            assert ask("") == "IndexBusy the ledger was written while it was read: try again"
            assert ask("read") == "3"
        finally:
            index.chmod(0o755)
            reader.stdin.close()


def test_a_version_is_one_state_for_readers(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    reindex(index, source)
    with Index.open(index) as opened, opened.snapshot() as before:
        (source / "a.txt").write_text("newer")
        (source / "b.txt").write_text("other")
        reindex(index, source)
        assert before.chunks(["content"])["content"].to_pylist() == ["words"]
        assert before.postings(["words", "newer"])["term"].to_pylist() == ["words"]
        assert [document.path for document in before.documents()] == ["a.txt"]
        with opened.snapshot() as after:
            assert sorted(after.chunks(["content"])["content"].to_pylist()) == ["newer", "other"]
