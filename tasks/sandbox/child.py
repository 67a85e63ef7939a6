"""The child's side of `tasks.sandbox.pool`: takes one job after another from its parent until that is gone."""

import faulthandler
import importlib
import os
import resource
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from pincite.schemas.errors import DocumentError, Failure
from pincite.schemas.import_path import put_working_directory_last
from pincite.schemas.retrying import outlook_of

STAGES = {
    "warm up": "pincite.tasks.steps.prepare:warm_up",
    "prepare": "pincite.tasks.steps.prepare:prepare",
    "embed": "pincite.tasks.steps.embed:embed",
    "derive": "pincite.tasks.migration.derive:derive",
}

At = Callable[[str, int | None], None]
"""Tells the parent the stage and the 1-based page that are worked on."""

PATIENCE = 10
"""A job may take so many times its deadline where the machine gives its process no core for most of the time."""

_GRACE_S = 30.0


def main(connection: Connection, lifeline: int, memory_bytes: int) -> None:
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    limited = False
    while True:
        try:
            stage, payload, deadline_s = connection.recv()
        except EOFError:
            return
        function = _load(STAGES.get(stage, stage))
        # A C thread that needs no GIL: the last resort when the parent is dead and a parser holds the GIL.
        faulthandler.dump_traceback_later(PATIENCE * deadline_s + _GRACE_S, exit=True)
        connection.send(_run(stage, function, payload, connection))
        faulthandler.cancel_dump_traceback_later()
        if not limited:  # after the first job mapped the libraries: the limit is the document's own
            _limit_memory(memory_bytes)
            limited = True


def _load(address: str) -> Callable[[Any, At], Any]:
    module, name = address.split(":")
    function: Callable[[Any, At], Any] = getattr(importlib.import_module(module), name)
    return function


def _run(
    stage: str, function: Callable[[Any, At], Any], payload: object, connection: Connection
) -> tuple[str, object]:
    where: list[Any] = [stage, None]

    def at(at_stage: str, page: int | None) -> None:
        where[:] = at_stage, page
        connection.send(("at", at_stage, page))

    try:
        return "done", function(payload, at)
    except DocumentError as error:
        page = error.page or where[1]
        return "failed", Failure(where[0], error.kind, error.message, page, error.transient)
    except MemoryError:
        # No text here: what is left of the memory may not hold it. The parent names the limit.
        os.write(2, b"MemoryError\n")
        os._exit(1)
    except (Exception, SystemExit) as error:  # noqa: BLE001  a parser may raise anything: it is the reason
        kind = type(error).__name__
        return "failed", Failure(where[0], kind, f"{kind}: {error}", where[1], outlook_of(kind).transient)


def _die_with_parent(lifeline: int) -> None:
    """The parent holds the other end and never writes: reading returns when it is dead.

    Where this can't run, since a parser holds the GIL, the next run ends the process and removes its files.
    """
    os.read(lifeline, 1)
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)  # what it started may still write there
    os.killpg(0, signal.SIGKILL)


def _limit_memory(memory_bytes: int) -> None:
    """Bounds the address space to what is mapped now plus the limit, for this process and those that it starts."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm", encoding="ascii") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + memory_bytes, hard))


if __name__ == "__main__":
    faulthandler.enable()
    put_working_directory_last()
    fd, lifeline_fd, memory = (int(argument) for argument in sys.argv[1:])
    os.set_inheritable(fd, False)
    os.set_inheritable(lifeline_fd, False)
    main(Connection(fd), lifeline_fd, memory)
