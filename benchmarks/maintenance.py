"""What maintenance costs and what it gains: cold starts before and after a compaction, leases, vacuum, forget.

python -m benchmarks.maintenance [DOCUMENTS]     some minutes; ratios against the same documents in one segment

The index with many segments is made out of the other one, as if each document had had a commit of its own.
"""

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import sqlalchemy as sa

from pincite.encoders.models import resolve_model
from pincite.schemas.records import Chunk, Extraction, Policy, Prepared, SourceFile
from pincite.schemas.settings import DEFAULT_MODEL, Settings
from pincite.storage.erasure.forget import forget
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.reader_leases import Lease
from pincite.storage.maintenance.whole_index import compact_index, vacuum_index
from pincite.storage.objects import local
from pincite.storage.runs.commit import lease, publish
from pincite.storage.runs.registration import register
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.segments.segment import Segment, read_segment, write_segment
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from pincite.tasks.steps.lexical import term_frequencies
from pincite.tasks.steps.plan import space_of

POLICY = Policy("recipe", "limits", 3)
CHUNKS = 2  # a document
WORDS = 60  # a chunk
RUNS = 9

COLD = """
import sys, time
from pathlib import Path
import numpy as np
from pincite.retrieval.searcher import open_index
vector = np.zeros(384, dtype=np.float32); vector[0] = 1
began, cpu = time.perf_counter(), time.process_time()
with open_index(Path(sys.argv[1])) as searcher:
    searcher.search("word17 word230", mode="bm25")
    middle = time.perf_counter()
    searcher.search("word17 word230", mode="hybrid", vector=vector)
print(time.perf_counter() - began, middle - began, time.process_time() - cpu)
"""


def make_index(path: Path, documents: int) -> None:
    """`documents` of random words and vectors in one commit."""
    draw = random.Random(0)
    vectors = np.random.default_rng(0)
    with (
        Index.create(path, space_of(resolve_model(DEFAULT_MODEL), Settings())) as index,
        begin_run(index, "index", "/source") as run,
    ):
        files = [SourceFile(f"{n:06}.txt", "/x", 1, n, 0, f"{n:064x}") for n in range(documents)]
        batch = []
        for document_id in sorted(register(run, files, POLICY).pending):
            job = lease(run, document_id, POLICY, 36_000)
            assert job is not None
            batch.append(Finished(job, job.path, _prepared(draw), _unit(vectors)))
        publish(run, batch, POLICY)
        finish_run(run)


def split(one: Path, many: Path) -> None:
    """The same index as if each document had had a commit of its own: three segments a document."""
    shutil.copytree(one, many, ignore=shutil.ignore_patterns("cache"))
    with Index.open(many) as index, index.snapshot() as snapshot:
        versions = {document.document_id: nth for nth, document in enumerate(snapshot.documents(), start=1)}
        rows = [row for segment in snapshot.segments for row in _split(index, segment, versions)]
        files = [segment.file for segment in snapshot.segments]
        with transactions.writing(index.engine) as connection:
            connection.execute(schema.segments.delete())
            connection.execute(schema.versions.delete())
            connection.execute(schema.segments.insert(), rows)
            connection.execute(
                schema.versions.insert(),
                [{"version": n, "run_id": "", "committed_at": float(n)} for n in versions.values()],
            )
            key = schema.revisions.c.document_id == sa.bindparam("key")
            connection.execute(
                schema.revisions.update().where(key).values(began_version=sa.bindparam("at")),
                [{"key": document_id, "at": version} for document_id, version in versions.items()],
            )
    for file in files:
        (many / file).unlink()


def _split(index: Index, segment: Segment, versions: dict[str, int]) -> Iterator[dict[str, object]]:
    table = read_segment(index.places, segment.file).sort_by("document_id")
    start = 0
    for item in pc.value_counts(table["document_id"].combine_chunks()).to_pylist():
        part = table.slice(start, item["counts"])
        start += item["counts"]
        began = {
            "began_version": versions[item["values"]],
            "space_id": None if segment.kind == "texts" else 1,
        }
        yield asdict(write_segment(index.places, segment.kind, part)) | began


