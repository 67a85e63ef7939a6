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

LOCK_FILE = "run.lock"


@contextmanager
def exclusive(index: Path) -> Iterator[None]:
    """Holds the index for the block. Raises `IndexBusy` at once, naming the holder, when another run has it."""
    with (index / LOCK_FILE).open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise IndexBusy(
                f"the index at {index} is in use by {_holder(index)}: wait until it ends"
            ) from error
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}))
        file.flush()
        yield


def _holder(index: Path) -> str:
    try:
        holder = json.loads((index / LOCK_FILE).read_text(encoding="utf-8"))
    except ValueError:  # its holder has not written its name yet
        return "another run"
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder["since"]))
    return f"process {holder['pid']} on {holder['host']} since {since}"
