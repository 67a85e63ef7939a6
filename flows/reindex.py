"""Reindex: bring an index up to date with a folder.

pincite index ./docs

discover → document (lease → prepare → embed → publish) × n → compact → counts → search cache
"""

import hashlib
import os
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from pincite.encoders.models import Model, resolve_model
from pincite.flows.artifacts import show_documents
from pincite.flows.window import hand_out
from pincite.schemas.records import Collection, Policy, Registered
from pincite.schemas.settings import Settings
from pincite.storage.erasure.recovery import RECOVERY
from pincite.storage.maintenance.compaction import compact_when_many
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.spaces import spaces_of
from pincite.tasks.discover import discover
from pincite.tasks.document import IndexingContext, document_task
from pincite.tasks.migration.probes import check_probes
from pincite.tasks.migration.shadow import EMBEDDER_MEMORY_BYTES, embed_in, standbys
from pincite.tasks.sandbox.pool import end_leftovers, pool
from pincite.tasks.sources.source import address_of
from pincite.tasks.steps.configuration import made_or_opened, policy_for, resolved
from pincite.tasks.steps.embed import EmbedOrder
from pincite.tasks.steps.fetch import Fetcher
from pincite.tasks.steps.observe import Observer, observing
from pincite.tasks.steps.plan import space_of
from pincite.tasks.steps.publish import Publisher

IN_FLIGHT = 16
"""Documents handed out at a time: enough to share a commit and keep every child busy, few enough for memory."""

FETCHERS = 2
"""Children that download what a full disk kept discovery from keeping; none is started before one is needed."""


@flow(
    name="reindex",
    task_runner=ThreadPoolTaskRunner(max_workers=IN_FLIGHT),  # type: ignore[arg-type]  # invariant in its future
    persist_result=False,
    validate_parameters=False,
)
def reindex(
    source: str,
    index: str,
    settings: Settings,
    retry: tuple[str, ...] | None = None,
    collection: Collection | None = None,
    confirmed_deletions: int | None = None,
    now: float | None = None,
) -> State:
    """Completed with the `Counts` of the run, also when documents failed: the ledger has each one's reason.

    `collection` is that of the source as it shall be from now on, where it is not as the ledger has it; `retry`,
    `confirmed_deletions` and `now` are as in `Policy`.
    """
    with (
        made_or_opened(Path(index), settings) as opened,
        begin_run(opened, "reindex", address_of(source), RECOVERY) as run,
        observing(run) as observer,
    ):
        settings = resolved(opened.path, settings)  # once more: a migration may have switched before our lock
        model = resolve_model(settings.model)
        opened.require_space(space_of(model, settings))
        policy = policy_for(opened, settings, retry, confirmed_deletions, now)
        registered = discover(run, policy, collection, settings.limits)
        if registered.pending:
            _index_documents(observer, registered, settings, policy, model)
            compact_when_many(run)
        observer.counts = counts = finish_run(run)
        if registered.pending:
            show_documents(run, counts)
        refresh_cache(opened)
    return Completed(message=", ".join(f"{n} {name}" for name, n in asdict(counts).items()), data=counts)


def _index_documents(
    observer: Observer, registered: Registered, settings: Settings, policy: Policy, model: Model
) -> None:
    run = observer.run
    family = hashlib.sha256(str(run.index.path.resolve()).encode()).hexdigest()[:16]
    end_leftovers(family)
    with ExitStack() as children:
        extraction = children.enter_context(
            pool(
                settings.workers or os.cpu_count() or 1,
                settings.limits.memory_bytes,
                family,
                first=("warm up", model),
                environment=settings.environment,
            )
        )
        fetching = children.enter_context(
            pool(FETCHERS, settings.limits.memory_bytes, family, environment=None)
        )
        embedding = children.enter_context(
            pool(1, EMBEDDER_MEMORY_BYTES, family, first=("embed", EmbedOrder(model, ())))
        )
        check_probes(run.index, spaces_of(run.index)[0], partial(embed_in, embedding, model))
        beside = children.enter_context(standbys(run.index, family, settings.limits.deadline_s))
        line = IndexingContext(
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
        suspects, others = registered.pending[: registered.alone], registered.pending[registered.alone :]
        hand_out(document_task(line), suspects, 1, line.errors)
        hand_out(document_task(line), others, IN_FLIGHT, line.errors)
