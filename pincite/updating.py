"""Updating: collections brought up to date, one run each, for the commands and for programs."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pincite.flows.notify import failure_report, tell
from pincite.schemas.display import one_line
from pincite.schemas.errors import ServerFailed, SourceError, UsageError
from pincite.schemas.records import Collection, CollectionOutcome, Counts
from pincite.schemas.settings import Settings
from pincite.storage.queries.index_report import DocumentReport
from pincite.storage.runs.collections import read_collections
from pincite.storage.snapshots.index import Index, has_index
from pincite.tasks.discover import settle_if_idle
from pincite.tasks.sources.source import open_source
from pincite.tasks.steps.configuration import made_or_opened, policy_for

COUNTS = ("discovered", "indexed", "unchanged", "failed", "deleted")
During = Callable[[Index, str], AbstractContextManager[None]]
"""What is entered while the run over a source (its address) goes on."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run is asked for beside its collection."""

    retry: tuple[str, ...] | None = None  # as in `Policy`
    confirmed_deletions: int | None = None
    during: During = lambda _index, _source: nullcontext()
    warn: Callable[[str], None] = lambda _warning: None  # hears of a notification that could not be sent


def known_collections(index: Path) -> tuple[Collection, ...]:
    """Those of the index, none where there is no index yet."""
    if not has_index(index):
        return ()
    with Index.open(index) as opened:
        return read_collections(opened)


def bring_up_to_date(
    collections: Sequence[Collection], index: Path, settings: Settings, options: RunOptions
) -> list[CollectionOutcome]:
    """Each collection brought up to date in a run of its own, one Prefect server for all.

    A source that can't be listed, or that looks emptied, is told and does not keep the others from being indexed.
    """
    if not has_index(index):
        for collection in collections:  # before a folder is made for an index of nothing
            open_source(collection, index, settings.limits)
    done: list[CollectionOutcome] = []
    since = time.time()
    with made_or_opened(index, settings) as opened, ExitStack() as server:
        flow = _Flow(server, index, settings, options)
        for collection in collections:
            done.append(_updated(opened, collection, flow))
        report = failure_report(opened, done, since)
    if report and (warning := tell(settings.notify, report)):
        options.warn(warning)
    return done


def summed(done: Sequence[CollectionOutcome]) -> Counts:
    """The counts of all runs together."""
    return Counts(**{name: sum(getattr(one.counts, name) for one in done) for name in COUNTS})


def _updated(opened: Index, collection: Collection, flow: "_Flow") -> CollectionOutcome:
    began, settings, options = time.monotonic(), flow.settings, flow.options
    try:
        policy = policy_for(opened, settings, options.retry, options.confirmed_deletions)
        settled = settle_if_idle(opened, collection, policy, settings.limits)
        with nullcontext() if settled else options.during(opened, collection.source):
            counts = settled or flow.run(collection)
    except (SourceError, ServerFailed) as error:
        return CollectionOutcome(collection, Counts(), time.monotonic() - began, idle=True, error=str(error))
    return CollectionOutcome(collection, counts, time.monotonic() - began, idle=settled is not None)


@dataclass
class _Flow:
    """The flow, with a Prefect server that is started when the first collection needs one."""

    server: ExitStack
    index: Path
    settings: Settings
    options: RunOptions
    started: bool = False

    def run(self, collection: Collection) -> Counts:
        from pincite.flows.prefect_server.server import prefect_api

        if not self.started:
            self.server.enter_context(prefect_api(self.index.resolve() / "prefect"))
            self.started = True
        from pincite.flows.prefect_server.server import server_faults
        from pincite.flows.reindex import reindex

        with server_faults():
            counts = reindex(
                collection.source,
                str(self.index),
                self.settings,
                self.options.retry,
                collection=collection,
                confirmed_deletions=self.options.confirmed_deletions,
            )
        return cast(Counts, counts)  # the data of its state


def chosen_failures(
    failed: Sequence[DocumentReport], names: Sequence[str], reason: str | None, collection: str | None
) -> tuple[DocumentReport, ...]:
    """Those of the failed documents that are asked for: by path or id, by `reason` as in `_matches`, by collection.

    Raises `UsageError` for a name that is none of them, or more than one.
    """
    fit = tuple(one for one in failed if collection in (None, one.collection) and _matches(one, reason))
    return _of_names(fit, names) if names else fit


def _matches(document: DocumentReport, reason: str | None) -> bool:
    """Whether a failure is of this kind or stage, or has these words in its reason, in any case."""
    if reason is None or reason in (document.kind, document.stage):
        return True
    return reason.casefold() in (document.reason or "").casefold()


def _of_names(failed: Sequence[DocumentReport], names: Sequence[str]) -> tuple[DocumentReport, ...]:
    """The failed documents of these paths or ids. Raises `UsageError` for one that is none, or more than one."""
    chosen = []
    for name in dict.fromkeys(names):
        found = [one for one in failed if name in (one.path, one.document_id)]
        if not found:
            raise UsageError(f"no failed document is named {one_line(name)}: see `pincite documents`")
        if len(found) > 1:
            which = ", ".join(f"{one.document_id} in {one_line(one.source)}" for one in found)
            raise UsageError(f"{one_line(name)} is {len(found)} failed documents: {which}. Name the id")
        chosen += found
    return tuple(chosen)
