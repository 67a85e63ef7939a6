"""Live: what of some revisions or contents can still be found, for who keeps something of them in memory."""

from collections.abc import Collection

import sqlalchemy as sa

from pincite.storage.ledger import schema, transactions
from pincite.storage.snapshots.index import Index


def live_revisions(index: Index, document_ids: Collection[str]) -> frozenset[tuple[str, int, str]]:
    """(document id, revision, SHA-256 of its file) of what is live now of these documents, in any space."""
    revisions = schema.revisions
    columns = revisions.c.document_id, revisions.c.revision, revisions.c.source_sha256
    query = sa.select(*columns).where(
        revisions.c.document_id.in_(sorted(document_ids)), revisions.c.ended_version.is_(None)
    )
    with transactions.reading(index.engine) as connection:
        return frozenset((one, revision, sha256) for one, revision, sha256 in connection.execute(query))
