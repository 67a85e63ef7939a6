"""Packs of the search cache that a run makes before its commit, so that no search waits until they are made.

Made only while somebody reads: else the end of the run makes them. A pack whose commit never came serves nothing,
and goes when it is joined with others.
"""

import logging
from collections.abc import Sequence

from schemas.errors import PinciteError
from storage import ledger, transactions
from storage.cache import packed_ahead
from storage.index import Index
from storage.packs import Pack
from storage.readers import living
from storage.segments import Segment
from storage.snapshot import Snapshot, unit_of

_logger = logging.getLogger(__name__)


class PacksAhead:
    """What one run knows of the cache. Not for several threads at once."""

    def __init__(self) -> None:
        self._known: tuple[Pack, ...] = ()

    def make(self, index: Index, written: Sequence[Segment], space_id: int, join: bool = True) -> None:
        """The pack of the segments that are to begin in one version; joined with small ones where `join` says so.

        It never fails the run: what goes wrong is logged, and the first search makes good for it.
        """
        unit = unit_of([one for one in written if one.kind != "texts"])
        if not unit.rows:
            return
        try:
            snapshot = _read_by_somebody(index)
            if snapshot is not None and snapshot.space_id == space_id:
                self._known = packed_ahead(snapshot, self._known, unit, join)
        except (PinciteError, OSError) as error:
            _logger.warning("the search cache of %s was not made ahead: %s", index.path, error)


def _read_by_somebody(index: Index) -> Snapshot | None:
    """The newest version, where it or another one is held."""
    with transactions.reading(index.engine) as connection:
        if not living(connection):
            return None
        return Snapshot.read(connection, index.path, ledger.current_version(connection))
