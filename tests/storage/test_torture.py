"""A writer that is killed again and again, while other processes read without a pause."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from storage.index import Index
from storage.verify import verify
from tests.storage.building import fill, found, reindex, states

ROOT = Path(__file__).parents[2]
SECONDS = 6.0
DOCUMENTS = 12

WRITER = """
import random, sys
from pathlib import Path
from tests.storage.building import reindex
index, source, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
print("writes", flush=True)
for turn in range(10**6):
    for number in draw.sample(range(12), 3):
        path = source / f"{number}.txt"
        if draw.random() < 0.2:
            path.unlink(missing_ok=True)
        elif draw.random() < 0.2 and path.exists():
            path.rename(source / f"{number + 100}.txt")
        else:
            words = f"seed{seed} turn{turn} document{number}"
            new = source / ".new"  # a kill must not leave half a text: it would be a document of its own
            new.write_text("# " + words + "".join(f"\\n\\n{words} part{part}" for part in range(number + 1)))
            new.rename(path)
    reindex(index, source)
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
        postings = snapshot.postings([f"document{number}" for number in range(12)])
        assert set(postings["document_id"].to_pylist()) == set(rows), snapshot.version
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
    assert process.stdout is not None and process.stdout.readline() in ("writes\n", "reads\n")
    return process


def test_readers_always_see_ledger_and_rows_agree_though_the_writer_is_killed(
    index: Path, source: Path
) -> None:
    draw = random.Random(7)
    fill(source, {f"{number}.txt": f"# T{number}\n\ndocument{number}" for number in range(DOCUMENTS)})
    reindex(index, source)
    readers = [start(READER, index) for _ in range(2)]
    ends, kills = time.monotonic() + SECONDS, 0
    while time.monotonic() < ends or kills < 3:
        writer = start(WRITER, index, source, kills)
        time.sleep(draw.uniform(0.05, 1.5))
        assert writer.poll() is None, "the writer ended by itself"
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        assert writer.returncode == -signal.SIGKILL
        kills += 1
    (index / "stop").touch()
    seen = [reader.communicate(timeout=60)[0].split() for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0]
    assert all(int(reads) > 5 and int(versions) > 1 for reads, versions in seen), seen
    counts = reindex(index, source)
    names = sorted(path.name for path in source.glob("*.txt"))
    assert (counts.failed, sorted(found(index))) == (0, names)
    assert set(states(index).values()) == {("indexed", None)}
    with Index.open(index) as opened:
        assert [check for check in verify(opened) if not check.ok] == []
    assert found(index) == {
        path.name: path.read_text().split("\n\n")[1:] for path in sorted(source.glob("*.txt"))
    }, "no finished document is lost, no text is of an older file"
