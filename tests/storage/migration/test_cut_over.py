"""What blocks a migration and how it ends: waivers, giving up, and the removal of the old space."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from pincite.schemas.errors import Failure, UsageError
from pincite.storage.checks.verify import verify
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.run_lock import patient
from pincite.storage.migration.cut_over import progress_of, snapshot_of, switch
from pincite.storage.migration.state import (
    abort,
    begin,
    blockers,
    newest_migration,
    old_space_expired,
    remove_expired,
    remove_old,
    waive,
    waived_documents,
)
from pincite.storage.queries.index_report import document_reports
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from pincite.tasks.migration.derive import Derived, Known
from tests.storage.building import SPACE, fill, found
from tests.storage.migrating import (
    BLOCKS,
    TEXTS,
    WIDE,
    assert_level,
    begun,
    build,
    builder_of,
    held,
    make,
    migrate_to,
    move,
    nightly,
)


@pytest.fixture
def index(index: Path, source: Path) -> Path:
    fill(source, TEXTS)
    make(index, source)
    return index


def test_a_document_that_blocks_is_named_can_be_waived_and_is_then_failed(index: Path, source: Path) -> None:
    fill(source, TEXTS | {"bad.txt": f"# Bad\n\n{BLOCKS}"})
    nightly(index, source)
    assert not migrate_to(index, WIDE)
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None and spaces_of(opened)[0].space == SPACE
        (blocker,) = blockers(opened, migration)
        assert (blocker.path, blocker.reason, blocker.waived) == ("bad.txt", f"{WIDE.model} {BLOCKS}", False)
        with patient(index), pytest.raises(UsageError, match=r"the first is bad\.txt \(missing\)"):
            switch(opened, migration, migration.target, "switched")
        with pytest.raises(
            UsageError, match=r"0\.txt does not block the migration; what blocks it: bad\.txt"
        ):
            waive(opened, migration, ["0.txt"])
        waive(opened, migration, ["bad.txt"])
        assert move(opened, migration, migration.target)
        assert [check for check in verify(opened) if not check.ok] == []
        (report,) = document_reports(opened, None, "failed")
        assert (report.path, report.kind) == ("bad.txt", "waived")
        assert report.reason == f"left out of the migration: {WIDE.model} {BLOCKS}"
        assert move(opened, migration, migration.source), "and back, where it is found again"
    assert sorted(found(index)) == sorted([*TEXTS, "bad.txt"])
    (source / "bad.txt").unlink()
    nightly(index, source)
    with Index.open(index) as opened:
        assert_level(opened)


def test_a_waiver_does_not_hold_for_a_newer_revision(index: Path, source: Path) -> None:
    nightly(index, fill(source, TEXTS | {"bad.txt": f"# Bad\n\n{BLOCKS}"}))
    assert not migrate_to(index, WIDE)
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None
        waive(opened, migration, ["bad.txt"])
    nightly(index, fill(source, TEXTS | {"bad.txt": f"# Bad\n\nmore that {BLOCKS}"}))
    with Index.open(index) as opened:
        assert not move(opened, migration, migration.target)
        assert [(one.path, one.revision, one.waived) for one in blockers(opened, migration)] == [
            ("bad.txt", 2, False)
        ]
        waive(opened, migration, ["bad.txt"])
        assert move(opened, migration, migration.target)


def test_a_waived_document_that_is_deleted_leaves_the_space_that_had_it(index: Path, source: Path) -> None:
    fill(source, TEXTS | {"bad.txt": f"# Bad\n\n{BLOCKS}"})
    nightly(index, source)
    assert not migrate_to(index, WIDE)
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None
        waive(opened, migration, ["bad.txt"])
        assert move(opened, migration, migration.target)
        (source / "bad.txt").unlink()
        nightly(index, source)
        assert_level(opened)
        assert move(opened, migration, migration.source)
    assert sorted(found(index)) == sorted(TEXTS)


def test_a_document_that_blocks_and_is_mended_blocks_no_longer(index: Path, source: Path) -> None:
    fill(source, TEXTS | {"bad.txt": f"# Bad\n\n{BLOCKS}"})
    nightly(index, source)
    assert not migrate_to(index, WIDE)
    nightly(index, fill(source, TEXTS | {"bad.txt": "# Bad\n\nno longer"}))
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None and blockers(opened, migration) == ()
        assert move(opened, migration, migration.target)
        assert_level(opened)


def test_what_blocked_goes_with_its_revision_though_nobody_writes_to_the_other_space(
    index: Path, source: Path
) -> None:
    nightly(
        index, fill(source, TEXTS | {"bad.txt": f"# Bad\n\n{BLOCKS}", "gone.txt": f"# Gone\n\n{BLOCKS} too"})
    )
    assert not migrate_to(index, WIDE)
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None and len(blockers(opened, migration)) == 2
        waive(opened, migration, ["bad.txt"])
        nightly(index, fill(source, TEXTS | {"bad.txt": "# Bad\n\nno longer"}), dual=False)
        with transactions.reading(opened.engine) as connection:
            assert connection.execute(sa.select(schema.blockers)).all() == []
            assert waived_documents(connection, migration) == {}
        with patient(index), pytest.raises(UsageError, match=r"the first is bad\.txt \(missing\)"):
            switch(opened, migration, migration.target, "switched")


def test_a_run_names_what_the_space_beside_it_can_not_have_and_publishes_it_all_the_same(
    index: Path, source: Path
) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        build(opened, migration)
        counts = nightly(index, fill(source, TEXTS | {"bad.txt": f"# Bad\n\n{BLOCKS}"}))
        assert (counts.indexed, counts.failed) == (1, 0)
        assert [one.path for one in blockers(opened, migration)] == ["bad.txt"]
    assert found(index)["bad.txt"] == [BLOCKS]


def test_a_migration_that_is_given_up_leaves_nothing_live_and_can_begin_again(index: Path) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        build(opened, migration)
        with patient(index):
            assert abort(opened).state == "aborted"
        assert [one.space for one in spaces_of(opened)] == [SPACE]
        assert held(opened, migration.target.space_id) == {}
        with pytest.raises(UsageError, match="is aborted"):
            abort(opened)
    assert migrate_to(index, WIDE), "though its segments have the same bytes as those that ended"
    with Index.open(index) as opened:
        assert_level(opened)


def test_the_old_space_goes_by_command_and_then_there_is_no_way_back(index: Path, source: Path) -> None:
    with Index.open(index) as opened:
        with pytest.raises(UsageError, match="no old model version"):
            remove_old(opened)
        migration = begun(opened, WIDE)
        with pytest.raises(UsageError, match="is building"):
            remove_old(opened)
        build(opened, migration)
        assert move(opened, migration, migration.target)
        with patient(index):
            assert remove_old(opened) == (SPACE,)
        assert [one.space for one in spaces_of(opened)] == [WIDE]
        assert snapshot_of(opened, migration.source.space_id).of_kind("chunks") == ()
        nightly(index, fill(source, {"0.txt": "# A\n\na"}))
        assert_level(opened)


def test_the_old_space_goes_after_the_days_for_which_it_was_to_be_kept(index: Path, source: Path) -> None:
    with Index.open(index) as opened:
        with patient(index):
            migration = begin(opened, WIDE, "", keep_days=2.0)
        build(opened, migration)
        assert move(opened, migration, migration.target)
        assert not old_space_expired(opened, time.time() + 1.9 * 86_400)
        assert old_space_expired(opened, time.time() + 2.1 * 86_400)
        remove_expired(opened, "")
        assert [one.space for one in spaces_of(opened)] == [WIDE, SPACE]
        nightly(index, fill(source, TEXTS | {"a.txt": "# A\n\na"}))
        assert [one.space for one in spaces_of(opened)] == [WIDE, SPACE]
        with opened.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE migrations SET ended_at = ended_at - 2.1 * 86400")
        nightly(index, source)
        assert [one.space for one in spaces_of(opened)] == [WIDE]


@pytest.mark.parametrize("spoil", [np.nan, 0.0], ids=["no number", "no length"])
def test_a_vector_that_is_not_fit_to_be_stored_blocks_its_document(index: Path, spoil: float) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        builder = builder_of(opened, migration, migration.target)
        derive = builder._standby.derive

        def spoilt(documents: Sequence[Known], embed: bool) -> list[Derived | Failure]:
            made = list(derive(documents, embed))
            assert isinstance(made[0], Derived) and made[0].vectors is not None
            made[0].vectors[1] *= spoil
            return made

        object.__setattr__(builder._standby, "derive", spoilt)
        builder.catch_up()
        (blocker,) = blockers(opened, migration)
        assert blocker.reason.startswith("the vector of chunk 1 is not")
        assert progress_of(opened, migration).documents_done == len(TEXTS) - 1
