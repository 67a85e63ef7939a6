"""Fetch: an object of a bucket is brought to this machine by a child that has the keys and parses nothing."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pincite.schemas.records import Job
from pincite.storage.objects.download_cache import suffix_of
from pincite.tasks.sandbox.child import At
from pincite.tasks.sandbox.pool import Pool, ProgressCallback, scratch_prefix
from pincite.tasks.sources.bucket import fetch_object, is_url


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """An object, and the file that it is to become."""

    job: Job
    into: Path


def fetch(request: FetchRequest, _at: At) -> None:
    """Raises `SourceUnavailable` or `SourceChanged`."""
    fetch_object(request.job, request.into)


@dataclass(frozen=True, slots=True)
class Fetcher:
    """Children that fetch; `family` is that of the index, so that what a kill leaves is removed with the rest."""

    children: Pool
    family: str

    @contextmanager
    def at_hand(self, job: Job, deadline_s: float, told: ProgressCallback) -> Iterator[Job]:
        """The job with a file of this machine, for the block. Raises `StageFailed`."""
        if not is_url(job.absolute):
            yield job
            return
        with tempfile.TemporaryDirectory(prefix=scratch_prefix(self.family)) as folder:
            path = Path(folder) / f"object{suffix_of(job.path)}"
            self.children.run("fetch", FetchRequest(job, path), deadline_s, told)
            yield replace(job, absolute=str(path))
