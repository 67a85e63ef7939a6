"""Updating: collections brought up to date, one run each, for the commands and for programs."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import cache, partial

from pincite.flows.notify import telling
from pincite.schemas.display import one_line
from pincite.schemas.errors import UsageError
from pincite.schemas.records import Collection, CollectionOutcome, Counts
from pincite.schemas.settings import Settings
from pincite.storage.queries.index_report import DocumentReport
from pincite.storage.snapshots.index import Index
from pincite.tasks.reindex import SourceUpdate
from pincite.tasks.steps.plan import NOTHING_MORE, UpdateRequest
from pincite.tasks.update import update

COUNTS = ("discovered", "indexed", "unchanged", "failed", "deleted")
During = Callable[[Index, str], AbstractContextManager[None]]
"""What is entered while the run over a source (its address) goes on."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run is asked for beside its collection."""

    request: UpdateRequest = NOTHING_MORE
    during: During = lambda _index, _source: nullcontext()
    warn: Callable[[str], None] = lambda _warning: None  # hears of a notification that could not be sent


def bring_up_to_date(
    opened: Index, collections: Sequence[Collection], settings: Settings, options: RunOptions
) -> list[CollectionOutcome]:
    """Each collection brought up to date, with one Prefect server for all, which the first that needs it starts."""
    with ExitStack() as server, telling(opened, settings.notify, options.warn) as told:
        started = cache(partial(_start_prefect, server, opened))
        reindex = partial(_reindex, started, options.during)
        for one in update(opened, collections, settings, options.request, reindex):
            told.outcomes.append(one)
    return told.outcomes


def _start_prefect(server: ExitStack, opened: Index) -> None:
    from pincite.flows.prefect_server.server import prefect_api

    server.enter_context(prefect_api(opened.path.resolve() / "prefect"))


def _reindex(started: Callable[[], None], during: During, update: SourceUpdate) -> Counts:
    with during(update.index, update.collection.source):
        started()
        from pincite.flows.prefect_server.server import server_faults
        from pincite.flows.reindex import reindex

        with server_faults():
            return reindex(update)


def summed(done: Sequence[CollectionOutcome]) -> Counts:
    """The counts of all runs together."""
    return Counts(**{name: sum(getattr(one.counts, name) for one in done) for name in COUNTS})


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
