"""Runs of maintenance, as the commands do them."""

from pathlib import Path

from storage.compaction import Compacted, compact
from storage.index import Index
from storage.runs import begin_run, finish_run
from storage.vacuum import Vacuumed, vacuum
from storage.verify import verify


def compacted(index: Path) -> Compacted:
    with Index.open(index) as opened, begin_run(opened, "compact", "") as run:
        done = compact(run)
        finish_run(run)
    return done


def vacuumed(index: Path, grace_s: float = 0.0) -> Vacuumed:
    with Index.open(index) as opened, begin_run(opened, "vacuum", "") as run:
        done = vacuum(run, grace_s)
        finish_run(run)
    return done


def broken_checks(index: Path) -> list[object]:
    with Index.open(index) as opened:
        return [check for check in verify(opened) if not check.ok]


def files(index: Path) -> list[str]:
    """The segment files that are there."""
    return sorted(path.relative_to(index).as_posix() for path in (index / "segments").rglob("*.parquet"))
