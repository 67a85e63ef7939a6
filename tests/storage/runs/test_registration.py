"""Discovery into the ledger, on real folders and a real ledger."""

import gc
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken
from pincite.schemas.records import Counts, Policy, SourceFile
from pincite.storage.checks.verify import verify
from pincite.storage.ledger import schema, transactions
from pincite.storage.queries.index_report import document_reports, index_report
from pincite.storage.runs.reconcile import Row, match
from pincite.storage.runs.registration import is_idle, known_files, register
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import look
from pincite.tasks.sources.folder import Folder
from pincite.tasks.sources.patterns import Patterns
from tests.storage.building import PERMANENT, POLICY, SPACE, TRANSIENT, fill, found, reindex, states

DOCUMENTS = {
    "a.txt": "# Alpha\n\nfirst words\n\nmore words",
    "deep/b.txt": "# Beta\n\nother words",
    "c.txt": "plain",
}


def chunk_count(index: Path) -> int:
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        return sum(snapshot.rows(segment).num_rows for segment in snapshot.of_kind("chunks"))


def ids(index: Path) -> dict[str, str]:
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        return {document.path: document.document_id for document in snapshot.documents()}


def assert_sound(index: Path) -> None:
    with Index.open(index) as opened:
        assert [check for check in verify(opened) if not check.ok] == []


def test_the_same_folder_indexed_three_times_has_the_same_chunks(index: Path, source: Path) -> None:
    fill(source, DOCUMENTS)
    assert reindex(index, source) == Counts(3, indexed=3)
    before = found(index), chunk_count(index)
    for _ in range(2):
        assert reindex(index, source) == Counts(3, unchanged=3)
    assert (found(index), chunk_count(index)) == before
    assert chunk_count(index) == 4
    assert_sound(index)


def test_a_touched_but_equal_file_is_unchanged(index: Path, source: Path) -> None:
    fill(source, DOCUMENTS)
    reindex(index, source)
    for path in source.rglob("*.txt"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert reindex(index, source) == Counts(3, unchanged=3)


def test_an_edit_of_the_same_size_within_the_clock_tick_is_noticed(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "aaaa"})
    info = (source / "a.txt").stat()
    reindex(index, source)
    (source / "a.txt").write_text("bbbb")
    os.utime(source / "a.txt", ns=(info.st_atime_ns, info.st_mtime_ns))
    with Index.open(index) as opened:  # as a coarse clock would have it: the same change time, too
        with transactions.writing(opened.engine) as connection:
            kept = connection.scalar(sa.select(schema.documents.c.ctime_ns))
        assert kept == 0, "a file that is just written has no change time that could be trusted"
    assert reindex(index, source) == Counts(1, indexed=1)
    assert found(index) == {"a.txt": ["bbbb"]}


def test_a_deleted_document_leaves_chunks_and_postings_and_stays_in_the_old_snapshot(
    index: Path, source: Path
) -> None:
    fill(source, DOCUMENTS)
    reindex(index, source)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        old = snapshot.version
    (source / "c.txt").unlink()
    assert reindex(index, source) == Counts(3, unchanged=2, deleted=1)
    assert reindex(index, source) == Counts(2, unchanged=2)
    with Index.open(index) as opened:
        with opened.snapshot() as snapshot:
            assert snapshot.postings(["plain"]).num_rows == 0
            assert "plain" not in snapshot.chunks(["content"])["content"].to_pylist()
        with opened.snapshot(old) as snapshot:
            assert snapshot.postings(["plain"]).num_rows == 1
            assert "plain" in snapshot.chunks(["content"])["content"].to_pylist()
    assert_sound(index)


def test_a_rename_keeps_the_rows_and_moves_the_path(index: Path, source: Path) -> None:
    fill(source, DOCUMENTS)
    reindex(index, source)
    before = ids(index)
    (source / "new").mkdir()
    (source / "a.txt").rename(source / "new" / "z.txt")
    assert reindex(index, source) == Counts(3, unchanged=3)
    assert ids(index) == {
        "new/z.txt": before["a.txt"],
        "deep/b.txt": before["deep/b.txt"],
        "c.txt": before["c.txt"],
    }
    assert found(index)["new/z.txt"] == ["first words", "more words"]
    assert "a.txt" in found(index, version=1), "the old snapshot keeps the old name"
    assert_sound(index)


