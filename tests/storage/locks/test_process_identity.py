"""A pid alone names no process: containers share pids and host names, and a pid is given again."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.process_identity import has_died, is_here, this_process
from pincite.storage.locks.reader_leases import living
from pincite.storage.locks.run_lock import exclusive, holder, holder_pid
from pincite.storage.snapshots.index import Index
from tests.storage.building import fill, reindex

ROOT = Path(__file__).parents[3]
HOST = socket.gethostname()

# Says who it is, and holds version 1 of the index or its lock until its input ends.
HOLDER = """
import os, sys
from pathlib import Path
from pincite.storage.snapshots.index import Index
from pincite.storage.locks.run_lock import exclusive
from pincite.storage.locks.process_identity import this_process
from pincite.storage.locks.reader_leases import Lease
index, how = Path(sys.argv[1]), sys.argv[2]
with Index.open(index) as opened:
    if how == "lease":
        Lease(opened.engine).hold(1)
        print(os.getpid(), this_process(), flush=True)
        sys.stdin.read()
    else:
        with exclusive(index):
            print(os.getpid(), this_process(), flush=True)
            sys.stdin.read()
"""
APART = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def holding(index: Path, how: str, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*prefix, sys.executable, "-c", HOLDER, str(index), how],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str]) -> tuple[int, str]:
    assert process.stdout is not None
    pid, name = process.stdout.readline().split()
    return int(pid), name


@pytest.fixture
def kept(index: Path, source: Path) -> Path:
    reindex(index, fill(source, {"a.txt": "words"}))
    return index


def require_containers() -> None:
    if not shutil.which("unshare") or subprocess.run([*APART, "true"], check=False).returncode:
        pytest.skip("needs the right to make a pid namespace")


def test_a_process_is_alive_until_it_has_ended() -> None:
    assert not has_died(HOST, os.getpid(), this_process())
    with subprocess.Popen(["sleep", "5"]) as sleeper:
        boot, namespace, start = this_process().split("/")
        own = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[19]
        assert not has_died(HOST, sleeper.pid, f"{boot}/{namespace}/{own}")
        assert has_died(HOST, sleeper.pid, f"{boot}/{namespace}/{int(own) - 1}"), (
            "another had this pid before"
        )
        assert has_died(HOST, os.getpid(), f"another-boot/{namespace}/{start}"), "the machine was restarted"
        assert not has_died(HOST, sleeper.pid, f"{boot}/1/{own}"), "nothing is known of another namespace"
        assert not has_died("elsewhere", 1, f"{boot}/{namespace}/1"), "nor of another host"
        sleeper.send_signal(signal.SIGKILL)
    assert has_died(HOST, sleeper.pid, f"{boot}/{namespace}/{own}") and has_died(HOST, sleeper.pid)


def test_a_zombie_holds_nothing() -> None:
    sleeper = subprocess.Popen(["sleep", "5"])
    boot, namespace, _ = this_process().split("/")
    own = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[19]
    sleeper.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)  # not reaped yet
    assert has_died(HOST, sleeper.pid, f"{boot}/{namespace}/{own}")
    sleeper.wait()


def test_a_lease_of_a_pid_that_was_given_again_holds_nothing(kept: Path) -> None:
    with holding(kept, "lease") as reader:
        told(reader)
        reader.send_signal(signal.SIGKILL)
    own = f"{this_process().rpartition('/')[0]}/1"
    with Index.open(kept) as opened, transactions.writing(opened.engine) as connection:
        connection.execute(schema.readers.update().values(pid=os.getpid(), process=own))  # ours by now
        assert living(connection) == []


def test_a_reader_in_another_container_is_not_taken_for_dead(kept: Path) -> None:
    require_containers()
    with holding(kept, "lease", APART) as reader:
        pid, name = told(reader)
        assert pid < 10 and name.split("/")[0] == this_process().split("/")[0]
        with Index.open(kept) as opened, transactions.reading(opened.engine) as connection:
            assert [row.pid for row in living(connection)] == [pid]
            ours = connection.execute(schema.readers.select()).one()
        assert not has_died(ours.host, 2**22 + 1, name), "that there is no such pid here says nothing"
        reader.communicate("")


def test_a_run_in_another_container_has_no_pid_that_could_be_interrupted_here(kept: Path) -> None:
    require_containers()
    with exclusive(kept):
        assert holder_pid(kept) == os.getpid()
    with holding(kept, "lock") as run:
        pid, _ = told(run)
        assert holder_pid(kept) == pid
        run.communicate("")
    with holding(kept, "lock", APART) as run:
        pid, _ = told(run)
        assert holder_pid(kept) is None and f"process {pid} on {HOST}" in holder(kept)
        run.communicate("")


def test_of_an_older_row_the_host_and_the_pid_count() -> None:
    assert (
        not has_died(HOST, os.getpid()) and has_died(HOST, 2**22 + 1) and not has_died("elsewhere", 2**22 + 1)
    )
    assert is_here(HOST, "") and not is_here("elsewhere", "")
