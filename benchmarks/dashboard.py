"""Server time of the dashboard's pages on a large ledger, and a search page against the same search in Python.

python -m benchmarks.dashboard [--documents 100000] [--chunks 10] [--passages 1000000]

The ledger's rows are written in bulk: documents and revisions, a tenth failed, the others all made with an older
extractor, no segments. For the search page an index of 3,600 chunks with random vectors is made, and with --passages
one of so many too; queries go in turn to the page and to the Python calls that bring the same: `Searcher.search` with
the shares of the terms, and `threshold`. The application is called without a network or an HTTP client.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import sqlalchemy as sa
from fastapi import FastAPI
from starlette.types import Message

from benchmarks.retrieval_index import make_index, queries
from pincite.dashboard.app import create_app
from pincite.dashboard.http.access import access_of
from pincite.dashboard.state.serving import Serving
from pincite.retrieval.ranking import Mode
from pincite.schemas.settings import Settings, recipe
from pincite.storage.ledger import schema, transactions
from pincite.storage.snapshots.index import Index
from tests.dashboard.conftest import reindex, space

ROUNDS = 7
MODES: tuple[Mode, ...] = ("hybrid", "bm25")
PAGES = (
    "/",
    "/ui/documents",
    "/ui/documents?state=failed",
    "/ui/documents?state=stale",
    "/ui/documents?order=chunks&down=yes",
    "/ui/documents?words=report+77",
    f"/ui/documents?after={70_000:016x}",
    "/status",
    "/documents?limit=50",
)
REASONS = ("empty file: 0 bytes", "the PDF is encrypted", "deadline of 300 s", "not a PDF that can be read")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--chunks", type=int, default=10)
    options.add_argument("--passages", type=int, default=0, help="of a large index for the search page")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder, "large")
        fill(large, given.documents, given.chunks)
        print(
            f"{given.documents:,} documents, {given.documents * given.chunks:,} chunks; wall ms, CPU ms, median "
            f"of {ROUNDS}"
        )
        for path, (took, cpu) in asyncio.run(pages(large, PAGES)).items():
            print(f"{took * 1e3:8.1f} {cpu * 1e3:8.1f}  {path}")
        small = Path(folder, "small")
        fill_small(Path(folder, "texts"), small)
        asyncio.run(search(small, [f"pump seal {n} valve" for n in range(60)]))
        if given.passages:
            searched = Path(folder, "searched")
            make_index(searched, space(), given.passages, words=30, commits=10)
            asyncio.run(search(searched, queries(60)))


def fill(path: Path, documents: int, chunks: int) -> None:
    """The rows of an index of so many documents; every tenth is failed and has nothing that can be found."""
    made = recipe(Settings())
    with Index.create(path, space()) as index, transactions.writing(index.engine) as connection:
        connection.execute(
            schema.versions.insert().values(version=1, run_id="bulk", committed_at=time.time())
        )
        for first in range(0, documents, 10_000):
            numbers = range(first, min(first + 10_000, documents))
            connection.execute(schema.documents.insert(), [_document(n, made) for n in numbers])
            connection.execute(
                schema.revisions.insert(), [_revision(n, made, chunks) for n in numbers if n % 10]
            )
        connection.execute(sa.text("ANALYZE"))


def _document(n: int, made: str) -> dict[str, object]:
    failed = n % 10 == 0
    return {
        "document_id": f"{n:016x}",
        "source": "/srv/documents",
        "path": f"{n % 100:03d}/report {n:06d}.pdf",
        "state": "failed" if failed else "indexed",
        "stage": "extract" if failed else None,
        "kind": "unreadable" if failed else None,
        "reason": REASONS[n // 10 % len(REASONS)] if failed else None,
        "attempts": 3 if failed else 0,
        "size_bytes": 1_000 + n,
        "mtime_ns": n,
        "ctime_ns": n,
        "sha256": f"{n:064x}",
        "recipe": made,
        "last_run": "bulk",
        "last_outcome": "failed" if failed else "indexed",
        "updated_at": 1_700_000_000.0 + n,
    }


def _revision(n: int, made: str, chunks: int) -> dict[str, object]:
    counts = {"over_window": 0, "characters": 9_000, "pages": 4, "ocr_pages": n % 3, "tables": 1}
    return {
        "document_id": f"{n:016x}",
        "revision": 1,
        "space_id": 1,
        "began_version": 1,
        "path": f"{n % 100:03d}/report {n:06d}.pdf",
        "source_sha256": f"{n:064x}",
        "recipe": made,
        "title": f"Report {n}",
        "title_from_name": False,
        "media_type": "application/pdf",
        "extractor": "pdf",
        "extractor_version": "1",
        "chunks": chunks * 10 // 9,
        "postings": chunks * 60,
        "ocr_confidence": 50.0 + n % 50,
        "warnings": [{"code": "repaired", "message": "was repaired", "page": 1}] if n % 7 == 0 else [],
        "language": "en",
        "encoder_fit": True,
        **counts,
    }


async def pages(index: Path, paths: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Seconds and CPU seconds that the server takes for each; of the overview after a write, and again after none."""
    app = create_app(index, Settings(), access_of("127.0.0.1", ""))
    took: dict[str, list[tuple[float, float]]] = {}
    async with app.router.lifespan_context(app):
        with Index.open(index) as other:
            for _ in range(ROUNDS + 1):
                _write(other)
                for path in paths:
                    took.setdefault(path, []).append(await _timed_page(app, path))
                took.setdefault("/ again, nothing written since", []).append(await _timed_page(app, "/"))
    return {path: _medians(times[1:]) for path, times in took.items()}


