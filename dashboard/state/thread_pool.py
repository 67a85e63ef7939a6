"""Work: what blocks runs in a bounded pool of threads, each piece within a time."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from pincite.schemas.errors import IndexBusy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _End:
    """Of a stream: `error` is what its thread raised."""

    error: BaseException | None


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
        within_s = self.timeout_s if timeout_s is None else timeout_s
        future = self._submit(piece)
        try:
            async with asyncio.timeout(within_s):
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            raise IndexBusy(
                f"the request was not done after {within_s:g} s: ask again later, or ask for less"
            ) from error

    def stream(self, pieces: Callable[[], Generator[T, None, None]]) -> AsyncIterator[T]:
        """What `pieces` yields as it comes, each step in one thread of the pool.

        Raises `IndexBusy` at once when the pool is full. The thread waits for no reader: what was yielded is kept
        until it is read, so `pieces` must have an end. When the reader goes away it ends with its next piece.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[T | _End] = asyncio.Queue()
        gone = threading.Event()

        def put(value: T | _End) -> None:
            if not (gone.is_set() or loop.is_closed()):
                loop.call_soon_threadsafe(queue.put_nowait, value)

        def produce() -> None:
            with closing(pieces()) as opened:
                for piece in opened:
                    put(piece)
                    if gone.is_set():
                        return

        self._submit(produce).add_done_callback(lambda done: put(_End(_error_of(done))))
        return _read(queue, gone)

    def _submit(self, piece: Callable[[], T]) -> "Future[T]":
        with self._lock:
            if self._taken >= self._room:
                raise IndexBusy(f"{self._room} requests are at work or waiting: ask again in a few seconds")
            self._taken += 1
        future = self._pool.submit(piece)
        future.add_done_callback(lambda _done: self._leave())
        return future

    def _leave(self) -> None:
        with self._lock:
            self._taken -= 1

    def close(self) -> None:
        """Waits for no piece; those that wait for a thread are dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _error_of(done: "Future[None]") -> BaseException | None:
    if done.cancelled():
        return IndexBusy("the server ends: ask again when it is back")
    return done.exception()


async def _read(queue: "asyncio.Queue[T | _End]", gone: threading.Event) -> AsyncIterator[T]:
    try:
        while True:
            value = await queue.get()
            if isinstance(value, _End):
                if value.error is not None:
                    raise value.error
                return
            yield value
    finally:
        gone.set()
