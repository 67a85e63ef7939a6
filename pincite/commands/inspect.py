"""`pincite inspect`."""

import re
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pincite.console import ExitCode, JsonOption, complain, one_line, print_json, say
from pincite.encoders.models import name_of, resolve_model
from pincite.flows.settings import load_settings
from pincite.output import write_whole
from pincite.schemas.counting import counted
from pincite.schemas.errors import UsageError
from pincite.schemas.settings import Settings, completed
from pincite.tasks.inspection.inspect import (
    PAGES_AT_ONCE,
    Inspection,
    InspectionOrder,
    Leaf,
    Summary,
    leaves_of,
    other_pages,
    summary_of,
)
from pincite.tasks.inspection.page import page_of
from pincite.tasks.sandbox.pool import StageFailed, Worker

DEFAULT_PAGES = f"1-{PAGES_AT_ONCE}"
_PAGES = re.compile(r"(?P<first>\d{1,9})(?P<range>-(?P<last>\d{1,9})?)?")


def inspect(
    file: Annotated[Path, typer.Argument(help="A document.")],
    out: Annotated[
        Path | None, typer.Option(help="Where the HTML page goes; else FILE.inspect.html in this folder.")
    ] = None,
    pages: Annotated[
        str, typer.Option(help="Which pages are shown: 7, 1-20, or 40- to the end.")
    ] = DEFAULT_PAGES,
    json: JsonOption = False,
) -> None:
    """Show one document as the pipeline sees it, as an HTML page; nothing is indexed.

    With --json the same as JSON, and a page only where --out says so.
    """
    first, last = _page_range(pages)
    if not file.is_file():
        raise UsageError(f"no such file: {file}")
    if not _is_utf8(file.name):  # as an index run has it: no title or citation could hold such a name
        raise UsageError(f"{one_line(file.name)}: its name is not UTF-8: rename it")
    target = out or (None if json else Path(f"{file.name}.inspect.html"))
    _check_target(target, file)
    inspection = _inspected(file, completed(load_settings()), first, last)
    if target is not None:
        write_whole(target, page_of(inspection))
    if json:
        print_json(_as_json(inspection))
    else:
        _report(inspection, target)
    if inspection.failure is not None:
        raise typer.Exit(ExitCode.FELL_SHORT)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _page_range(pages: str) -> tuple[int, int]:
    match = _PAGES.fullmatch(pages.strip())
    if match is None:
        raise UsageError(f"--pages {pages}: expected a page or a range such as 7, 1-20 or 40-")
    first = int(match["first"])
    last = int(match["last"] or 10**9) if match["range"] else first
    if not 1 <= first <= last:
        raise UsageError(f"--pages {pages}: pages are counted from 1, and the last is not before the first")
    return first, last


def _check_target(target: Path | None, file: Path) -> None:
    if target is None:
        return
    if target.is_dir() or not target.parent.is_dir():
        raise UsageError(
            f"can't write {target}: {'a folder' if target.is_dir() else 'its folder does not exist'}"
        )
    if target.exists() and target.samefile(file):
        raise UsageError(f"--out {target} is the document itself")


def _inspected(file: Path, settings: Settings, first: int, last: int) -> Inspection:
    """Read in a child process as an index run does, so that no file takes this one down."""
    order = InspectionOrder(file.absolute(), settings, name_of(resolve_model(settings.model)), first, last)
    worker = Worker(settings.limits.memory_bytes, f"inspect-{uuid.uuid4().hex}")
    try:
        result: Inspection = worker.run(
            "pincite.tasks.inspection.inspect:inspect", order, settings.limits.deadline_s
        )
        return result
    except StageFailed as error:
        return Inspection(file.name, file.name, first, last, failure=error.failure)
    finally:
        worker.kill()


def _report(inspection: Inspection, target: Path | None) -> None:
    failure = inspection.failure
    if failure is not None:
        where = f", page {failure.page}" if failure.page else ""
        complain(
            f"{one_line(inspection.name)}: {failure.kind} in {failure.stage}{where}: {one_line(failure.reason)}"
        )
    summary = summary_of(inspection)
    if summary is not None and inspection.extraction is not None:
        say(one_line(summary.title))
        say(_figures(summary))
        for warning in inspection.extraction.warnings:
            page = f" page {warning.page}:" if warning.page else ""
            say(f"warning {warning.code}:{page} {one_line(warning.message)}")
        rest, others = other_pages(inspection)
        if rest:
            say(f"{rest:,} of {counted(summary.pages, 'page')} not shown; --pages {others} shows others")
    say(f"page {one_line(str(target))}")


def _figures(summary: Summary) -> str:
    told = (
        [summary.extractor.split()[0], counted(summary.pages, "page")]
        if summary.pages
        else [summary.extractor.split()[0]]
    )
    told.append(counted(summary.characters, "character"))
    if summary.ocr_pages:
        told.append(f"OCR {summary.ocr_share:.0%} at confidence {summary.ocr_confidence or 0:.0f}")
    told += [counted(summary.tables, "table"), counted(summary.chunks, "chunk")]
    return ", ".join([*told, f"marks: {summary.marks}"] if summary.marks.total else told)


def _as_json(inspection: Inspection) -> dict[str, Any]:
    summary, extraction = summary_of(inspection), inspection.extraction
    return {
        "file": inspection.name,
        "failure": asdict(inspection.failure) if inspection.failure else None,
        "summary": asdict(summary) if summary else None,
        "warnings": [asdict(warning) for warning in extraction.warnings] if extraction else [],
        "text": extraction.text if extraction else None,
        "blocks": [asdict(block) for block in extraction.blocks] if extraction else [],
        "pages": [_page_as_json(leaf) for leaf in leaves_of(inspection) if leaf.page or leaf.sheet],
        "chunks": [
            {**asdict(one), "locator": locator}
            for one, locator in zip(inspection.chunks, inspection.locators, strict=True)
        ],
    }


def _page_as_json(leaf: Leaf) -> dict[str, Any]:
    """A page with its areas as corners in points; the image is in the HTML page only."""
    drawn = asdict(leaf.sheet) if leaf.sheet else {}
    drawn.pop("image", None)
    return drawn | (asdict(leaf.page) if leaf.page else {})
