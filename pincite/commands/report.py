"""`pincite status` and `pincite documents`."""

from dataclasses import asdict
from typing import Annotated

import typer

from pincite.console import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    complain,
    one_line,
    print_json,
    print_table,
    say,
)
from pincite.settings import load_settings
from pincite.travel import AtOption, VersionOption, former_moment
from schemas.records import Space
from schemas.settings import recipe
from storage.index import Index
from storage.past import NOT_KEPT
from storage.report import DocumentReport, document_reports, index_report


def status(
    index: IndexOption = DEFAULT_INDEX,
    version: VersionOption = None,
    at: AtOption = None,
    json: JsonOption = False,
) -> None:
    """Counts, the live space, what is stale, the last run."""
    with Index.open(index) as opened:
        moment = former_moment(opened, version, at)
        report = index_report(opened, recipe(load_settings()), moment)
    former = moment is not None and not moment.newest
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
                "last_run": report.last_run,
                "not_kept": NOT_KEPT if former else None,
            }
        )
        return
    say(", ".join(f"{count} {state}" for state, count in counts.items()))
    say(f"{report.chunks} chunks ({report.over_window} over the window), version {report.version}")
    say(f"space   {report.space}")
    for source in report.sources:
        say(f"source  {one_line(source)}")
    for reason, count in sorted(report.stale.items()):
        say(f"stale   {count}: {one_line(reason)}")
    if report.last_run:
        say(f"last run {report.last_run['run_id']}: {report.last_run['state']}")
    if former:
        complain(NOT_KEPT)


def documents(
    index: IndexOption = DEFAULT_INDEX,
    state: Annotated[str | None, typer.Option(help="indexed, failed, stale, pending or running.")] = None,
    version: VersionOption = None,
    at: AtOption = None,
    json: JsonOption = False,
) -> None:
    """A row per document: state, reason, attempts, pages, chunks, OCR confidence, warnings."""
    with Index.open(index) as opened:
        moment = former_moment(opened, version, at)
        reports = document_reports(opened, recipe(load_settings()), state, moment)
        with opened.snapshot(moment.version if moment else None) as snapshot:
            space = snapshot.space
    if json:
        print_json([_as_json(report, space) for report in reports])
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


def _as_json(report: DocumentReport, space: Space) -> dict[str, object]:
    live = asdict(report.live) if report.live else {}
    stamps = {name: live.get(name) for name in ("media_type", "extractor", "extractor_version", "recipe")}
    return {
        "document": report.path,
        "source": report.source,
        "state": report.state,
        "stage": report.stage,
        "kind": report.kind,
        "reason": report.reason,
        "page": report.page,
        "attempts": report.attempts,
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
