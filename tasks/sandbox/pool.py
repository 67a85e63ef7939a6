"""Supervise: stages run in child processes that can be killed with everything that they started.

A child runs one document at a time, so whatever ends it ends only that document. It tells stage and page
as it goes, so that the reason of a kill names them. Not pebble: its pool neither reports progress nor says
which process holds a job, and both are needed to name the page and to kill the grandchildren.
"""

import os
import queue
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import IO, Any

import psutil

from pincite.schemas import import_path
from pincite.schemas.errors import ChildFailed, Failure
from pincite.schemas.retrying import outlook_of
from pincite.tasks.sandbox.child import PATIENCE
from pincite.tasks.sandbox.priority import give_way

WORKER_VARIABLE = "PINCITE_WORKER"
_SECRETS = {
    "PINCITE_ANSWER_KEY",
    "PINCITE_TOKEN",
    "PINCITE_VIEWER_TOKEN",
    "PINCITE_NOTIFY__URL",  # the path of a webhook is its key
    "PREFECT_API_KEY",
    "PREFECT_API_AUTH_STRING",
}  # what parses hostile files has no use for them
_TICK_S = 0.1
_OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "ut of memory")
_START_S = 120.0  # importing torch on a loaded machine
_EXIT_S = 5.0  # for a child that hung up to be gone
_LAST_WORDS_BYTES = 64 << 10
_RUN_AGAIN = "Nothing that was stored is lost: mend that and run again"

StageCall = tuple[str, object]
"""A stage, by its name in `pincite.tasks.sandbox.child.STAGES` or as module:function, and what to give it."""


ProgressCallback = Callable[[str, int | None], None]
"""Hears of the stage and the 1-based page that a child begins with."""


