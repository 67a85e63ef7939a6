"""The readers of the torture test: each looks at an index without a pause, until it is killed.

What they may not see: half a document, one that was forgotten, a ledger that disagrees with the rows, an older
version after a newer one. Only a forgetting may take away what a reader with a lease reads.
"""

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from pincite.encoders.models import Model
from pincite.encoders.terms import terms
from pincite.retrieval import searcher
from pincite.retrieval.searcher import Searcher, open_index
from pincite.schemas.errors import SpaceMismatch, VersionGone
from pincite.schemas.settings import Settings
from pincite.storage.checks.verify import verify
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import oldest_version
from pincite.storage.maintenance.export_import import export_index, import_index
from pincite.storage.queries.sql import query
from pincite.storage.search_cache.cache import open_cover
from pincite.storage.segments.segment import read_segment
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot
from pincite.storage.tombstones import unfinished
from tests.storage.building import SPACE
from tests.storage.migrating import vectors_of

PAUSE_S = 0.05  # of readers, who would leave a busy machine no time to write
ALL = 10_000
HELD = {"no document is held by a run that ended"}


def read_newest(index: Path, source: Path, seed: int) -> None:
    """Short looks at the newest version, which may be vacuumed away while it is looked at, and at older ones."""
    draw = random.Random(seed)
    last = reads = 0
    while True:
        with Index.open(index) as opened:
            try:
                with opened.snapshot() as snapshot:
                    assert snapshot.version >= last, "versions go forward"
                    last = snapshot.version
                    unless_forgetting(opened, unleased(lambda: look(opened, snapshot, source)))
                look_back(opened, draw)
                if reads % 4 == seed % 4:
                    unless_forgetting(opened, lambda: whole(opened))
            except VersionGone:
                continue
        reads += 1
        tell(index, "newest")
        time.sleep(PAUSE_S)


def read_held(index: Path, source: Path, seed: int) -> None:
    """Long looks at one version under a lease, which nothing but a forgetting may take away."""
    draw = random.Random(seed)
    while True:
        with Index.open(index) as opened:
            since = forgetting(opened)
            with opened.held_snapshot() as snapshot:
                for _ in range(draw.randrange(1, 40)):
                    if not unless_forgetting(opened, lambda: look(opened, snapshot, source), since):
                        break
                    tell(index, "held")
                    time.sleep(PAUSE_S)


def look_back(opened: Index, draw: random.Random) -> None:
    """No version has a document that was forgotten to the end before it was looked at."""
    gone = {key for key, done_at in forgettings(opened) if done_at is not None}
    with transactions.reading(opened.engine) as connection:
        oldest, newest = oldest_version(connection), schema.current_version(connection)
    with opened.snapshot(draw.randint(oldest, newest)) as snapshot:
        back = gone & {one.document_id for one in snapshot.documents()}
        for segment in snapshot.segments:
            rows = read_segment(opened.places, segment.file, ["document_id"])  # also those that are not live
            back |= gone & set(rows["document_id"].to_pylist())
    assert not back, (snapshot.version, back)


def unless_forgetting(
    opened: Index, look_at_it: Callable[[], None], since: tuple[int, bool] | None = None
) -> bool:
    """False when it failed while, or `since`, documents were being forgotten; a failure without that is a fault."""
    before = forgetting(opened) if since is None else since
    try:
        look_at_it()
    except (VersionGone, AssertionError) as error:
        if forgetting(opened) == before == (before[0], False):
            raise AssertionError("nothing was forgotten meanwhile") from error
        return False
    return True


def unleased(look_at_it: Callable[[], None]) -> Callable[[], None]:
    """For who holds nothing: what a vacuum takes away is no fault."""

    def look_while_it_is_there() -> None:
        with suppress(VersionGone):
            look_at_it()

    return look_while_it_is_there


def forgetting(opened: Index) -> tuple[int, bool]:
    """How many forgettings have begun, and whether one is under way or not done to the end."""
    begun = sa.select(sa.func.count()).where(schema.runs.c.kind == "forget")
    with transactions.reading(opened.engine) as connection:
        running = connection.scalar(begun.where(schema.runs.c.state == "running"))
        return connection.scalar(begun) or 0, bool(running or unfinished(connection))


def forgettings(opened: Index) -> list[tuple[str, float | None]]:
    forgotten = schema.forgotten
    rows = sa.select(forgotten.c.document_id, forgotten.c.done_at).order_by(forgotten.c.document_id)
    with transactions.reading(opened.engine) as connection:
        return [(key, done_at) for key, done_at in connection.execute(rows)]


