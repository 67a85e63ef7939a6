"""Whatever a document does to its process ends that document only, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pincite.dashboard.http.access import TOKEN_VARIABLE, VIEWER_VARIABLE
from pincite.schemas.errors import ChildFailed
from pincite.tasks.sandbox.pool import (
    Pool,
    PoolClosed,
    StageFailed,
    Worker,
    end_leftovers,
    pool,
    tagged_processes,
)

MEMORY_BYTES = 300 << 20
FAULT = "tests.doubles.faults:fault"
DOUBLE = "tests.doubles.faults:double"
PID = "tests.doubles.faults:own_pid"


@pytest.fixture
def family() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def worker(family: str) -> Iterator[Worker]:
    worker = Worker(MEMORY_BYTES, family)
    yield worker
    worker.kill()
    assert not list(tagged_processes(family))


def left_over(family: str) -> list[psutil.Process]:
    return list(tagged_processes(family))


def leads_a_group(process: psutil.Process) -> bool:
    """Whether it is a worker itself, not what a worker started."""
    try:
        return process.pid == os.getpgid(process.pid) and "pincite.tasks.sandbox.child" in process.cmdline()
    except (psutil.Error, ProcessLookupError):  # it ended between two looks
        return False


def failure_of(worker: Worker, name: str, deadline_s: float = 30.0) -> tuple[str, str, str, int | None]:
    with pytest.raises(StageFailed) as caught:
        worker.run(FAULT, name, deadline_s)
    failure = caught.value.failure
    return failure.stage, failure.kind, failure.reason, failure.page


def test_a_result_comes_back_and_the_process_is_kept(worker: Worker) -> None:
    assert worker.run(DOUBLE, 21, 30) == 42
    assert worker.run(PID, None, 30) == worker.run(PID, None, 30)


@pytest.mark.parametrize(
    ("name", "kind", "reason", "page"),
    [
        ("raise", "ValueError", "ValueError: unexpected operator BT", 5),
        ("raise-unpicklable", "ValueError", "ValueError: holds a lambda", 5),
        ("raise-document-error", "unreadable", "no usable text", 2),
        ("exit", "crashed", "the process of the extract stage ended with exit code 7", 5),
        ("sys-exit", "SystemExit", "SystemExit: bye", 5),
        ("segfault", "crashed", "the process of the extract stage ended with SIGSEGV", 5),
        ("fork-and-exit", "crashed", "the process of the extract stage ended with exit code 0", 5),
        ("hang-up", "crashed", "the process of the extract stage hung up without a result", 5),
        ("allocate", "memory limit", "needed more than 300 MiB", 5),
        ("allocate-at-once", "memory limit", "needed more than 300 MiB", 5),
    ],
)
def test_a_fault_is_a_reason_with_its_page_and_the_next_job_works(
    worker: Worker, family: str, name: str, kind: str, reason: str, page: int
) -> None:
    assert failure_of(worker, name) == ("extract", kind, reason, page)
    assert worker.run(DOUBLE, 4, 30) == 8
    assert len(left_over(family)) == 1


@pytest.mark.parametrize("name", ["hang", "hang-with-gil", "fork"])
def test_a_hang_ends_at_its_deadline_with_all_that_it_started(worker: Worker, family: str, name: str) -> None:
    worker.run(DOUBLE, 1, 30)
    began = time.monotonic()
    stage, kind, reason, page = failure_of(worker, name, 1.0)
    assert (stage, kind, page) == ("extract", "deadline", 5)
    assert reason.startswith("not done after 1 s") and "limits.deadline_s" in reason
    assert time.monotonic() - began < 60
    assert not left_over(family)


def test_what_an_earlier_document_said_is_no_reason_for_this_one(worker: Worker) -> None:
    worker.run("tests.doubles.faults:complain_of_memory", None, 30)
    assert failure_of(worker, "exit")[1] == "crashed"


def test_memory_kept_by_one_document_is_not_counted_against_the_next(worker: Worker) -> None:
    first = worker.run(PID, None, 30)
    failure_of(worker, "allocate")
    assert worker.run(PID, None, 30) != first


def test_start_up_does_not_count_for_the_deadline(family: str) -> None:
    with pool(1, MEMORY_BYTES, family, first=("tests.doubles.faults:slow_start", 3.0)) as workers:
        assert workers.run(DOUBLE, 2, 1.0) == 4


@pytest.mark.parametrize(("fault", "words"), [("exit", "exit code 7"), ("raise", "unexpected operator BT")])
def test_a_start_up_that_fails_is_no_documents_fault(family: str, fault: str, words: str) -> None:
    with pool(1, MEMORY_BYTES, family, first=(FAULT, fault)) as workers:
        for _ in range(2):
            with pytest.raises(ChildFailed, match=words):
                workers.run(DOUBLE, 2, 10.0)
        assert not left_over(family)


def test_a_child_that_can_not_be_started_leaves_nothing_open(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ChildFailed, match="No such file"):
        worker.run(DOUBLE, 2, 10.0)
    assert len(os.listdir("/proc/self/fd")) == before


def test_no_process_outlives_its_pool(family: str) -> None:
    with pool(2, MEMORY_BYTES, family) as workers:
        workers.run(DOUBLE, 2, 30)
        assert left_over(family)
    assert not left_over(family)


@pytest.mark.parametrize("stage", ["hang", "fork"])
def test_children_of_a_killed_run_end_with_it(family: str, stage: str) -> None:
    script = (
        "from pincite.tasks.sandbox.pool import Worker\n"
        f"Worker({MEMORY_BYTES}, {family!r}).run({FAULT!r}, {stage!r}, 600)"
    )
    run = subprocess.Popen([sys.executable, "-c", script])
    _wait_until(lambda: len(left_over(family)) >= (1 if stage == "hang" else 4))
    time.sleep(0.5)
    run.send_signal(signal.SIGKILL)
    run.wait()
    _wait_until(lambda: not any(map(leads_a_group, left_over(family))))
    end_leftovers(family)
    assert not left_over(family) and not scratch_folders(family)


def test_temporary_files_of_a_killed_run_go_with_its_children(family: str) -> None:
    script = (
        "from pincite.tasks.sandbox.pool import Worker\n"
        f"worker = Worker({MEMORY_BYTES}, {family!r})\n"
        f"worker.run('tests.doubles.faults:litter', None, 30)\n"
        f"worker.run({FAULT!r}, 'hang', 600)"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as run:
        _wait_until(lambda: any(any(folder.iterdir()) for folder in scratch_folders(family)))
        run.send_signal(signal.SIGKILL)
    _wait_until(lambda: not scratch_folders(family))


def test_temporary_files_of_a_killed_run_whose_children_could_not_remove_them_go_with_the_next(
    family: str,
) -> None:
    script = (
        "import os\n"
        "from pincite.tasks.sandbox.pool import Worker\n"
        f"worker = Worker({MEMORY_BYTES}, {family!r})\n"
        f"worker.run('tests.doubles.faults:litter', None, 30)\n"
        "os.kill(worker._process.pid, 9)\n"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    assert scratch_folders(family)
    end_leftovers(family)
    assert not scratch_folders(family)


def scratch_folders(family: str) -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"*{family}*"))


def test_temporary_files_go_with_their_process(family: str) -> None:
    with pool(1, MEMORY_BYTES, family) as workers:
        litter = Path(workers.run("tests.doubles.faults:litter", None, 30))
        assert litter.exists()
    assert not litter.parent.exists()


def test_a_child_knows_no_key_and_no_token(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ("PINCITE_ANSWER_KEY", TOKEN_VARIABLE, VIEWER_VARIABLE, "PREFECT_API_AUTH_STRING")
    for variable in secrets:
        monkeypatch.setenv(variable, "secret")
    for variable in ("AWS_SECRET_ACCESS_KEY", "PINCITE_OTHER", "HTTPS_PROXY", "GITHUB_TOKEN"):
        monkeypatch.setenv(variable, "secret")
        secrets += (variable,)
    monkeypatch.setenv("LC_MESSAGES", "kept")
    environment = "tests.doubles.faults:environment"
    assert [worker.run(environment, variable, 30) for variable in secrets] == [None] * len(secrets)
    assert worker.run(environment, "LC_MESSAGES", 30) == "kept"


def test_a_variable_that_the_settings_name_reaches_the_child(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LICENCE_OF_THE_PARSER", "5")
    with pool(1, MEMORY_BYTES, family, environment=("LICENCE_OF_THE_PARSER",)) as workers:
        assert workers.run("tests.doubles.faults:environment", "LICENCE_OF_THE_PARSER", 30) == "5"


def test_one_kill_while_a_child_warms_up_is_not_the_end(family: str, tmp_path: Path) -> None:
    for kills, ends in ((2, False), (3, True)):
        left = tmp_path / f"left-{kills}"
        left.write_text(str(kills))
        with pool(
            1, MEMORY_BYTES, family, first=("tests.doubles.faults:die_while_left", str(left))
        ) as workers:
            if ends:
                with pytest.raises(ChildFailed, match="ended with SIGKILL"):
                    workers.run(DOUBLE, 2, 30.0)
            else:
                assert workers.run(DOUBLE, 2, 30.0) == 4


def test_several_threads_share_a_pool(family: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with pool(2, MEMORY_BYTES, family) as workers, ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda n: workers.run(DOUBLE, n, 30), range(50))) == [
            2 * n for n in range(50)
        ]


def test_a_fault_in_one_process_leaves_the_others_alone(family: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def outcome(workers: Pool, number: int) -> str:
        try:
            if number % 5 == 0:
                workers.run(FAULT, "segfault", 30)
            return str(workers.run(DOUBLE, number, 30))
        except StageFailed as error:
            return error.failure.kind

    with pool(2, MEMORY_BYTES, family) as workers, ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda n: outcome(workers, n), range(15)))
    assert outcomes == ["crashed" if n % 5 == 0 else str(2 * n) for n in range(15)]


def test_closing_ends_what_runs_and_what_waits_and_blames_no_document(family: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(6) as threads:
        with pool(2, MEMORY_BYTES, family) as workers:
            running = [threads.submit(workers.run, FAULT, "hang", 600.0) for _ in range(6)]
            _wait_until(lambda: len(left_over(family)) == 2)
            began = time.monotonic()
        ends = [one.exception() for one in running]
        late = threads.submit(workers.run, DOUBLE, 1, 30.0)
        try:
            assert type(late.exception(timeout=60)) is PoolClosed, "who comes later is told so too"
        finally:
            for worker in workers._workers:  # so that a fault of `close` hangs no test
                workers._free.put(worker)
    assert [type(end) for end in ends] == [PoolClosed] * 6
    assert time.monotonic() - began < 60
    assert not left_over(family)


def _wait_until(condition: object, seconds: float = 60.0) -> None:
    assert callable(condition)
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)
