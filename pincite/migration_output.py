"""A migration at work, for the command that waits for it: a bar, and a line for each stage as it begins."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from pincite.console import complain, errors
from pincite.looking import looking
from pincite.schemas.counting import counted
from pincite.storage.locks.interface import LockName
from pincite.storage.migration.cut_over import SpaceProgress, progress_of
from pincite.storage.migration.state import Migration, newest_migration
from pincite.storage.snapshots.index import Index
from pincite.tasks.migration.plan import Way

LOOK_S = 3.0
_GOING_BACK = "going back"
_STAGES = {
    "preparing": "loading the model and comparing its probes",
    "building": "building the new model version beside the one that is searched",
    "evaluating": "evaluating both model versions",
    "switching": "switching to the new model version",
    _GOING_BACK: "bringing the model version before the switch up to date, then switching back to it",
}


@contextmanager
def telling(index: Index, way: Way) -> Iterator[None]:
    """Tells what the ledger says of the migration while the block goes on. A line is told once a stage."""
    columns = TextColumn("{task.description}"), BarColumn(20), TaskProgressColumn(), TimeElapsedColumn()
    began = time.time()
    told: set[tuple[str, float | None]] = set()
    with Progress(*columns, console=errors, transient=True) as bar:
        shown = bar.add_task("starting", total=1.0)

        def look() -> None:
            migration = newest_migration(index)
            if migration is None or not index.lock.holder(LockName.MIGRATION):
                return
            if not (word := doing(migration, way, began)):
                return
            level = progress_of(index, migration)
            waits_for = _waits_for(index) if word == "switching" else ""
            bar.update(shown, completed=level.share, description=_description(word, level))
            for what, line in _lines(word, level, waits_for):
                if (what, migration.stage_at) not in told:
                    told.add((what, migration.stage_at))
                    complain(line)

        with looking(look, LOOK_S):
            yield


def doing(migration: Migration, way: Way, began: float) -> str:
    """What is done since `began` (seconds since the epoch); "" while the ledger tells of a former run."""
    if way == "rollback" and migration.state == "switched":
        return _GOING_BACK
    building = migration.state == "building"
    at = migration.stage_at if building else migration.ended_at
    if at is None or at < began:
        return ""
    return migration.standing(at_work=building and migration.stage in _STAGES)


def _waits_for(index: Index) -> str:
    """Who else writes; "" for nobody."""
    return "" if index.lock.holder_pid() == os.getpid() else index.lock.holder()


def _lines(word: str, level: SpaceProgress, waits_for: str) -> Iterator[tuple[str, str]]:
    """(what is told, in which words)."""
    if word in _STAGES:
        yield word, _STAGES[word]
    if waits_for:
        yield "waiting", f"ready to switch, waiting for {waits_for}"
    if word == "building" and level.remaining_s:
        yield "estimate", f"after the first batch, {words_of(level)}"


def _description(word: str, level: SpaceProgress) -> str:
    """The stage and how far it is; what can't be told yet is said."""
    words = f"{word}: {words_of(level)}"
    first = word == "building" and level.remaining_s is None
    return f"{words}, time left: after the first batch" if first else words


def words_of(level: SpaceProgress) -> str:
    """How far a space is level with the one that is searched, and the time left where it can be told."""
    words = (
        f"{level.documents_done:,} of {counted(level.documents, 'document')}, "
        f"{level.chunks_done:,} of {counted(level.chunks, 'chunk')}"
    )
    if level.remaining_s:
        minutes, seconds = divmod(round(level.remaining_s), 60)
        words += f", {minutes}:{seconds:02d} min left"
    return words
