"""Everything is killed again and again, while everything goes on: runs, migrations, maintenance and readers."""

import random
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from pincite.schemas.errors import VersionGone
from pincite.storage.checks.verify import verify
from pincite.storage.erasure.forget import verify_forgotten
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.reader_leases import Lease
from pincite.storage.migration.cut_over import differences
from pincite.storage.migration.state import newest_migration
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from tests.storage.building import PERMANENT, found, states
from tests.storage.maintaining import broken_checks, compacted, files, vacuumed
from tests.storage.migrating import TWIN, WIDE, begun, build, held, make, move, nightly, switches
from tests.storage.nursery import Nursery, kill, nursery
from tests.storage.torturing import DOCUMENTS, forgotten_files, put, read, spaces, text_of

READERS = ("newest", "held", "search", "export")
LIVES = ("write", "write", "write", "migrate", "migrate", "migrate", *READERS)
"""By how often each is killed."""


class Judge:
    """Compares both spaces at every switch, document by document. Its lease keeps what it has not yet compared."""

    def __init__(self, index: Path) -> None:
        self._index = Index.open(index)
        self._lease = Lease(self._index.engine)
        self._seen = self._index.newest_version()
        self._lease.hold(self._seen)
        self.switches = 0

    def look(self) -> None:
        newest = self._index.newest_version()
        for version, before, after in switches(self._index):
            if self._seen < version <= newest:
                old, new = held(self._index, before, version), held(self._index, after, version)
                assert old == new, f"at the switch of version {version} from space {before} to {after}"
                self.switches += 1
        lease = Lease(self._index.engine)
        lease.hold(newest)
        self._lease.release()
        self._lease, self._seen = lease, newest

    def close(self) -> None:
        self._lease.release()
        self._index.close()


@contextmanager
def judging(index: Path) -> Iterator[Judge]:
    judge = Judge(index)
    try:
        yield judge
    finally:
        judge.close()


def torture(index: Path, source: Path, kills: int, seed: int, pause_s: float = 1.3) -> Judge:
    """Kills as many processes at random moments; the judge has seen every switch."""
    draw, faults = random.Random(seed), index.parent / "faults"
    with nursery(index, source) as forks:
        first_index(index, source)
        jobs = dict.fromkeys(LIVES)
        running = {job: forks.start(job, seed) for job in jobs}
        with judging(index) as judge:
            before = said(index)
            done = 0
            while done < kills:
                time.sleep(draw.uniform(0.05, pause_s))
                for job in dict.fromkeys(draw.sample(LIVES, draw.choice([1, 1, 2]))):
                    kill(running[job], faults)
                    done += 1
                    running[job] = forks.start(job, seed + done)
                assert not list(faults.iterdir()), [path.read_text() for path in sorted(faults.iterdir())]
                before = nothing_lost(index, source, before)
                judge.look()
            wait_for_a_switch(judge)
            for job, process in running.items():
                wait_for_a_look(index, job)
                kill(process, faults)
            judge.look()
    return judge


def first_index(index: Path, source: Path) -> None:
    space, setting = spaces(index.parent / "models")[0]
    Index.create(index, space, setting).close()
    for number in range(DOCUMENTS):
        put(source, source / f"{number}.txt", text_of(0, 0, number))
    nightly(index, source)


def wait_for_a_switch(judge: Judge) -> None:
    """On a slow machine each migration may have been killed before its switch."""
    until = time.monotonic() + 120
    while not judge.switches:
        assert time.monotonic() < until
        time.sleep(0.1)
        judge.look()


def wait_for_a_look(index: Path, job: str) -> None:
    """A reader that was never once able to read, on however busy a machine, proves nothing."""
    until = time.monotonic() + 60
    while job in READERS and not (index.parent / f"reads-{job}").exists():
        assert time.monotonic() < until, job
        time.sleep(0.05)


def said(index: Path) -> dict[str, str]:
    """Asks again, as it is told to, when a vacuum or a forgetting took away what it was reading."""
    for _ in range(20):
        with suppress(VersionGone):
            return {path: "".join(contents) for path, contents in found(index).items()}
    raise AssertionError("each look was overtaken")


def texts_of(source: Path) -> dict[str, str]:
    """What is to be found of each file; of one that fails, nothing is known."""
    texts = {path.name: read(path) for path in sorted(source.glob("*.txt"))}
    return {name: "".join(text.split("\n\n")[1:]) for name, text in texts.items() if PERMANENT not in text}


def nothing_lost(index: Path, source: Path, before: dict[str, str]) -> dict[str, str]:
    """What can be found now. A document that could be found and whose file is still the same is among it."""
    there = texts_of(source)
    now = said(index)
    with Index.open(index) as opened:
        hidden = {path.name for path in forgotten_files(opened, source)}
    after = texts_of(source)  # the writer goes on meanwhile
    lost = {
        path
        for path, text in before.items()
        if there.get(path) == text == after.get(path) and now.get(path) != text and path not in hidden
    }
    assert not lost, lost
    return now


def clean_end(index: Path, source: Path) -> None:
    """A last night mends what the kills left; nothing remains of them."""
    with Index.open(index) as opened:
        for path in forgotten_files(opened, source):
            path.unlink()
    for path in sorted(source.glob("*.txt")):
        if PERMANENT in path.read_text():
            put(source, path, path.read_text().removeprefix(f"{PERMANENT} "))
    assert nightly(index, source).failed == 0
    assert said(index) == texts_of(source), "no document is lost, no text is of an older file"
    assert set(states(index).values()) <= {("indexed", None)}
    with Index.open(index) as opened:
        last = newest_migration(opened)
        if last is not None and last.state == "building":
            build(opened, last)
            assert move(opened, last, last.target)
        elif last is not None and last.state == "switched" and last.source in spaces_of(opened):
            assert move(opened, last, last.source)
    assert said(index) == texts_of(source) and broken_checks(index) == []
    compacted(index)
    assert vacuumed(index).held_by == (), "who is gone holds nothing"
    assert said(index) == texts_of(source) and broken_checks(index) == []
    nothing_left(index, source)


