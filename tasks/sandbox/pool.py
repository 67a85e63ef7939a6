"""Pool: stages run in child processes that can be killed with everything that they started.

Not pebble: its pool neither reports progress nor says which process holds a job, and both are needed to name the
page and to kill the grandchildren.
"""

import queue
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pincite.schemas.errors import ChildFailed
from pincite.tasks.sandbox.processes import WORKER_VARIABLE, kill_tagged, tagged_processes
from pincite.tasks.sandbox.worker import (
    PoolClosed,
    ProgressCallback,
    StageCall,
    StageFailed,
    Worker,
    scratch_prefix,
)

__all__ = [
    "WORKER_VARIABLE",
    "Pool",
    "PoolClosed",
    "ProgressCallback",
    "StageCall",
    "StageFailed",
    "Worker",
    "end_leftovers",
    "pool",
    "scratch_prefix",
    "tagged_processes",
]

_TICK_S = 0.1


class Pool:
    """A fixed number of workers, which do the work of a run and give way to others; `run` waits for a free one."""

    def __init__(
        self,
        size: int,
        memory_bytes: int,
        family: str,
        first: StageCall | None = None,
        environment: Sequence[str] | None = (),
    ) -> None:
        """`environment` is as of `Worker`."""
        self._workers = [
            Worker(memory_bytes, family, first, gives_way=True, environment=environment) for _ in range(size)
        ]
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._closed = False
        self._broken: ChildFailed | None = (
            None  # what could not be started once is not tried for each document
        )

    def run(
        self, stage: str, payload: object, deadline_s: float, told: ProgressCallback | None = None
    ) -> Any:
        """As `Worker.run`; the deadline counts from when a worker took the job. Raises `PoolClosed` after `close`."""
        worker = self._free.get()
        try:
            if self._closed:
                raise PoolClosed
            if self._broken:
                raise self._broken
            return worker.run(stage, payload, deadline_s, told)
        except (StageFailed, ChildFailed) as error:
            if self._closed:
                raise PoolClosed from None  # it was ended by us, not by its document
            if isinstance(error, ChildFailed):
                self._broken = error
            raise
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """Ends all children. What other threads have running or waiting here raises `PoolClosed`."""
        self._closed = True
        idle: list[Worker] = []
        while len(idle) < len(self._workers):
            for worker in self._workers:
                worker.interrupt()
            with suppress(queue.Empty):
                idle.append(self._free.get(timeout=_TICK_S))
        for worker in idle:
            worker.kill()
            self._free.put(worker)


@contextmanager
def pool(
    size: int,
    memory_bytes: int,
    family: str,
    first: StageCall | None = None,
    environment: Sequence[str] | None = (),
) -> Iterator[Pool]:
    """A pool for the block; no process of it outlives the block."""
    workers = Pool(size, memory_bytes, family, first, environment)
    try:
        yield workers
    finally:
        workers.close()


def end_leftovers(family: str) -> None:
    """Ends the children that a killed run of this family left behind, and removes their temporary files."""
    kill_tagged(f"{family}:")
    for folder in Path(tempfile.gettempdir()).glob(f"{scratch_prefix(family)}*"):
        shutil.rmtree(folder, ignore_errors=True)  # of another user, who has an index of the same path
