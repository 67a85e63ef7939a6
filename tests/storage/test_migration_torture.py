"""Migrations, switches and rollbacks under writers that never pause and processes that are killed."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from storage.index import Index
from storage.level import differences
from storage.migration import newest_migration
from storage.spaces import spaces_of
from storage.verify import verify
from tests.storage.building import found, states
from tests.storage.migrating import TWIN, WIDE, begun, build, held, make, move, nightly, switches

ROOT = Path(__file__).parents[2]
SECONDS = 18.0

WRITER = """
import random, sys, time
from pathlib import Path
from schemas.errors import IndexBusy
from tests.storage.migrating import nightly
index, source, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
for turn in range(10**6):
    for number in draw.sample(range(12), 3):
        path = source / f"{number}.txt"
        if draw.random() < 0.25:
            path.unlink(missing_ok=True)
        elif draw.random() < 0.25 and path.exists():
            path.rename(source / f"{number + 100}.txt")
        elif draw.random() < 0.1:
            (source / f"{number + 100}.txt").unlink(missing_ok=True)
        else:
            words = f"seed{seed} turn{turn} document{number}"
            new = source / ".new"
            new.write_text("# " + words + "".join(f"\\n\\n{words} part{part}" for part in range(number + 1)))
            new.rename(path)
    nightly(index, source, dual=draw.random() < 0.7)  # at times nobody writes to the other spaces
"""

MIGRATOR = """
import random, sys
from pathlib import Path
from storage.index import Index
from storage.lock import patient
from storage.migration import abort, newest_migration, remove_old
from storage.spaces import spaces_of
from tests.storage.building import SPACE
from tests.storage.migrating import HALVES, OTHER_WORDS, TWIN, WIDE, begun, builder_of, move
index, seed = Path(sys.argv[1]), int(sys.argv[3])
draw = random.Random(seed)
while True:
    with Index.open(index) as opened:
        last = newest_migration(opened)
        building = last is not None and last.state == "building"
        live, *others = spaces_of(opened)
        chance = draw.random()
        if building and chance < 0.15:
            with patient(index):
                abort(opened)
        elif others and not building and chance < 0.4:
            if last.state == "switched" and last.source in others:
                move(opened, last, last.source)
        elif others and last.state == "switched" and chance < 0.5:
            with patient(index):
                remove_old(opened)
        else:
            target = last.target.space if building else draw.choice([SPACE, WIDE, TWIN, HALVES, OTHER_WORDS])
            if target == live.space:
                continue
            migration = begun(opened, target)
            builder = builder_of(opened, migration, migration.target)
            builder._most = 8
            builder.catch_up()
            assert move(opened, migration, migration.target)
"""


READER = """
import sys
from collections import Counter
from pathlib import Path
from storage.index import Index
from storage.sql import query
from storage.verify import verify
index = Path(sys.argv[1])
reads = versions = last = 0
print("reads", flush=True)
while not (index / "stop").exists():
    with Index.open(index) as opened, opened.snapshot() as snapshot:
        assert snapshot.version >= last, "versions go forward"
        versions += snapshot.version > last
        last = snapshot.version
        wanted = {one.document_id: one.chunks for one in snapshot.documents()}
        rows = Counter(snapshot.chunks(["document_id"])["document_id"].to_pylist())
        assert rows == wanted, (snapshot.version, rows, wanted)
        counted = Counter()
        for segment in snapshot.of_kind("postings"):
            counted.update(snapshot.rows(segment, ["document_id"])["document_id"].to_pylist())
        postings = {one.document_id: one.postings for one in snapshot.documents()}
        assert counted == postings, (snapshot.version, counted, postings)
        assert len({one.path for one in snapshot.documents()}) == len(wanted), "a path is one document"
        (row,) = query(opened, "SELECT count(*) AS n FROM chunks", snapshot.version).to_pylist()
        assert row["n"] == sum(wanted.values()), (snapshot.version, row)
        if reads % 4 == 0:
            broken = [check for check in verify(opened) if not check.ok]
            assert {check.name for check in broken} <= {"no document is held by a run that ended"}, broken
        reads += 1
print(reads, versions)
"""


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "reads\n"
    return process


NURSERY = """
import faulthandler, os, signal, sys
import storage.verify, tests.storage.migrating  # the imports take seconds: children are forked with them done
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
faulthandler.register(signal.SIGUSR1)
print("ready", flush=True)
for line in sys.stdin:
    code, *arguments = eval(line)
    if not (child := os.fork()):
        sys.argv[1:] = arguments
        exec(code, {"__name__": "child"})
        os._exit(9)
    print(child, flush=True)
"""


class Nursery:
    """Starts processes that are killed at random; a start takes milliseconds."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None and self._process.stdout.readline() == "ready\n"

    def start(self, code: str, *arguments: object) -> psutil.Process:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(repr((code, *map(str, arguments))) + "\n")
        self._process.stdin.flush()
        while not (line := self._process.stdout.readline()).strip().isdigit():
            assert line  # what a child says
        return psutil.Process(int(line))

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


def kill(process: psutil.Process) -> None:
    assert process.is_running() and process.status() != psutil.STATUS_ZOMBIE, "it ended by itself"
    process.send_signal(signal.SIGKILL)
    process.wait(10)