def test_a_chain_of_names_is_one_rename_and_one_new_document(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# Alpha\n\nfirst"})
    reindex(index, source)
    before = ids(index)["a.txt"]
    (source / "a.txt").rename(source / "b.txt")
    (source / "a.txt").write_text("# Gamma\n\nnew words")
    assert reindex(index, source) == Counts(2, indexed=1, unchanged=1)
    assert ids(index)["b.txt"] == before != ids(index)["a.txt"]
    assert found(index) == {"a.txt": ["new words"], "b.txt": ["first"]}
    assert_sound(index)


def test_two_names_are_swapped_without_reading_anything_again(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# Alpha\n\nfirst", "b.txt": "# Beta\n\nsecond"})
    reindex(index, source)
    before = ids(index)
    (source / "a.txt").rename(source / "t")
    (source / "b.txt").rename(source / "a.txt")
    (source / "t").rename(source / "b.txt")
    assert reindex(index, source) == Counts(2, unchanged=2)
    assert ids(index) == {"a.txt": before["b.txt"], "b.txt": before["a.txt"]}
    assert found(index) == {"a.txt": ["second"], "b.txt": ["first"]}
    assert_sound(index)


def test_a_document_moved_over_another_replaces_it(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# Alpha\n\nfirst", "b.txt": "# Beta\n\nsecond"})
    reindex(index, source)
    (source / "b.txt").rename(source / "a.txt")
    assert reindex(index, source) == Counts(2, unchanged=1, deleted=1)
    assert found(index) == {"a.txt": ["second"]}
    assert_sound(index)


def test_a_rename_onto_a_formerly_deleted_path(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# Alpha\n\nfirst", "b.txt": "# Beta\n\nsecond"})
    reindex(index, source)
    (source / "a.txt").unlink()
    reindex(index, source)
    (source / "b.txt").rename(source / "a.txt")
    assert reindex(index, source) == Counts(1, unchanged=1)
    (source / "b.txt").write_text("# Alpha\n\nfirst")
    assert reindex(index, source) == Counts(2, indexed=1, unchanged=1)
    assert found(index) == {"a.txt": ["second"], "b.txt": ["first"]}
    assert_sound(index)


def test_duplicates_of_the_same_bytes_are_renamed_each_once(index: Path, source: Path) -> None:
    same = "# Same\n\nwords"
    fill(source, {"a.txt": same, "b.txt": same, "c.txt": same})
    reindex(index, source)
    before = set(ids(index).values())
    (source / "a.txt").rename(source / "x.txt")
    (source / "b.txt").rename(source / "y.txt")
    (source / "z.txt").write_text(same)
    assert reindex(index, source) == Counts(4, indexed=1, unchanged=3)
    assert sorted(ids(index)) == ["c.txt", "x.txt", "y.txt", "z.txt"]
    assert len(before & set(ids(index).values())) == 3
    assert_sound(index)


def test_a_title_made_from_the_name_makes_a_renamed_document_new(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "no heading here"})
    reindex(index, source)
    (source / "a.txt").rename(source / "b.txt")
    assert reindex(index, source) == Counts(2, indexed=1, deleted=1)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        assert [document.title for document in snapshot.documents()] == ["b"]
    assert_sound(index)


def test_another_suffix_makes_a_renamed_document_new(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# Alpha\n\nfirst"})
    reindex(index, source)
    (source / "a.txt").rename(source / "a.md")
    assert reindex(index, source) == Counts(2, indexed=1, deleted=1)


def test_a_renamed_document_made_with_other_settings_is_taken_up_at_once(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# Alpha\n\nfirst"})
    reindex(index, source)
    (source / "a.txt").rename(source / "b.txt")
    assert reindex(index, source, replace(POLICY, recipe="newer")) == Counts(1, indexed=1)
    assert found(index) == {"b.txt": ["first"]}


def test_renamed_files_are_matched_in_linear_time() -> None:
    live = {"state": "indexed", "title_from_name": False, "live_recipe": POLICY.recipe}

    def seconds(count: int) -> float:
        rows: dict[str, Row] = {
            f"old/{n}.txt": {"path": f"old/{n}.txt", "sha256": f"{n:064}", "live_sha256": f"{n:064}"} | live
            for n in range(count)
        }
        files = [SourceFile(f"new/{n}.txt", "", 1, n, n, f"{n:064}") for n in range(count)]
        gc.disable()  # a collection walks over what all tests of this process left
        try:
            began = time.process_time()
            matches = match(rows, files)
            took = time.process_time() - began
        finally:
            gc.enable()
        assert {(row["sha256"], file.sha256) for row, file in matches.renamed} == {
            (f.sha256, f.sha256) for f in files
        }
        assert (matches.kept, matches.gone, matches.fresh) == ((), (), ())
        return took

    few, many = (min(seconds(count) for _ in range(3)) for count in (2_000, 20_000))
    assert many < 40 * max(few, 0.002)


def test_more_than_ten_thousand_documents_are_counted_to_the_last(index: Path) -> None:
    files = [SourceFile(f"{n}.txt", "", 1, n, n, f"{n:064}") for n in range(10_001)]
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", "/source") as run:
        assert len(register(run, files, POLICY).pending) == 10_001
        with pytest.raises(IndexBroken, match=r"10,001 documents have no outcome in run"):
            finish_run(run)
        with transactions.writing(opened.engine) as connection:
            connection.execute(
                schema.documents.update().values(state="failed", last_outcome="failed", reason="x")
            )
        counts = finish_run(run)
        by_state = index_report(opened, None).states
    assert counts == Counts(10_001, failed=10_001)
    assert counts.discovered == sum(by_state.values())


def test_a_changed_document_that_fails_keeps_its_last_good_revision(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# Alpha\n\nfirst"})
    reindex(index, source)
    (source / "a.txt").write_text(PERMANENT)
    assert reindex(index, source) == Counts(1, failed=1)
    assert found(index) == {"a.txt": ["first"]}
    with Index.open(index) as opened:
        (report,) = document_reports(opened, POLICY.recipe, "stale")
        assert (report.state, report.page) == ("failed", 2)
        assert report.stale_reason == f"the newer version failed: {PERMANENT}"
    assert_sound(index)


def test_a_file_changed_back_to_what_is_live_is_unchanged(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "# Alpha\n\nfirst"})
    reindex(index, source)
    (source / "a.txt").write_text(PERMANENT)
    reindex(index, source)
    (source / "a.txt").write_text("# Alpha\n\nfirst")
    assert reindex(index, source) == Counts(1, unchanged=1)
    assert states(index) == {"a.txt": ("indexed", None)}
    assert_sound(index)


def test_transient_failures_are_tried_again_up_to_the_limit(index: Path, source: Path) -> None:
    fill(source, {"a.txt": TRANSIENT})
    for attempt in (1, 2, 3, 3, 3):
        assert reindex(index, source) == Counts(1, failed=1)
        with Index.open(index) as opened:
            assert document_reports(opened, None)[0].attempts == attempt


@pytest.mark.parametrize(
    ("policy", "attempts"),
    [
        (POLICY, 1),
        (replace(POLICY, limits="others"), 2),
        (replace(POLICY, recipe="another"), 2),
        (replace(POLICY, retry=()), 2),
        (replace(POLICY, retry=("a.txt",)), 2),
        (replace(POLICY, retry=("b.txt",)), 1),
    ],
)
def test_permanent_failures_are_tried_again_only_for_a_reason(
    index: Path, source: Path, policy: Policy, attempts: int
) -> None:
    fill(source, {"a.txt": PERMANENT})
    reindex(index, source)
    with Index.open(index) as opened:
        files = look(Folder(source, Patterns()), known_files(opened, str(source)))
        assert is_idle(opened, str(source), files, policy) == (attempts == 1)
    assert reindex(index, source, policy) == Counts(1, failed=1)
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.attempts)) == attempts
    assert_sound(index)


def test_other_settings_give_all_attempts_again(index: Path, source: Path) -> None:
    fill(source, {"a.txt": TRANSIENT})
    for _ in range(4):
        reindex(index, source)
    newer = replace(POLICY, limits="others")
    for _ in range(4):
        reindex(index, source, newer)
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.attempts)) == 6


def test_a_failed_document_whose_file_changed_is_tried_again(index: Path, source: Path) -> None:
    fill(source, {"a.txt": PERMANENT})
    reindex(index, source)
    (source / "a.txt").write_text("mended words")
    assert reindex(index, source) == Counts(1, indexed=1)
    assert states(index) == {"a.txt": ("indexed", None)}


def test_other_settings_make_a_document_stale_and_it_is_taken_up(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words", "b.txt": "others"})
    reindex(index, source)
    with Index.open(index) as opened:
        assert {one.stale_reason for one in document_reports(opened, "newer", "stale")} == {
            "made with other settings of the pipeline or of OCR"
        }
    newer = replace(POLICY, recipe="newer")
    assert reindex(index, source, newer) == Counts(2, indexed=2)
    assert reindex(index, source, newer) == Counts(2, unchanged=2)
    with Index.open(index) as opened:
        assert document_reports(opened, "newer", "stale") == ()
    assert_sound(index)


def test_two_sources_share_an_index_and_know_nothing_of_each_other(index: Path, tmp_path: Path) -> None:
    one, other = fill(tmp_path / "one", {"a.txt": "first"}), fill(tmp_path / "other", {"a.txt": "second"})
    assert reindex(index, one) == Counts(1, indexed=1)
    assert reindex(index, other) == Counts(1, indexed=1)
    assert reindex(index, one) == Counts(1, unchanged=1)
    (other / "a.txt").unlink()
    assert reindex(index, other, replace(POLICY, confirmed_deletions=1)) == Counts(1, deleted=1)
    assert found(index) == {"a.txt": ["first"]}
    assert_sound(index)


def test_an_unreadable_file_fails_and_comes_back_without_being_read_again(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    reindex(index, source)
    for round_ in ("unreadable", "readable"):
        with Index.open(index) as opened, begin_run(opened, "reindex", str(source)) as run:
            (file,) = look(Folder(source, Patterns()), known_files(opened, str(source)))
            if round_ == "unreadable":
                file = replace(file, sha256="", unreadable="can't be read: Permission denied")
            assert is_idle(opened, str(source), [file], POLICY)
            assert register(run, [file], POLICY).pending == ()
            finish_run(run)
            assert found(index) == {"a.txt": ["words"]}
            (report,) = document_reports(opened, POLICY.recipe)
            if round_ == "unreadable":
                assert (report.state, report.reason) == ("failed", "can't be read: Permission denied")
                assert report.stale_reason.startswith("the last attempt failed")
            else:
                assert (report.state, report.reason, report.stale_reason) == ("indexed", None, "")
        assert_sound(index)


def test_a_failed_document_that_was_out_of_reach_meanwhile_is_tried_again(index: Path, source: Path) -> None:
    # Its reason would otherwise stay "can't be read", which is no longer so.
    fill(source, {"a.txt": TRANSIENT})
    for _ in range(4):
        reindex(index, source)
    with Index.open(index) as opened, begin_run(opened, "reindex", str(source)) as run:
        (file,) = look(Folder(source, Patterns()), {})
        register(run, [replace(file, sha256="", unreadable="can't be read: Permission denied")], POLICY)
        finish_run(run)
    reindex(index, source)
    assert states(index) == {"a.txt": ("failed", TRANSIENT)}


def test_what_changed_while_it_was_unreadable_is_noticed(index: Path, source: Path) -> None:
    fill(source, {"a.txt": "words"})
    reindex(index, source)
    with Index.open(index) as opened, begin_run(opened, "reindex", str(source)) as run:
        (source / "a.txt").write_text("newer words")
        info = (source / "a.txt").stat()
        blocked = SourceFile(
            "a.txt", "", info.st_size, info.st_mtime_ns, info.st_ctime_ns, "", "can't be read"
        )
        register(run, [blocked], POLICY)
        finish_run(run)
        time.sleep(0.01)
    assert reindex(index, source) == Counts(1, indexed=1)
    assert found(index) == {"a.txt": ["newer words"]}
