"""Report: what the ledger says of an index, its documents and its runs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from schemas.records import Space
from storage import ledger
from storage.index import Index
from storage.snapshot import LiveDocument


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """One document: its state, and what is live of it (`live` is None when it can't be found)."""

    path: str
    source: str
    state: str
    stage: str | None
    kind: str | None
    reason: str | None
    page: int | None
    attempts: int
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
    index: Index, current_recipe: str, state: str | None = None
) -> tuple[DocumentReport, ...]:
    """Documents sorted by path; with `state`, only those of it ("stale" is one of the states asked for)."""
    with index.snapshot() as snapshot:
        live = {document.document_id: document for document in snapshot.documents()}
    documents = ledger.documents
    query = sa.select(documents).where(documents.c.state != "deleted")
    with ledger.reading(index.engine) as connection:
        rows = connection.execute(query.order_by(documents.c.path, documents.c.source)).all()
    reports = (
        DocumentReport(
            path=row.path,
            source=row.source,
            state=row.state,
            stage=row.stage,
            kind=row.kind,
            reason=row.reason,
            page=row.page,
            attempts=row.attempts,
            stale_reason=_stale_reason(live.get(row.document_id), current_recipe),
            live=live.get(row.document_id),
        )
        for row in rows
    )
    return tuple(report for report in reports if state in (None, report.state) or _is_stale(report, state))


def _is_stale(report: DocumentReport, state: str | None) -> bool:
    return state == "stale" and bool(report.stale_reason)


def _stale_reason(live: LiveDocument | None, current_recipe: str) -> str:
    if live is None:
        return ""
    if live.stale_reason or live.recipe == current_recipe:
        return live.stale_reason
    return "made with other settings of the pipeline or of OCR"


def index_report(index: Index, current_recipe: str) -> IndexReport:
    """Counts as the ledger and the live revisions have them."""
    reports = document_reports(index, current_recipe)
    with index.snapshot() as snapshot:
        live, space, version = snapshot.documents(), snapshot.space, snapshot.version
    runs = ledger.runs
    with ledger.reading(index.engine) as connection:
        last = (
            connection.execute(sa.select(runs).order_by(runs.c.started_at.desc()).limit(1)).mappings().first()
        )
    return IndexReport(
        version=version,
        space=space,
        states=Counter(report.state for report in reports),
        stale=Counter(report.stale_reason for report in reports if report.stale_reason),
        chunks=sum(document.chunks for document in live),
        over_window=sum(document.over_window for document in live),
        sources=tuple(sorted({report.source for report in reports})),
        last_run=dict(last) if last else None,
    )


def progress(index: Index, source: str) -> Mapping[str, int]:
    """Documents of a source by their state, for a progress bar: one cheap query."""
    documents = ledger.documents
    query = (
        sa.select(documents.c.state, sa.func.count())
        .where(documents.c.source == source, documents.c.state != "deleted")
        .group_by(documents.c.state)
    )
    with ledger.reading(index.engine) as connection:
        return {state: count for state, count in connection.execute(query)}