def whole(opened: Index) -> None:
    broken = {check.name: check.problems for check in verify(opened) if not check.ok}
    assert set(broken) <= HELD, broken


def look(opened: Index, snapshot: Snapshot, source: Path) -> None:
    """Ledger and rows agree, and each document is whole: what was written for the bytes that it was made from."""
    documents = {one.document_id: one for one in snapshot.documents()}
    assert len({one.path for one in documents.values()}) == len(documents), "a path is one document"
    wanted = {key: one.chunks for key, one in documents.items()}
    chunks = snapshot.chunks(["document_id", "content"]).to_pylist()
    assert Counter(row["document_id"] for row in chunks) == wanted, (snapshot.version, wanted)
    for key, one in documents.items():
        text = (source.parent / "history" / one.source_sha256).read_text()
        said = "".join(row["content"] for row in chunks if row["document_id"] == key)
        assert said == "".join(text.split("\n\n")[1:]), (snapshot.version, one.path)
    counted: Counter[str] = Counter()
    for segment in snapshot.of_kind("postings"):
        counted.update(snapshot.rows(segment, ["document_id"])["document_id"].to_pylist())
    assert counted == {key: one.postings for key, one in documents.items()}, snapshot.version
    (row,) = query(opened, "SELECT count(*) AS n FROM chunks", snapshot.version).to_pylist()
    assert row["n"] == sum(wanted.values()), (snapshot.version, row)
    assert sum(len(pack) for pack in open_cover(snapshot).packs) >= row["n"], "packs have every live row"


class Encoder:
    """The vectors of the tests in place of a model's."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def embed_query(self, text: str) -> np.ndarray:
        row: np.ndarray = self.embed_queries([text])[0]
        return row

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        space = replace(SPACE, model=self._model.name, dimension=self._model.dimension)
        return vectors_of(texts, space)


def search(index: Path, source: Path, seed: int) -> None:
    """Searches of every mode, which find exactly what the version that they name has."""
    searcher._embedder = Encoder  # type: ignore[assignment]  # no weights
    draw = random.Random(seed)
    while True:
        last = 0
        # Chunks as they are half of the time, since windows leave out what better ones show.
        settings = Settings(windows=draw.random() < 0.5)
        with open_index(index, settings) as searching, Index.open(index) as opened:
            for _ in range(draw.randrange(1, 60)):
                word = f"document{draw.randrange(12)}"

                def ask(word: str = word, windows: bool = settings.windows) -> None:
                    nonlocal last
                    last = asked(searching, opened, word, draw, last, windows=windows)

                unless_forgetting(opened, ask)
                tell(index, "search")
                time.sleep(PAUSE_S)


def asked(
    searcher: Searcher, opened: Index, word: str, draw: random.Random, last: int, *, windows: bool
) -> int:
    mode = draw.choice(["hybrid", "dense", "bm25"])
    try:
        found = searcher.search(word, mode=mode, k=ALL, fold_duplicates=False)  # type: ignore[arg-type]
    except SpaceMismatch as error:
        assert mode != "dense" and "cuts queries into terms" in str(error)
        return last
    assert found.version >= last, "versions go forward"
    with opened.snapshot(found.version) as snapshot:
        paths = {one.document_id: one.path for one in snapshot.documents()}
        rows = snapshot.chunks(["document_id", "content"]).to_pylist()
    asked_for = set(terms(word))
    wanted = Counter(
        (paths[row["document_id"]], row["content"])
        for row in rows
        if mode != "bm25" or asked_for & set(row["content"].split())
    )
    chunks = Counter((hit.document, hit.chunk.content) for hit in found.hits if hit.chunk)
    if mode == "hybrid" and windows:
        assert chunks <= wanted and all(
            hit.chunk.content in hit.content for hit in found.hits[:1] if hit.chunk
        )
    else:
        assert chunks == wanted, (mode, found.version)
    return found.version


def export(index: Path, _source: Path, seed: int) -> None:
    """Exports of the whole index, whose imports are whole."""
    while True:
        folder = index.parent / f"export-{os.getpid()}"
        folder.mkdir()
        with Index.open(index) as opened:

            def there_and_back(opened: Index = opened, folder: Path = folder) -> None:
                export_index(opened, folder / "one.tar")
                import_index(folder / "one.tar", folder / "index")
                with Index.open(folder / "index") as imported:
                    whole(imported)
                tell(index, "export")

            unless_forgetting(opened, there_and_back)
        shutil.rmtree(folder)
        time.sleep(random.Random(seed).uniform(0.2, 1.0))


def tell(index: Path, who: str) -> None:
    with (index.parent / f"reads-{who}").open("ab") as told:
        told.write(b".")
