"""Priority: the work of a run gives way to searches and to whatever else people wait for on the machine.

Where nothing else wants the cores, a run is as fast as it would be without.
"""

import logging
import os
import time
from contextlib import suppress
from errno import EAGAIN
from pathlib import Path

NICE = 10
"""Of processes that do the work of a run: a tenth of the weight of what people wait for.

13 ms of work with pauses beside three processes that never rest, on two cores: 22 ms where they are equals, 16 at 5,
13 at 10 and at 19 (docs/benchmarks.md). More would only let a busy machine starve the run. Prefect's server keeps its
priority: flows wait for its answers only so long.
"""

_TRIES, _PAUSE_S = 20, 0.05  # Linux lets other users than root change one group in a tenth of a second

_logger = logging.getLogger(__name__)
_warned: list[str] = []


def give_way(pid: int) -> None:
    """Lowers the priority of a process, of all its threads, and so of all that it starts from now on.

    A priority that is lower already stays. Without effect on a process that is gone. Where the system refuses,
    the process goes on as it is, and a warning says so once.
    """
    try:
        for thread in _threads(pid):
            os.setpriority(os.PRIO_PROCESS, thread, max(NICE, os.getpriority(os.PRIO_PROCESS, thread)))
            # Such a thread never takes the core from another one by waking up; sched(7).
            if os.sched_getscheduler(thread) == os.SCHED_OTHER:
                os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))
        if os.getsid(pid) == pid:
            _lower_session(pid)
    except (ProcessLookupError, FileNotFoundError):
        return
    except OSError as error:
        if not _warned:
            _warned.append(str(error))
            _logger.warning(
                "the processes of the run can't be given a lower priority (%s): while it goes on, searches may "
                "be slow",
                error,
            )


def _threads(pid: int) -> list[int]:
    """Priorities are those of threads in Linux."""
    try:
        return sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:  # no Linux, or no such process, of which the next call tells
        return [pid]


def _lower_session(pid: int) -> None:
    """Where Linux groups processes by session, they are nice to others of their session alone; sched(7), autogroup.

    Only for the leader of a session: a group is that of the whole session.
    """
    group = Path(f"/proc/{pid}/autogroup")
    with suppress(FileNotFoundError):  # a kernel without such groups
        words = group.read_text().split()  # "/autogroup-123 nice 0"
        if not words or int(words[-1]) >= NICE:
            return
        for attempt in range(1, _TRIES + 1):
            try:
                group.write_text(str(NICE))
                return
            except OSError as error:
                if error.errno != EAGAIN or attempt == _TRIES:
                    raise
                time.sleep(_PAUSE_S)