class StageFailed(Exception):
    """A stage ended without a result."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


class PoolClosed(Exception):
    """The pool was closed while the job ran or waited: the job has no outcome."""


class Worker:
    """One child process at a time, started when there is work and started anew after it had to be killed."""

    def __init__(
        self, memory_bytes: int, family: str, first: StageCall | None = None, *, gives_way: bool = False
    ) -> None:
        """`family` tags all processes of one index; `first` is run in each new child before it takes jobs,

        so that neither imports nor weights count for the deadline and memory of a document. `gives_way`: nobody
        waits for the child, which has a lower priority then.
        """
        self._gives_way = gives_way
        self._memory_bytes = memory_bytes
        self._first = first
        self._family = family
        self._tag = f"{family}:{uuid.uuid4().hex}"
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._lifeline = -1
        self._output: IO[bytes] | None = None
        self._said_before = 0  # bytes of output when the job began
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def run(
        self, stage: str, payload: object, deadline_s: float, told: ProgressCallback | None = None
    ) -> Any:
        """The result of the stage; `told` hears of each stage and page that the child begins.

        Raises `StageFailed` with the reason when there is no result, `ChildFailed` when no child can be started.
        Any end of the child, by its own hand, a signal, the deadline or the memory limit, is a failure of
        this stage alone; its process group and all that it started are gone when this returns. The deadline
        does not run while other work of the machine keeps the child from a core, up to `PATIENCE` times as long.
        """
        result = self._converse(self._start(), (stage, payload), deadline_s, told)
        if self._resident_bytes() > self._memory_bytes / 2:
            self.kill()  # what it kept must not be counted against the next document
        return result

    def _converse(
        self, connection: Connection, job: StageCall, deadline_s: float, told: ProgressCallback | None = None
    ) -> Any:
        assert self._output is not None and self._process is not None
        watch = _Watch(job[0], time.monotonic() + deadline_s, _kept_waiting_s(self._process.pid))
        self._said_before = os.fstat(self._output.fileno()).st_size
        if told is not None:
            told(job[0], None)
        try:
            connection.send((*job, deadline_s))
            while True:
                if wait([connection], timeout=_TICK_S):
                    match connection.recv():
                        case ("at", stage, page):
                            watch.stage, watch.page = stage, page
                            if told is not None:
                                told(stage, page)
                        case ("done", result):
                            return result
                        case ("failed", failure):
                            raise StageFailed(failure)
                self._check(watch, deadline_s)
        except (EOFError, ConnectionError):
            raise StageFailed(self._death(watch)) from None

    def _check(self, watch: "_Watch", deadline_s: float) -> None:
        assert self._process is not None
        if self._process.poll() is not None:
            raise EOFError
        if time.monotonic() > watch.deadline + self._granted_s(watch, deadline_s):
            self.kill()
            raise StageFailed(watch.failure("deadline", _late(deadline_s)))
        if self._resident_bytes() > self._memory_bytes:
            self.kill()
            raise StageFailed(watch.failure("memory limit", self._memory_words()))

    def _granted_s(self, watch: "_Watch", deadline_s: float) -> float:
        """What is added to the deadline: the time in which the machine gave the child no core, within bounds."""
        assert self._process is not None
        if time.monotonic() < watch.deadline:
            return 0.0
        waited_s = _kept_waiting_s(self._process.pid) - watch.waited_before_s
        return min(waited_s, (PATIENCE - 1) * deadline_s)

    def _resident_bytes(self) -> int:
        assert self._process is not None
        try:
            return int(psutil.Process(self._process.pid).memory_info().rss)
        except psutil.NoSuchProcess:
            return 0

    def _memory_words(self) -> str:
        return f"needed more than {self._memory_bytes / 2**20:g} MiB"

    def _death(self, watch: "_Watch") -> Failure:
        """Why the child ended by itself, or hung up."""
        assert self._process is not None
        try:
            code = self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:  # it closed its end of the pipe, as what turns into a daemon does
            self.kill()
            return watch.failure(
                "crashed", f"the process of the {watch.stage} stage hung up without a result"
            )
        said = self._last_words()
        self.kill()
        if any(sign in said for sign in _OUT_OF_MEMORY):
            return watch.failure("memory limit", self._memory_words())
        words = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return watch.failure("crashed", f"the process of the {watch.stage} stage ended with {words}")

    def _last_words(self) -> str:
        """The end of what the child wrote during this job; earlier documents are no reason for this one's end."""
        assert self._output is not None
        output = self._output.fileno()  # its offset is the child's too: not to be moved
        start = max(self._said_before, os.fstat(output).st_size - _LAST_WORDS_BYTES)
        return os.pread(output, _LAST_WORDS_BYTES, start).decode("utf-8", "replace")

    def _start(self) -> Connection:
        if self._connection is not None and self._process is not None and self._process.poll() is None:
            return self._connection
        self.kill()
        ours, theirs = Pipe()
        self._connection = ours
        lifeline_read, self._lifeline = os.pipe()
        try:
            with theirs:
                self._process = self._spawn(theirs.fileno(), lifeline_read)
        except OSError as error:
            self._release()
            raise ChildFailed(f"a child process can't be started: {error}. {_RUN_AGAIN}") from error
        finally:
            os.close(lifeline_read)
        self._set_up(ours)
        return ours

    def _spawn(self, pipe: int, lifeline: int) -> subprocess.Popen[bytes]:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  closed in _release
        self._scratch = tempfile.TemporaryDirectory(prefix=_scratch_prefix(self._family))
        variables = {
            WORKER_VARIABLE: self._tag,
            "TMPDIR": self._scratch.name,
            **import_path.environment(),
            "TOKENIZERS_PARALLELISM": "false",
        }
        kept = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        numbers = map(str, (pipe, lifeline, self._memory_bytes))
        process = subprocess.Popen(
            import_path.python("pincite.tasks.sandbox.child", *numbers),
            env=kept | variables,
            pass_fds=(pipe, lifeline),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,
        )
        if self._gives_way:
            give_way(process.pid)
        return process

    def _set_up(self, connection: Connection) -> None:
        if self._first is None:
            return
        try:
            self._converse(connection, self._first, _START_S)
        except StageFailed as error:
            self.kill()
            failure = error.failure
            raise ChildFailed(
                f"the child process of the {failure.stage} stage can't be set up: {failure.reason}. {_RUN_AGAIN}"
            ) from error

    def kill(self) -> None:
        """Ends the child, its process group, and whatever else it started, also outside of its group."""
        if self._process is None:
            return
        _kill_group(self._process.pid)
        self._process.wait()
        _kill_tagged(self._tag)
        self._release()

    def interrupt(self) -> None:
        """Ends the child from another thread than the one that talks to it, which then finds it dead."""
        process = self._process
        if process is not None and process.poll() is None:
            _kill_group(process.pid)

    def _release(self) -> None:
        self._process = None
        if self._output is not None:
            self._output.close()
            self._output = None
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


