"""Runs over one collection without children and weights."""

from pathlib import Path

from pincite.schemas.records import Collection, Counts, Policy
from pincite.schemas.settings import Limits
from pincite.storage.runs.commit import lease, publish
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover
from pincite.tasks.sources.bucket import at_hand
from pincite.tasks.sources.source import address_of
from tests.storage.building import LEASE_S, POLICY, SPACE, finished

LIMITS = Limits(source_bytes=1_000)


def reindex(index: Path, collection: Collection, policy: Policy = POLICY) -> Counts:
    """One whole run over a collection, whose documents are read as a child process would read them."""
    with Index.create(index, SPACE) as opened, begin_run(opened, "reindex", collection.source) as run:
        for document_id in discover(run, policy, collection, LIMITS).pending:
            job = lease(run, document_id, policy, LEASE_S)
            assert job is not None
            with at_hand(job) as path:
                publish(run, [finished(job, path.read_text(encoding="utf-8"))], policy)
        return finish_run(run)


def of(source: str | Path, **patterns: tuple[str, ...]) -> Collection:
    return Collection("docs", address_of(str(source)), **patterns)
