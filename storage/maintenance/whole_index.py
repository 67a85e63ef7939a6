"""Maintenance of a whole index: each call is a run of its own, under the lock."""

from pincite.storage.erasure.recovery import RECOVERY
from pincite.storage.maintenance.compaction import Compacted, compact, compact_when_many
from pincite.storage.maintenance.vacuum import GRACE_S, Vacuumed, vacuum
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index


def compact_index(index: Index, only_when_many: bool = False) -> Compacted | None:
    """Makes few segments of many; None when `only_when_many` and there are not. Raises `IndexBusy`."""
    with begin_run(index, "compact", "", RECOVERY) as run:
        done = compact_when_many(run) if only_when_many else compact(run)
        finish_run(run)
        refresh_cache(index)
    return done


def vacuum_index(index: Index, grace_s: float = GRACE_S) -> Vacuumed:
    """Takes away what no version younger than the grace time has. Raises `IndexBusy`."""
    with begin_run(index, "vacuum", "", RECOVERY) as run:
        done = vacuum(run, grace_s)
        finish_run(run)
    return done