def _late(deadline_s: float) -> str:
    return f"not done after {deadline_s:.3g} s, when limits.deadline_s was used up: raise it, or split the document"


class _Watch:
    """Where a stage is, as far as its child told."""

    def __init__(self, stage: str, deadline: float, waited_before_s: float) -> None:
        self.stage = stage
        self.page: int | None = None
        self.deadline = deadline
        self.waited_before_s = waited_before_s

    def failure(self, kind: str, reason: str) -> Failure:
        return Failure(self.stage, kind, reason, self.page, outlook_of(kind).transient)


def _kept_waiting_s(pid: int) -> float:
    """How long a process was ready to work and had no core, its first thread alone (proc(5), schedstat).

    0 where the kernel does not tell, and for one that is gone.
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _kill_tagged(tag: str) -> None:
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


class Pool:
    """A fixed number of workers, which do the work of a run and give way to others; `run` waits for a free one."""

    def __init__(self, size: int, memory_bytes: int, family: str, first: StageCall | None = None) -> None:
        self._workers = [Worker(memory_bytes, family, first, gives_way=True) for _ in range(size)]
        self._free: queue.LifoQueue[Worker] = queue.LifoQueue()
        for worker in self._workers:
            self._free.put(worker)
        self._closed = False
        self._broken: ChildFailed | None = (
            None  # what could not be started once is not tried for each document
        )

    def run(
        self, stage: str, payload: object, deadline_s: float, told: ProgressCallback | None = None
    ) -> Any:
        """As `Worker.run`; the deadline counts from when a worker took the job. Raises `PoolClosed` after `close`."""
        worker = self._free.get()
        try:
            if self._closed:
                raise PoolClosed
            if self._broken:
                raise self._broken
            return worker.run(stage, payload, deadline_s, told)
        except (StageFailed, ChildFailed) as error:
            if self._closed:
                raise PoolClosed from None  # it was ended by us, not by its document
            if isinstance(error, ChildFailed):
                self._broken = error
            raise
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """Ends all children. What other threads have running or waiting here raises `PoolClosed`."""
        self._closed = True
        idle: list[Worker] = []
        while len(idle) < len(self._workers):
            for worker in self._workers:
                worker.interrupt()
            with suppress(queue.Empty):
                idle.append(self._free.get(timeout=_TICK_S))
        for worker in idle:
            worker.kill()
            self._free.put(worker)


@contextmanager
def pool(size: int, memory_bytes: int, family: str, first: StageCall | None = None) -> Iterator[Pool]:
    """A pool for the block; no process of it outlives the block."""
    workers = Pool(size, memory_bytes, family, first)
    try:
        yield workers
    finally:
        workers.close()


def end_leftovers(family: str) -> None:
    """Ends the children that a killed run of this family left behind, and removes their temporary files."""
    _kill_tagged(f"{family}:")
    for folder in Path(tempfile.gettempdir()).glob(f"{_scratch_prefix(family)}*"):
        shutil.rmtree(folder, ignore_errors=True)  # of another user, who has an index of the same path


def _scratch_prefix(family: str) -> str:
    return f"pincite-{family}-"
