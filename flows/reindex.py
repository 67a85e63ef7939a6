"""Reindex: bring an index up to date with a folder.

pincite index ./docs

discover → document (lease → prepare → embed → publish) × n → counts → search cache
"""

import hashlib
import os
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from encoders.models import Model, resolve_model
from flows.window import hand_out
from schemas.records import Policy
from schemas.settings import Settings
from storage.cache import refresh_cache
from storage.runs import Run, begin_run, finish_run
from storage.spaces import spaces_of
from tasks.discover import discover, source_root
from tasks.document import Line, document_task
from tasks.embed import EmbedOrder
from tasks.plan import current_versions, made_or_opened, policy_of, resolved, space_of
from tasks.probes import check_probes
from tasks.publish import Publisher
from tasks.standby import EMBEDDER_MEMORY_BYTES, embed_in, standbys
from tasks.supervise import end_leftovers, pool

IN_FLIGHT = 16
"""Documents handed out at a time: enough to share a commit and keep every child busy, few enough for memory."""


@flow(
    name="reindex",
    task_runner=ThreadPoolTaskRunner(max_workers=IN_FLIGHT),  # type: ignore[arg-type]  # invariant in its future
    persist_result=False,
    validate_parameters=False,
)
def reindex(source: str, index: str, settings: Settings, retry: tuple[str, ...] | None = None) -> State:
    """Completed with the `Counts` of the run, also when documents failed: the ledger has each one's reason."""
    root = source_root(Path(source), Path(index))
    with (
        made_or_opened(Path(index), settings) as opened,
        begin_run(opened, "reindex", str(root)) as run,
    ):
        settings = resolved(opened.path, settings)  # once more: a migration may have switched before our lock
        model = resolve_model(settings.model)
        opened.require_space(space_of(model, settings))
        policy = replace(policy_of(settings, retry), extractors=current_versions(opened, settings))
        registered = discover(run, policy)
        if registered.pending:
            _index_documents(run, registered.pending, settings, policy, model)
        counts = finish_run(run)
        refresh_cache(opened)
    return Completed(message=", ".join(f"{n} {name}" for name, n in asdict(counts).items()), data=counts)


def _index_documents(
    run: Run, pending: tuple[str, ...], settings: Settings, policy: Policy, model: Model
) -> None:
    family = hashlib.sha256(str(run.index.path.resolve()).encode()).hexdigest()[:16]
    end_leftovers(family)
    with ExitStack() as children:
        extraction = children.enter_context(
            pool(
                settings.workers or os.cpu_count() or 1,
                settings.limits.memory_bytes,
                family,
                first=("warm up", model),
            )
        )
        embedding = children.enter_context(
            pool(1, EMBEDDER_MEMORY_BYTES, family, first=("embed", EmbedOrder(model, ())))
        )
        check_probes(run.index, spaces_of(run.index)[0], partial(embed_in, embedding, model))
        beside = children.enter_context(standbys(run.index, family, settings.limits.deadline_s))
        publisher = Publisher(run, policy)
        line = Line(run, policy, settings, model, extraction, embedding, publisher, tuple(beside))
        hand_out(document_task(line), pending, IN_FLIGHT, line.errors)
