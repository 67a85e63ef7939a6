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
from pincite.flows.notify import failure_report, tell
from pincite.flows.reindex import reindex
from pincite.flows.settings import load_settings
from pincite.schemas.errors import IndexBusy, PinciteError, SourceError
from pincite.schemas.records import Collection, CollectionOutcome, Counts
from pincite.schemas.settings import Settings
from pincite.storage.runs.collections import read_collections
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import settle_if_idle
from pincite.tasks.sandbox.priority import give_way
from pincite.tasks.steps.configuration import made_or_opened, policy_for
from pincite.tasks.steps.plan import CollectionChoice, chosen_collections


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
    folder, began = Path(index), time.time()
    outcomes: list[CollectionOutcome] = []
    with made_or_opened(folder, settings) as opened:
        chosen = chosen_collections(
            read_collections(opened), settings, CollectionChoice(collection=collection)
        )
        try:
            for one in chosen:
                outcomes.append(_update(opened, one, settings, wanted, confirm_deletions, now))
        except IndexBusy as error:
            if outcomes:  # what the collections before had to tell
                _tell(opened, settings, outcomes, began)
            return Cancelled(message=str(error))
        except PinciteError as error:
            _tell(opened, settings, outcomes, began, str(error))
            raise
        worse = _gate(folder, settings) if evaluation_due(settings, outcomes) else ""
        _tell(opened, settings, outcomes, began, worse)
    return Failed(message=worse) if worse else _state_of(outcomes)


def _gate(index: Path, settings: Settings) -> str:
    """What the evaluation says against the new index; "" when it may stay."""
    state = evaluate(str(index), settings.questions, settings, return_state=True)
    return f"evaluation: {state.message}" if not state.is_completed() else ""


def _tell(
    index: Index, settings: Settings, outcomes: list[CollectionOutcome], since: float, error: str = ""
) -> None:
    report = failure_report(index, outcomes, since, error)
    if report and (warning := tell(settings.notify, report)):
        get_run_logger().warning(warning)


def _update(
    index: Index,
    collection: Collection,
    settings: Settings,
    retry: tuple[str, ...] | None,
    confirmed_deletions: int | None,
    now: float | None,
) -> CollectionOutcome:
    policy = policy_for(index, settings, retry, confirmed_deletions, now)
    began = time.monotonic()
    try:
        counts = settle_if_idle(index, collection, policy, settings.limits)
        idle = counts is not None
        if counts is None:
            counts = reindex(  # type: ignore[assignment]  # the data of its state
                collection.source,
                str(index.path),
                settings,
                retry,
                collection=collection,
                confirmed_deletions=confirmed_deletions,
                now=now,
            )
        return CollectionOutcome(collection, counts or Counts(), time.monotonic() - began, idle)
    except SourceError as error:
        return CollectionOutcome(collection, Counts(), time.monotonic() - began, idle=True, error=str(error))


def _state_of(outcomes: list[CollectionOutcome]) -> State:
    if errors := [one.error for one in outcomes if one.error]:
        return Failed(message="; ".join(errors))
    totals = {name: sum(asdict(one.counts)[name] for one in outcomes) for name in Counts.__slots__}
    return Completed(message=", ".join(f"{count} {name}" for name, count in totals.items()))
