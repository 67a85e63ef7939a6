"""Artifacts: the table of a run's documents on Prefect's page of the run."""

from prefect.artifacts import create_table_artifact

from pincite.schemas.records import Counts
from pincite.storage.queries.index_report import documents_of_run
from pincite.storage.runs.runs import Run

MOST_ROWS = 500


def show_documents(run: Run, counts: Counts) -> None:
    """Stores the failed documents of a run, then the indexed ones, as a table of at most `MOST_ROWS` rows."""
    rows = documents_of_run(run, MOST_ROWS)
    left_out = counts.indexed + counts.failed - len(rows)
    more = f" {left_out} more are in `pincite documents`." if left_out > 0 else ""
    create_table_artifact(
        table=[dict(row) for row in rows],
        key="documents",
        description=f"{run.source}: {counts.indexed} indexed, {counts.failed} failed.{more}",
    )
