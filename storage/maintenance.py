"""Maintenance of a whole index: each call is a run of its own, under the lock."""

from storage.cache import refresh_cache
from storage.compaction import Compacted, compact, compact_when_many
from storage.index import Index
from storage.runs import begin_run, finish_run
from storage.vacuum import GRACE_S, Vacuumed, vacuum


def compact_index(index: Index, only_when_many: bool = False) -> Compacted | None:
    """Makes few segments of many; None when `only_when_many` and there are not. Raises `IndexBusy`."""
    with begin_run(index, "compact", "") as run:
        done = compact_when_many(run) if only_when_many else compact(run)
        finish_run(run)
        refresh_cache(index)
    return done


def vacuum_index(index: Index, grace_s: float = GRACE_S) -> Vacuumed:
    """Takes away what no version younger than the grace time has. Raises `IndexBusy`."""
    with begin_run(index, "vacuum", "") as run:
        done = vacuum(run, grace_s)
        finish_run(run)
    return done
