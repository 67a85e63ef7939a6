"""`pincite index` and `pincite retry`."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from encoders.models import resolve_model
from pincite.console import (
    DEFAULT_INDEX,
    ExitCode,
    IndexOption,
    JsonOption,
    errors,
    one_line,
    print_json,
    say,
)
from pincite.settings import load_settings
from retrieval.corpus import can_be_read
from schemas.errors import UsageError
from schemas.settings import Settings
from storage.index import Index
from storage.report import document_reports, index_report, progress
from tasks.discover import settle_if_idle, source_root
from tasks.plan import policy_of, space_of

MOST_NAMED = 5


def index(
    source: Annotated[Path, typer.Argument(help="The folder whose documents are to be found.")],
    index: IndexOption = DEFAULT_INDEX,
    chunker: Annotated[str | None, typer.Option(help="structural, or a reference strategy A to F.")] = None,
    model: Annotated[str | None, typer.Option(help="An embedding model's name or folder.")] = None,
    workers: Annotated[int | None, typer.Option(help="Extraction processes; 0 is one per core.")] = None,
    json: JsonOption = False,
) -> None:
    """Bring the index up to date with a folder: new, changed, deleted, stale and retryable documents."""
    settings = load_settings(chunker=chunker, model=model, workers=workers)
    _run(source, index, settings, None, json)


def retry(
    documents: Annotated[
        list[str] | None, typer.Argument(help="Failed documents; all when none is named.")
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    json: JsonOption = False,
) -> None:
    """Try failed documents again, also those whose failure looked permanent."""
    settings = load_settings()
    chosen = tuple(documents or ())
    with Index.open(index) as opened:
        failed = document_reports(opened, "", state="failed")
    unknown = sorted(set(chosen) - {report.path for report in failed})
    if unknown:
        raise UsageError(
            f"no failed document is named {', '.join(map(one_line, unknown))}: see `pincite documents`"
        )
    sources = sorted({report.source for report in failed if not chosen or report.path in chosen})
    if not sources:
        say("Nothing to retry: no document is failed.")
    for source in sources:
        _run(Path(source), index, settings, chosen, json)


def _run(
    source: Path, index: Path, settings: Settings, chosen: tuple[str, ...] | None, as_json: bool
) -> None:
    began = time.monotonic()
    root = source_root(source)
    with Index.create(index, space_of(resolve_model(settings.model), settings)) as opened:
        if settle_if_idle(opened, root, policy_of(settings, chosen)) is None:
            with _progress(opened, root):
                _run_flow(root, opened.path, settings, chosen)
        _summarise(opened, time.monotonic() - began, as_json)


def _run_flow(root: Path, index: Path, settings: Settings, chosen: tuple[str, ...] | None) -> None:
    from flows.server import prefect_api

    with prefect_api(index.resolve() / "prefect"):
        from flows.reindex import reindex

        reindex(str(root), str(index), settings, chosen)


@contextmanager
def _progress(opened: Index, root: Path) -> Iterator[None]:
    """A bar of what the ledger says, whoever does the work."""
    ended = threading.Event()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=errors, transient=True) as bar:
        shown = bar.add_task("starting", total=None)

        def follow() -> None:
            while not ended.wait(0.5):
                states = progress(opened, str(root))
                words = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
                done = states.get("indexed", 0) + states.get("failed", 0)
                bar.update(
                    shown, description=words or "starting", total=sum(states.values()) or None, completed=done
                )

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        try:
            yield
        finally:
            ended.set()
            follower.join()


def _tell_unread(opened: Index) -> None:
    with opened.snapshot() as snapshot:
        model, documents = snapshot.space.model, snapshot.documents()
    unread = [document.path for document in documents if not can_be_read(document)]
    if unread:
        say(
            f"{model} can't read {len(unread)} documents, they are found by their words alone: "
            f"{', '.join(map(one_line, unread[:MOST_NAMED]))}{', …' if len(unread) > MOST_NAMED else ''}"
        )


def _summarise(opened: Index, seconds: float, as_json: bool) -> None:
    report = index_report(opened, "")
    run = report.last_run or {}
    names = ("discovered", "indexed", "unchanged", "failed", "deleted")
    counts = {name: run.get(name) for name in names}
    if as_json:
        print_json(
            {**counts, "chunks": report.chunks, "seconds": round(seconds, 3), "version": report.version}
        )
    else:
        if not counts["indexed"] and not counts["deleted"]:
            say("Nothing to do: no document is new or changed.")
        say(", ".join(f"{count} {name}" for name, count in counts.items()))
        say(f"{report.chunks} chunks, version {report.version}, {seconds:.1f} s, in {opened.path}")
        _tell_unread(opened)
        for document in document_reports(opened, "", state="failed"):
            where = f", page {document.page}" if document.page else ""
            say(
                f"failed: {one_line(document.path)} ({document.stage}{where}): {one_line(document.reason or '')}"
            )
    raise typer.Exit(ExitCode.FELL_SHORT if counts["failed"] else ExitCode.WELL)
