"""Reindex as a flow of Prefect: each document is a task of it.

pincite index ./docs
"""

from dataclasses import asdict
from typing import cast

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed
from prefect.task_runners import ThreadPoolTaskRunner

from pincite.flows.artifacts import show_documents
from pincite.flows.prefect_runner import PrefectRunner
from pincite.schemas.records import Counts
from pincite.tasks.reindex import IN_FLIGHT, SourceUpdate


def reindex(update: SourceUpdate) -> Counts:
    """The counts of the run, which is a flow run of the Prefect API that is set."""

    # The update is bound here, since Prefect looks into every parameter and stores them all.
    @flow(
        name="reindex",
        task_runner=ThreadPoolTaskRunner(max_workers=IN_FLIGHT),  # type: ignore[arg-type]  # invariant in its future
        persist_result=False,
        validate_parameters=False,
    )
    def reindex_source(source: str, index: str) -> State:
        run, counts = update.run(PrefectRunner())
        if counts.indexed or counts.failed:
            show_documents(run, counts)
        told = ", ".join(f"{n} {name}" for name, n in asdict(counts).items())
        return Completed(message=told, data=counts)

    done = reindex_source(update.collection.source, str(update.index.path))
    return cast(Counts, done)  # the data of its state
