"""Migrate: brings the space beside the live one level with it, from what is stored.

differences → batches in the order in which they lie → derive → publish_copies       until nothing is missing

Vectors are made while nobody waits; the lock of the index is held only to publish them.
"""

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property

import numpy as np
import pyarrow as pa

from pincite.schemas.errors import Failure, VersionGone
from pincite.schemas.records import Chunk, Extraction, Job, Prepared
from pincite.storage.documents.extractions import extraction_of
from pincite.storage.documents.rows import StoredRows
from pincite.storage.migration.cut_over import Difference, missing, publish_copies, switch, tidy
from pincite.storage.migration.state import Migration, State, in_the_way
from pincite.storage.runs.invariants import vector_problems
from pincite.storage.segments.arrow_rows import Blocked, Copy, Finished, posting_rows, restamped
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot
from pincite.storage.snapshots.spaces import Kept
from pincite.tasks.migration.derive import Derived, Known
from pincite.tasks.migration.shadow import Standby, made_copy

BATCH_S = 20.0
"""How long a batch should take: what a kill loses, and how often a throttled migration rests."""
FIRST_CHUNKS = 32
"""So that the time that is left can soon be told, also of a slow model; each further batch may be twice the last."""
MOST_CHUNKS = 2_048

_LOST = "what is stored of it can't be found: run `pincite verify`"

SHORT_CHUNKS = 500
"""So much may be left for the last catch-up, during which no run can begin."""
ROUNDS = 3
"""Catch-ups before the last one is made whatever is left: so it ends, however much others write."""

Say = Callable[[str], None]
Tell = Callable[[], None]
"""Called after each batch, for who shows the progress."""


class Builder:
    """Brings one space level. What can't be brought over is tried once, and again by the next builder."""

    def __init__(
        self,
        index: Index,
        migration: Migration,
        standby: Standby,
        throttle: float = 1.0,
        tell: Tell = lambda: None,
    ) -> None:
        """`throttle` is the share of the time in which it works, above 0 and at most 1."""
        self._index = index
        self._migration = migration
        self._standby = standby
        self._throttle = throttle
        self._tell = tell
        self._tried: set[tuple[str, int]] = set()
        self._most = FIRST_CHUNKS

    def missing(self) -> tuple[Difference, ...]:
        """What is to be brought over and was not tried; not what was waived as it is now."""
        left = missing(self._index, self._migration, self._standby.kept.space_id)
        return tuple(one for one in left if (one.document_id, one.revision) not in self._tried)

    def catch_up(self, held: bool = False) -> None:
        """Brings over what can be brought over. `held`: the caller has the lock of the index.

        With the lock nothing is missing when this returns. Without it, others may write faster than this works:
        it ends as soon as a round leaves more than half as much as the one before, for the last round under the
        lock.
        """
        most = math.inf
        while (todo := self.missing()) and (held or _size(todo) <= most):
            most = _size(todo) / 2
            try:
                self._bring_all(todo, held)
            except VersionGone:
                most = math.inf  # a forgetting took away what was read: what it left is read anew

    def _bring_all(self, todo: Sequence[Difference], held: bool) -> None:
        with self._index.held_snapshot() as snapshot:
            reader = _Reader(snapshot, self._standby, [one.document_id for one in todo])
            for batch in self._batches(reader.ordered(todo)):
                self._bring(reader, batch, held)

    def _batches(self, todo: Sequence[Difference]) -> Iterator[list[Difference]]:
        batch: list[Difference] = []
        for one in todo:
            if batch and _size(batch) + one.chunks > self._most:
                yield batch
                batch = []
            batch.append(one)
        yield batch

    def _bring(self, reader: "_Reader", batch: Sequence[Difference], held: bool) -> None:
        began = time.monotonic()
        copies = reader.copies(batch)
        took_s = time.monotonic() - began
        with nullcontext() if held else self._index.lock.patient():
            publish_copies(self._index, self._migration, copies)
        self._tried |= {(one.document_id, one.revision) for one in batch}
        self._tell()
        faster = _size(batch) * BATCH_S / max(took_s, 1e-3)
        self._most = int(min(max(faster, 64), 2 * self._most, MOST_CHUNKS))
        if not held:
            time.sleep(took_s * (1 / self._throttle - 1))


def finish(index: Index, migration: Migration, builder: Builder, to: Kept, state: State, say: Say) -> bool:
    """The last catch-up under the lock of the index, and the switch; False when a document blocks it now.

    While the lock is held nothing is written, and who wants to write waits in turn: so it always comes to an end.
    """
    for left in reversed(range(ROUNDS)):
        if busy := index.lock.holder():
            say(f"ready to switch, waiting for {busy}")
        with index.lock.patient():
            if _size(builder.missing()) <= SHORT_CHUNKS or not left:
                builder.catch_up(held=True)
                tidy(index, migration, to.space_id)
                if in_the_way(index, migration):
                    return False
                switch(index, migration, to, state)
                return True
        builder.catch_up()
    return False


