"""Level: where a space beside the live one differs from it, what brings it level, and the switch.

differences → publish_copies → tidy → switch      a row of `live_spaces`, in one transaction; back the same way

What changes something is called under the lock of the index (`pincite.storage.locks.run_lock.patient`).
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow.compute as pc
import sqlalchemy as sa

from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBroken, UsageError
from pincite.schemas.retrying import WAIVED
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import new_version
from pincite.storage.migration.state import Migration, State, blockers, record, waived_documents
from pincite.storage.runs.replicas import adopt, end_copies, written_copies
from pincite.storage.segments.arrow_rows import Blocked, Copy
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot
from pincite.storage.snapshots.spaces import Kept, kept_spaces

_BATCHES_LOOKED_AT = 10  # for the speed


@dataclass(frozen=True, slots=True)
class Difference:
    """One document that two spaces have not alike."""

    document_id: str
    path: str
    why: Literal["missing", "outdated", "extra", "renamed"]  # in the other space
    revision: int  # of the live space; of the other one when it is extra
    chunks: int


def differences(index: Index, other_id: int) -> tuple[Difference, ...]:
    """In which documents a space differs from the live one, sorted by path; () when both have the same."""
    with transactions.reading(index.engine) as connection:
        live_id, _ = schema.live_space(connection, schema.current_version(connection))
        return _differences(connection, live_id, other_id)


def missing(index: Index, migration: Migration, other_id: int) -> tuple[Difference, ...]:
    """What is to be brought to a space, sorted by path; not what was waived as it is now."""
    waived = {(one.document_id, one.revision) for one in blockers(index, migration) if one.waived}
    return tuple(
        one
        for one in differences(index, other_id)
        if one.why in ("missing", "outdated") and (one.document_id, one.revision) not in waived
    )


def _differences(connection: sa.Connection, live_id: int, other_id: int) -> tuple[Difference, ...]:
    live, other = _held(connection, live_id), _held(connection, other_id)
    found = []
    for document_id in live.keys() | other.keys():
        ours, theirs = live.get(document_id), other.get(document_id)
        if ours is None:
            assert theirs is not None
            found.append(Difference(document_id, theirs.path, "extra", theirs.revision, theirs.chunks))
        elif theirs is None or theirs.revision != ours.revision:
            why: Literal["missing", "outdated"] = "outdated" if theirs else "missing"
            found.append(Difference(document_id, ours.path, why, ours.revision, ours.chunks))
        elif theirs.path != ours.path:
            found.append(Difference(document_id, ours.path, "renamed", ours.revision, ours.chunks))
    return tuple(sorted(found, key=lambda one: (one.path, one.document_id)))


def _held(connection: sa.Connection, space_id: int) -> dict[str, Any]:
    revisions = schema.revisions
    query = sa.select(
        revisions.c.document_id, revisions.c.revision, revisions.c.path, revisions.c.chunks
    ).where(revisions.c.space_id == space_id, revisions.c.ended_version.is_(None))
    return {row.document_id: row for row in connection.execute(query)}


def publish_copies(index: Index, migration: Migration, copies: Sequence[Copy | Blocked]) -> frozenset[str]:
    """Adds copies to the space beside the live one, in one transaction; returns the ids of their documents.

    What was replaced, deleted or copied since it was read is left out, and nothing of it is written: rows of
    the same revision in two segments would be found twice.
    """
    due = {(one.document_id, one.revision) for one in _lag(index, copies)}
    written = written_copies(index, [one for one in copies if (one.document_id, one.revision) in due])
    if not written:
        return frozenset()
    with transactions.writing(index.engine) as connection:
        for one in written:
            _require_kept(connection, one.space_id)
        live_id, _ = schema.live_space(connection, schema.current_version(connection))
        version = new_version(connection, migration.run_id)
        return adopt(connection, written, live_id, version)


def _require_kept(connection: sa.Connection, space_id: int) -> None:
    """A run that came in between may have removed an old space whose days were over."""
    if all(kept.space_id != space_id for kept in kept_spaces(connection)):
        raise UsageError(
            f"the model version {schema.space_of(connection, space_id)} was removed meanwhile: `pincite migrate` to "
            "its model builds it again"
        )


def _lag(index: Index, copies: Sequence[Copy | Blocked]) -> list[Difference]:
    return [
        one
        for space_id in sorted({copy.space_id for copy in copies})
        for one in differences(index, space_id)
        if one.why in ("missing", "outdated")
    ]


def tidy(index: Index, migration: Migration, other_id: int) -> None:
    """Ends what a space has and the live one has not, and gives renamed documents their name."""
    with transactions.writing(index.engine) as connection:
        live_id, _ = schema.live_space(connection, schema.current_version(connection))
        waived = waived_documents(connection, migration)
        stray = [
            one
            for one in _differences(connection, live_id, other_id)
            if one.why == "renamed" or (one.why == "extra" and one.document_id not in waived)
        ]
        if stray:
            version = new_version(connection, migration.run_id)
            for one in stray:
                _set_right(connection, one, other_id, version)


def _set_right(connection: sa.Connection, one: Difference, space_id: int, version: int) -> None:
    revisions = schema.revisions
    query = sa.select(revisions).where(
        revisions.c.document_id == one.document_id,
        revisions.c.space_id == space_id,
        revisions.c.ended_version.is_(None),
    )
    row = dict(connection.execute(query).mappings().one())
    end_copies(connection, space_id, [one.document_id], version)
    if one.why == "renamed":
        connection.execute(revisions.insert().values(row | {"path": one.path, "began_version": version}))


def switch(index: Index, migration: Migration, to: Kept, state: State) -> int:
    """Makes `to` the space that is searched, in one transaction, and returns the version from which it is.

    Raises `UsageError` naming the documents in which it differs from the live space, other than waived ones.
    Waived documents become failed, with the reason why the new space has not got them.
    """
    _require_rows(index, to)
    with transactions.writing(index.engine) as connection:
        live_id, live = schema.live_space(connection, schema.current_version(connection))
        waived = waived_documents(connection, migration)
        _require_kept(connection, to.space_id)
        differ = _differences(connection, live_id, to.space_id)
        if left := [one for one in differ if one.document_id not in waived]:
            raise UsageError(
                f"{counted(len(left), 'document is', 'documents are')} not alike in {live} and {to.space}, the "
                f"first is {left[0].path} ({left[0].why}): run `pincite migrate` again, or "
                "leave them out with --accept DOCUMENT"
            )
        version = new_version(connection, migration.run_id)
        connection.execute(schema.live_spaces.insert().values(since_version=version, space_id=to.space_id))
        for one in differ:
            if one.why in ("missing", "outdated"):
                _fail_waived(connection, one.document_id, waived[one.document_id])
        record(connection, migration, state=state, ended_at=time.time())
        return version


def _fail_waived(connection: sa.Connection, document_id: str, reason: str) -> None:
    documents = schema.documents
    values = {
        "state": "failed",
        "stage": "embed",
        "kind": WAIVED,
        "reason": f"left out of the migration: {reason}",
        "page": None,
        "transient": False,
        "updated_at": time.time(),
    }
    connection.execute(
        documents.update()
        .where(documents.c.document_id == document_id, documents.c.state == "indexed")
        .values(values)
    )


def _require_rows(index: Index, kept: Kept) -> None:
    """Raises `IndexBroken` unless the stored chunks of a space are those that the ledger counts."""
    snapshot = snapshot_of(index, kept.space_id)
    found: Counter[str] = Counter()
    for segment in snapshot.of_kind("chunks"):
        ids = snapshot.rows(segment, ["document_id"])["document_id"]
        for item in pc.value_counts(ids.combine_chunks()).to_pylist():
            found[item["values"]] += item["counts"]
    for document in snapshot.documents():
        if found[document.document_id] != document.chunks:
            raise IndexBroken(
                f"{document.path} has {counted(found[document.document_id], 'chunk')} in {kept.space}, the ledger "
                f"says {document.chunks}: give the migration up with `pincite migrate --abort` and begin it again"
            )


def snapshot_of(index: Index, space_id: int) -> Snapshot:
    """The newest version of a space, also of one that is not live."""
    with transactions.reading(index.engine) as connection:
        return Snapshot.read(connection, index.places, schema.current_version(connection), space_id)


@dataclass(frozen=True, slots=True)
class SpaceProgress:
    """How much of the live space another one has. Chunks are those of the live space."""

    documents: int
    documents_done: int
    chunks: int
    chunks_done: int
    chunks_per_s: float | None  # lately; None before the first batch
    stage_s: float | None = None  # since the stage began; None of one that is not building

    @property
    def share(self) -> float:
        return self.chunks_done / self.chunks if self.chunks else 1.0

    @property
    def remaining_s(self) -> float | None:
        if self.chunks_done == self.chunks:
            return 0.0
        return (self.chunks - self.chunks_done) / self.chunks_per_s if self.chunks_per_s else None


def progress_of(index: Index, migration: Migration) -> SpaceProgress:
    """How far the newer space of a migration, or after a switch the older one, is level with the live one."""
    with transactions.reading(index.engine) as connection:
        live_id, _ = schema.live_space(connection, schema.current_version(connection))
        other = migration.target if migration.target.space_id != live_id else migration.source
        ours, theirs = _held(connection, live_id), _held(connection, other.space_id)
        began = migration.stage_at if migration.state == "building" else None
        speed = _chunks_per_s(
            connection, migration, other.space_id, began if migration.stage == "building" else None
        )
    done = [row for key, row in ours.items() if key in theirs and theirs[key].revision == row.revision]
    return SpaceProgress(
        documents=len(ours),
        documents_done=len(done),
        chunks=sum(row.chunks for row in ours.values()),
        chunks_done=sum(row.chunks for row in done),
        chunks_per_s=speed,
        stage_s=None if began is None else max(0.0, time.time() - began),
    )


def _chunks_per_s(
    connection: sa.Connection, migration: Migration, space_id: int, began: float | None
) -> float | None:
    """By the last batches; `began`: when the building began of which they are, so that one is enough."""
    versions, revisions = schema.versions, schema.revisions
    query = (
        sa.select(versions.c.committed_at, sa.func.sum(revisions.c.chunks))
        .join(revisions, revisions.c.began_version == versions.c.version)
        .where(
            versions.c.run_id == migration.run_id,
            revisions.c.space_id == space_id,
            versions.c.committed_at >= (began or 0.0),
        )
        .group_by(versions.c.version)
        .order_by(versions.c.version.desc())
        .limit(_BATCHES_LOOKED_AT)
    )
    lately = [(at, int(chunks)) for at, chunks in connection.execute(query)]
    if began is not None and len(lately) < _BATCHES_LOOKED_AT:
        lately.append((began, 0))
    took_s = lately[0][0] - lately[-1][0] if len(lately) > 1 else 0.0
    return sum(chunks for _, chunks in lately[:-1]) / took_s if took_s > 0 else None
