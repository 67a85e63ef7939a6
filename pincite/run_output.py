"""Runs over collections, for the commands that start them: progress while they go, and what came of them."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pincite.console import ExitCode, complain, errors, looking, one_line, print_json, say
from pincite.flows.notify import failure_report, tell
from pincite.retry_output import RequestedDocuments, Retried
from pincite.schemas.counting import counted
from pincite.schemas.errors import PinciteError, ServerFailed, SourceError
from pincite.schemas.evaluation import Verdict
from pincite.schemas.records import Collection, CollectionOutcome, Counts
from pincite.schemas.settings import Settings
from pincite.storage.queries.index_report import document_reports, index_report, progress
from pincite.storage.runs.collections import read_collections
from pincite.storage.snapshots.index import LEDGER_FILE, Index
from pincite.tasks.discover import settle_if_idle
from pincite.tasks.sources.source import open_source
from pincite.tasks.steps.configuration import made_or_opened, policy_for

_COUNTS = ("discovered", "indexed", "unchanged", "failed", "deleted")
_SHOWN_FAILURES = 20
_MOST_NAMED = 5


def known_collections(index: Path) -> tuple[Collection, ...]:
    """Those of the index, none where there is no index yet."""
    if not (index / LEDGER_FILE).is_file():
        return ()
    with Index.open(index) as opened:
        return read_collections(opened)


def run_all(
    collections: Sequence[Collection],
    index: Path,
    settings: Settings,
    retry: tuple[str, ...] | None = None,
    confirmed_deletions: int | None = None,
) -> list[CollectionOutcome]:
    """Each collection brought up to date in a run of its own, one Prefect server for all.

    A source that can't be listed, or that looks emptied, is told and does not keep the others from being indexed.
    """
    if not (index / LEDGER_FILE).is_file():
        for collection in collections:  # before a folder is made for an index of nothing
            open_source(collection, index, settings.limits)
    done: list[CollectionOutcome] = []
    since = time.time()
    with made_or_opened(index, settings) as opened, ExitStack() as server:
        flow = _Flow(server, index, settings, retry, confirmed_deletions)
        for collection in collections:
            began = time.monotonic()
            try:
                policy = policy_for(opened, settings, retry, confirmed_deletions)
                settled = settle_if_idle(opened, collection, policy, settings.limits)
                with nullcontext() if settled else _progress(opened, collection.source):
                    counts = settled or flow.run(collection)
            except (SourceError, ServerFailed) as error:
                seconds = time.monotonic() - began
                done.append(CollectionOutcome(collection, Counts(), seconds, idle=True, error=str(error)))
            else:
                seconds = time.monotonic() - began
                done.append(CollectionOutcome(collection, counts, seconds, idle=settled is not None))
        report = failure_report(opened, done, since)
    if report and (warning := tell(settings.notify, report)):
        complain(f"warning: {warning}")
    return done


@dataclass
class _Flow:
    """The flow, with a Prefect server that is started when the first collection needs one."""

    server: ExitStack
    index: Path
    settings: Settings
    retry: tuple[str, ...] | None
    confirmed_deletions: int | None
    started: bool = False

    def run(self, collection: Collection) -> Counts:
        from pincite.flows.prefect_server.server import prefect_api

        if not self.started:
            self.server.enter_context(prefect_api(self.index.resolve() / "prefect"))
            self.started = True
        from pincite.flows.prefect_server.server import server_faults
        from pincite.flows.reindex import reindex

        try:
            with server_faults():
                counts = reindex(
                    collection.source,
                    str(self.index),
                    self.settings,
                    self.retry,
                    collection=collection,
                    confirmed_deletions=self.confirmed_deletions,
                )
        except KeyboardInterrupt:  # which ends any command with exit code 130
            complain("interrupted: what was finished is stored, the next run takes up the rest")
            raise
        return cast(Counts, counts)  # the data of its state


@contextmanager
def _progress(opened: Index, source: str) -> Iterator[None]:
    """A bar of what the ledger says, whoever does the work."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=errors, transient=True) as bar:
        shown = bar.add_task("starting", total=None)

        def look() -> None:
            states = progress(opened, source)
            words = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
            done = states.get("indexed", 0) + states.get("failed", 0)
            bar.update(
                shown, description=words or "starting", total=sum(states.values()) or None, completed=done
            )

        with looking(look, 0.5):
            yield


