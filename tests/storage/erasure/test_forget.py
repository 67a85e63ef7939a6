"""A forgotten document is gone from every version and from every byte, and stays away."""

import fcntl
import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from pincite.schemas.errors import NotFound, UsageError
from pincite.schemas.evaluation import QuestionSet
from pincite.storage.checks.doctor import examine
from pincite.storage.erasure.forget import QUOTED, forget, verify_forgotten
from pincite.storage.erasure.proof import prove
from pincite.storage.erasure.traces import recall, traces_of
from pincite.storage.kept_evaluations import keep_report, report_of
from pincite.storage.ledger import schema, transactions
from pincite.storage.objects.local import LocalStore
from pincite.storage.queries.calibrations import latest_calibration, store_calibration
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import ForgetRequest, allow_again, find, unfinished
from tests.storage.building import POLICY, fill, found, reindex, states
from tests.storage.forgetting import FILES, SECRET, bytes_of, forgotten, make
from tests.storage.maintaining import broken_checks, compacted, vacuumed

ROOT = Path(__file__).parents[3]
KILLED = """
import os, signal, sys
from pathlib import Path
import pincite.storage.erasure.erase as erasing
from pincite.storage.erasure.forget import forget
from pincite.storage.tombstones import find
from pincite.storage.snapshots.index import Index
index, step = Path(sys.argv[1]), sys.argv[2]
def die(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(erasing, step, die)
with Index.open(index) as opened:
    forget(opened, find(opened, "letters/brzezina-case.txt"))
"""


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


def test_the_scan_sees_rows_of_it_and_its_words_in_tables_of_others(index: Path, source: Path) -> None:
    make(index, source)
    (index / "evaluations").mkdir(exist_ok=True)
    pq.write_table(pa.table({"evidence": [f"a passage: {SECRET}"]}), index / "evaluations" / "1-a.parquet")
    with Index.open(index) as opened:
        seen = prove(opened, traces_of(recall(opened, find(opened, "letters/brzezina-case.txt")))).found
    assert "evaluations/1-a.parquet has its words" in seen
    assert "segments" in {one.split("/")[0] for one in seen if one.endswith("has rows of it")}


def rows_stored(index: Path) -> int:
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        return connection.scalar(sa.select(sa.func.sum(schema.segments.c.rows))) or 0


def test_the_rows_that_went_are_those_that_the_segments_have_less(index: Path, source: Path) -> None:
    make(index, source)
    before = rows_stored(index)
    assert forgotten(index).erased.rows == before - rows_stored(index) > 0


def test_why_it_blocked_a_migration_goes_too(index: Path, source: Path) -> None:
    make(index, source)
    (asked,) = asked_of(index)
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        moving = {"from_space": 1, "to_space": 1, "state": "aborted", "settings": {}, "started_at": 0.0}
        connection.execute(schema.migrations.insert().values(migration_id=1, **moving))
        blocked = {"document_id": asked.document_id, "revision": 1, "reason": f"too long: {SECRET}"}
        connection.execute(schema.blockers.insert().values(migration_id=1, **blocked))
    assert forgotten(index).proof.found == ()
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        assert connection.execute(sa.select(schema.blockers)).all() == []
    assert SECRET.encode() not in bytes_of(index)


def asked_of(index: Path) -> tuple[ForgetRequest, ...]:
    with Index.open(index) as opened:
        return find(opened, "letters/brzezina-case.txt")


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


@pytest.mark.parametrize("step", ["_replace", "_drop_derived", "write_anew", "_mark_done"])
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
    with Index.open(index) as opened:
        assert wrong(opened) == ["1 is erased, which is not proven"]
        verified = verify_forgotten(opened)
        assert verified.proof.found == () and verified.proof.strings >= 4 and verified.proof.vectors >= 2
        assert wrong(opened) == []


def wrong(opened: Index) -> list[str]:
    return [one.what.split(":")[0] for one in examine(opened, POLICY.recipe) if one.level == "wrong"]


def test_the_folder_of_a_prefect_server_is_emptied_by_the_proof_once_none_is_at_work_there(
    index: Path, source: Path
) -> None:
    make(index, source)
    slot = index / "prefect" / "slot-1"
    slot.mkdir(parents=True)
    with (slot / "lock").open("w") as lock, Index.open(index) as opened:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as a server does
        (slot / "server.log").write_text(f"of a run: {SECRET}")
        assert [one.split(" has ")[0] for one in forgotten(index).proof.found] == [
            "prefect/slot-1/server.log"
        ]
        assert verify_forgotten(opened).proof.found != ()
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert verify_forgotten(opened).proof.found == ()
        assert not (slot / "server.log").exists() and wrong(opened) == []


