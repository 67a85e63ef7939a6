"""The child's side of `tasks.sandbox.worker`: takes one job after another from its parent until that is gone."""

import faulthandler
import importlib
import os
import resource
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from pincite.schemas.errors import DocumentError, Failure, InvariantBroken, LimitExceeded
from pincite.schemas.import_path import put_working_directory_last
from pincite.schemas.retrying import outlook_of
from pincite.tasks.sandbox.messages import Call, Failed, Progress, done, frame, payload_of, receive_call

STAGES = {
    "warm up": "pincite.tasks.steps.prepare:warm_up",
    "fetch": "pincite.tasks.steps.fetch:fetch",
    "prepare": "pincite.tasks.steps.prepare:prepare",
    "embed": "pincite.tasks.steps.embed:embed",
    "derive": "pincite.tasks.migration.derive:derive",
}

At = Callable[[str, int | None], None]
"""Tells the parent the stage and the 1-based page that are worked on."""

PATIENCE = 10
"""A job may take so many times its deadline where the machine gives its process no core for most of the time."""

_GRACE_S = 30.0


def main(pipe: socket.socket, lifeline: int, memory_bytes: int) -> None:
    end = threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True)
    end.start()
    limited = False
    while (call := receive_call(pipe)) is not None:
        # A C thread that needs no GIL: the last resort when the parent is dead and a parser holds the GIL.
        faulthandler.dump_traceback_later(PATIENCE * call.deadline_s + _GRACE_S, exit=True)
        pipe.sendall(_run(call, pipe))
        faulthandler.cancel_dump_traceback_later()
        if not limited:  # after the first job mapped the libraries: the limit is the document's own
            _limit_memory(memory_bytes)
            limited = True
    end.join()  # the parent hung up: it is gone, or about to end us


def stage_function(stage: str) -> Callable[[Any, At], Any]:
    """The function of a stage, by its name in `STAGES` or as module:function."""
    module, name = STAGES.get(stage, stage).split(":")
    function: Callable[[Any, At], Any] = getattr(importlib.import_module(module), name)
    return function


def _run(call: Call, pipe: socket.socket) -> bytes:
    """The frame of the answer."""
    where: list[Any] = [call.stage, None]

    def at(stage: str, page: int | None) -> None:
        where[:] = stage, page
        pipe.sendall(frame(Progress(call.number, stage, page)))

    try:
        function = stage_function(call.stage)
        result = function(payload_of(call, function), at)
        return _framed(call, result, where)
    except DocumentError as error:
        page = error.page or where[1]
        failure = Failure(where[0], error.kind, error.message, page, error.transient)
    except MemoryError:
        # No text here: what is left of the memory may not hold it. The parent names the limit.
        os.write(2, b"MemoryError\n")
        os._exit(1)
    except (Exception, SystemExit) as error:  # noqa: BLE001  a parser may raise anything: it is the reason
        kind = type(error).__name__
        failure = Failure(where[0], kind, f"{kind}: {error}", where[1], outlook_of(kind).transient)
    return frame(Failed.of(call.number, failure))


def _framed(call: Call, result: object, where: Sequence[Any]) -> bytes:
    try:
        return frame(done(call.number, result))
    except (TypeError, ValueError, OverflowError) as error:
        kind = LimitExceeded.kind if isinstance(error, OverflowError) else InvariantBroken.kind
        reason = f"what the {call.stage} stage gave can't be sent: {error}"
        return frame(Failed.of(call.number, Failure(where[0], kind, reason, where[1])))


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
    main(socket.socket(fileno=fd), lifeline_fd, memory)
