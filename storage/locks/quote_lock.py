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


@contextmanager
def sharing_cache(index: Path) -> Iterator[None]:
    """For the block, no document is taken out of the cache."""
    with _opened(index) as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


@contextmanager
def alone_in_cache(index: Path) -> Iterator[None]:
    """For the block, nobody writes into the cache. Raises `IndexBusy` when one writes on and on."""
    began = time.monotonic()
    with _opened(index) as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() - began > PATIENCE_S:
                    raise IndexBusy(
                        f"a search has been writing into the cache of {index} for {PATIENCE_S:.0f} s: the next run "
                        "takes the document out of it"
                    ) from error
                time.sleep(_TICK_S)
        yield


@contextmanager
def _opened(index: Path) -> Iterator[int]:
    folder = os.open(index, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)  # which lets go of the lock
