"""One run at a time on an index: an advisory lock that the kernel drops when its holder dies."""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.errors import IndexBusy
from storage.disk import writable

LOCK_FILE = "run.lock"


@contextmanager
def exclusive(index: Path) -> Iterator[None]:
    """Holds the index for the block. Raises `IndexBusy` at once, naming the holder, when another run has it."""
    path = index / LOCK_FILE
    with writable(path):
        file = path.open("a+", encoding="utf-8")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise IndexBusy(
                f"the index at {index} is in use by {_holder(path)}: wait until it ends"
            ) from error
        with writable(path):
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}))
            file.flush()
        try:
            yield
        finally:
            file.truncate(0)  # or the next holder's rival could be told of this one


def _holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_text(encoding="utf-8"))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder["since"]))
        return f"process {holder['pid']} on {holder['host']} since {since}"
    except (ValueError, KeyError, TypeError):  # its holder has not written its name yet
        return "another run"