def assert_level_at_every_switch(index: Path) -> int:
    """Compares both spaces document by document, and chunk by chunk, as they were at each switch; how many."""
    with Index.open(index) as opened:
        for version, before, after in switches(opened):
            old, new = held(opened, before, version), held(opened, after, version)
            assert old == new, f"at the switch of version {version} from space {before} to {after}"
        return len(switches(opened))


def torture(nursery: Nursery, index: Path, source: Path, seconds: float, seed: int) -> tuple[int, int]:
    """(kills, switches)."""
    draw = random.Random(seed)
    for number in range(12):
        (source / f"{number}.txt").write_text(f"# T{number}\n\ndocument{number} first")
    make(index, source)
    reader = start(READER, index)
    codes = {"writer": WRITER, "migrator": MIGRATOR}
    running = {name: nursery.start(code, index, source, seed) for name, code in codes.items()}
    ends, kills = time.monotonic() + seconds, 0
    while time.monotonic() < ends or (
        _switched(index) < 5 and time.monotonic() < ends + 90
    ):  # a busy machine
        time.sleep(draw.uniform(0.1, 2.4))
        for name in sorted(draw.sample(sorted(codes), draw.choice([1, 1, 2]))):
            kill(running[name])
            kills += 1
            running[name] = nursery.start(codes[name], index, source, 1000 * seed + kills)
    for process in running.values():
        kill(process)
    (index / "stop").touch()
    reads, versions = map(int, reader.communicate(timeout=120)[0].split())
    assert reader.returncode == 0 and reads > 2 and versions > 1, (reads, versions)
    return kills, assert_level_at_every_switch(index)


def _switched(index: Path) -> int:
    with Index.open(index) as opened:
        return len(switches(opened))


def settle(index: Path, source: Path) -> None:
    """What a night after all this must find: nothing lost, nothing half, nothing that came back."""
    nightly(index, source)
    with Index.open(index) as opened:
        last = newest_migration(opened)
        if last is not None and last.state == "building":
            build(opened, last)
            assert move(opened, last, last.target)
        assert [check for check in verify(opened) if not check.ok] == []
    for path in (index / "segments").rglob("*.tmp"):
        raise AssertionError(f"{path} was left behind")
    assert sorted(found(index)) == sorted(path.name for path in source.glob("*.txt"))
    assert set(states(index).values()) == {("indexed", None)}


def test_both_spaces_are_the_same_at_every_switch_though_writer_and_migration_are_killed(
    nursery: Nursery, index: Path, source: Path
) -> None:
    kills, switched = torture(nursery, index, source, SECONDS, seed=11)
    assert kills >= 8 and switched >= 5, (kills, switched)
    settle(index, source)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_both_spaces_are_the_same_after_many_more_kills(
    nursery: Nursery, index: Path, source: Path, seed: int
) -> None:
    kills, switched = torture(nursery, index, source, 90.0, seed)
    assert kills >= 40 and switched >= 25, (kills, switched)
    settle(index, source)


def test_a_writer_that_never_pauses_does_not_keep_the_switch_out(
    nursery: Nursery, index: Path, source: Path
) -> None:
    """Trap 4: the switch waits for at most the run that has the lock, and comes before the next one."""
    for number in range(12):
        (source / f"{number}.txt").write_text(f"# T{number}\n\ndocument{number} first")
    make(index, source)
    writer = nursery.start(BUSY, index, source)
    try:
        with Index.open(index) as opened:
            took = []
            for target in (WIDE, TWIN):
                began = time.monotonic()
                migration = begun(opened, target)
                build(opened, migration)
                assert move(opened, migration, migration.target)
                took.append(time.monotonic() - began)
            assert writer.is_running()
            runs = [version for version, _, _ in switches(opened)]
            assert runs[-1] - runs[0] > len(runs), "the writer came in between"
    finally:
        kill(writer)
    assert max(took) < 60, took
    assert assert_level_at_every_switch(index) == 2


BUSY = """
import sys
from pathlib import Path
from tests.storage.migrating import nightly
index, source = Path(sys.argv[1]), Path(sys.argv[2])
for turn in range(10**6):
    for number in range(3):
        (source / f"{number}.txt").write_text(f"# T{number}\\n\\ndocument{number} turn{turn}")
    nightly(index, source, dual=False)
"""


def test_a_migration_killed_at_its_switch_is_either_switched_or_not(
    nursery: Nursery, index: Path, source: Path
) -> None:
    for number in range(6):
        (source / f"{number}.txt").write_text(f"# T{number}\n\ndocument{number} first")
    make(index, source)
    draw, seen = random.Random(3), set()
    for turn in range(8):
        migrator = nursery.start(MIGRATOR, index, source, turn)
        time.sleep(draw.uniform(0.2, 1.6))
        kill(migrator)
        with Index.open(index) as opened:
            last, live = newest_migration(opened), spaces_of(opened)[0]
            if last is not None:
                seen.add(last.state)
                assert (last.state == "switched") == (live.space_id == last.target.space_id)
                if last.state == "switched" and last.source in spaces_of(opened):
                    assert differences(opened, last.source.space_id) == ()
            assert [check for check in verify(opened) if not check.ok] == []
    assert seen > {"building"}, seen
    assert_level_at_every_switch(index)
