"""One writer at a time on an index: advisory locks that the kernel drops when their holder dies.

A run takes the lock or is refused at once. A migration takes it only for moments, and waits for it: while one
waits, the next run stands back, so that runs that follow each other without a pause can't keep it out.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO

from pincite.schemas.errors import IndexBusy
from pincite.storage.locks.interface import LockName
from pincite.storage.locks.process_identity import is_here, this_process
from pincite.storage.objects.disk_errors import writable

LOCK_FILE = LockName.RUNS
WAITING_FILE = "waiting.lock"
"""Held by who waits for the lock."""

BRIEF_S = 60.0
"""Longest wait for one who holds the lock only for a moment."""
_TICK_S = 0.02
_UNNAMED_S = 2.0  # a holder writes its name right after it took the lock


@contextmanager
def exclusive(index: Path, file: str = LOCK_FILE) -> Iterator[None]:
    """Holds the index for the block. Raises `IndexBusy` at once, naming the holder, when another run has it.

    One that holds it only for a moment (`patient`) is waited for.
    """
    with _opened(index / file) as lock:
        _take(index, lock, file)
        with _named(index / file, lock, brief=False):
            yield


@contextmanager
def patient(index: Path) -> Iterator[None]:
    """Holds the index for the block, which must be short, as soon as the run that has it now has ended."""
    with ExitStack() as stack:
        waiting = stack.enter_context(_opened(index / WAITING_FILE))
        lock = stack.enter_context(_opened(index / LOCK_FILE))
        fcntl.flock(waiting, fcntl.LOCK_EX)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _named(index / LOCK_FILE, lock, brief=True):
            fcntl.flock(waiting, fcntl.LOCK_UN)
            yield


def holder(index: Path, file: str = LOCK_FILE) -> str:
    """Who holds a lock of the index, in words; "" when nobody does."""
    who = _holder(index / file)
    return "" if who is None else _words(who)


def holder_pid(index: Path, file: str = LOCK_FILE) -> int | None:
    """The process whose run holds a lock of the index; None when none does, or its pid means nothing here."""
    who = _holder(index / file) or {}
    pid = who.get("pid")
    known = isinstance(pid, int) and is_here(str(who.get("host", "")), str(who.get("process", "")))
    return pid if isinstance(pid, int) and known else None


def _holder(path: Path) -> Mapping[str, object] | None:
    """What the holder of a lock wrote of itself; None when nobody holds it."""
    try:
        with path.open("r", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return None
    except BlockingIOError:
        return _read(path)
    return None


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    with writable(path):
        file = path.open("a+", encoding="utf-8")
    with file:
        yield file


@contextmanager
def _named(path: Path, lock: IO[str], brief: bool) -> Iterator[None]:
    who = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "process": this_process(),
        "since": time.time(),
        "brief": brief,
    }
    with writable(path):
        lock.truncate(0)
        lock.write(json.dumps(who))
        lock.flush()
    try:
        yield
    finally:
        lock.truncate(0)  # or the next holder's rival could be told of this one


def _take(index: Path, lock: IO[str], file: str) -> None:
    began = time.monotonic()
    while not (_free(index, file) and _try(lock)):
        who = _read(index / file)
        patience_s = BRIEF_S if who.get("brief") else 0.0 if who else _UNNAMED_S
        if time.monotonic() - began > patience_s:
            raise IndexBusy(f"the index at {index} is in use by {_words(who)}: wait until it ends")
        time.sleep(_TICK_S)


def _free(index: Path, file: str) -> bool:
    """Whether nobody waits for the lock of runs, who would come first."""
    return file != LOCK_FILE or not (index / WAITING_FILE).exists() or not holder(index, WAITING_FILE)


def _try(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(path: Path) -> Mapping[str, object]:
    try:
        who = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, FileNotFoundError):  # its holder has not written its name yet, or is just leaving
        return {}
    return who if isinstance(who, dict) else {}


def _words(who: Mapping[str, object]) -> str:
    since = who.get("since")
    if not isinstance(since, float):
        return "another run"
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(since))
    return f"process {who.get('pid')} on {who.get('host')} since {at}"


class FileLock:
    """The locks of an index whose folder all its writers see, as `RunLock` says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def exclusive(self, name: LockName = LockName.RUNS) -> AbstractContextManager[None]:
        return exclusive(self._folder, name)

    def patient(self) -> AbstractContextManager[None]:
        return patient(self._folder)

    def holder(self, name: LockName = LockName.RUNS) -> str:
        return holder(self._folder, name)

    def holder_pid(self, name: LockName = LockName.RUNS) -> int | None:
        return holder_pid(self._folder, name)
