"""What the ledger still knows of documents at a former moment.

Kept by version: what could be found, with its name, counts and stamps. Kept by time: the outcome of each attempt,
so which documents were failed, with stage and reason. Not kept: documents that were waiting or being worked on, the
number of attempts, failures to read a file at discovery, and the former name of a document that was never indexed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from storage import ledger
from storage.snapshot import LiveDocument
from storage.versions import Moment

NOT_KEPT = (
    "of former moments the ledger does not keep: documents that were waiting or being worked on, the number of "
    "attempts, files that could not be read at discovery, and the runs' own messages"
)


@dataclass(frozen=True, slots=True)
class PastDocument:
    """One document as it stood; `live` is None when it could not be found."""

    document_id: str
    source: str
    path: str
    state: str  # indexed or failed
    stage: str | None
    kind: str | None
    reason: str | None
    page: int | None
    stale_reason: str
    live: LiveDocument | None


def past_documents(
    connection: sa.Connection, moment: Moment, live: Mapping[str, LiveDocument]
) -> tuple[PastDocument, ...]:
    """The documents that were indexed or failed at a moment, sorted by path."""
    failed = _failures(connection, moment)
    documents = ledger.documents
    rows = connection.execute(
        sa.select(
            documents.c.document_id,
            documents.c.source,
            documents.c.path,
            documents.c.state,
            documents.c.updated_at,
        )
    )
    past = []
    for row in rows:
        found, failure = live.get(row.document_id), failed.get(row.document_id)
        gone = row.state == "deleted" and row.updated_at < moment.until
        if found is None and (failure is None or gone):
            continue
        past.append(_past(row, found, failure))
    return tuple(sorted(past, key=lambda one: (one.path, one.source)))


def _past(
    row: sa.Row[tuple[str, str, str, str, float]],
    found: LiveDocument | None,
    failure: sa.Row[tuple[str, str, str | None, str | None, str | None, int | None]] | None,
) -> PastDocument:
    stale = "" if found is None or failure is None else f"the newer version failed: {failure.reason}"
    return PastDocument(
        document_id=row.document_id,
        source=row.source,
        path=found.path if found else row.path,
        state="failed" if failure else "indexed",
        stage=failure.stage if failure else None,
        kind=failure.kind if failure else None,
        reason=failure.reason if failure else None,
        page=failure.page if failure else None,
        stale_reason=stale,
        live=found,
    )


def _failures(
    connection: sa.Connection, moment: Moment
) -> dict[str, sa.Row[tuple[str, str, str | None, str | None, str | None, int | None]]]:
    """The last attempt of each document before the end of a moment, where it failed."""
    attempts = ledger.attempts
    last = (
        sa.select(sa.func.max(attempts.c.attempt_id))
        .where(attempts.c.ended_at < moment.until)
        .group_by(attempts.c.document_id)
    )
    query = sa.select(
        attempts.c.document_id,
        attempts.c.outcome,
        attempts.c.stage,
        attempts.c.kind,
        attempts.c.reason,
        attempts.c.page,
    ).where(attempts.c.attempt_id.in_(last), attempts.c.outcome == "failed")
    return {row.document_id: row for row in connection.execute(query)}
