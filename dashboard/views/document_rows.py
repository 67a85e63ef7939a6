"""Documents and the index as JSON objects, the same on the command line and over HTTP."""

from dataclasses import asdict

from pincite.schemas.records import Space
from pincite.storage.queries.index_report import DocumentReport, IndexReport

_COUNTED = ("indexed", "failed", "pending", "running")
_STAMPS = ("media_type", "extractor", "extractor_version", "recipe")


def document_row(report: DocumentReport, space: Space) -> dict[str, object]:
    """State, counts and stamps of one document; counts are 0 and stamps None when it can't be found."""
    live = asdict(report.live) if report.live else {}
    return {
        "document": report.path,
        "document_id": report.document_id,
        "collection": report.collection,
        "source": report.source,
        "state": report.state,
        "stage": report.stage,
        "kind": report.kind,
        "reason": report.reason,
        "page": report.page,
        "attempts": report.attempts,
        "transient": report.transient,
        "not_before": report.not_before,
        "stale": report.stale_reason or None,
        "title": live.get("title"),
        "chunks": live.get("chunks", 0),
        "pages": live.get("pages", 0),
        "characters": live.get("characters", 0),
        "tables": live.get("tables", 0),
        "ocr_pages": live.get("ocr_pages", 0),
        "ocr_confidence": live.get("ocr_confidence"),
        "language": live.get("language"),
        "encoder_fit": live.get("encoder_fit"),
        "stamps": {name: live[name] for name in _STAMPS} | asdict(space) if live else None,
        "warnings": live.get("warnings", ()),
    }


def state_counts(report: IndexReport) -> dict[str, int]:
    """Documents by state, and how many of those that can be found are stale."""
    counts = {state: report.states.get(state, 0) for state in _COUNTED}
    return counts | {"stale": sum(report.stale.values())}


def status_row(report: IndexReport) -> dict[str, object]:
    """The counts, the live space, what is stale and the last run."""
    return {
        "documents": state_counts(report),
        "chunks": report.chunks,
        "over_window": report.over_window,
        "space": asdict(report.space),
        "version": report.version,
        "stale": dict(report.stale),
        "sources": report.sources,
        "collections": [asdict(one) for one in report.collections],
        "last_run": report.last_run,
    }
