"""The processes of a run give way to what people wait for, and none of them suffers harm by that."""

import logging
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.tasks.sandbox import priority
from pincite.tasks.sandbox.pool import StageFailed, Worker
from pincite.tasks.sandbox.priority import NICE, give_way

MEMORY_BYTES = 300 << 20
PID = "tests.doubles.faults:own_pid"
WORK = "tests.doubles.faults:work_on_one_core"
BUSY = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(MEMORY_BYTES, uuid.uuid4().hex, gives_way=True)
    yield worker
    worker.kill()


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        yield process
        process.kill()


def session_nice(pid: int) -> int | None:
    """None where the kernel does not group processes by session."""
    group = Path(f"/proc/{pid}/autogroup")
    return int(group.read_text().split()[-1]) if group.exists() and group.read_text().strip() else None


def test_a_child_of_a_run_has_a_lower_priority_and_we_keep_ours(worker: Worker) -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    child = worker.run(PID, None, 30)
    assert os.getpriority(os.PRIO_PROCESS, child) == max(NICE, before)
    assert os.sched_getscheduler(child) == os.SCHED_BATCH
    assert session_nice(child) in (None, NICE)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_a_child_for_which_a_person_waits_keeps_its_priority() -> None:
    worker = Worker(MEMORY_BYTES, uuid.uuid4().hex)
    try:
        child = worker.run(PID, None, 30)
        assert os.getpriority(os.PRIO_PROCESS, child) == os.getpriority(os.PRIO_PROCESS, 0)
        assert os.sched_getscheduler(child) == os.sched_getscheduler(0)
    finally:
        worker.kill()


def test_a_priority_that_is_lower_already_is_not_raised(process: subprocess.Popen[bytes]) -> None:
    os.setpriority(os.PRIO_PROCESS, process.pid, 15)
    give_way(process.pid)
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == 15


def test_a_process_that_is_gone_is_no_error(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    give_way(process.pid)


def test_where_the_system_refuses_the_work_goes_on_and_it_is_said_once(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "setpriority", refuse)
    monkeypatch.setattr(priority, "_warned", [])
    with caplog.at_level(logging.WARNING):
        assert worker.run(PID, None, 30) > 0
        worker.kill()
        assert worker.run(PID, None, 30) > 0
    assert [record.message for record in caplog.records] == [
        "the processes of the run can't be given a lower priority ([Errno 1] Operation not permitted): while it goes "
        "on, searches may be slow"
    ]


def test_the_deadline_does_not_run_while_other_work_has_the_core(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel does not tell how long a process waits for a core")
    monkeypatch.setattr(
        "pincite.tasks.sandbox.worker.PATIENCE", 100
    )  # the machine of the tests may be busy besides
    worker.run(PID, None, 30)
    with subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True) as other:
        try:
            began = time.monotonic()
            worker.run(WORK, 0.2, 1.0)
            assert (
                time.monotonic() - began > 1.0
            )  # or the other work did not hold it up, and nothing is shown
        finally:
            other.kill()


def test_work_itself_is_held_to_the_deadline(worker: Worker) -> None:
    worker.run(PID, None, 30)
    with pytest.raises(StageFailed, match="deadline"):
        worker.run(WORK, 1e6, 0.5)