def _prepared(draw: random.Random) -> Prepared:
    contents = [
        " ".join(f"word{int(20_000 * draw.random() ** 3)}" for _ in range(WORDS)) for _ in range(CHUNKS)
    ]
    chunks, start = [], 0
    for ordinal, content in enumerate(contents):
        chunks.append(Chunk(ordinal, content, content, "", "", start, start + len(content), tokens=1))
        start += len(content) + 2
    extraction = Extraction("\n\n".join(contents), "", "text/plain", "benchmark", "1")
    return Prepared(extraction, tuple(chunks), term_frequencies(chunks))


def _unit(draw: np.random.Generator) -> np.ndarray:
    vectors = draw.standard_normal((CHUNKS, 384))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def cold(path: Path) -> tuple[float, float, float]:
    """Seconds of a new process: (open and two searches, open and the first, CPU of all)."""
    done = subprocess.run([sys.executable, "-c", COLD, path], stdout=subprocess.PIPE, text=True, check=True)
    whole, first, cpu = map(float, done.stdout.split())
    return whole, first, cpu


def compare(name: str, many: Path, one: Path, before: Callable[[Path], None], runs: int = RUNS) -> None:
    """Turn and turn about, so that what else the machine does meets both."""
    walls: dict[Path, list[tuple[float, float, float]]] = {many: [], one: []}
    for _ in range(runs):
        for path in (many, one):
            before(path)
            walls[path].append(cold(path))
    for part, what in enumerate(("open and two searches", "open and a BM25 search", "CPU of both searches")):
        a, b = (statistics.median(row[part] for row in walls[path]) for path in (many, one))
        print(f"{name}, {what:24} {a * 1e3:9.1f} ms against {b * 1e3:9.1f} ms: {a / b:.2f} x (n = {runs})")


def drop_cache(path: Path) -> None:
    shutil.rmtree(path / "cache", ignore_errors=True)


def keep_cache(_path: Path) -> None:
    return


def timed(name: str, function: Callable[[], object]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    told = function()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{name:40} {wall:8.2f} s wall {cpu:8.2f} s CPU  {told if told is not None else ''}")


def leases(path: Path) -> None:
    with Index.open(path) as index:
        one = Lease(index.engine)
        one.hold(1)
        began = time.perf_counter()
        for _ in range(100_000):
            one.hold(1)
        print(f"a lease that stands, a search: {(time.perf_counter() - began) * 10:.2f} µs")
        began = time.perf_counter()
        for _ in range(200):
            fresh = Lease(index.engine)
            fresh.hold(1)
            fresh.release()
        print(f"a lease taken and given back: {(time.perf_counter() - began) * 5:.2f} ms")
        one.release()


def main() -> None:
    documents = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"{documents} documents, {documents * CHUNKS} chunks; load {os.getloadavg()[0]:.1f}")
    waits, local.os.fsync = local.os.fsync, lambda _descriptor: None
    with tempfile.TemporaryDirectory() as folder:
        many, one = Path(folder) / "many", Path(folder) / "one"
        timed("one commit for all", lambda: make_index(one, documents))
        timed("a segment for each document", lambda: split(one, many))
        local.os.fsync = waits
        with Index.open(one) as index:
            refresh_cache(index)
        compare("before", many, one, drop_cache, runs=1)
        with Index.open(many) as index:
            timed("compaction, and the cache after it", lambda: compact_index(index))
        compare("compacted, cache kept", many, one, keep_cache)
        compare("compacted, no cache", many, one, drop_cache, runs=3)
        with Index.open(many) as index:
            timed("vacuum without a grace time", lambda: vacuum_index(index, 0.0))
        compare("vacuumed, cache kept", many, one, keep_cache, runs=3)
        leases(one)
        with Index.open(one) as index:
            timed("forget a document", lambda: forget(index, find(index, "000007.txt")).proof)
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
