"""Runs over collections, for the commands that start them: progress while they go, and what came of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pincite.console import ExitCode, complain, errors, one_line, print_json, say
from pincite.looking import looking
from pincite.retry_output import RequestedDocuments, Retried
from pincite.schemas.counting import counted
from pincite.schemas.errors import PinciteError
from pincite.schemas.evaluation import Verdict
from pincite.schemas.records import Collection, CollectionOutcome
from pincite.schemas.settings import Settings
from pincite.storage.queries.index_report import document_reports, index_report, progress
from pincite.storage.snapshots.index import Index
from pincite.tasks.steps.plan import UpdateRequest
from pincite.updating import COUNTS, RunOptions, bring_up_to_date, summed

_SHOWN_FAILURES = 20
_MOST_NAMED = 5


def run_all(
    opened: Index, collections: Sequence[Collection], settings: Settings, request: UpdateRequest
) -> list[CollectionOutcome]:
    """As `bring_up_to_date`, with a bar for each run."""
    options = RunOptions(request, _progress, lambda warning: complain(f"warning: {warning}"))
    try:
        return bring_up_to_date(opened, collections, settings, options)
    except KeyboardInterrupt:  # which ends any command with exit code 130
        complain("interrupted: what was finished is stored, the next run takes up the rest")
        raise


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
    opened: Index,
    settings: Settings,
    as_json: bool,
    asked: RequestedDocuments | None = None,
) -> None:
    """Prints the sums over all runs and what the evaluation says, and ends the command with its exit code.

    Of a retry, it says what became of the chosen documents and how many failed ones it left alone; these are not
    listed, while what failed anew in the same runs is.
    """
    counts = {name: getattr(summed(done), name) for name in COUNTS}
    report = index_report(opened, None)
    stopped = {one.collection.source for one in done if one.error}
    retried = asked.retried(opened, stopped) if asked else None
    verdict, unmeasured = _verdict(done, opened, settings)
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
        say(f"{counted(report.chunks, 'chunk')}, version {report.version}, {seconds:.1f} s, in {opened.path}")
        if retried:
            retried.say()
        _say_troubles(done, opened, retried)
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
    done: Sequence[CollectionOutcome], opened: Index, settings: Settings
) -> tuple[Verdict | None, str]:
    """(what the gate says, why nothing could be measured): the runs are told of either way."""
    if not settings.questions:
        return None, ""
    from pincite.evaluation.gate.regression import evaluation_due, gate_of  # brings scipy and the model

    try:
        return gate_of(opened, settings) if evaluation_due(settings, done) else None, ""
    except PinciteError as error:
        return None, str(error)


def _as_json(one: CollectionOutcome) -> dict[str, object]:
    named = {"collection": one.collection.name, "source": one.collection.source}
    return {**named, **asdict(one.counts), "seconds": round(one.seconds, 3), "error": one.error or None}


def _say_troubles(done: Sequence[CollectionOutcome], opened: Index, retried: Retried | None = None) -> None:
    failed = document_reports(opened, None, state="failed")
    if unread := _unread(opened):
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
