"""Report: what the ledger says of an index, its documents and its runs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from schemas.errors import UsageError
from schemas.records import Space
from storage import ledger, transactions
from storage.index import Index
from storage.past import PastDocument, past_documents
from storage.processes import has_died
from storage.runs import DIED
from storage.snapshot import LiveDocument, Snapshot
from storage.staleness import Current, stale_reason
from storage.versions import Moment

STATES = ("indexed", "failed", "stale", "pending", "running")


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """One document: its state, and what is live of it (`live` is None when it can't be found)."""

    document_id: str
    path: str
    source: str
    state: str
    stage: str | None
    kind: str | None
    reason: str | None
    page: int | None
    attempts: int | None  # None where a former moment is reported, of which they are not kept
    stale_reason: str
    live: LiveDocument | None


@dataclass(frozen=True, slots=True)
class IndexReport:
    version: int
    space: Space
    states: Mapping[str, int]
    stale: Mapping[str, int]  # stale documents by reason
    chunks: int
    over_window: int
    sources: tuple[str, ...]
    last_run: Mapping[str, object] | None


def document_reports(
    index: Index, current: Current, state: str | None = None, moment: Moment | None = None
) -> tuple[DocumentReport, ...]:
    """Documents sorted by path; with `state`, only those of it ("stale" is one of the states asked for).

    With a former `moment`, as the ledger knows them at it (`storage.past` says what it does not keep).
    """
    if state is not None and state not in STATES:
        raise UsageError(f"no document is ever {state!r}: ask for one of {', '.join(STATES)}")
    with transactions.reading(index.engine) as connection:
        snapshot = index.snapshot_within(connection, moment.version if moment else None)
        reports = _reports(connection, snapshot, current, moment)
    if state == "stale":
        return tuple(report for report in reports if report.stale_reason)
    return tuple(report for report in reports if state in (None, report.state))


def _reports(
    connection: sa.Connection, snapshot: Snapshot, current: Current, moment: Moment | None
) -> tuple[DocumentReport, ...]:
    if moment is not None and not moment.newest:
        return tuple(map(_past_report, past_documents(connection, moment, snapshot.documents())))
    live = {document.document_id: document for document in snapshot.documents()}
    documents = ledger.documents
    query = sa.select(documents).where(documents.c.state != "deleted")
    return tuple(
        report_of(row, live.get(row.document_id), snapshot.space, current)
        for row in connection.execute(query.order_by(documents.c.path, documents.c.source))
    )


def _past_report(past: PastDocument) -> DocumentReport:
    return DocumentReport(
        document_id=past.document_id,
        path=past.path,
        source=past.source,
        state=past.state,
        stage=past.failure.stage if past.failure else None,
        kind=past.failure.kind if past.failure else None,
        reason=past.failure.reason if past.failure else None,
        page=past.failure.page if past.failure else None,
        attempts=None,
        stale_reason=past.stale_reason,
        live=past.live,
    )


def report_of(row: sa.Row[Any], live: LiveDocument | None, space: Space, current: Current) -> DocumentReport:
    """The report of a row of `documents`, with what is live of it."""
    return DocumentReport(
        document_id=row.document_id,
        path=row.path,
        source=row.source,
        state=row.state,
        stage=row.stage,
        kind=row.kind,
        reason=row.reason,
        page=row.page,
        attempts=row.attempts,
        stale_reason=stale_reason(live, space, current),
        live=live,
    )


MAINTENANCE = ("compact", "vacuum", "forget")
"""Kinds of runs that read no document: the last run of a report is none of them."""


def index_report(index: Index, current: Current, moment: Moment | None = None) -> IndexReport:
    """Counts as the ledger and the live revisions have them, all of the same moment: now, or a former one."""
    runs = ledger.runs
    with transactions.reading(index.engine) as connection:
        snapshot = index.snapshot_within(connection, moment.version if moment else None)
        reports = _reports(connection, snapshot, current, moment)
        newest = sa.select(runs).where(runs.c.kind.not_in(MAINTENANCE))
        if moment is not None and not moment.newest:
            newest = newest.where(runs.c.started_at < moment.until)
        newest = newest.order_by(runs.c.started_at.desc(), runs.c.run_id.desc()).limit(1)
        last = connection.execute(newest).mappings().first()
    return IndexReport(
        version=snapshot.version,
        space=snapshot.space,
        states=Counter(report.state for report in reports),
        stale=Counter(report.stale_reason for report in reports if report.stale_reason),
        chunks=sum(document.chunks for document in snapshot.documents()),
        over_window=sum(document.over_window for document in snapshot.documents()),
        sources=tuple(sorted({report.source for report in reports})),
        last_run=_as_it_is(dict(last)) if last else None,
    )


def _as_it_is(run: dict[str, Any]) -> dict[str, Any]:
    """A run as it is: one that was killed could not write that it ended."""
    killed = run["state"] == "running" and has_died(run["host"], run["pid"])
    return run | {"state": "broken", "message": DIED} if killed else run


def progress(index: Index, source: str) -> Mapping[str, int]:
    """Documents of a source by their state, for a progress bar: one cheap query."""
    documents = ledger.documents
    query = (
        sa.select(documents.c.state, sa.func.count())
        .where(documents.c.source == source, documents.c.state != "deleted")
        .group_by(documents.c.state)
    )
    with transactions.reading(index.engine) as connection:
        return {state: count for state, count in connection.execute(query)}
