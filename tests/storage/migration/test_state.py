"""A space beside the live one: what goes to it, what leaves it, and that it is level at every switch."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest

from pincite.schemas.errors import Failure, IndexBroken, IndexBusy, UsageError
from pincite.schemas.records import Space
from pincite.storage.checks.verify import verify
from pincite.storage.locks.run_lock import exclusive, holder, patient
from pincite.storage.migration.cut_over import differences, progress_of, snapshot_of, switch
from pincite.storage.migration.state import (
    Migration,
    Stage,
    begin,
    newest_migration,
    record_stage,
    remove_old,
)
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from pincite.tasks.migration.derive import Derived, Known
from tests.storage.building import PERMANENT, SPACE, fill, found, states
from tests.storage.migrating import (
    HALVES,
    OTHER_WORDS,
    SHORT,
    TEXTS,
    TWIN,
    WIDE,
    assert_level,
    begun,
    build,
    builder_of,
    contents,
    make,
    migrate_to,
    move,
    nightly,
    switches,
    vectors_of,
)


@pytest.fixture
def index(index: Path, source: Path) -> Path:
    fill(source, TEXTS)
    make(index, source)
    return index


@pytest.mark.parametrize("target", [WIDE, TWIN, OTHER_WORDS], ids=["wider", "same dimension", "other terms"])
def test_a_migration_has_the_same_chunks_under_another_model(index: Path, target: Space) -> None:
    with Index.open(index) as opened:
        before = contents(opened, spaces_of(opened)[0].space_id)
        assert migrate_to(index, target)
        live, old = spaces_of(opened)
        assert (live.space, old.space) == (target, SPACE)
        assert contents(opened, live.space_id) == contents(opened, old.space_id) == before
        assert_level(opened)
        with opened.snapshot() as snapshot:
            rows = snapshot.chunks(["text", "embedding", "model", "tokenizer"]).to_pylist()
    model = SPACE if target == OTHER_WORDS else target
    for row in rows:
        assert (row["model"], row["tokenizer"]) == (target.model, target.tokenizer)
        assert row["embedding"] == vectors_of([row["text"]], model)[0].tolist()


def test_another_chunker_and_a_shorter_window_cut_the_stored_text_anew(index: Path, source: Path) -> None:
    wanted = {path.name for path in source.iterdir()}
    for path in source.iterdir():
        path.rename(path.with_suffix(".gone"))  # nothing of it is read again
    assert migrate_to(index, HALVES)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        assert {one.path for one in snapshot.documents()} == wanted
        assert {one.chunks for one in snapshot.documents()} == {4}
    assert migrate_to(index, SHORT)
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        assert max(snapshot.chunks(["tokens"])["tokens"].to_pylist()) <= SHORT.window
        assert_level(opened)


def test_searches_see_the_old_space_until_the_switch_and_older_versions_after_it(index: Path) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        build(opened, migration)
        with opened.snapshot() as before:
            assert before.space == SPACE
            assert move(opened, migration, migration.target)
            assert before.chunks(["model"])["model"].unique().to_pylist() == [SPACE.model]
        with opened.snapshot() as after, opened.snapshot(before.version) as earlier:
            assert (after.space, earlier.space) == (WIDE, SPACE)
            assert after.version == before.version + 1


def test_what_comes_changes_moves_and_goes_during_a_migration_is_the_same_in_both_spaces(
    index: Path, source: Path
) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        build(opened, migration)
        fill(source, TEXTS | {"0.txt": "# Other\n\nchanged", "new.txt": "# New\n\nnew"})
        (source / "1.txt").unlink()
        (source / "2.txt").rename(source / "moved.txt")
        nightly(index, source)
        assert differences(opened, migration.target.space_id) == ()
        assert_level(opened)
        assert move(opened, migration, migration.target)
    assert sorted(found(index)) == ["0.txt", "3.txt", "4.txt", "5.txt", "6.txt", "moved.txt", "new.txt"]
    assert found(index)["0.txt"] == ["changed"]


def test_a_document_deleted_while_its_vectors_are_made_does_not_come_back(index: Path, source: Path) -> None:
    """Trap 2: the copy was read before the deletion and would be published after it."""
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        builder = builder_of(opened, migration, migration.target)
        derive = builder._standby.derive

        def slow(documents: Sequence[Known], embed: bool) -> Sequence[Derived | Failure]:
            derived = derive(documents, embed)
            if (source / "0.txt").exists():
                (source / "0.txt").unlink()
                (source / "3.txt").write_text("# Newer\n\nnewer")
                (source / "4.txt").rename(source / "4-moved.txt")
                nightly(index, source)
            return derived

        object.__setattr__(builder._standby, "derive", slow)
        builder.catch_up()
        assert_level(opened)
        assert move(opened, migration, migration.target)
        assert_level(opened)
    assert sorted(found(index)) == ["1.txt", "2.txt", "3.txt", "4-moved.txt", "5.txt", "6.txt"]
    assert found(index)["3.txt"] == ["newer"]


def test_a_stale_job_neither_wins_in_the_live_space_nor_in_the_one_beside_it(
    index: Path, source: Path
) -> None:
    """Trap 1: what is computed of an older revision is left out, in whichever order it arrives."""
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        builder = builder_of(opened, migration, migration.target)
        derive, published = builder._standby.derive, []

        def stale(documents: Sequence[Known], embed: bool) -> Sequence[Derived | Failure]:
            derived = derive(documents, embed)
            if not published:
                published.append(True)
                fill(source, {name: f"# Newer\n\nnewer {name}" for name in TEXTS})
                nightly(index, source)
            return derived

        object.__setattr__(builder._standby, "derive", stale)
        builder.catch_up()
        assert move(opened, migration, migration.target)
        assert_level(opened)
    assert found(index) == {name: [f"newer {name}"] for name in TEXTS}


def test_a_document_that_fails_and_serves_an_old_revision_migrates_too(index: Path, source: Path) -> None:
    (source / "0.txt").write_text(PERMANENT)
    nightly(index, source)
    assert states(index)["0.txt"][0] == "failed"
    assert migrate_to(index, WIDE)
    assert found(index)["0.txt"] == ["word0 one", "word0 two and some more words of it"]
    assert states(index)["0.txt"][0] == "failed"


def test_rollback_has_what_came_and_not_what_went_after_the_switch(index: Path, source: Path) -> None:
    """Trap 3, also when nobody wrote to the old space: then the rollback catches up first."""
    assert migrate_to(index, WIDE)
    fill(source, TEXTS | {"0.txt": "# Other\n\nchanged", "new.txt": "# New\n\nnew"})
    (source / "1.txt").unlink()
    nightly(index, source, dual=False)
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None
        assert {one.path for one in differences(opened, migration.source.space_id)} == {"0.txt", "new.txt"}
        with patient(index), pytest.raises(UsageError, match=r"2 documents are not alike in .*"):
            switch(opened, migration, migration.source, "rolled back")
        assert spaces_of(opened)[0].space == WIDE
        assert move(opened, migration, migration.source)
        assert spaces_of(opened)[0].space == SPACE
        assert_level(opened)
    assert found(index)["0.txt"] == ["changed"] and "1.txt" not in found(index)
    assert found(index)["new.txt"] == ["new"]


def test_the_old_space_is_kept_up_to_date_after_the_switch(index: Path, source: Path) -> None:
    assert migrate_to(index, WIDE)
    fill(source, TEXTS | {"0.txt": "# Other\n\nchanged", "new.txt": "# New\n\nnew"})
    (source / "1.txt").unlink()
    nightly(index, source)
    with Index.open(index) as opened:
        assert spaces_of(opened)[0].space == WIDE
        assert_level(opened)


def test_a_rolled_back_migration_goes_on_where_it_was(index: Path, source: Path) -> None:
    assert migrate_to(index, WIDE)
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None and move(opened, migration, migration.source)
        nightly(index, fill(source, TEXTS | {"new.txt": "# New\n\nnew"}))
        again = begun(opened, WIDE)
        assert again.migration_id == migration.migration_id
        assert differences(opened, again.target.space_id) == ()
        assert move(opened, again, again.target)
        assert [(before, after) for _, before, after in switches(opened)] == [(1, 2), (2, 1), (1, 2)]
        assert_level(opened)


def test_a_space_that_is_removed_while_it_is_to_come_back_is_neither_filled_nor_searched(
    index: Path, source: Path
) -> None:
    assert migrate_to(index, WIDE)
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None
        builder = builder_of(opened, migration, migration.source)
        remove_old(opened)
        with pytest.raises(UsageError, match="was removed meanwhile"):
            builder.catch_up()
        with patient(index), pytest.raises(UsageError, match="was removed meanwhile"):
            switch(opened, migration, migration.source, "rolled back")
    nightly(index, source)
    with Index.open(index) as opened:
        assert spaces_of(opened)[0].space == WIDE
        assert [check for check in verify(opened) if not check.ok] == []


def test_one_migration_at_a_time_and_none_to_where_the_index_is(index: Path) -> None:
    with Index.open(index) as opened:
        with pytest.raises(UsageError, match="there is nothing to migrate"):
            begin(opened, SPACE, "", None)
        first = begun(opened, WIDE)
        with pytest.raises(UsageError, match=r"a migration to wide-model-of-tests .* is not finished"):
            begin(opened, TWIN, "", None)
        assert begun(opened, WIDE).migration_id == first.migration_id


def test_a_third_space_may_be_built_while_the_old_one_is_kept(index: Path, source: Path) -> None:
    assert migrate_to(index, WIDE) and migrate_to(index, TWIN)
    nightly(index, fill(source, TEXTS | {"new.txt": "# New\n\nnew"}))
    with Index.open(index) as opened:
        assert [one.space for one in spaces_of(opened)] == [TWIN, SPACE, WIDE]
        assert_level(opened)
        assert migrate_to(index, SPACE), "back to one that is kept is a switch"
        migration = newest_migration(opened)
        assert migration is not None and migration.target.space_id == 1
        with patient(index):
            assert remove_old(opened) == (WIDE, TWIN)


def test_a_switch_refuses_a_space_whose_chunks_are_not_all_there(index: Path) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        build(opened, migration)
        segment = snapshot_of(opened, migration.target.space_id).of_kind("chunks")[0]
        with opened.engine.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE segments SET ended_version = began_version WHERE file = ?", (segment.file,)
            )
        with pytest.raises(IndexBroken, match=r"has 0 chunks in wide-model-of-tests"):
            move(opened, migration, migration.target)
        assert spaces_of(opened)[0].space == SPACE


def test_progress_counts_what_is_level_and_estimates_the_rest(index: Path) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        level = progress_of(opened, migration)
        assert (level.documents, level.documents_done, level.chunks, level.share) == (7, 0, 14, 0.0)
        assert level.remaining_s is None and level.stage_s is None
        record_stage(opened, "building")
        builder = builder_of(opened, migration, migration.target)
        builder._most = 4
        shares = []
        left = []

        def look() -> None:
            level = progress_of(opened, current_migration(opened))
            shares.append(level.share)
            left.append(level.remaining_s)
            assert level.stage_s is not None and level.stage_s >= 0

        builder._tell = look
        builder.catch_up()
        assert left[0] is not None and left[0] > 0, "it can be told after the first batch"
        assert shares[:2] == [pytest.approx(4 / 14), pytest.approx(12 / 14)] and shares[-1] == 1.0
        assert progress_of(opened, migration).remaining_s == 0.0


def test_a_migration_stands_in_one_word(index: Path) -> None:
    with Index.open(index) as opened:
        begun(opened, WIDE)
        told = {}
        for stage in get_args(Stage):
            record_stage(opened, stage)
            migration = current_migration(opened)
            told[stage] = (migration.standing(at_work=True), migration.standing(at_work=False))
        at_work = ("preparing", "building", "evaluating", "switching")
        assert {one: words[0] for one, words in told.items() if one in at_work} == {
            one: one for one in at_work
        }
        assert {words[1] for one, words in told.items() if one in at_work} == {"interrupted"}
        assert [told[one][1] for one in ("held", "blocked", "refused")] == [
            "ready to switch",
            "blocked",
            "refused",
        ]


def current_migration(index: Index) -> Migration:
    migration = newest_migration(index)
    assert migration is not None
    return migration


def test_a_run_is_refused_while_another_runs_and_waits_while_a_migration_publishes(index: Path) -> None:
    with exclusive(index):
        assert holder(index).startswith("process ")
        with pytest.raises(IndexBusy, match=r"is in use by process \d+ on .* since .*: wait until it ends"):
            exclusive(index).__enter__()
    assert holder(index) == ""
    began = time.monotonic()
    with ThreadPoolExecutor(1) as other, patient(index):
        waits = other.submit(lambda: exclusive(index).__enter__() or time.monotonic() - began)
        time.sleep(0.3)
        assert not waits.done()
    assert waits.result() >= 0.3