def _write(index: Index) -> None:
    """Changes what no page counts, which nobody can know; SQLite would not write what is there already."""
    with transactions.writing(index.engine) as connection:
        connection.execute(schema.versions.update().values(committed_at=time.time()))


def _medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(wall for wall, _ in times), statistics.median(cpu for _, cpu in times)


def fill_small(source: Path, index: Path) -> None:
    source.mkdir()
    for n in range(300):
        paragraphs = [
            f"Paragraph {m} of {n}: the pump {m * n} has seal {n + m} and valve {m}." for m in range(60)
        ]
        (source / f"{n}.md").write_text("\n\n".join([f"# Text {n}", *paragraphs]), encoding="utf-8")
    reindex(index, source.resolve())


async def search(index: Path, asked: list[str]) -> None:
    """The page against the Python calls in the same process, turn by turn; the first ten turns are not counted."""
    app = create_app(index, Settings(), access_of("127.0.0.1", ""))
    async with app.router.lifespan_context(app):
        serving: Serving = app.state.serving
        for mode in MODES:
            python: list[tuple[float, float]] = []
            page: list[tuple[float, float]] = []
            for query in asked:
                python.append(_timed(partial(_in_python, serving, query, mode)))
                page.append(await _timed_page(app, f"/ui/search?{urlencode({'q': query, 'mode': mode})}"))
            _tell(mode, python[10:], page[10:])


def _tell(mode: str, python: list[tuple[float, float]], page: list[tuple[float, float]]) -> None:
    took, called = _medians(page), _medians(python)
    wall = statistics.median(b[0] / a[0] for a, b in zip(python, page, strict=True))
    cpu = statistics.median(b[1] / a[1] for a, b in zip(python, page, strict=True))
    print(
        f"search page, {mode}: {took[0] * 1e3:.1f} ms ({took[1] * 1e3:.1f} CPU), Python {called[0] * 1e3:.1f} "
        f"({called[1] * 1e3:.1f}), ratio {wall:.2f} (of CPU {cpu:.2f}), n = {len(page)}"
    )


def _in_python(serving: Serving, query: str, mode: Mode) -> None:
    serving.searcher.threshold()
    serving.searcher.search(query, mode=mode, explain=True)


def _timed(piece: Callable[[], object]) -> tuple[float, float]:
    began, at_work = time.perf_counter(), time.process_time()
    piece()
    return time.perf_counter() - began, time.process_time() - at_work


async def _timed_page(app: FastAPI, path: str) -> tuple[float, float]:
    address, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": address, "raw_path": address.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", b"127.0.0.1"), (b"accept", b"text/html")], "client": ("127.0.0.1", 1), "server": None,
    }  # fmt: skip
    told: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        told.append(message)

    began, at_work = time.perf_counter(), time.process_time()
    await app(scope, receive, send)
    took = time.perf_counter() - began, time.process_time() - at_work
    if told[0]["status"] != 200:
        raise SystemExit(f"{path} was answered with {told[0]['status']}")
    return took


if __name__ == "__main__":
    main()
