"""The processes of the torture test. `python -m tests.storage.torturing` is a nursery: it has everything imported
and forks a child for each line of its input, so that two hundred kills do not cost two hundred starts.

The children work on INDEX and SOURCE until they are killed. A child that ends by itself leaves its traceback in
INDEX/../faults.
"""

import hashlib
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from schemas.errors import IndexBusy, VersionGone
from storage.cache import open_cover
from storage.index import Index
from storage.maintenance import compact_index, vacuum_index
from storage.snapshot import Snapshot
from storage.sql import query
from storage.verify import verify
from tests.storage.building import reindex

DOCUMENTS = 12
PAUSE_S = 0.05  # of readers, who would leave a busy machine no time to write
HELD = "no document is held by a run that ended"


def text_of(seed: int, turn: int, number: int) -> str:
    words = f"seed{seed} turn{turn} document{number}"
    return "# " + words + "".join(f"\n\n{words} part{part}" for part in range(number + 1))


def write(index: Path, source: Path, seed: int) -> None:
    """Changes the folder and does everything that a writer does, in any order."""
    draw = random.Random(seed)
    for turn in range(10**6):
        for number in draw.sample(range(DOCUMENTS), 3):
            change(source, draw, text_of(seed, turn, number), number)
        jobs = draw.sample([reindex_it, compact_it, vacuum_it], 3) if index.exists() else [reindex_it]
        for job in jobs:
            job(index, source)


def reindex_it(index: Path, source: Path) -> None:
    reindex(index, source)


def compact_it(index: Path, _source: Path) -> None:
    with Index.open(index) as opened:
        compact_index(opened)  # and brings the cache up to date


def vacuum_it(index: Path, _source: Path) -> None:
    with Index.open(index) as opened:
        vacuum_index(opened, grace_s=0.0)


def change(source: Path, draw: random.Random, text: str, number: int) -> None:
    path = source / f"{number}.txt"
    if draw.random() < 0.2:
        path.unlink(missing_ok=True)
    elif draw.random() < 0.2 and path.exists():
        path.rename(source / f"{number + 100}.txt")
    else:
        kept = source.parent / "history" / hashlib.sha256(text.encode()).hexdigest()
        kept.write_text(text)
        new = source / ".new"  # a kill must not leave half a text: it would be a document of its own
        new.write_text(text)
        new.rename(path)


def read_newest(index: Path, source: Path, seed: int) -> None:
    """Short looks at the newest version, which may be vacuumed away while it is looked at."""
    last = reads = 0
    while True:
        with Index.open(index) as opened:
            try:
                with opened.snapshot() as snapshot:
                    assert snapshot.version >= last, "versions go forward"
                    last = snapshot.version
                    look(opened, snapshot, source)
                if reads % 4 == seed % 4:
                    broken = {check.name: check.problems for check in verify(opened) if not check.ok}
                    assert set(broken) <= {HELD}, broken
            except VersionGone:
                continue
        reads += 1
        tell(index, "newest", reads)
        time.sleep(PAUSE_S)


def read_held(index: Path, source: Path, seed: int) -> None:
    """Long looks at one version under a lease, which nothing may take away."""
    draw = random.Random(seed)
    reads = 0
    while True:
        try:
            with Index.open(index) as opened, opened.held_snapshot() as snapshot:
                for _ in range(draw.randrange(1, 40)):
                    try:
                        look(opened, snapshot, source)
                    except VersionGone as error:
                        raise AssertionError(f"version {snapshot.version} was held") from error
                    reads += 1
                    tell(index, "held", reads)
                    time.sleep(PAUSE_S)
        except VersionGone:
            continue  # between the look at the newest version and the lease on it


def look(opened: Index, snapshot: Snapshot, source: Path) -> None:
    """Ledger and rows agree, and each document is whole: what was written for the bytes that it was made from."""
    documents = {one.document_id: one for one in snapshot.documents()}
    assert len({one.path for one in documents.values()}) == len(documents), "a path is one document"
    wanted = {key: one.chunks for key, one in documents.items()}
    chunks = snapshot.chunks(["document_id", "content"]).to_pylist()
    assert Counter(row["document_id"] for row in chunks) == wanted, (snapshot.version, wanted)
    contents: dict[str, list[str]] = {}
    for row in chunks:
        contents.setdefault(row["document_id"], []).append(row["content"])
    for key, one in documents.items():
        text = (source.parent / "history" / one.source_sha256).read_text()
        assert contents[key] == text.split("\n\n")[1:], (snapshot.version, one.path)
    postings = snapshot.postings([f"document{number}" for number in range(DOCUMENTS)])
    assert set(postings["document_id"].to_pylist()) == set(wanted), snapshot.version
    (row,) = query(opened, "SELECT count(*) AS n FROM chunks", snapshot.version).to_pylist()
    assert row["n"] == sum(wanted.values()), (snapshot.version, row)
    cover = open_cover(snapshot)
    assert sum(len(pack) for pack in cover.packs) >= row["n"], "packs have every live row"


def tell(index: Path, who: str, reads: int) -> None:
    new = index.parent / f".{who}-{os.getpid()}"
    new.write_text(str(reads))
    new.rename(index.parent / f"reads-{who}")


JOBS: dict[str, Callable[[Path, Path, int], None]] = {
    "write": write,
    "newest": read_newest,
    "held": read_held,
}


def main() -> None:
    index, source = Path(sys.argv[1]), Path(sys.argv[2])
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for number, line in enumerate(sys.stdin):
        job, seed = line.split()
        child = os.fork()
        if child == 0:
            try:
                JOBS[job](index, source, int(seed))
            except IndexBusy:
                os._exit(0)  # the lock of a killed writer is still being dropped
            except BaseException:  # noqa: BLE001  it must reach the test, whatever it is
                (index.parent / "faults" / f"{number}-{job}").write_text(traceback.format_exc())
                os._exit(1)
        print(child, flush=True)


if __name__ == "__main__":
    main()
