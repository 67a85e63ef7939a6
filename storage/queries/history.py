"""History: what became of one document, attempt by attempt and revision by revision."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.storage.ledger import schema, transactions
from pincite.storage.queries.index_report import Attempt
from pincite.storage.snapshots.index import Index

MOST = 100  # attempts or revisions, the newest


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One revision as it was live; `ended_version` is None of the one that is live now."""

    revision: int
    path: str
    began_version: int
    ended_version: int | None
    committed_at: float | None  # seconds since the epoch
    model: str
    chunker: str
    extractor: str
    extractor_version: str
    chunks: int
    characters: int
    source_sha256: str


@dataclass(frozen=True, slots=True)
class FileState:
    """The document's file as the last run saw it."""

    size_bytes: int
    mtime_ns: int
    sha256: str
    updated_at: float  # of the ledger's row, seconds since the epoch


def attempts_of(index: Index, document_id: str) -> tuple[Attempt, ...]:
    """The last attempts on a document, newest first."""
    attempts = schema.attempts
    query = (
        sa.select(*(attempts.c[name] for name in Attempt.__slots__))
        .where(attempts.c.document_id == document_id)
        .order_by(attempts.c.attempt_id.desc())
        .limit(MOST)
    )
    with transactions.reading(index.engine) as connection:
        return tuple(Attempt(*row) for row in connection.execute(query))


def revisions_of(index: Index, document_id: str) -> tuple[RevisionRow, ...]:
    """The last revisions of a document in every space, newest first."""
    revisions, spaces, versions = schema.revisions, schema.spaces, schema.versions
    other: dict[str, sa.Column[Any]] = {
        "committed_at": versions.c.committed_at,
        "model": spaces.c.model,
        "chunker": spaces.c.chunker,
    }
    query = (
        sa.select(*(other[name] if name in other else revisions.c[name] for name in RevisionRow.__slots__))
        .join(spaces, spaces.c.space_id == revisions.c.space_id)
        .outerjoin(versions, versions.c.version == revisions.c.began_version)
        .where(revisions.c.document_id == document_id)
        .order_by(revisions.c.began_version.desc(), revisions.c.revision.desc(), revisions.c.space_id)
        .limit(MOST)
    )
    with transactions.reading(index.engine) as connection:
        return tuple(RevisionRow(*row) for row in connection.execute(query))


def file_of(index: Index, document_id: str) -> FileState | None:
    documents = schema.documents
    columns = [documents.c[name] for name in FileState.__slots__]
    with transactions.reading(index.engine) as connection:
        row = connection.execute(sa.select(*columns).where(documents.c.document_id == document_id)).first()
    return None if row is None else FileState(*row)
