"""Nightly: all collections of an index brought up to date, one after the other, as a Prefect deployment runs it.

prefect deploy --all              (prefect.yaml), or `pincite serve`

settings → collections → reindex × n → evaluate → what came of it
"""

import os
import time
from dataclasses import asdict
from pathlib import Path

from prefect import flow, get_run_logger
from prefect.client.schemas.objects import State
from prefect.runtime import deployment
from prefect.states import Cancelled, Completed, Failed

from pincite.evaluation.gate.regression import evaluation_due
from pincite.flows.evaluate import evaluate
from pincite.flows.notify import telling
from pincite.flows.reindex import reindex
from pincite.flows.settings import load_settings
from pincite.schemas.errors import IndexBusy
from pincite.schemas.records import CollectionOutcome, Counts
from pincite.schemas.settings import Settings
from pincite.storage.snapshots.index import Index
from pincite.tasks.sandbox.priority import give_way
from pincite.tasks.steps.plan import CollectionChoice, UpdateRequest
from pincite.tasks.update import opened_for, update


@flow(name="nightly", persist_result=False)
def nightly(
    index: str = "pincite-index",
    collection: str | None = None,
    retry: list[str] | None = None,
    confirm_deletions: int | None = None,
    patient: bool = True,
) -> State:
    """Completed with the counts, Failed when a source could not be listed, Cancelled when another run has the index.

    Settings are read when it runs, from `pincite.toml` in the working directory and from the environment.
    `collection` restricts it to one; `retry` are ids of failed documents to try again, or none for all;
    `patient` leaves failures that may pass alone until their time has come.
    """
    if deployment.id:  # a process of its own, for which nobody waits
        give_way(os.getpid())
    settings = load_settings()
    wanted = None if retry is None else tuple(retry)
    now = time.time() if patient and wanted is None else None
    request = UpdateRequest(wanted, confirm_deletions, now)
    with opened_for(Path(index), settings, CollectionChoice(collection=collection)) as (opened, chosen):
        try:
            with telling(opened, settings.notify, get_run_logger().warning) as told:
                for one in update(opened, chosen, settings, request, reindex):
                    told.outcomes.append(one)
                if evaluation_due(settings, told.outcomes):
                    told.error = _gate(opened, settings)
        except IndexBusy as error:
            return Cancelled(message=str(error))
    return Failed(message=told.error) if told.error else _state_of(told.outcomes)


def _gate(index: Index, settings: Settings) -> str:
    """What the evaluation says against the new index; "" when it may stay."""
    state = evaluate(str(index.path), settings.questions, settings, return_state=True)
    return f"evaluation: {state.message}" if not state.is_completed() else ""


def _state_of(outcomes: list[CollectionOutcome]) -> State:
    if errors := [one.error for one in outcomes if one.error]:
        return Failed(message="; ".join(errors))
    totals = {name: sum(asdict(one.counts)[name] for one in outcomes) for name in Counts.__slots__}
    return Completed(message=", ".join(f"{count} {name}" for name, count in totals.items()))
