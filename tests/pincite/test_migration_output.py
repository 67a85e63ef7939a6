"""What `pincite migrate` tells while a migration is at work."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite import migration_output
from pincite.migration_output import doing, telling
from pincite.storage.locks.interface import LockName
from pincite.storage.locks.run_lock import exclusive
from pincite.storage.migration.state import newest_migration, record_stage
from pincite.storage.snapshots.index import Index
from tests.storage.building import fill, reindex
from tests.storage.migrating import WIDE, begun, build, migrate_to, move


@pytest.fixture
def index(tmp_path: Path) -> Path:
    index = tmp_path / "index"
    reindex(index, fill(tmp_path / "source", {"a.txt": "The first.", "b.txt": "The second."}))
    return index


@pytest.fixture
def wait_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str]], None]:
    """Waits until the lines that were told are these; a moment longer, so that no other follows."""
    monkeypatch.setattr(migration_output, "LOOK_S", 0.02)
    told: list[str] = []

    def wait(lines: list[str]) -> None:
        until = time.monotonic() + 20
        while (told := told_now()) != lines and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.1)
        assert (told := told_now()) == lines, told

    def told_now() -> list[str]:
        told.extend(line.removeprefix("pincite: ") for line in capsys.readouterr().err.splitlines())
        return list(told)

    return wait


PREPARING, BUILDING, EVALUATING, SWITCHING, _ = migration_output._STAGES.values()


def test_who_goes_on_after_a_kill_tells_each_stage_as_it_begins_and_none_of_the_former_run(
    index: Path, wait_for: Callable[[list[str]], None]
) -> None:
    with Index.open(index) as opened:
        migration = begun(opened, WIDE)
        record_stage(opened, "building")  # by the run that was killed
        with telling(opened, "forward"), exclusive(index, LockName.MIGRATION):
            wait_for([])
            lines = []
            stages = ("preparing", "building", "evaluating", "switching")
            for stage, line in zip(stages, (PREPARING, BUILDING, EVALUATING, SWITCHING), strict=True):
                record_stage(opened, stage)
                lines.append(line)
                if stage == "building":
                    build(opened, migration)
                wait_for(lines)
            record_stage(opened, "held")
            wait_for(lines)


def test_a_way_back_that_must_catch_up_is_not_told_as_a_switch(
    index: Path, wait_for: Callable[[list[str]], None]
) -> None:
    assert migrate_to(index, WIDE)
    began = time.time()
    with Index.open(index) as opened:
        migration = newest_migration(opened)
        assert migration is not None and doing(migration, "rollback", began) == "going back"
        assert doing(migration, "forward", began) == "", "another migration has not begun yet"
        with telling(opened, "rollback"), exclusive(index, LockName.MIGRATION):
            wait_for(["bringing the model version before the switch up to date, then switching back to it"])
            assert move(opened, migration, migration.source)
        migration = newest_migration(opened)
        assert migration is not None and doing(migration, "rollback", began) == "rolled back"
