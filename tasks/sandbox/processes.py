"""Processes of the sandbox: found by the tag in their environment, and ended with all that they started."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

WORKER_VARIABLE = "PINCITE_WORKER"
_EXIT_S = 5.0


def kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def kill_tagged(tag: str) -> None:
    """Kills every process whose environment carries the tag, until none is left or some seconds have passed."""
    until = time.monotonic() + _EXIT_S
    while (found := list(tagged_processes(tag))) and time.monotonic() < until:
        for process in found:
            with suppress(psutil.Error):  # it is gone, or can't be killed: the next look tells
                process.kill()
        psutil.wait_procs(found, timeout=1)


def tagged_processes(tag: str) -> Iterator[psutil.Process]:
    """Living processes whose worker tag begins with `tag`."""
    for process in psutil.process_iter():
        try:
            value = process.environ().get(WORKER_VARIABLE, "")
            if value.startswith(tag) and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except psutil.Error:  # gone, or of another user
            continue


def kept_waiting_s(pid: int) -> float:
    """How long a process was ready to work and had no core, its first thread alone (proc(5), schedstat).

    0 where the kernel does not tell, and for one that is gone.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0
