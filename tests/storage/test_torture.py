"""Writers that index, compact and vacuum are killed again and again, while other processes read without a pause."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from storage import ledger, transactions
from storage.index import Index
from tests.storage.building import found, reindex, states
from tests.storage.maintaining import broken_checks, compacted, files, vacuumed

ROOT = Path(__file__).parents[2]


class Nursery:
    """A process that forks the others."""

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
    one = Nursery(index, source)
    try:
        yield one
    finally:
        children = psutil.Process(one.process.pid).children(recursive=True)
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(children, timeout=10)
        one.process.kill()
        one.process.communicate()


def texts_of(source: Path) -> dict[str, list[str]]:
    return {path.name: path.read_text().split("\n\n")[1:] for path in sorted(source.glob("*.txt"))}


def torture(index: Path, source: Path, kills: int, seed: int) -> None:
    for folder in ("history", "faults"):
        (index.parent / folder).mkdir()
    draw = random.Random(seed)
    faults = index.parent / "faults"
    with nursery(index, source) as forks:
        first = forks.start("write", seed)
        time.sleep(2.0)
        readers = [forks.start("newest", seed), forks.start("held", seed)]
        kill(first)
        before = found(index)
        for number in range(1, kills):
            writer = forks.start("write", seed + number)
            time.sleep(draw.uniform(0.05, 1.3))
            kill(writer)
            assert not list(faults.iterdir()), [path.read_text() for path in faults.iterdir()]
            before = nothing_lost(index, source, before)
        assert all(reader.is_running() for reader in readers)
    assert [int((index.parent / f"reads-{who}").read_text()) > 5 for who in ("newest", "held")] == [True] * 2
    clean_end(index, source)


def kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGKILL)
        process.wait(10)


def nothing_lost(index: Path, source: Path, before: dict[str, list[str]]) -> dict[str, list[str]]:
    """What can be found now. A document that could be found and whose file is still the same is among it."""
    now, there = found(index), texts_of(source)
    lost = {path for path, said in before.items() if there.get(path) == said and now.get(path) != said}
    assert not lost, lost
    return now


def clean_end(index: Path, source: Path) -> None:
    """A last run mends what the kills left; nothing remains of them."""
    assert reindex(index, source).failed == 0
    assert found(index) == texts_of(source), "no document is lost, no text is of an older file"
    assert set(states(index).values()) <= {("indexed", None)}
    assert broken_checks(index) == []
    compacted(index)
    vacuumed(index)
    assert found(index) == texts_of(source) and broken_checks(index) == []
    with Index.open(index) as opened, transactions.reading(opened.engine) as connection:
        claimed = connection.scalars(sa.select(ledger.segments.c.file).order_by(ledger.segments.c.file)).all()
        assert connection.scalar(sa.select(sa.func.count()).select_from(ledger.readers)) == 0
        running = sa.select(sa.func.count()).where(ledger.runs.c.state == "running")
        assert connection.scalar(running) == 0
    assert files(index) == list(claimed)
    assert not list((index / "segments").rglob("*.tmp"))


@pytest.mark.parametrize("seed", [7])
def test_twenty_kills_lose_nothing_and_no_reader_sees_a_half(index: Path, source: Path, seed: int) -> None:
    torture(index, source, kills=20, seed=seed * 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_two_hundred_kills(index: Path, source: Path, seed: int) -> None:
    torture(index, source, kills=200, seed=seed * 10_000)
