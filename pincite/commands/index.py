"""`pincite index` and `pincite retry`."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pincite.console import (
    DEFAULT_INDEX,
    ExitCode,
    IndexOption,
    JsonOption,
    complain,
    errors,
    one_line,
    print_json,
    say,
)
from pincite.settings import load_settings
from schemas.errors import PinciteError, UsageError
from schemas.records import Counts
from schemas.settings import Settings
from storage.index import Index
from storage.report import document_reports, index_report, progress
from tasks.discover import settle_if_idle, source_root
from tasks.plan import current_versions, made_or_opened, policy_of

_COUNTS = ("discovered", "indexed", "unchanged", "failed", "deleted")
_SHOWN_FAILURES = 20
_MOST_NAMED = 5


def index(
    source: Annotated[Path, typer.Argument(help="The folder whose documents are to be found.")],
    index: IndexOption = DEFAULT_INDEX,
    chunker: Annotated[str | None, typer.Option(help="structural, or a reference strategy A to F.")] = None,
    model: Annotated[str | None, typer.Option(help="An embedding model's name or folder.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Extraction processes; 0 is one per core.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Bring the index up to date with a folder: new, changed, deleted, stale and retryable documents."""
    settings = load_settings(chunker=chunker, model=model, workers=workers)
    _finish([_run(source, index, settings, None)], index, json)


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
        failed = document_reports(opened, None, state="failed")
    unknown = sorted(set(chosen) - {report.path for report in failed})
    if unknown:
        raise UsageError(
            f"no failed document is named {', '.join(map(one_line, unknown))}: see `pincite documents`"
        )
    sources = sorted({report.source for report in failed if not chosen or report.path in chosen})
    if not sources and not json:
        say("Nothing to retry: no document is failed.")
    _finish([_run(Path(source), index, settings, chosen) for source in sources], index, json)


@dataclass(frozen=True, slots=True)
class _Done:
    """One run over one source."""

    source: str
    counts: Counts
    seconds: float
    idle: bool  # no document was read


def _run(source: Path, index: Path, settings: Settings, chosen: tuple[str, ...] | None) -> _Done:
    began = time.monotonic()
    root = source_root(source, index)
    with made_or_opened(index, settings) as opened:
        versions = current_versions(opened, settings)
        policy = replace(policy_of(settings, chosen), extractors=versions)
        settled = settle_if_idle(opened, root, policy)
        with nullcontext() if settled else _progress(opened, root):
            counts = settled or _run_flow(root, opened.path, settings, chosen)
    return _Done(str(root), counts, time.monotonic() - began, idle=settled is not None)


def _run_flow(root: Path, index: Path, settings: Settings, chosen: tuple[str, ...] | None) -> Counts:
    from flows.server import prefect_api

    with prefect_api(index.resolve() / "prefect"):
        from flows.reindex import reindex

        try:
            counts = cast(Counts, reindex(str(root), str(index), settings, chosen))  # the data of its state
        except KeyboardInterrupt:  # which ends any command with exit code 130
            complain("interrupted: what was finished is stored, the next run takes up the rest")
            raise
    return counts


@contextmanager
def _progress(opened: Index, root: Path) -> Iterator[None]:
    """A bar of what the ledger says, whoever does the work."""
    ended = threading.Event()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=errors, transient=True) as bar:
        shown = bar.add_task("starting", total=None)

        def follow() -> None:
            states: Mapping[str, int] = {}
            while not ended.wait(0.5):
                with suppress(PinciteError):  # a busy ledger: the next look tells more
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


def _unread(opened: Index) -> str:
    """What is said of documents that the embedding model can't read; "" when there are none."""
    with opened.snapshot() as snapshot:
        model, documents = snapshot.space.model, snapshot.documents()
    unread = [document.path for document in documents if not document.encoder_fit]
    if not unread:
        return ""
    named = ", ".join(map(one_line, unread[:_MOST_NAMED])) + (", …" if len(unread) > _MOST_NAMED else "")
    return f"{model} can't read {len(unread)} documents, they are found by their words alone: {named}"


def _finish(done: Sequence[_Done], index: Path, as_json: bool) -> None:
    """Prints the sums over all runs and ends the command with its exit code."""
    counts = {name: sum(getattr(one.counts, name) for one in done) for name in _COUNTS}
    with Index.open(index) as opened:
        report = index_report(opened, None)
        failed = document_reports(opened, None, state="failed")
        unread = _unread(opened)
    seconds = sum(one.seconds for one in done)
    if as_json:
        print_json(
            {**counts, "chunks": report.chunks, "seconds": round(seconds, 3), "version": report.version}
        )
    elif done:
        if all(one.idle for one in done) and not counts["deleted"]:
            say("Nothing to do: no document is new or changed.")
        say(", ".join(f"{count} {name}" for name, count in counts.items()))
        say(f"{report.chunks} chunks, version {report.version}, {seconds:.1f} s, in {index}")
        if unread:
            say(unread)
        ours = [report for report in failed if report.source in {one.source for one in done}]
        for document in ours[:_SHOWN_FAILURES]:
            where = f", page {document.page}" if document.page else ""
            say(
                f"failed: {one_line(document.path)} ({document.stage}{where}): {one_line(document.reason or '')}"
            )
        if len(ours) > _SHOWN_FAILURES:
            say(f"and {len(ours) - _SHOWN_FAILURES} more: `pincite documents --state failed`")
    raise typer.Exit(ExitCode.FELL_SHORT if counts["failed"] else ExitCode.WELL)
