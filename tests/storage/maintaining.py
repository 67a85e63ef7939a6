"""Maintenance of an index by its path, and what is left of it."""

from pathlib import Path

from pincite.schemas.records import Check
from pincite.storage.checks.verify import verify
from pincite.storage.maintenance.compaction import Compacted
from pincite.storage.maintenance.vacuum import Vacuumed
from pincite.storage.maintenance.whole_index import compact_index, vacuum_index
from pincite.storage.queries.index_report import index_report
from pincite.storage.snapshots.index import Index


def compacted(index: Path) -> Compacted:
    with Index.open(index) as opened:
        done = compact_index(opened)
        last = index_report(opened, None).last_run
    assert done is not None and last is not None and last["state"] == "completed"
    return done


def vacuumed(index: Path, grace_s: float = 0.0) -> Vacuumed:
    with Index.open(index) as opened:
        return vacuum_index(opened, grace_s)


def broken_checks(index: Path) -> list[Check]:
    with Index.open(index) as opened:
        return [check for check in verify(opened) if not check.ok]


def files(index: Path) -> list[str]:
    """The segment files that are there."""
    return sorted(path.relative_to(index).as_posix() for path in (index / "segments").rglob("*.parquet"))