def finish(
    done: Sequence[CollectionOutcome],
    index: Path,
    settings: Settings,
    as_json: bool,
    asked: RequestedDocuments | None = None,
) -> None:
    """Prints the sums over all runs and what the evaluation says, and ends the command with its exit code.

    Of a retry, it says what became of the chosen documents and how many failed ones it left alone; these are not
    listed, while what failed anew in the same runs is.
    """
    counts = {name: sum(getattr(one.counts, name) for one in done) for name in _COUNTS}
    with Index.open(index) as opened:
        report = index_report(opened, None)
        stopped = {one.collection.source for one in done if one.error}
        retried = asked.retried(opened, stopped) if asked else None
    verdict, unmeasured = _verdict(done, index, settings)
    seconds = round(sum(one.seconds for one in done), 3)
    if as_json:
        each = [_as_json(one) for one in done]
        totals = {"chunks": report.chunks, "seconds": seconds, "version": report.version}
        gate = asdict(verdict) if verdict else None
        told = retried.as_json() if retried else {}
        print_json({**counts, **totals, **told, "collections": each, "gate": gate})
    elif any(not one.error for one in done):
        if all(one.idle for one in done) and not counts["deleted"]:
            say("Nothing to do: no document is new or changed.")
        say(", ".join(f"{count} {name}" for name, count in counts.items()))
        say(f"{counted(report.chunks, 'chunk')}, version {report.version}, {seconds:.1f} s, in {index}")
        if retried:
            retried.say()
        _say_troubles(done, index, retried)
    for one in done:
        if one.error:
            complain(one.error)
    for reason in (*(verdict.reasons if verdict else ()), *([unmeasured] if unmeasured else [])):
        complain(f"evaluation: {one_line(reason)}")
    if unmeasured or any(one.error for one in done):
        raise typer.Exit(ExitCode.WRONG_USE)
    worse = verdict is not None and not verdict.ok
    raise typer.Exit(ExitCode.FELL_SHORT if counts["failed"] or worse else ExitCode.WELL)


def _verdict(
    done: Sequence[CollectionOutcome], index: Path, settings: Settings
) -> tuple[Verdict | None, str]:
    """(what the gate says, why nothing could be measured): the runs are told of either way."""
    if not settings.questions:
        return None, ""
    from pincite.evaluation.gate.regression import evaluation_due, gate_of  # brings scipy and the model

    try:
        return gate_of(index, settings) if evaluation_due(settings, done) else None, ""
    except PinciteError as error:
        return None, str(error)


def _as_json(one: CollectionOutcome) -> dict[str, object]:
    named = {"collection": one.collection.name, "source": one.collection.source}
    return {**named, **asdict(one.counts), "seconds": round(one.seconds, 3), "error": one.error or None}


def _say_troubles(done: Sequence[CollectionOutcome], index: Path, retried: Retried | None = None) -> None:
    with Index.open(index) as opened:
        failed = document_reports(opened, None, state="failed")
        unread = _unread(opened)
    if unread:
        say(unread)
    ours = [report for report in failed if report.source in {one.collection.source for one in done}]
    if retried:  # what failed anew in this run is told too
        ours = [one for one in ours if one.document_id not in retried.others]
    for document in ours[:_SHOWN_FAILURES]:
        where = f", page {document.page}" if document.page else ""
        say(f"failed: {one_line(document.path)} ({document.stage}{where}): {one_line(document.reason or '')}")
    if len(ours) > _SHOWN_FAILURES:
        say(f"and {len(ours) - _SHOWN_FAILURES} more: `pincite documents --state failed`")


def _unread(opened: Index) -> str:
    """What is said of documents that the embedding model can't read; "" when there are none."""
    with opened.snapshot() as snapshot:
        model, documents = snapshot.space.model, snapshot.documents()
    unread = [document.path for document in documents if not document.encoder_fit]
    if not unread:
        return ""
    named = ", ".join(map(one_line, unread[:_MOST_NAMED])) + (", …" if len(unread) > _MOST_NAMED else "")
    said = counted(len(unread), "document, which is found by its", "documents, which are found by their")
    return f"{model} can't read {said} words alone: {named}"
