"""Packs of the search cache that a run makes before its commit, so that no search waits until they are made.

Made only while somebody reads: else the end of the run makes them. A pack whose commit never came serves nothing
of it. The end of a run deletes it (`cache.refresh_cache`), unless it was joined with units that only it has; then the
end of the first run at which another pack has them.
"""

import logging
from collections.abc import Sequence

from pincite.schemas.errors import PinciteError
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.reader_leases import living
from pincite.storage.search_cache.cache import packed_ahead
from pincite.storage.search_cache.packs import Pack
from pincite.storage.segments.segment import Segment
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot, unit_of

_logger = logging.getLogger(__name__)


class PacksAhead:
    """What one run knows of the cache. Not for several threads at once."""

    def __init__(self) -> None:
        self._known: tuple[Pack, ...] = ()
        self._given_up = False

    def make(self, index: Index, written: Sequence[Segment], space_id: int, join: bool = True) -> None:
        """The pack of the segments that are to begin in one version; joined with small ones where `join` says so.

        It never fails the run: what goes wrong is logged, and the first search makes good for it. Where the folder
        can't be written, the run tries it once.
        """
        unit = unit_of([one for one in written if one.kind != "texts"])
        if self._given_up or not unit.rows:
            return
        try:
            snapshot = _read_by_somebody(index)
            if snapshot is not None and snapshot.space_id == space_id:
                self._known = packed_ahead(snapshot, self._known, unit, join)
        except PinciteError as error:
            _logger.warning("the search cache of %s was not made ahead: %s", index.path, error)
        except OSError as error:
            self._known, self._given_up = (), True
            _logger.warning(
                "the search cache of %s is not made ahead by this run any more, but by searches: %s. See that the "
                "folder may be written and that the disk has room",
                index.path,
                error,
            )


def _read_by_somebody(index: Index) -> Snapshot | None:
    """The newest version, where it or another one is held."""
    with transactions.reading(index.engine) as connection:
        if not living(connection):
            return None
        return Snapshot.read(connection, index.places, schema.current_version(connection))
