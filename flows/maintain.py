"""Maintain: keep an index small and quick, as a Prefect deployment runs it.

pincite compact; pincite vacuum --older-than 7d          prefect deploy --all (prefect.yaml), or `pincite serve`

compact (when there are many units) → vacuum (what is older than the grace time)
"""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed

from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBusy
from pincite.storage.maintenance.vacuum import GRACE_S
from pincite.storage.maintenance.whole_index import compact_index, vacuum_index
from pincite.storage.snapshots.index import Index


@flow(name="maintain", persist_result=False)
def maintain(index: str = "pincite-index", grace_s: float = GRACE_S) -> State:
    """Completed, with the sums in its message; Cancelled when another run has the index."""
    with Index.open(Path(index)) as opened:
        try:
            compacted = compact_index(opened, only_when_many=True)
            vacuumed = vacuum_index(opened, grace_s)
        except IndexBusy as error:
            return Cancelled(message=str(error))
    merged = (
        f"{counted(compacted.segments_before, 'segment')} became {compacted.segments_after:,}, "
        if compacted
        else ""
    )
    return Completed(
        message=f"{merged}{counted(vacuumed.files, 'file')} and {counted(vacuumed.bytes_freed, 'byte')} freed"
    )
