"""`pincite status` and `pincite documents`."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from pincite.console import DEFAULT_INDEX, IndexOption, JsonOption, one_line, print_json, print_table, say
from pincite.settings import load_settings
from schemas.records import Space
from schemas.settings import recipe
from storage.index import Index
from storage.report import Attempt, DocumentReport, attempt_history, document_reports, index_report


def status(index: IndexOption = DEFAULT_INDEX, json: JsonOption = False) -> None:
    """Counts, the live space, what is stale, the last run."""
    with Index.open(index) as opened:
        report = index_report(opened, recipe(load_settings()))
    counts = {state: report.states.get(state, 0) for state in ("indexed", "failed", "pending", "running")}
    counts["stale"] = sum(report.stale.values())
    if json:
        print_json(
            {
                "documents": counts,
                "chunks": report.chunks,
                "over_window": report.over_window,
                "space": asdict(report.space),
                "version": report.version,
                "stale": dict(report.stale),
                "sources": report.sources,
                "collections": [asdict(one) for one in report.collections],
                "last_run": report.last_run,
            }
        )
        return
    say(", ".join(f"{count} {state}" for state, count in counts.items()))
    say(f"{report.chunks} chunks ({report.over_window} over the window), version {report.version}")
    say(f"space   {report.space}")
    for one in report.collections:
        patterns = [*one.include, *(f"!{pattern}" for pattern in one.exclude)]
        chosen = f" ({', '.join(map(one_line, patterns))})" if patterns else ""
        say(f"source  {one_line(one.name)}: {one_line(one.source)}{chosen}")
    for reason, count in sorted(report.stale.items()):
        say(f"stale   {count}: {one_line(reason)}")
    if report.last_run:
        message = report.last_run["message"]
        why = f", {one_line(str(message))}" if message else ""
        say(f"last run {report.last_run['run_id']}: {report.last_run['state']}{why}")


def documents(
    index: IndexOption = DEFAULT_INDEX,
    state: Annotated[str | None, typer.Option(help="indexed, failed, stale, pending or running.")] = None,
    collection: Annotated[str | None, typer.Option(help="Only documents of this collection.")] = None,
    attempts: Annotated[bool, typer.Option("--attempts", help="Also every attempt that was made.")] = False,
    json: JsonOption = False,
) -> None:
    """A row per document: state, reason, attempts, pages, chunks, OCR confidence, warnings."""
    with Index.open(index) as opened:
        history = attempt_history(opened) if attempts else {}
        reports = document_reports(opened, recipe(load_settings()), state)
        with opened.snapshot() as snapshot:
            space = snapshot.space
    reports = tuple(report for report in reports if collection in (None, report.collection))
    if json:
        rows = [_as_json(report, space) for report in reports]
        if attempts:
            rows = [row | {"history": _history(history, row["id"])} for row in rows]
        print_json(rows)
        return
    columns = [
        "document",
        "state",
        "pages",
        "chars",
        "ocr pages",
        "confidence",
        "tables",
        "chunks",
        "warnings",
        "why",
    ]
    print_table(columns, [_as_row(report) for report in reports])
    for report in reports:
        for one in history.get(report.document_id, ()):
            at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one.ended_at))
            why = f", {one.kind}: {one_line(one.reason or '')}" if one.kind else ""
            say(f"{one_line(report.path)}  attempt {one.attempt}, {at}: {one.outcome}{why}")


def _as_json(report: DocumentReport, space: Space) -> dict[str, object]:
    live = asdict(report.live) if report.live else {}
    stamps = {name: live.get(name) for name in ("media_type", "extractor", "extractor_version", "recipe")}
    return {
        "document": report.path,
        "id": report.document_id,
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
        "stamps": stamps | asdict(space) if report.live else None,
        "warnings": live.get("warnings", ()),
    }


def _history(history: Mapping[str, Sequence[Attempt]], document_id: object) -> list[dict[str, object]]:
    return [asdict(one) for one in history.get(str(document_id), ())]


def _as_row(report: DocumentReport) -> list[object]:
    live = report.live
    why = report.stale_reason or (f"{report.stage}: {report.reason}" if report.reason else "")
    if live is None:
        return [report.path, report.state, None, None, None, None, None, 0, None, why]
    confidence = None if live.ocr_confidence is None else f"{live.ocr_confidence:.0f}"
    warnings = ", ".join(sorted({str(warning["code"]) for warning in live.warnings}))
    return [
        *(report.path, report.state, live.pages or None, live.characters, live.ocr_pages or None, confidence),
        *(live.tables or None, live.chunks, warnings, why),
    ]
