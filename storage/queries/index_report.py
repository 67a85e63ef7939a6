"""Report: what the ledger says of an index, its documents and its runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.schemas.errors import UsageError
from pincite.schemas.records import Collection, Space
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import Moment
from pincite.storage.locks.process_identity import has_died
from pincite.storage.queries.staleness import Current, live_groups, stale_counts, stale_reason
from pincite.storage.queries.time_travel import PastDocument, past_documents
from pincite.storage.runs.collections import collection_names, read_within
from pincite.storage.runs.runs import DIED, Run
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument, Snapshot

STATES = ("indexed", "failed", "stale", "pending", "running")


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """One document: its state, and what is live of it (`live` is None when it can't be found)."""

    document_id: str
    path: str
    source: str
    collection: str
    state: str
    stage: str | None
    kind: str | None
    reason: str | None
    page: int | None
    attempts: int | None  # None where a former moment is reported, of which they are not kept
    transient: bool
    not_before: float | None  # of the next attempt by a scheduled run, seconds since the epoch
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
    collections: tuple[Collection, ...]
    last_run: Mapping[str, object] | None


def document_reports(
    index: Index, current: Current, state: str | None = None, moment: Moment | None = None
) -> tuple[DocumentReport, ...]:
    """Documents sorted by path; with `state`, only those of it ("stale" is one of the states asked for).

    With a former `moment`, as the ledger knows them at it (`storage.queries.time_travel` says what it does not keep).
    """
    if state is not None and state not in STATES:
        raise UsageError(f"no document is ever {state!r}: ask for one of {', '.join(STATES)}")
    with transactions.reading(index.engine) as connection:
        snapshot = index.snapshot_within(connection, moment.version if moment else None)
        reports = _reports(connection, snapshot, current, moment)
    if state == "stale":
        return tuple(report for report in reports if report.stale_reason)
    return tuple(report for report in reports if state in (None, report.state))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt on a document, as it ended."""

    attempt: int  # since the file or the settings changed
    run_id: str
    ended_at: float  # seconds since the epoch
    outcome: str  # indexed, failed, lost
    stage: str | None
    kind: str | None
    reason: str | None
    page: int | None


def attempt_history(index: Index) -> Mapping[str, tuple[Attempt, ...]]:
    """Every attempt that was made, oldest first, by document id."""
    attempts = schema.attempts
    columns = [attempts.c[name] for name in Attempt.__slots__]
    query = sa.select(attempts.c.document_id, *columns).order_by(attempts.c.attempt_id)
    history: dict[str, list[Attempt]] = {}
    with transactions.reading(index.engine) as connection:
        for document_id, *values in connection.execute(query):
            history.setdefault(document_id, []).append(Attempt(*values))
    return {document_id: tuple(made) for document_id, made in history.items()}


def tried_since(index: Index, when: float) -> frozenset[str]:
    """Ids of the documents of which an attempt ended since then (seconds since the epoch)."""
    attempts = schema.attempts
    query = sa.select(attempts.c.document_id).where(attempts.c.ended_at >= when)
    with transactions.reading(index.engine) as connection:
        return frozenset(connection.scalars(query))


def failures_since(index: Index, when: float) -> list[Mapping[str, object]]:
    """Documents of which an attempt failed since then (seconds since the epoch), sorted by path."""
    documents, attempts = schema.documents, schema.attempts
    tried = sa.select(attempts.c.document_id).where(attempts.c.ended_at >= when)
    failed = sa.and_(documents.c.state == "failed", documents.c.document_id.in_(tried))
    return _document_rows(index, failed, None)


def documents_of_run(run: Run, limit: int) -> list[Mapping[str, object]]:
    """The documents that a run indexed or that are failed at its end, failed ones first, then by path."""
    documents = schema.documents
    touched = sa.and_(documents.c.last_run == run.run_id, documents.c.last_outcome.in_(("indexed", "failed")))
    return _document_rows(run.index, touched, limit)


def _document_rows(
    index: Index, which: sa.ColumnElement[bool], limit: int | None
) -> list[Mapping[str, object]]:
    documents = schema.documents
    columns = ("source", "state", "stage", "kind", "reason", "page", "attempts")
    query = (
        sa.select(documents.c.path.label("document"), *(documents.c[name] for name in columns))
        .where(which)
        .order_by(documents.c.state, documents.c.path, documents.c.source)
        .limit(limit)
    )
    with transactions.reading(index.engine) as connection:
        return [dict(row) for row in connection.execute(query).mappings()]


def _reports(
    connection: sa.Connection, snapshot: Snapshot, current: Current, moment: Moment | None
) -> tuple[DocumentReport, ...]:
    if moment is not None and not moment.newest:
        past = past_documents(connection, moment, snapshot.documents())
        names = collection_names(connection, {one.source for one in past})
        return tuple(_past_report(one, names[one.source]) for one in past)
    live = {document.document_id: document for document in snapshot.documents()}
    documents = schema.documents
    query = sa.select(documents).where(documents.c.state != "deleted")
    rows = connection.execute(query.order_by(documents.c.path, documents.c.source)).all()
    names = collection_names(connection, {row.source for row in rows})
    return tuple(
        report_of(row, live.get(row.document_id), snapshot.space, current, names[row.source]) for row in rows
    )


def _past_report(past: PastDocument, collection: str) -> DocumentReport:
    return DocumentReport(
        document_id=past.document_id,
        path=past.path,
        source=past.source,
        collection=collection,
        state=past.state,
        stage=past.failure.stage if past.failure else None,
        kind=past.failure.kind if past.failure else None,
        reason=past.failure.reason if past.failure else None,
        page=past.failure.page if past.failure else None,
        attempts=None,
        transient=False,
        not_before=None,
        stale_reason=past.stale_reason,
        live=past.live,
    )


def report_of(
    row: sa.Row[Any], live: LiveDocument | None, space: Space, current: Current, collection: str
) -> DocumentReport:
    """The report of a row of `documents`, with what is live of it."""
    return DocumentReport(
        document_id=row.document_id,
        path=row.path,
        source=row.source,
        collection=collection,
        state=row.state,
        stage=row.stage,
        kind=row.kind,
        reason=row.reason,
        page=row.page,
        attempts=row.attempts,
        transient=row.transient,
        not_before=row.not_before,
        stale_reason=stale_reason(live, space, current),
        live=live,
    )


MAINTENANCE = ("compact", "vacuum", "forget")
"""Kinds of runs that read no document: the last run of a report is none of them."""


def index_report(index: Index, current: Current, moment: Moment | None = None) -> IndexReport:
    """Counts as the ledger and the live revisions have them, all of the same moment: now, or a former one."""
    if moment is None:
        return _counted(index, current)
    runs = schema.runs
    with transactions.reading(index.engine) as connection:
        snapshot = index.snapshot_within(connection, moment.version)
        reports = _reports(connection, snapshot, current, moment)
        newest = sa.select(runs).where(runs.c.kind.not_in(MAINTENANCE))
        if not moment.newest:
            newest = newest.where(runs.c.started_at < moment.until)
        newest = newest.order_by(runs.c.started_at.desc(), runs.c.run_id.desc()).limit(1)
        last = connection.execute(newest).mappings().first()
        collections = read_within(connection)
    return IndexReport(
        version=snapshot.version,
        space=snapshot.space,
        states=Counter(report.state for report in reports),
        stale=Counter(report.stale_reason for report in reports if report.stale_reason),
        chunks=sum(document.chunks for document in snapshot.documents()),
        over_window=sum(document.over_window for document in snapshot.documents()),
        sources=tuple(sorted({report.source for report in reports})),
        collections=collections,
        last_run=_as_it_is(dict(last)) if last else None,
    )


def _counted(index: Index, current: Current) -> IndexReport:
    """Of now, by counts of the ledger alone: no document is read."""
    documents, runs = schema.documents, schema.runs
    with transactions.reading(index.engine) as connection:
        version = schema.current_version(connection)
        space_id, space = schema.live_space(connection, version)
        states = (
            sa.select(documents.c.source, documents.c.state, sa.func.count().label("documents"))
            .where(documents.c.state != "deleted")
            .group_by(documents.c.source, documents.c.state)
        )
        counted = connection.execute(states).all()
        groups = live_groups(connection, space_id)
        newest = sa.select(runs).where(runs.c.kind.not_in(MAINTENANCE))
        newest = newest.order_by(runs.c.started_at.desc(), runs.c.run_id.desc()).limit(1)
        last = connection.execute(newest).mappings().first()
        return IndexReport(
            version=version,
            space=space,
            states=_summed(counted),
            stale=stale_counts(connection, (space_id, space), current, groups),
            chunks=sum(one.chunks for one in groups),
            over_window=sum(one.over_window for one in groups),
            sources=tuple(sorted({row.source for row in counted})),
            collections=read_within(connection),
            last_run=_as_it_is(dict(last)) if last else None,
        )


def _summed(counted: Sequence[sa.Row[Any]]) -> dict[str, int]:
    states: dict[str, int] = {}
    for row in counted:
        states[row.state] = states.get(row.state, 0) + row.documents
    return states


def _as_it_is(run: dict[str, Any]) -> dict[str, Any]:
    """A run as it is: one that was killed could not write that it ended."""
    killed = run["state"] == "running" and has_died(run["host"], run["pid"], run["process"])
    shown = {name: value for name, value in run.items() if name != "process"}
    return shown | {"state": "broken", "message": DIED} if killed else shown


def progress(index: Index, source: str) -> Mapping[str, int]:
    """Documents of a source by their state, for a progress bar: one cheap query."""
    documents = schema.documents
    query = (
        sa.select(documents.c.state, sa.func.count())
        .where(documents.c.source == source, documents.c.state != "deleted")
        .group_by(documents.c.state)
    )
    with transactions.reading(index.engine) as connection:
        return {state: count for state, count in connection.execute(query)}
