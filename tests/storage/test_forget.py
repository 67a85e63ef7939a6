"""A forgotten document is gone from every version and from every byte, and stays away."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from schemas.errors import NotFound, UsageError
from schemas.evaluation import QuestionSet
from storage import ledger, transactions
from storage.cache import refresh_cache
from storage.calibrations import latest_calibration, store_calibration
from storage.forget import QUOTED, Forgotten, forget
from storage.forgotten import allow_again, find, unfinished
from storage.index import Index
from storage.proof import prove
from storage.traces import recall, traces_of
from tests.storage.building import PERMANENT, fill, found, reindex, states
from tests.storage.maintaining import broken_checks, compacted, vacuumed

ROOT = Path(__file__).parents[2]
SECRET = "Zbigniew Brzezina owes forty thousand"
FILES = {
    "public.txt": "# Public\n\nnothing to hide here at all\n\nmore of the same kind",
    "letters/brzezina-case.txt": f"# The Brzezina case\n\n{SECRET}\n\nhis address is Lindenallee 44",
}

KILLED = """
import os, signal, sys
from pathlib import Path
import storage.erasing as erasing
from storage.forget import forget
from storage.forgotten import find
from storage.index import Index
index, step = Path(sys.argv[1]), sys.argv[2]
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(erasing, step, die)
with Index.open(index) as opened:
    forget(opened, find(opened, "letters/brzezina-case.txt"))
"""


# A search that has read the segments and writes its pack only when it is told to.
SLOW_SEARCH = """
import sys
from pathlib import Path
import storage.cache as cache
from storage.index import Index
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


def make(index: Path, source: Path) -> None:
    """Two versions of the document; in one it failed with a reason that quotes it; side files and old segments."""
    reindex(index, fill(source, FILES))
    reindex(index, fill(source, FILES | {"letters/brzezina-case.txt": f"{PERMANENT}: {SECRET}"}))
    reindex(index, fill(source, FILES | {"letters/brzezina-case.txt": f"# New\n\n{SECRET}\n\nand more"}))
    with Index.open(index) as opened:
        refresh_cache(opened)
    compacted(index)
    (index / "prefect" / "slot-0").mkdir(parents=True)
    (index / "prefect" / "slot-0" / "server.log").write_text("error in letters/brzezina-case.txt")


def forgotten(index: Path, name: str = "letters/brzezina-case.txt") -> Forgotten:
    with Index.open(index) as opened:
        return forget(opened, find(opened, name))


def bytes_of(index: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(index.rglob("*")) if path.is_file())


def test_nothing_of_it_is_left_in_any_version(index: Path, source: Path) -> None:
    make(index, source)
    with Index.open(index) as opened:
        before = prove(opened, traces_of(recall(opened, find(opened, "letters/brzezina-case.txt"))))
    assert {what.split()[0].split("/")[0] for what in before.found} == {
        "cache", "ledger.sqlite", "prefect", "segments"
    }, "the scan sees what is there"  # fmt: skip
    done = forgotten(index)
    assert done.proof.found == () and done.proof.strings >= 4 and done.proof.vectors >= 2
    assert done.proof.rows > 0 and done.erased.revisions >= 2 and done.erased.side_files >= 2
    assert b"rzezina" not in bytes_of(index)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        newest = snapshot.version
    for version in range(1, newest + 1):
        assert found(index, version) == {
            "public.txt": ["nothing to hide here at all", "more of the same kind"]
        }, "older versions read on for the other documents"
    assert broken_checks(index) == []
    vacuumed(index)
    assert broken_checks(index) == []


def test_a_reader_that_follows_from_an_earlier_version_forgets_too(index: Path, source: Path) -> None:
    make(index, source)
    with Index.open(index) as opened:
        with opened.snapshot() as earlier:
            assert len(earlier.keys.documents) == 2
        forgotten(index)
        with opened.snapshot() as now:
            now.follow(earlier)
            assert len(now.keys.documents) == 1


def test_it_is_not_indexed_again_by_name_or_by_bytes(index: Path, source: Path) -> None:
    make(index, source)
    forgotten(index)
    assert reindex(index, source).discovered == 1
    (source / "renamed.txt").write_bytes((source / "letters/brzezina-case.txt").read_bytes())
    (source / "letters/brzezina-case.txt").write_text("another text under the same name")
    assert reindex(index, source).discovered == 1
    assert sorted(found(index)) == ["public.txt"] and broken_checks(index) == []
    with Index.open(index) as opened:
        with pytest.raises(NotFound, match="no forgotten document was named"):
            allow_again(opened, "letters/other.txt")
        assert allow_again(opened, "letters/brzezina-case.txt") == 1
    reindex(index, source)
    assert sorted(found(index)) == ["letters/brzezina-case.txt", "public.txt", "renamed.txt"]
    assert broken_checks(index) == []


def test_a_deleted_document_is_forgotten_from_the_versions_that_have_it(index: Path, source: Path) -> None:
    reindex(index, fill(source, FILES))
    reindex(index, fill(source, {"public.txt": FILES["public.txt"]}))
    assert SECRET in json.dumps(found(index, 1))
    assert forgotten(index).proof.found == ()
    assert list(found(index, 1)) == ["public.txt"]


