"""`pincite status` and `pincite documents`."""

import time
from collections.abc import Mapping, Sequence
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
from pincite.dashboard.views.document_rows import document_row, state_counts, status_row
from pincite.flows.settings import load_settings
from pincite.schemas.counting import counted
from pincite.storage.queries.index_report import (
    Attempt,
    DocumentReport,
    attempt_history,
    document_reports,
    index_report,
)
from pincite.storage.queries.time_travel import NOT_KEPT
from pincite.storage.runs.collections import require_known
from pincite.storage.snapshots.index import Index
from pincite.tasks.steps.configuration import configuration
from pincite.time_travel_options import AtOption, VersionOption, former_moment


def status(
    index: IndexOption = DEFAULT_INDEX,
    version: VersionOption = None,
    at: AtOption = None,
    json: JsonOption = False,
) -> None:
    """Counts, the live model version, what is stale, the last run."""
    with Index.open(index) as opened:
        moment = former_moment(opened, version, at)
        report = index_report(opened, configuration(opened, load_settings()), moment)
    former = moment is not None and not moment.newest
    if json:
        print_json(status_row(report) | {"not_kept": NOT_KEPT if former else None})
        return
    say(", ".join(f"{count} {state}" for state, count in state_counts(report).items()))
    say(
        f"{counted(report.chunks, 'chunk')} ({report.over_window:,} over the window), version {report.version}"
    )
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
        say(
            f"last run {report.last_run['kind']} {report.last_run['run_id']}: {report.last_run['state']}{why}"
        )
    if former:
        complain(NOT_KEPT)


def documents(
    index: IndexOption = DEFAULT_INDEX,
    state: Annotated[str | None, typer.Option(help="indexed, failed, stale, pending or running.")] = None,
    collection: Annotated[str | None, typer.Option(help="Only documents of this collection.")] = None,
    attempts: Annotated[bool, typer.Option("--attempts", help="Also every attempt that was made.")] = False,
    version: VersionOption = None,
    at: AtOption = None,
    json: JsonOption = False,
) -> None:
    """A row per document: state, reason, attempts, pages, chunks, OCR confidence, warnings."""
    with Index.open(index) as opened:
        require_known(opened, collection)
        moment = former_moment(opened, version, at)
        history = attempt_history(opened) if attempts else {}
        reports = document_reports(opened, configuration(opened, load_settings()), state, moment)
        with opened.snapshot(moment.version if moment else None) as snapshot:
            space = snapshot.space
    reports = tuple(report for report in reports if collection in (None, report.collection))
    if json:
        rows = [document_row(report, space) for report in reports]
        if attempts:
            rows = [row | {"history": _history(history, row["document_id"])} for row in rows]
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
