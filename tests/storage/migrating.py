"""Runs and migrations between spaces of tests: real ledgers and segments, vectors drawn from the text."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from pincite.schemas.errors import Failure
from pincite.schemas.records import Chunk, Counts, Job, Space
from pincite.storage.checks.verify import verify
from pincite.storage.erasure.recovery import RECOVERY
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.run_lock import patient
from pincite.storage.migration.cut_over import snapshot_of
from pincite.storage.migration.state import Migration, begin
from pincite.storage.runs.commit import fail, lease, publish
from pincite.storage.runs.runs import Run, begin_run, finish_run
from pincite.storage.search_cache.prefetch import PacksAhead
from pincite.storage.segments.arrow_rows import Finished
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import Kept, spaces_of
from pincite.tasks.discover import discover
from pincite.tasks.migration.backfill import Builder, finish
from pincite.tasks.migration.derive import Derived, Known
from pincite.tasks.migration.shadow import Standby, copy_for
from tests.storage.building import LEASE_S, PERMANENT, POLICY, SPACE, TRANSIENT, prepare

WIDE = replace(SPACE, model="wide-model-of-tests", fingerprint="e" * 64, dimension=12)
TWIN = replace(SPACE, model="twin-model-of-tests", fingerprint="d" * 64)  # of the same dimension
SHORT = replace(SPACE, model="short-model-of-tests", fingerprint="c" * 64, window=9)
OTHER_WORDS = replace(SPACE, tokenizer="words-2")
HALVES = replace(SPACE, chunker="halves")
BLOCKS = "can't be embedded"


def vectors_of(texts: Sequence[str], space: Space) -> np.ndarray:
    """Unit vectors that say of which text and of which model they are."""
    rows = []
    for text in texts:
        seed = int.from_bytes(hashlib.sha256(f"{space.model} {text}".encode()).digest()[:8])
        row = np.random.default_rng(seed).standard_normal(space.dimension)
        rows.append(row / np.linalg.norm(row))
    return np.array(rows, dtype=np.float32).reshape(-1, space.dimension)


class Deriver:
    """What a child process with a model does, without both. A chunk is a paragraph, or a half of one."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.batches: list[int] = []

    def __call__(self, documents: Sequence[Known], embed: bool) -> Sequence[Derived | Failure]:
        self.batches.append(len(documents))
        return [self._derived(one, embed) for one in documents]

    def _derived(self, known: Known, embed: bool) -> Derived | Failure:
        chunks = known.chunks if known.extraction is None else self._chunk(known.extraction.text)
        if any(BLOCKS in one.content for one in chunks):
            return Failure("embed", "error", f"{self.space.model} {BLOCKS}")
        if known.extraction is None and any(one.tokens > self.space.window for one in chunks):
            return Derived(known.document_id, (), (), None)
        terms = tuple(dict(Counter(one.content.split())) for one in chunks)
        vectors = vectors_of([one.text for one in chunks], self.space) if embed else None
        return Derived(known.document_id, tuple(chunks), terms, vectors)

    def _chunk(self, text: str) -> tuple[Chunk, ...]:
        whole = prepare(text).chunks
        if self.space.chunker != HALVES.chunker and self.space.window >= SPACE.window:
            return whole
        halves = []
        for one in whole:
            middle = one.start + len(one.content) // 2
            halves += (
                [(one.start, middle), (middle, one.end)] if len(one.content) > 1 else [(one.start, one.end)]
            )
        return tuple(Chunk(n, text[a:b], text[a:b], "", "", a, b, 5) for n, (a, b) in enumerate(halves))


def standby_of(kept: Kept, live: Space) -> Standby:
    return Standby(kept, live, Deriver(kept.space), lambda texts: vectors_of(texts, kept.space))


def make(index: Path, source: Path) -> Counts:
    """The first run over a folder, which makes the index."""
    Index.create(index, SPACE).close()
    return nightly(index, source)


