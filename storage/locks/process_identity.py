"""Whether the process that wrote a row of the ledger is still there.

A host name and a pid do not tell: containers may share both, and a pid is given again. So a process is named by the
boot of its kernel, the pid namespace in which its pid counts, and when it started (proc_pid_stat(5), field 22).
"""

import os
import socket
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_DEAD_STATES = ("Z", "X", "x")  # a zombie holds nothing any more


def this_process() -> str:
    """ "boot/namespace/start" of this process; "" on a system that does not tell."""
    return _named(os.getpid())


@cache  # a child that is forked has another pid
def _named(pid: int) -> str:
    world, (state, start) = _world(), _seen(pid)
    return f"{world}/{start}" if world and state else ""


def _world() -> str:
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink(_PROC / "self/ns/pid").strip("pid:[]")
    except OSError:
        return ""
    return f"{boot}/{namespace}"


def _seen(pid: int) -> tuple[str, str]:
    """(state, start in clock ticks since the boot) of a process; "" for one that is not to be seen."""
    try:
        said = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    fields = said.rpartition(")")[2].split()  # its name, in parentheses, may hold anything
    return fields[0], fields[19]


def has_died(host: str, pid: int, process: str = "") -> bool:
    """Whether a process is surely gone; of another host, or of a pid namespace that we are not in, nothing is known.

    `process` is what `this_process` returned there; "" of one that an older Pincite wrote down.
    """
    world = _world()
    if host != socket.gethostname():
        return False
    if not process or not world:
        return not _answers(pid)
    (boot, namespace), (boot_then, namespace_then, start) = world.split("/"), process.split("/")
    if boot_then != boot:
        return True  # this machine has been started again since
    if namespace_then != namespace:
        return False
    state, started = _seen(pid)
    if not state:
        return not _answers(pid)  # where others' processes are hidden (hidepid), a signal still reaches them
    return started != start or state in _DEAD_STATES


def is_here(host: str, process: str) -> bool:
    """Whether a pid that was written down there means the same process here."""
    same = not process or not _world() or process.rpartition("/")[0] == _world()
    return same and host == socket.gethostname()


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it is there, of another user
    return True
