"""Server time of the dashboard's pages on a large ledger, and a search page against the same search in Python.

python -m benchmarks.dashboard [--documents 100000] [--chunks 10]

The ledger's rows are written in bulk: documents and revisions, a tenth failed, no segments. For the search page an
index of 3,000 chunks with random vectors is made; its queries go in turn to the page and to the Python call.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import sqlalchemy as sa

from dashboard.app import create_app
from dashboard.security import access_of
from dashboard.serving import Serving
from schemas.settings import Settings, recipe
from storage import ledger, transactions
from storage.index import Index
from tests.dashboard.conftest import reindex, space

ROUNDS = 7
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
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder, "large")
        fill(large, given.documents, given.chunks)
        print(
            f"{given.documents:,} documents, {given.documents * given.chunks:,} chunks; ms, median of {ROUNDS}"
        )
        for path, took in asyncio.run(pages(large, PAGES)).items():
            print(f"{took * 1e3:8.1f}  {path}")
        asyncio.run(search(Path(folder)))


def fill(path: Path, documents: int, chunks: int) -> None:
    """The rows of an index of so many documents; every tenth is failed and has nothing that can be found."""
    made = recipe(Settings())
    with Index.create(path, space()) as index, transactions.writing(index.engine) as connection:
        connection.execute(
            ledger.versions.insert().values(version=1, run_id="bulk", committed_at=time.time())
        )
        for first in range(0, documents, 10_000):
            numbers = range(first, min(first + 10_000, documents))
            connection.execute(ledger.documents.insert(), [_document(n, made) for n in numbers])
            connection.execute(
                ledger.revisions.insert(), [_revision(n, made, chunks) for n in numbers if n % 10]
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


async def pages(index: Path, paths: tuple[str, ...]) -> dict[str, float]:
    """Seconds that the server takes for each, without a network."""
    app = create_app(index, Settings(), access_of("127.0.0.1", ""))
    took: dict[str, list[float]] = {path: [] for path in paths}
    async with app.router.lifespan_context(app), _client(app) as client:
        for round_ in range(ROUNDS + 1):
            for path in paths:
                began = time.perf_counter()
                told = await client.get(path, headers={"Accept": "text/html"})
                told.raise_for_status()
                if round_:
                    took[path].append(time.perf_counter() - began)
    return {path: statistics.median(times) for path, times in took.items()}


async def search(folder: Path) -> None:
    """The page against `Searcher.search` in the same process, turn by turn."""
    source, index = folder / "texts", folder / "small"
    source.mkdir()
    for n in range(300):
        paragraphs = [
            f"Paragraph {m} of {n}: the pump {m * n} has seal {n + m} and valve {m}." for m in range(60)
        ]
        (source / f"{n}.md").write_text("\n\n".join([f"# Text {n}", *paragraphs]), encoding="utf-8")
    reindex(index, source.resolve())
    app = create_app(index, Settings(), access_of("127.0.0.1", ""))
    async with app.router.lifespan_context(app), _client(app) as client:
        serving: Serving = app.state.serving
        for mode in ("hybrid", "bm25"):
            python: list[float] = []
            page: list[float] = []
            for n in range(60):
                query = f"pump seal {n} valve"
                python.append(
                    _timed(lambda query=query, mode=mode: serving.searcher.search(query, mode=mode))
                )
                began = time.perf_counter()
                (await client.get("/ui/search", params={"q": query, "mode": mode})).raise_for_status()
                page.append(time.perf_counter() - began)
            ratios = [b / a for a, b in zip(python[10:], page[10:], strict=True)]
            print(
                f"search page, {mode}: {statistics.median(page[10:]) * 1e3:.1f} ms, Python "
                f"{statistics.median(python[10:]) * 1e3:.1f} ms, ratio {statistics.median(ratios):.2f} (n = 50)"
            )


def _timed(piece: Callable[[], object]) -> float:
    began = time.perf_counter()
    piece()
    return time.perf_counter() - began


def _client(app: object) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]  # any ASGI application
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=300)


if __name__ == "__main__":
    main()
