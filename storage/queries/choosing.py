"""Choosing: documents by their ids, and failures by a short name of their reason."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from pincite.schemas.errors import NotFound
from pincite.storage.ledger import schema, transactions
from pincite.storage.runs.collections import collection_names
from pincite.storage.snapshots.index import Index

_AT_ONCE = 30_000  # values of one statement: SQLite takes 32,766


@dataclass(frozen=True, slots=True)
class RetryCandidate:
    """A document as far as it matters for a retry."""

    document_id: str
    path: str
    state: str
    collection: str


def chosen_documents(index: Index, document_ids: Sequence[str]) -> tuple[RetryCandidate, ...]:
    """The documents of these ids, each once, sorted by id. Raises `NotFound` naming one that is not there."""
    documents = schema.documents
    columns = documents.c.document_id, documents.c.path, documents.c.state, documents.c.source
    wanted = sorted(set(document_ids))
    rows: list[sa.Row[tuple[str, str, str, str]]] = []
    with transactions.reading(index.engine) as connection:
        for first in range(0, len(wanted), _AT_ONCE):
            query = sa.select(*columns).where(
                documents.c.document_id.in_(wanted[first : first + _AT_ONCE]), documents.c.state != "deleted"
            )
            rows += connection.execute(query.order_by(documents.c.document_id))
        names = collection_names(connection, {row.source for row in rows})
    if len(rows) < len(wanted):
        missing = min(set(wanted) - {row.document_id for row in rows})
        raise NotFound(f"the index has no document {missing!r}: `pincite documents` lists them")
    return tuple(RetryCandidate(row.document_id, row.path, row.state, names[row.source]) for row in rows)


def reason_digest(reason: str) -> str:
    """A short name of a reason, which may be long and hold what no address and no form can carry."""
    return hashlib.sha256(reason.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def reason_of(index: Index, digest: str) -> str | None:
    """The reason that has this name, of those for which documents are failed now; None when none has."""
    documents = schema.documents
    query = sa.select(documents.c.reason).where(
        documents.c.state == "failed", documents.c.reason.is_not(None)
    )
    with transactions.reading(index.engine) as connection:
        reasons = connection.scalars(query.distinct()).all()
    return next((reason for reason in reasons if reason and reason_digest(reason) == digest), None)
