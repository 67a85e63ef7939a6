"""Live: what of some revisions or contents can still be found, for who keeps something of them in memory."""

from collections.abc import Collection

import sqlalchemy as sa

from storage import ledger, transactions
from storage.index import Index


def live_revisions(index: Index, document_ids: Collection[str]) -> frozenset[tuple[str, int]]:
    """(document id, revision) of what is live now of these documents, in any space."""
    revisions = ledger.revisions
    query = sa.select(revisions.c.document_id, revisions.c.revision).where(
        revisions.c.document_id.in_(sorted(document_ids)), revisions.c.ended_version.is_(None)
    )
    with transactions.reading(index.engine) as connection:
        return frozenset((row.document_id, row.revision) for row in connection.execute(query))


def live_contents(index: Index, document_ids: Collection[str]) -> frozenset[tuple[str, str]]:
    """(document id, SHA-256 of its file) of what is live now of these documents, in any space."""
    revisions = ledger.revisions
    query = sa.select(revisions.c.document_id, revisions.c.source_sha256).where(
        revisions.c.document_id.in_(sorted(document_ids)), revisions.c.ended_version.is_(None)
    )
    with transactions.reading(index.engine) as connection:
        return frozenset((row.document_id, row.source_sha256) for row in connection.execute(query))
