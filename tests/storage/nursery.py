"""A process that forks others, which are then killed: two hundred kills do not cost two hundred starts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]


class Nursery:
    """Starts the jobs of `tests.storage.torturing` on an index and its folder."""

    def __init__(self, index: Path, source: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.torturing", str(index), str(source)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, job: str, seed: int) -> psutil.Process:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{job} {seed}\n")
        self.process.stdin.flush()
        return psutil.Process(int(self.process.stdout.readline()))


@contextmanager
def nursery(index: Path, source: Path) -> Iterator[Nursery]:
    """A nursery for the block; none of its processes outlives the block."""
    for folder in ("history", "faults", "gone"):
        (index.parent / folder).mkdir(exist_ok=True)
    one = Nursery(index, source)
    try:
        yield one
    finally:
        children = psutil.Process(one.process.pid).children(recursive=True)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, timeout=60)
        one.process.kill()
        one.process.communicate()


def kill(process: psutil.Process, faults: Path) -> None:
    """Kills a job; one that ended by itself left the reason in `faults`."""
    assert process.is_running(), [path.read_text() for path in sorted(faults.iterdir())]
    process.send_signal(signal.SIGKILL)
    process.wait(60)