@pytest.mark.parametrize(
    ("where", "said"),
    [("cache/server.log", SECRET), ("cache/notes.log", json.dumps("letters/brzezina-case.txt"))],
)
def test_what_a_kill_left_is_found_by_the_later_proof_and_nothing_of_it_can_be_read_meanwhile(
    index: Path, source: Path, where: str, said: str
) -> None:
    make(index, source)
    subprocess.run([sys.executable, "-c", KILLED, index, "write_anew"], cwd=ROOT, check=False)
    compacted(index)
    assert b"rzezina" not in bytes_of(index)
    (index / where).parent.mkdir(parents=True, exist_ok=True)
    with Index.open(index) as opened:
        for left in (f"someone wrote: {said}", ""):
            (index / where).write_text(left)
            found_there = verify_forgotten(opened).proof.found
            assert [one.split(" has ")[0] for one in found_there] == ([where] if left else [])
            assert wrong(opened) == (["1 is erased, which is not proven"] if left else [])
        with transactions.reading(opened.engine) as connection:
            assert connection.scalar(sa.select(schema.forgotten.c.traces)) is None
        assert verify_forgotten(opened).proof.found == ()


def test_a_pack_that_comes_back_is_found_after_the_proof_by_its_rows(index: Path, source: Path) -> None:
    make(index, source)
    kept = {path: path.read_bytes() for path in (index / "cache").glob("*.pack")}
    forgotten(index)
    for path, content in kept.items():
        path.write_bytes(content)
    with Index.open(index) as opened:
        assert [one.split("/")[0] for one in verify_forgotten(opened).proof.found] == ["cache"] * len(kept)


def test_a_forgotten_document_is_said_to_be_forgotten_when_it_is_named_again(
    index: Path, source: Path
) -> None:
    make(index, source)
    forgotten(index)
    with Index.open(index) as opened, pytest.raises(NotFound, match=r"forgotten already: .*--verify"):
        find(opened, "letters/brzezina-case.txt")


def test_a_short_name_is_looked_for_as_a_whole(index: Path, source: Path) -> None:
    files = {"p.txt": "# Iva\n\nsomeone lives somewhere", "public.txt": FILES["public.txt"]}
    reindex(index, fill(source, files))
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        said = "OSError: can't read 'p.txt'."
        connection.execute(schema.runs.update().values(message=said))
        attempt = {"document_id": find_id(index, str(source)), "run_id": "", "attempt": 1, "ended_at": 1.0}
        connection.execute(schema.attempts.insert().values(**attempt, outcome="lost", reason="p.txt.bak"))
    with Index.open(index) as opened:
        (asked,) = find(opened, "p.txt")
        before = prove(opened, traces_of(recall(opened, [asked]))).found
        assert f"{schema.LEDGER_FILE} has 1 of its names or stretches in runs.message" in before
        assert not any("attempts" in one for one in before), "another name begins with it"
        assert forget(opened, [asked]).proof.found == ()
        with transactions.reading(opened.engine) as connection:
            assert set(connection.scalars(sa.select(schema.runs.c.message))) == {None, QUOTED}


def test_a_short_name_that_another_document_has_too_proves_nothing(
    index: Path, source: Path, tmp_path: Path
) -> None:
    reindex(index, fill(source, {"p.txt": "someone lives somewhere"}))
    reindex(index, fill(tmp_path / "other", {"p.txt": "something else altogether"}))
    with Index.open(index) as opened:
        (asked,) = find(opened, _id_of(opened, str(source), "p.txt"))
        proof = forget(opened, [asked]).proof
    assert proof.found == () and proof.shared >= 1


def _id_of(opened: Index, source: str, path: str) -> str:
    documents = schema.documents
    query = sa.select(documents.c.document_id).where(documents.c.source == source, documents.c.path == path)
    with transactions.reading(opened.engine) as connection:
        return str(connection.scalar(query))


def test_a_message_of_a_run_that_quotes_it_is_removed(index: Path, source: Path) -> None:
    make(index, source)
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        first = sa.select(sa.func.min(schema.runs.c.run_id)).scalar_subquery()
        where = schema.runs.c.run_id == first
        connection.execute(schema.runs.update().where(where).values(message=f"ValueError: {SECRET}"))
    assert forgotten(index).proof.found == ()


