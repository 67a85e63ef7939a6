"""Where an index lies: what all hosts share, and the folder that one host keeps for itself."""

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from pincite.storage.ledger.schema import LEDGER_FILE
from pincite.storage.ledger.sqlite import connect
from pincite.storage.locks.interface import QuoteLock, RunLock
from pincite.storage.locks.quote_lock import FolderLock
from pincite.storage.locks.run_lock import FileLock
from pincite.storage.objects.interface import ObjectStore
from pincite.storage.objects.local import LocalStore


@dataclass(frozen=True, slots=True)
class Places:
    """What reads and writes an index is given, in place of a path."""

    ledger: sa.Engine
    objects: ObjectStore  # the segments
    lock: RunLock
    quotes: QuoteLock
    own: Path  # this host's folder: search cache, downloads, evaluations, the embedded Prefect server's home

    @property
    def cache(self) -> Path:
        """The folder of the search cache."""
        return self.own / "cache"


def local_places(folder: Path) -> Places:
    """All of it in one folder of this machine."""
    return Places(
        connect(folder / LEDGER_FILE), LocalStore(folder), FileLock(folder), FolderLock(folder), folder
    )
