"""Reindex: bring an index up to date with one source, whoever hands the documents out.

discover → document (lease → prepare → embed → publish) × n → compact → counts → search cache
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from pincite.encoders.models import Model, name_of, resolve_model
from pincite.schemas.records import Collection, Counts, Policy, Registered
from pincite.schemas.settings import Settings
from pincite.storage.erasure.recovery import RECOVERY
from pincite.storage.maintenance.compaction import compact_when_many
from pincite.storage.runs.runs import Run, begin_run, finish_run
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from pincite.tasks.discover import SourceListing, discover
from pincite.tasks.document import IndexingContext, index_document
from pincite.tasks.migration.probes import check_probes
from pincite.tasks.migration.shadow import EMBEDDER_MEMORY_BYTES, embed_in, standbys
from pincite.tasks.runner.interface import Runner
from pincite.tasks.sandbox.pool import end_leftovers, pool
from pincite.tasks.steps.configuration import policy_for, resolved
from pincite.tasks.steps.embed import EmbedOrder
from pincite.tasks.steps.fetch import Fetcher
from pincite.tasks.steps.observe import Observer, observing
from pincite.tasks.steps.plan import NOTHING_MORE, UpdateRequest, space_of
from pincite.tasks.steps.publish import Publisher

IN_FLIGHT = 16
"""Documents handed out at a time: enough to share a commit and keep every child busy, few enough for memory."""

FETCHERS = 2
"""Children that download what a full disk kept discovery from keeping; none is started before one is needed."""


@dataclass(frozen=True, slots=True)
class SourceUpdate:
    """One source to bring up to date."""

    index: Index
    collection: Collection  # as it shall be from now on
    settings: Settings
    request: UpdateRequest = NOTHING_MORE
    listing: SourceListing | None = None  # what the source holds, where it was listed already

    def run(self, runner: Runner) -> tuple[Run, Counts]:
        """The run that it was, and its counts, also when documents failed: the ledger has each one's reason."""
        with (
            begin_run(self.index, "reindex", self.collection.source, RECOVERY) as run,
            observing(run) as observer,
        ):
            # Now, since a migration may have switched before we had the lock.
            settings = resolved(self.index, self.settings)
            model = resolve_model(settings.model)
            self.index.require_space(space_of(model, settings))
            policy = policy_for(self.index, settings, self.request)
            registered = discover(run, policy, self.collection, settings.limits, self.listing)
            if registered.pending:
                with _children(observer, settings, model, policy) as context:
                    _hand_out(context, registered, runner)
                compact_when_many(run)
            observer.counts = counts = finish_run(run)
            refresh_cache(self.index)
        return run, counts


@contextmanager
def _children(
    observer: Observer, settings: Settings, model: Model, policy: Policy
) -> Iterator[IndexingContext]:
    """The child processes of a run, and what its documents share with them. They end with the block."""
    run = observer.run
    family = hashlib.sha256(str(run.index.path.resolve()).encode()).hexdigest()[:16]
    end_leftovers(family)
    workers, limits = settings.workers or os.cpu_count() or 1, settings.limits
    with (
        pool(
            workers,
            limits.memory_bytes,
            family,
            first=("warm up", name_of(model)),
            environment=settings.environment,
        ) as extraction,
        pool(FETCHERS, limits.memory_bytes, family, environment=None) as fetching,
        pool(1, EMBEDDER_MEMORY_BYTES, family, first=("embed", EmbedOrder(name_of(model), ()))) as embedding,
    ):
        check_probes(run.index, spaces_of(run.index)[0], partial(embed_in, embedding, model))
        with standbys(run.index, family, limits.deadline_s) as beside:
            yield IndexingContext(
                run,
                policy,
                settings,
                model,
                extraction,
                embedding,
                Publisher(run, policy),
                tuple(beside),
                observer=observer,
                fetcher=Fetcher(fetching, family),
            )


def _hand_out(context: IndexingContext, registered: Registered, runner: Runner) -> None:
    work = partial(index_document, context)
    runner.hand_out(work, registered.pending[: registered.alone], 1)
    runner.hand_out(work, registered.pending[registered.alone :], IN_FLIGHT)
