"""What the ledger still knows of documents at a former moment.

Kept by version: what could be found, with its name, counts and stamps. Kept by time: the outcome of each attempt,
so which documents were failed, with stage and reason. Not kept: documents that were waiting or being worked on, the
number of attempts, failures to read a file at discovery, and the former name of a document that was never indexed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.schemas.errors import Failure
from pincite.storage.ledger import schema
from pincite.storage.ledger.versions import Moment
from pincite.storage.snapshots.snapshot import LiveDocument

NOT_KEPT = (
    "of former moments the ledger does not keep: documents that were waiting or being worked on, the number of "
    "attempts, files that could not be read at discovery, and the runs' own messages"
)


@dataclass(frozen=True, slots=True)
class PastDocument:
    """One document as it stood: indexed, failed, or both, when a newer version failed and the older one served."""

    document_id: str
    source: str
    path: str
    failure: Failure | None
    live: LiveDocument | None  # None when it could not be found

    @property
    def state(self) -> str:
        return "failed" if self.failure else "indexed"

    @property
    def stale_reason(self) -> str:
        served = self.failure is not None and self.live is not None
        return f"the newer version failed: {self.failure.reason}" if served and self.failure else ""


def past_documents(
    connection: sa.Connection, moment: Moment, live: Sequence[LiveDocument]
) -> tuple[PastDocument, ...]:
    """The documents that were indexed or failed at a moment, sorted by path."""
    documents = schema.documents
    failures = _failures(connection, moment)
    found = {document.document_id: document for document in live}
    past = [
        PastDocument(
            document_id=row.document_id,
            source=row.source,
            path=found[row.document_id].path if row.document_id in found else row.path,
            failure=failures.get(row.document_id),
            live=found.get(row.document_id),
        )
        for row in connection.execute(sa.select(documents))
        if row.document_id in found or (row.document_id in failures and not _was_gone(row, moment))
    ]
    return tuple(sorted(past, key=lambda one: (one.path, one.source)))


def _was_gone(row: sa.Row[Any], moment: Moment) -> bool:
    return row.state == "deleted" and bool(row.updated_at < moment.until)


def _failures(connection: sa.Connection, moment: Moment) -> dict[str, Failure]:
    """Of each document the last attempt before the end of a moment, where it failed."""
    attempts = schema.attempts
    last = (
        sa.select(sa.func.max(attempts.c.attempt_id))
        .where(attempts.c.ended_at < moment.until)
        .group_by(attempts.c.document_id)
    )
    query = sa.select(attempts).where(attempts.c.attempt_id.in_(last), attempts.c.outcome == "failed")
    return {
        row.document_id: Failure(row.stage, row.kind, row.reason, row.page)
        for row in connection.execute(query)
    }
