"""Runs over one collection without children and weights."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pincite.schemas.records import Collection, Counts, Job, Policy
from pincite.schemas.settings import Limits
from pincite.storage.runs.commit import lease, publish
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.tasks.discover import discover
from pincite.tasks.sources.bucket import fetch_object, is_url
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


@contextmanager
def at_hand(job: Job) -> Iterator[Path]:
    """The file of a document, fetched here rather than by a child."""
    if not is_url(job.absolute):
        yield Path(job.absolute)
        return
    with tempfile.TemporaryDirectory() as folder:
        fetch_object(job, Path(folder) / "object")
        yield Path(folder) / "object"


def of(source: str | Path, **patterns: tuple[str, ...]) -> Collection:
    return Collection("docs", address_of(str(source)), **patterns)
