"""Work: what blocks runs in a bounded pool of threads, each piece within a time."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from schemas.errors import IndexBusy

T = TypeVar("T")


class Work:
    """At most `threads` pieces run and `waiting` wait; one that takes over `timeout_s` is given up by its caller.

    A thread can't be ended: a piece that was given up holds its thread until it is done, and no other one.
    """

    def __init__(self, threads: int = 8, waiting: int = 200, timeout_s: float = 60.0) -> None:
        self._pool = ThreadPoolExecutor(threads, "pincite-work")
        self._room = threads + waiting
        self._taken = 0
        self._lock = threading.Lock()
        self.timeout_s = timeout_s

    async def run(self, piece: Callable[[], T], timeout_s: float | None = None) -> T:
        """What `piece` returns, within the time of all pieces or its own.

        Raises `IndexBusy` when the pool is full or the time is over.
        """
        with self._lock:
            if self._taken >= self._room:
                raise IndexBusy(f"{self._room} requests are at work or waiting: ask again in a few seconds")
            self._taken += 1
        within_s = self.timeout_s if timeout_s is None else timeout_s
        future = self._pool.submit(piece)
        future.add_done_callback(lambda _done: self._leave())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), within_s)
        except TimeoutError as error:
            raise IndexBusy(
                f"the request was not done after {within_s:g} s: ask again later, or ask for less"
            ) from error

    def _leave(self) -> None:
        with self._lock:
            self._taken -= 1

    def close(self) -> None:
        """Waits for no piece; those that wait for a thread are dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)
