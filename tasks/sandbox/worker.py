"""Worker: one child process at a time, which can be killed with everything that it started.

A child runs one document at a time, so whatever ends it ends only that document. It tells stage and page
as it goes, so that the reason of a kill names them. What it answers is data, and is checked (`messages`).
"""

import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from typing import IO, Any

import psutil

from pincite.schemas import import_path
from pincite.schemas.errors import ChildFailed, Failure, LimitExceeded, WorkerDied
from pincite.schemas.retrying import outlook_of
from pincite.tasks.sandbox.child import PATIENCE, stage_function
from pincite.tasks.sandbox.environment import passed
from pincite.tasks.sandbox.messages import Done, Failed, Garbled, Progress, called, frame, result_of
from pincite.tasks.sandbox.pipe import Pipe
from pincite.tasks.sandbox.priority import give_way
from pincite.tasks.sandbox.processes import WORKER_VARIABLE, kept_waiting_s, kill_group, kill_tagged

_TICK_S = 0.1
_OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "ut of memory")
_START_S = 120.0  # importing torch on a loaded machine
_STARTS = 3  # one child may be killed from outside while it warms up: that ends no run
_EXIT_S = 5.0  # for a child that hung up to be gone
_LAST_WORDS_BYTES = 64 << 10
_MOST_SAID_BYTES = 256 << 20  # that a child may write to its output, which lies on the disk
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
        self,
        memory_bytes: int,
        family: str,
        first: StageCall | None = None,
        *,
        gives_way: bool = False,
        environment: Sequence[str] | None = (),
    ) -> None:
        """`family` tags all processes of one index; `first` is run in each new child before it takes jobs,

        so that neither imports nor weights count for the deadline and memory of a document. `gives_way`: nobody
        waits for the child, which has a lower priority then. `environment` names variables that the child gets
        beside those that all get; None gives it all of ours, which only a child that parses nothing may have.
        """
        self._environment = environment
        self._gives_way = gives_way
        self._memory_bytes = memory_bytes
        self._first = first
        self._family = family
        self._tag = f"{family}:{uuid.uuid4().hex}"
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Pipe | None = None
        self._calls = 0
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
        self._start()
        result = self._converse((stage, payload), deadline_s, told)
        if self._resident_bytes() > self._memory_bytes / 2:
            self.kill()  # what it kept must not be counted against the next document
        return result

    def _converse(self, job: StageCall, deadline_s: float, told: ProgressCallback | None = None) -> Any:
        assert self._output is not None and self._process is not None and self._pipe is not None
        watch = _Watch(job[0], time.monotonic() + deadline_s, kept_waiting_s(self._process.pid))
        self._said_before = os.fstat(self._output.fileno()).st_size
        self._calls += 1
        try:
            self._pipe.send(frame(called(self._calls, *job, deadline_s)), self._calls)
            if told is not None:
                told(job[0], None)
            while (answer := self._answer(watch, deadline_s, told)) is None:
                pass
            return result_of(answer, stage_function(job[0]))
        except OverflowError as error:
            raise StageFailed(
                watch.failure(LimitExceeded.kind, f"it can't be handed over: {error}")
            ) from None
        except Garbled as error:
            self.kill()
            words = f"the process of the {watch.stage} stage gave what is no answer: {error}"
            raise StageFailed(watch.failure(WorkerDied.kind, words)) from None
        except EOFError:
            raise StageFailed(self._death(watch)) from None

    def _answer(self, watch: "_Watch", deadline_s: float, told: ProgressCallback | None) -> Done | None:
        """The result, if it has arrived within a tick; whatever the child does, it is looked at each tick."""
        assert self._pipe is not None
        for answer in self._pipe.answers(_TICK_S):
            match answer:
                case Progress():
                    watch.stage, watch.page = answer.stage, answer.page
                    if told is not None:
                        told(answer.stage, answer.page)
                case Failed():
                    raise StageFailed(answer.failure())
                case Done():
                    return answer
        if time.monotonic() >= watch.looked + _TICK_S:
            watch.looked = time.monotonic()
            self._check(watch, deadline_s)
        return None

    def _check(self, watch: "_Watch", deadline_s: float) -> None:
        """Raises `StageFailed` for a child that is over a limit, whose end is told by its end of the pipe."""
        assert self._process is not None and self._output is not None
        if time.monotonic() > watch.deadline + self._granted_s(watch, deadline_s):
            self.kill()
            raise StageFailed(watch.failure("deadline", _late(deadline_s)))
        if self._resident_bytes() > self._memory_bytes:
            self.kill()
            raise StageFailed(watch.failure("memory limit", self._memory_words()))
        if os.fstat(self._output.fileno()).st_size > _MOST_SAID_BYTES:
            self.kill()
            words = f"wrote more than {_MOST_SAID_BYTES >> 20} MiB of messages"
            raise StageFailed(watch.failure(LimitExceeded.kind, words))

    def _granted_s(self, watch: "_Watch", deadline_s: float) -> float:
        """What is added to the deadline: the time in which the machine gave the child no core, within bounds."""
        assert self._process is not None
        if time.monotonic() < watch.deadline:
            return 0.0
        waited_s = kept_waiting_s(self._process.pid) - watch.waited_before_s
        return min(waited_s, (PATIENCE - 1) * deadline_s)

    def _resident_bytes(self) -> int:
        assert self._process is not None
        try:
            return int(psutil.Process(self._process.pid).memory_info().rss)
        except psutil.Error:  # it is gone, of which the next look at the pipe tells
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
        return watch.failure(WorkerDied.kind, f"the process of the {watch.stage} stage ended with {words}")

    def _last_words(self) -> str:
        """The end of what the child wrote during this job; earlier documents are no reason for this one's end."""
        assert self._output is not None
        output = self._output.fileno()  # its offset is the child's too: not to be moved
        start = max(self._said_before, os.fstat(output).st_size - _LAST_WORDS_BYTES)
        return os.pread(output, _LAST_WORDS_BYTES, start).decode("utf-8", "replace")

    def _start(self) -> None:
        """A child that waits for a call. One that was killed while it was set up is started again, a few times."""
        if self._process is not None and self._process.poll() is None and self._pipe and self._pipe.quiet():
            return
        for start in range(1, _STARTS + 1):
            self.kill()
            try:
                self._start_one()
                return
            except StageFailed as error:
                self.kill()
                failure = error.failure
                if failure.kind == WorkerDied.kind and start < _STARTS:
                    continue
                raise ChildFailed(
                    f"the child process of the {failure.stage} stage can't be set up: {failure.reason}. {_RUN_AGAIN}"
                ) from error

    def _start_one(self) -> None:
        self._pipe = Pipe()
        lifeline_read, self._lifeline = os.pipe()
        try:
            self._process = self._spawn(self._pipe.theirs.fileno(), lifeline_read)
        except OSError as error:
            self._release()
            raise ChildFailed(f"a child process can't be started: {error}. {_RUN_AGAIN}") from error
        finally:
            os.close(lifeline_read)
        self._pipe.theirs.close()
        if self._first is not None:
            self._converse(self._first, _START_S)

    def _spawn(self, pipe: int, lifeline: int) -> subprocess.Popen[bytes]:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  closed in _release
        self._scratch = tempfile.TemporaryDirectory(
            prefix=scratch_prefix(self._family), ignore_cleanup_errors=True
        )
        variables = {
            WORKER_VARIABLE: self._tag,
            "TMPDIR": self._scratch.name,
            **import_path.environment(),
            "TOKENIZERS_PARALLELISM": "false",
        }
        kept = dict(os.environ) if self._environment is None else passed(self._environment)
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

    def kill(self) -> None:
        """Ends the child, its process group, and whatever else it started, also outside of its group."""
        if self._process is None:
            return
        kill_group(self._process.pid)
        self._process.wait()
        kill_tagged(self._tag)
        self._release()

    def interrupt(self) -> None:
        """Ends the child from another thread than the one that talks to it, which then finds it dead."""
        process = self._process
        if process is not None and process.poll() is None:
            kill_group(process.pid)

    def _release(self) -> None:
        self._process = None
        if self._output is not None:
            self._output.close()
            self._output = None
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None
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
        self.looked = time.monotonic()
        self.waited_before_s = waited_before_s

    def failure(self, kind: str, reason: str) -> Failure:
        return Failure(self.stage, kind, reason, self.page, outlook_of(kind).transient)


def scratch_prefix(family: str) -> str:
    """Of the names of the temporary folders of an index's children."""
    return f"pincite-{family}-"
