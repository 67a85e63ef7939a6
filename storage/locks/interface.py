"""Locks of an index. Those of the file system are the ones that there are (`run_lock`, `quote_lock`)."""

from contextlib import AbstractContextManager
from enum import StrEnum
from typing import Protocol


class LockName(StrEnum):
    """What may be held of an index, by the name of its file."""

    RUNS = "run.lock"
    MIGRATION = "migrate.lock"
    """Held by the process that migrates, for as long as it runs; `RUNS` it takes only for moments."""


class RunLock(Protocol):
    """One writer at a time, which the lock loses when it dies."""

    def exclusive(self, name: LockName = LockName.RUNS) -> AbstractContextManager[None]:
        """Holds the index for the block. Raises `IndexBusy` at once, naming the holder, when another run has it.

        One that holds it only for a moment (`patient`) is waited for.
        """
        ...

    def patient(self) -> AbstractContextManager[None]:
        """Holds the index for the block, which must be short, as soon as the run that has it now has ended.

        While one waits, no run takes the lock before it.
        """
        ...

    def holder(self, name: LockName = LockName.RUNS) -> str:
        """Who holds it, in words; "" when nobody does."""
        ...

    def holder_pid(self, name: LockName = LockName.RUNS) -> int | None:
        """The process that holds it; None when none does, or its number means nothing here."""
        ...


class QuoteLock(Protocol):
    """Shared by who writes what quotes documents, taken alone by who forgets one."""

    def shared(self) -> AbstractContextManager[None]:
        """For the block, no document is taken out of what quotes it."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """For the block, nobody writes what quotes documents. Raises `IndexBusy` when one writes on and on."""
        ...