def nightly(index: Path, source: Path, dual: bool = True) -> Counts:
    """One whole run in the live space; with `dual` what it publishes goes to every kept space."""
    with Index.open(index) as opened, begin_run(opened, "reindex", str(source), RECOVERY) as run:
        live, *others = spaces_of(opened)
        beside = [standby_of(one, live.space) for one in others] if dual else []
        work(run, discover(run, POLICY).pending, live.space, beside)
        return finish_run(run)


def work(run: Run, pending: Iterable[str], live: Space, beside: Sequence[Standby] = ()) -> None:
    """Leases, finishes and publishes documents in groups of three; those whose text says so fail."""
    group: list[Finished] = []
    ahead = PacksAhead()
    for document_id in pending:
        job = lease(run, document_id, POLICY, LEASE_S)
        assert job is not None
        text = Path(job.absolute).read_text(encoding="utf-8")
        if TRANSIENT in text or PERMANENT in text:
            assert fail(run, job, Failure("embed", "error", text, transient=TRANSIENT in text))
            continue
        group.append(finished_in(job, text, live, beside))
        if len(group) == 3:
            publish(run, group, POLICY, ahead)
            group = []
    if group:
        publish(run, group, POLICY, ahead)


def finished_in(job: Job, text: str, space: Space, beside: Sequence[Standby] = ()) -> Finished:
    prepared = prepare(text)
    vectors = vectors_of([one.text for one in prepared.chunks], space)
    title = prepared.extraction.title or Path(job.path).stem
    one = Finished(job, title, prepared, vectors)
    return replace(one, copies=tuple(copy_for(each, one) for each in beside))


def begun(opened: Index, target: Space, setting: str = "") -> Migration:
    with patient(opened.path):
        return begin(opened, target, setting, None)


def builder_of(opened: Index, migration: Migration, to: Kept) -> Builder:
    return Builder(opened, migration, standby_of(to, spaces_of(opened)[0].space))


def build(opened: Index, migration: Migration) -> None:
    """Brings the target level, as far as it goes."""
    builder_of(opened, migration, migration.target).catch_up()


def move(opened: Index, migration: Migration, to: Kept) -> bool:
    """The last catch-up and the switch; False when documents block it."""
    builder = builder_of(opened, migration, to)
    forward = to.space_id == migration.target.space_id
    return finish(opened, migration, builder, to, "switched" if forward else "rolled back", print)


def migrate_to(index: Path, target: Space) -> bool:
    """A whole migration; False when documents block it."""
    with Index.open(index) as opened:
        migration = begun(opened, target)
        build(opened, migration)
        return move(opened, migration, migration.target)


def held(opened: Index, space_id: int, version: int | None = None) -> dict[str, tuple[str, int]]:
    """What a space has at a version: (path, revision) by document."""
    revisions = schema.revisions
    with transactions.reading(opened.engine) as connection:
        at = schema.current_version(connection) if version is None else version
        query = sa.select(revisions.c.document_id, revisions.c.path, revisions.c.revision).where(
            schema.live_at(revisions, at), revisions.c.space_id == space_id
        )
        return {row.document_id: (row.path, row.revision) for row in connection.execute(query)}


def switches(opened: Index) -> list[tuple[int, int, int]]:
    """(version, space before, space after) of each switch, oldest first."""
    with transactions.reading(opened.engine) as connection:
        rows = connection.execute(
            sa.select(schema.live_spaces).order_by(schema.live_spaces.c.since_version)
        ).all()
    return [(after.since_version, before.space_id, after.space_id) for before, after in pairwise(rows)]


TEXTS = {f"{n}.txt": f"# T{n}\n\nword{n} one\n\nword{n} two and some more words of it" for n in range(7)}


def assert_level(opened: Index) -> None:
    """Both spaces have the same documents, and nothing that is stored of either is broken."""
    live, *others = spaces_of(opened)
    for one in others:
        assert held(opened, one.space_id) == held(opened, live.space_id)
    assert [check for check in verify(opened) if not check.ok] == []


def contents(opened: Index, space_id: int) -> list[tuple[str, int, str]]:
    rows = snapshot_of(opened, space_id).chunks(["document_id", "ordinal", "content"]).to_pylist()
    return [(row["document_id"], row["ordinal"], row["content"]) for row in rows]