def test_a_copy_is_named_and_stays(index: Path, source: Path) -> None:
    reindex(index, fill(source, FILES | {"copy.txt": FILES["letters/brzezina-case.txt"]}))
    done = forgotten(index)
    assert done.copies == ("copy.txt",) and done.proof.shared > 0 and done.proof.found == ()
    reindex(index, source)
    assert sorted(found(index)) == ["copy.txt", "public.txt"]
    assert forgotten(index, "copy.txt").proof.shared == 0
    assert b"rzezina" not in bytes_of(index)


@pytest.mark.parametrize("step", ["_replace", "_drop_packs", "_purge", "_mark_done"])
def test_a_kill_half_way_is_finished_by_the_next_run(index: Path, source: Path, step: str) -> None:
    make(index, source)
    done = subprocess.run([sys.executable, "-c", KILLED, index, step], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    (source / "letters/brzezina-case.txt").unlink()
    reindex(index, source)
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        assert unfinished(connection) == ()
    assert b"rzezina" not in bytes_of(index)
    assert found(index) == {"public.txt": ["nothing to hide here at all", "more of the same kind"]}
    assert broken_checks(index) == []


def test_a_message_of_a_run_that_quotes_it_is_removed(index: Path, source: Path) -> None:
    make(index, source)
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        first = sa.select(sa.func.min(ledger.runs.c.run_id)).scalar_subquery()
        where = ledger.runs.c.run_id == first
        connection.execute(ledger.runs.update().where(where).values(message=f"ValueError: {SECRET}"))
    assert forgotten(index).proof.found == ()


def test_a_calibration_that_names_it_keeps_its_threshold_alone(index: Path, source: Path) -> None:
    make(index, source)
    fault = {"id": "7", "reason": "the needle stands in letters/brzezina-case.txt, not in public.txt"}
    with Index.open(index) as opened:
        questions = QuestionSet("set", "0" * 64, ())
        store_calibration(opened, 1, 0.5, questions, {"left_out": [fault], "costs": {"bluff": 1.0}})
        assert forgotten(index).proof.found == ()
        kept = latest_calibration(opened)
        assert kept is not None and kept.threshold == 0.5
        with transactions.reading(opened.engine) as connection:
            report = connection.scalar(sa.select(ledger.calibrations.c.report))
    assert report == {"left_out": [{"id": "7", "reason": QUOTED}], "costs": {"bluff": 1.0}}


def test_a_message_that_quotes_it_goes_before_a_kill_can_take_away_what_is_known_of_it(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(index, source)
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        connection.execute(ledger.runs.update().values(message=f"ValueError: {SECRET}"))

    def die(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("storage.forget.finish_erasures", die)
    with pytest.raises(KeyboardInterrupt):
        forgotten(index)
    reindex(index, source)
    assert b"rzezina" not in bytes_of(index)


def test_a_renamed_document_is_known_again_by_the_name_that_it_had_last(index: Path, source: Path) -> None:
    reindex(index, fill(source, FILES))
    (source / "letters/brzezina-case.txt").rename(source / "a.txt")
    reindex(index, source)
    forgotten(index, "a.txt")
    (source / "a.txt").write_text("another text under the same name")
    reindex(index, source)
    assert sorted(found(index)) == ["public.txt"]
    with Index.open(index) as opened:
        assert allow_again(opened, "a.txt") == 1


def test_what_is_left_is_said(index: Path, source: Path) -> None:
    make(index, source)
    (index / "notes.txt").write_text(f"someone wrote: {SECRET}")
    assert forgotten(index).proof.found == (
        "notes.txt has 1 of the strings and vectors that were looked for",
    )


def test_a_name_that_is_not_there_or_is_doubtful_is_refused(
    index: Path, source: Path, tmp_path: Path
) -> None:
    reindex(index, fill(source, FILES))
    reindex(index, fill(tmp_path / "other", FILES))
    with Index.open(index) as opened:
        with pytest.raises(NotFound, match="no document 'x"):
            find(opened, "x.txt")
        with pytest.raises(UsageError, match="several sources"):
            find(opened, "public.txt")
        (one,) = find(opened, find_id(index, str(source)))
        assert one.source == str(source)


def find_id(index: Path, source: str) -> str:
    documents = ledger.documents
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        query = sa.select(documents.c.document_id).where(
            documents.c.source == source, documents.c.path == "public.txt"
        )
        return str(connection.scalar(query))


def test_the_others_states_stay(index: Path, source: Path) -> None:
    make(index, source)
    forgotten(index)
    assert states(index) == {"public.txt": ("indexed", None)}


def test_a_search_of_another_process_that_read_it_before_writes_no_pack_of_it_afterwards(
    index: Path, source: Path
) -> None:
    reindex(index, fill(source, FILES))
    with subprocess.Popen(
        [sys.executable, "-c", SLOW_SEARCH, index],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as search:
        assert search.stdout is not None and search.stdout.readline() == "read\n"
        assert forgotten(index).proof.found == ()
        told, _ = search.communicate("go\n")
    assert told == "1\n", "it goes on with a pack in memory"
    assert b"rzezina" not in bytes_of(index)


def test_the_forgetting_waits_for_a_search_that_is_just_writing(index: Path, source: Path) -> None:
    reindex(index, fill(source, FILES))
    code = SLOW_SEARCH.replace("cache.pack_units", "cache.join_packs").replace("pack_units", "join_packs")
    with subprocess.Popen(
        [sys.executable, "-c", code, index],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as search:
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