def _size(documents: Sequence[Difference]) -> int:
    return sum(one.chunks for one in documents)


class _Reader:
    """Reads documents of a snapshot and makes copies of them."""

    def __init__(self, snapshot: Snapshot, standby: Standby, document_ids: Collection[str]) -> None:
        self._standby = standby
        without = () if standby.keeps_vectors else ("embedding",)
        self._chunks = StoredRows(snapshot, "chunks", document_ids, without)
        self._snapshot = snapshot
        self._document_ids = document_ids

    @cached_property
    def _texts(self) -> StoredRows:
        """Not looked at where stored chunks are enough."""
        return StoredRows(self._snapshot, "texts", self._document_ids)

    def ordered(self, todo: Sequence[Difference]) -> list[Difference]:
        rows = self._chunks if self._standby.keeps_chunks else self._texts
        place = {one: number for number, one in enumerate(rows.ordered(one.document_id for one in todo))}
        return sorted(todo, key=lambda one: place[one.document_id])

    def copies(self, batch: Sequence[Difference]) -> list[Copy | Blocked]:
        """One for each document, as a copy or with the reason why there is none."""
        standby = self._standby
        stored = {one.document_id: self._chunks.of(one.document_id) for one in batch}
        there = [one for one in batch if stored[one.document_id].num_rows]
        lost = [self._blocked(one, _LOST) for one in batch if not stored[one.document_id].num_rows]
        kept = [one for one in there if standby.keeps_chunks]
        derived = self._derived(
            [Known(one.document_id, "", _chunks(stored[one.document_id])) for one in kept]
        )
        again = [one for one in there if not _settled(derived.get(one.document_id))]
        made = [
            self._restamped(one, derived[one.document_id], stored[one.document_id])
            for one in kept
            if one not in again
        ]
        return [*made, *self._chunked_anew(again), *lost]

    def _derived(self, known: Sequence[Known]) -> dict[str, Derived | Failure]:
        outcomes = self._standby.derive(known, not self._standby.keeps_vectors) if known else ()
        return {one.document_id: outcome for one, outcome in zip(known, outcomes, strict=True)}

    def _restamped(self, one: Difference, derived: Derived | Failure, stored: pa.Table) -> Copy | Blocked:
        space_id, space = self._standby.kept.space_id, self._standby.kept.space
        if isinstance(derived, Failure):
            return self._blocked(one, derived.reason)
        vectors = _vectors(stored, space.dimension) if derived.vectors is None else derived.vectors
        if problems := vector_problems(vectors, len(derived.chunks), space.dimension):
            return self._blocked(one, problems[0])
        return Copy(
            space_id,
            one.document_id,
            one.revision,
            restamped(stored, derived.chunks, derived.terms, vectors, space),
            posting_rows(one.document_id, one.revision, derived.terms),
            derived.unfit,
        )

    def _chunked_anew(self, batch: Sequence[Difference]) -> Iterator[Copy | Blocked]:
        texts = {one.document_id: self._texts.of(one.document_id).to_pylist() for one in batch}
        whole = {key: (rows[0]["title"], extraction_of(rows[0])) for key, rows in texts.items() if rows}
        derived = self._derived([Known(key, title, (), text) for key, (title, text) in whole.items()])
        for one in batch:
            if one.document_id not in whole:
                yield self._blocked(one, _LOST)
            else:
                title, extraction = whole[one.document_id]
                yield self._copy(one, derived[one.document_id], title, extraction)

    def _copy(
        self, one: Difference, derived: Derived | Failure, title: str, extraction: Extraction
    ) -> Copy | Blocked:
        space = self._standby.kept.space
        if isinstance(derived, Failure):
            return self._blocked(one, derived.reason)
        if not derived.chunks:
            return self._blocked(one, f"the chunker {space.chunker} leaves nothing of it")
        job = Job(one.document_id, one.path, "", "", 0, one.revision, 0)
        vectors = np.empty((0, space.dimension), dtype=np.float32)
        finished = Finished(job, title, Prepared(extraction, (), ()), vectors)
        return made_copy(self._standby, finished, derived, extraction, vectors)

    def _blocked(self, one: Difference, reason: str) -> Blocked:
        return Blocked(self._standby.kept.space_id, one.document_id, one.revision, reason)


def _settled(derived: Derived | Failure | None) -> bool:
    """Whether stored chunks were enough: they may be too long for the window of the other model."""
    return isinstance(derived, Failure) or (derived is not None and bool(derived.chunks))


def _chunks(stored: pa.Table) -> tuple[Chunk, ...]:
    return tuple(Chunk(**row) for row in stored.select(Chunk.__slots__).to_pylist())


def _vectors(stored: pa.Table, dimension: int) -> np.ndarray:
    flat = stored["embedding"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors: np.ndarray = flat.reshape(-1, dimension)
    return vectors