def test_a_report_goes_and_what_a_killed_writer_left_of_one(index: Path, source: Path) -> None:
    make(index, source)
    with Index.open(index) as opened:
        keep_report(opened, "000001-0123456789ab", f"<p>{SECRET}</p>", frozenset())
    (folder := index / "evaluations").joinpath("000001-cdef.html.12345.tmp").write_text(SECRET)
    assert report_of(LocalStore(index), "000001-0123456789ab") == f"<p>{SECRET}</p>"
    assert forgotten(index).proof.found == ()
    assert list(folder.iterdir()) == []


def test_a_calibration_that_names_it_keeps_its_threshold_alone(index: Path, source: Path) -> None:
    make(index, source)
    fault = {
        "id": "7",
        "reason": "the expected sentence stands in letters/brzezina-case.txt, not in public.txt",
    }
    with Index.open(index) as opened:
        questions = QuestionSet("set", "0" * 64, ())
        store_calibration(opened, 1, 0.5, questions, {"left_out": [fault], "costs": {"bluff": 1.0}})
        assert forgotten(index).proof.found == ()
        kept = latest_calibration(opened)
        assert kept is not None and kept.threshold == 0.5
        with transactions.reading(opened.engine) as connection:
            report = connection.scalar(sa.select(schema.calibrations.c.report))
    assert report == {"left_out": [{"id": "7", "reason": QUOTED}], "costs": {"bluff": 1.0}}


def test_a_calibration_that_was_under_way_brings_no_name_back(index: Path, source: Path) -> None:
    make(index, source)
    with Index.open(index) as opened:
        version = opened.newest_version()
        assert forgotten(index).proof.found == ()
        report = {
            "left_out": [{"id": "7", "reason": "the expected sentence stands in letters/brzezina-case.txt"}]
        }
        store_calibration(opened, version, 0.5, QuestionSet("set", "0" * 64, ()), report)
        kept = latest_calibration(opened)
    assert kept is not None and kept.threshold == 0.5
    assert b"brzezina-case" not in bytes_of(index)


def test_a_message_that_quotes_it_goes_before_a_kill_can_take_away_what_is_known_of_it(
    index: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(index, source)
    with Index.open(index) as opened, transactions.writing(opened.engine) as connection:
        connection.execute(schema.runs.update().values(message=f"ValueError: {SECRET}"))

    def die(*_arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pincite.storage.erasure.forget.finish_erasures", die)
    with pytest.raises(KeyboardInterrupt):
        forgotten(index)
    reindex(index, source)
    assert b"rzezina" not in bytes_of(index)


@pytest.mark.parametrize("vacuum", [False, True])
def test_a_renamed_document_is_known_again_by_every_name_that_it_ever_had(
    index: Path, source: Path, vacuum: bool
) -> None:
    reindex(index, fill(source, FILES))
    names = ["letters/brzezina-case.txt", "a.txt", "deep/b.txt", "c.txt"]
    (source / "deep").mkdir()
    for old, new in itertools.pairwise(names):
        (source / old).rename(source / new)
        reindex(index, source)
    if vacuum:
        vacuumed(index)  # the revisions that had the former names go
    forgotten(index, "c.txt")
    for name in names:
        (source / name).write_text(f"another text under the name {name}")
    reindex(index, source)
    assert sorted(found(index)) == ["public.txt"]
    with Index.open(index) as opened:
        assert allow_again(opened, names[1]) == 1
    reindex(index, source)
    assert sorted(found(index)) == sorted([*names, "public.txt"])


def test_a_document_of_an_older_version_with_the_same_bytes_is_named_as_a_copy(
    index: Path, source: Path
) -> None:
    text = "a title that is made from the name"
    reindex(index, fill(source, {"first.txt": text, "public.txt": "words"}))
    reindex(index, fill(source, {"second.txt": text, "public.txt": "words"}))
    assert forgotten(index, "second.txt").copies == ("first.txt",)
    assert forgotten(index, "first.txt").copies == ()
    assert b"made from the name" not in bytes_of(index)


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
    documents = schema.documents
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        query = sa.select(documents.c.document_id).where(
            documents.c.source == source, documents.c.path == "public.txt"
        )
        return str(connection.scalar(query))


def test_the_others_states_stay(index: Path, source: Path) -> None:
    make(index, source)
    forgotten(index)
    assert states(index) == {"public.txt": ("indexed", None)}