def nothing_left(index: Path, source: Path) -> None:
    with Index.open(index) as opened:
        with transactions.reading(opened.engine) as connection:
            claimed = connection.scalars(
                sa.select(schema.segments.c.file).order_by(schema.segments.c.file)
            ).all()
            count = sa.select(sa.func.count())
            assert connection.scalar(count.select_from(schema.readers)) == 0
            assert connection.scalar(count.where(schema.runs.c.state == "running")) == 0
            assert connection.scalar(count.where(schema.documents.c.state == "running")) == 0
            gone = {one for row in connection.scalars(sa.select(schema.forgotten.c.contents)) for one in row}
        assert files(index) == list(claimed)
        assert not [*(index / "segments").rglob("*.tmp"), *(index / "cache").glob(".*")]
        assert verify_forgotten(opened).proof.found == ()
    gone |= {path.name for path in (index.parent / "gone").iterdir()}
    texts = [path.read_text() for path in (index.parent / "history").iterdir() if path.name in gone]
    here = titles_of(path.read_text() for path in source.glob("*.txt"))  # a copy is not forgotten with it
    # A copy that failed and was deleted has the text in its reason.
    nothing_of(index, titles_of(text for text in texts if PERMANENT not in text) - here)


def titles_of(texts: Iterable[str]) -> set[str]:
    return {one.group() for text in texts if (one := re.search(r"seed\d+ turn\d+ document\d+", text))}


def nothing_of(index: Path, titles: set[str]) -> None:
    """No file says anything of texts with these titles."""
    sought = re.compile("|".join(rf"{title}(?!\d)" for title in sorted(titles)).encode())
    for path in sorted(path for path in index.rglob("*") if path.is_file() and titles):
        assert not sought.search(path.read_bytes()), path
        if path.suffix == ".parquet" and "postings" not in path.parts:
            column = "text" if "texts" in path.parts else "content"
            said = "\n".join(pq.read_table(path, columns=[column], partitioning=None)[column].to_pylist())
            assert not sought.search(said.encode()), path


@pytest.mark.parametrize("seed", [7])
def test_twenty_kills_lose_nothing_and_nobody_sees_a_half(index: Path, source: Path, seed: int) -> None:
    torture(index, source, kills=20, seed=seed * 1_000)
    clean_end(index, source)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_two_hundred_kills(index: Path, source: Path, seed: int) -> None:
    judge = torture(index, source, kills=200, seed=seed * 10_000)
    print(f"seed {seed}: 200 kills, {judge.switches} switches")
    assert judge.switches >= 10
    clean_end(index, source)


def plain_index(index: Path, source: Path) -> None:
    for number in range(6):
        (source / f"{number}.txt").write_text(f"# T{number}\n\ndocument{number} first")
    make(index, source)


def test_a_writer_that_never_pauses_does_not_keep_the_switch_out(index: Path, source: Path) -> None:
    """Trap 4: the switch waits for at most the run that has the lock, and comes before the next one."""
    plain_index(index, source)
    with nursery(index, source) as forks, Index.open(index) as opened:
        writer = forks.start("write without pause", 0)
        took = []
        for target in (WIDE, TWIN):
            wait_for_a_version(opened)
            began = time.monotonic()
            migration = begun(opened, target)
            wait_for_a_version(opened)  # also while it is built
            build(opened, migration)
            assert move(opened, migration, migration.target)
            took.append(time.monotonic() - began)
        wait_for_a_version(opened)
        kill(writer, index.parent / "faults")
        runs = switches(opened)
        assert len(runs) == 2
        for version, before, after in runs:
            assert held(opened, before, version) == held(opened, after, version)
    assert max(took) < 60, took


def wait_for_a_version(opened: Index) -> None:
    """The writer is at its work, before the first switch, between both and after the last one."""
    until, seen = time.monotonic() + 60, opened.newest_version()
    while opened.newest_version() == seen:
        assert time.monotonic() < until, "the writer stands still"
        time.sleep(0.01)


def test_a_migration_killed_at_its_switch_is_either_switched_or_not(index: Path, source: Path) -> None:
    seen, after_s = set(), 0.4
    with nursery(index, source) as forks:
        first_index(index, source)
        for turn in range(12):
            seen.add(state := killed_migration(forks, index, turn, after_s))
            after_s *= 1.5 if state == "building" else 0.6  # towards the switch, however fast the machine is
    assert seen > {"building"}, seen


def killed_migration(forks: Nursery, index: Path, seed: int, after_s: float) -> str:
    migrator = forks.start("migrate", seed)
    time.sleep(after_s)
    kill(migrator, index.parent / "faults")
    with Index.open(index) as opened:
        last, live = newest_migration(opened), spaces_of(opened)[0]
        assert [check for check in verify(opened) if not check.ok] == []
        if last is None:
            return "building"
        assert (last.state == "switched") == (live.space_id == last.target.space_id)
        if last.state == "switched" and last.source in spaces_of(opened):
            assert differences(opened, last.source.space_id) == ()
        return last.state
