"""Update: the one loop over the collections of an index, for the command, the nightly flow and other programs."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pincite.schemas.errors import ServerFailed, SourceError
from pincite.schemas.records import Collection, CollectionOutcome, Counts
from pincite.schemas.settings import Settings
from pincite.storage.runs.collections import read_collections
from pincite.storage.snapshots.index import Index, has_index
from pincite.tasks.discover import SourceListing, settle_if_idle
from pincite.tasks.reindex import SourceUpdate
from pincite.tasks.sources.source import open_source
from pincite.tasks.steps.configuration import made_or_opened, policy_for
from pincite.tasks.steps.plan import CollectionChoice, UpdateRequest, chosen_collections

Reindex = Callable[[SourceUpdate], Counts]
"""Does a run over a source of which documents are to be read."""


def update(
    index: Index,
    collections: Sequence[Collection],
    settings: Settings,
    request: UpdateRequest,
    reindex: Reindex,
) -> Iterator[CollectionOutcome]:
    """What came of each collection, brought up to date in a run of its own.

    A source that can't be listed, or that looks emptied, is told and does not keep the others from being indexed.
    `reindex` is called only where documents are to be read. Raises what a run raises, `IndexBusy` above all.
    """
    for collection in collections:
        began = time.monotonic()
        counts, error, idle = Counts(), "", True
        try:
            policy = policy_for(index, settings, request)
            found = settle_if_idle(index, collection, policy, settings.limits)
            if isinstance(found, SourceListing):
                idle = False
                counts = reindex(SourceUpdate(index, collection, settings, request, found))
            else:
                counts = found
        except (SourceError, ServerFailed) as problem:
            error, idle = str(problem), True
        yield CollectionOutcome(collection, counts, time.monotonic() - began, idle, error)


@contextmanager
def opened_for(
    path: Path, settings: Settings, choice: CollectionChoice
) -> Iterator[tuple[Index, tuple[Collection, ...]]]:
    """The index with the collections that were chosen. It is made if there is none and one of them can be reached."""
    known = has_index(path)
    chosen = () if known else chosen_collections((), settings, choice)
    if not known:
        _require_a_source(chosen, path, settings)
    with made_or_opened(path, settings) as index:
        yield index, chosen or chosen_collections(read_collections(index), settings, choice)


def _require_a_source(collections: Sequence[Collection], path: Path, settings: Settings) -> None:
    """Raises `SourceError` when no source is there, before a folder is made for an index of nothing."""
    problems: list[SourceError] = []
    for collection in collections:
        try:
            open_source(collection, path, settings.limits)
        except SourceError as problem:
            problems.append(problem)
    if problems and len(problems) == len(collections):
        raise problems[0]
