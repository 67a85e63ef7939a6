"""Commands as processes that begin as forks of one which has imported what they need: a start costs no import.

`forked` starts one. Each is a process of its own, with its arguments, environment, signals, output and exit code.
The process from which they are forked belongs to this one and ends with it, and with it end those that still run.

    python -m tests.forking FD      (takes orders from the socket FD)
"""

import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, Self

ROOT = Path(__file__).resolve().parents[1]
PRELOADED = (
    "pincite.cli",
    "pincite.commands.serve",
    "pincite.dashboard.app",
    "pincite.encoders.embedding",
    "torch",
    "pincite.retrieval.searcher",
)
_LINE = 1 << 20  # bytes of an order or an answer


class Forked:
    """Like `subprocess.Popen(…, stdout=PIPE, stderr=PIPE, text=True)`."""

    def __init__(self, pid: int, stdout: IO[str], stderr: IO[str]) -> None:
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._ended = os.pidfd_open(pid)

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = _nursery().ask({"poll": self.pid})
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises `subprocess.TimeoutExpired`."""
        if not select.select([self._ended], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        code = self.poll()
        assert code is not None
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """The rest of its output, once it has ended. It must be less than a pipe holds: some 64 kB."""
        self.wait(timeout)
        return self.stdout.read(), self.stderr.read()

    def send_signal(self, sign: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sign)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self.stdout.close()
        self.stderr.close()
        os.close(self._ended)


def forked(arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Forked:
    """`pincite ARGUMENTS`, without standard input."""
    with open(os.devnull) as nothing:
        out, theirs_out = os.pipe()
        errors, theirs_errors = os.pipe()
        order = {"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment)}
        pid = _nursery().ask(order, [nothing.fileno(), theirs_out, theirs_errors])
        os.close(theirs_out)
        os.close(theirs_errors)
    return Forked(pid, open(out, encoding="utf-8"), open(errors, encoding="utf-8"))


class _Nursery:
    """The process from which the others are forked."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            theirs.set_inheritable(True)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.forking", str(theirs.fileno())],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def ask(self, order: Mapping[str, object], descriptors: Sequence[int] = ()) -> Any:
        socket.send_fds(self._socket, [json.dumps(order).encode()], descriptors)
        return json.loads(self._socket.recv(_LINE))


@cache
def _nursery() -> _Nursery:
    return _Nursery()


def _serve(orders: socket.socket) -> dict[str, Any] | None:
    """None at the end; in each fork its order, with its standard streams in place."""
    living: set[int] = set()
    while True:
        line, descriptors, _, _ = socket.recv_fds(orders, _LINE, 3)
        if not line:
            break
        order: dict[str, Any] = json.loads(line)
        if "poll" in order:
            pid, status = os.waitpid(order["poll"], os.WNOHANG)
            living -= {pid}
            orders.send(json.dumps(os.waitstatus_to_exitcode(status) if pid else None).encode())
            continue
        if not (pid := os.fork()):
            orders.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            return order
        for descriptor in descriptors:
            os.close(descriptor)
        living.add(pid)
        orders.send(json.dumps(pid).encode())
    for pid in living:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return None


def _main() -> None:
    for module in PRELOADED:
        importlib.import_module(module)
    importlib.import_module("pincite.dashboard.api").routers()  # imports all of them
    if (order := _serve(socket.socket(fileno=int(sys.argv[1])))) is None:
        return
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    # The streams of the process before the fork remember whether they could seek.
    for stream in ("stdout", "stderr"):
        fd = getattr(sys, stream).fileno()
        setattr(sys, stream, os.fdopen(fd, "w", encoding="utf-8", closefd=False, buffering=1))
    sys.argv = ["pincite", *order["arguments"]]
    importlib.import_module("pincite.cli").main()


if __name__ == "__main__":
    _main()
