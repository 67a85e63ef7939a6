"""Who writes what quotes documents shares a lock, and who forgets a document takes it alone.

That is a pack of the search cache or a report of an evaluation. Its writer looks, under the lock, whether one of the
documents is to be forgotten, and gives the file its name under the same hold. So a file either is there when the
forgetting deletes them, or never appears. The lock is on the folder of the index itself: the cache may be deleted at
any time, and who writes there need not write beside it.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pincite.schemas.errors import IndexBusy

PATIENCE_S = 120.0  # the largest packs take some tens of seconds
_TICK_S = 0.02


class FolderLock:
    """The lock on the folder of an index, as `QuoteLock` says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._opened() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            yield

    @contextmanager
    def alone(self) -> Iterator[None]:
        began = time.monotonic()
        with self._opened() as lock:
            while not _try(lock):
                if time.monotonic() - began > PATIENCE_S:
                    raise IndexBusy(
                        f"a search has been writing into the cache of {self._folder} for {PATIENCE_S:.0f} s: the "
                        "next run takes the document out of it"
                    )
                time.sleep(_TICK_S)
            yield

    @contextmanager
    def _opened(self) -> Iterator[int]:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield folder
        finally:
            os.close(folder)  # which lets go of the lock


def _try(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
