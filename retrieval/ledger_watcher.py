"""Following: a reader that stays open takes up new versions before a search asks for them.

During a run there is a new version every few seconds, and taking one up costs a search as much as the search itself.
What a search sees is not changed by this: it looks for the newest version itself, and finds it taken up.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from pincite.schemas.errors import PinciteError

LOOK_S = 0.02  # between two looks: two system calls, some 5 µs
IDLE_S = 600.0  # so long after the last search nobody is waited for
AGAIN_S = 60.0  # between two calls where nothing was written: what is held must not run out
SEARCHES = 10  # what asks more often stays open

_State = tuple[int, int, int]  # inode, size in bytes, time of modification in ns
_States = tuple[_State | None, ...]  # of each file; None where there is none


class Follower:
    """A thread that calls `take_up` when the ledger was written, from the tenth search on while searches go on."""

    def __init__(self, ledger: Path, take_up: Callable[[], object]) -> None:
        self._files = (ledger, ledger.with_name(f"{ledger.name}-wal"))
        self._take_up = take_up
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._searches = 0  # told by several threads, and not exact
        self._asked_at = 0.0  # monotonic; of the last search

    @property
    def follows(self) -> bool:
        """Whether the thread goes on."""
        return self._thread is not None

    def asked(self) -> None:
        """Hears of each search."""
        self._searches += 1
        self._asked_at = time.monotonic()
        if self._searches >= SEARCHES and self._thread is None:
            with self._lock:
                if self._thread is None and not self._ended.is_set():
                    self._begin()

    def end(self) -> None:
        """Returns when the thread has ended; none begins any more."""
        self._ended.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _begin(self) -> None:
        """Looks before the thread begins, so that what is written from now on is taken up however late it comes."""
        self._thread = threading.Thread(
            target=self._follow, args=(self._look(),), name="follow the index", daemon=True
        )
        self._thread.start()

    def _follow(self, seen: _States) -> None:
        try:
            self._take_up_what_comes(seen)
        except PinciteError:
            return  # the next search meets the same, and says it to whoever asked
        finally:
            with self._lock:
                self._thread = None

    def _take_up_what_comes(self, seen: _States) -> None:
        called_at = time.monotonic()
        while not self._ended.wait(LOOK_S) and time.monotonic() - self._asked_at < IDLE_S:
            if (now := self._look()) != seen or time.monotonic() - called_at > AGAIN_S:
                seen, called_at = now, time.monotonic()
                self._take_up()

    def _look(self) -> _States:
        """What a commit changes: of the ledger and its log."""
        return tuple(map(_state_of, self._files))


def _state_of(path: Path) -> _State | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
