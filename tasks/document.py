"""One document from its lease to its outcome: prepare → embed → publish."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from pincite.encoders.models import Model, ModelName, name_of
from pincite.schemas.chunkers import is_whole
from pincite.schemas.errors import DocumentError, Failure, PinciteError
from pincite.schemas.records import Job, Policy, Prepared
from pincite.schemas.retrying import outlook_of
from pincite.schemas.settings import Settings
from pincite.storage.runs.commit import fail, lease
from pincite.storage.runs.runs import Run
from pincite.storage.segments.arrow_rows import Finished
from pincite.tasks.migration.shadow import Standby, copy_for
from pincite.tasks.sandbox.pool import Pool, PoolClosed, StageFailed
from pincite.tasks.steps.embed import EmbedOrder
from pincite.tasks.steps.fetch import Fetcher
from pincite.tasks.steps.observe import Observer, StageTimes
from pincite.tasks.steps.prepare import PrepareRequest, document_title
from pincite.tasks.steps.publish import Publisher, check_invariants

LEASE_SLACK_S = 600.0


@dataclass(frozen=True, slots=True)
class IndexingContext:
    """What all documents of a run share on their way."""

    run: Run
    policy: Policy
    settings: Settings
    model: Model
    extraction: Pool
    embedding: Pool
    publisher: Publisher
    standbys: Sequence[Standby] = ()
    observer: Observer | None = None
    fetcher: Fetcher | None = None  # of what lies in a bucket

    @property
    def model_name(self) -> ModelName:
        """What children are told of the model."""
        return name_of(self.model)


def index_document(line: IndexingContext, document_id: str) -> str:
    """The outcome, which stands in the ledger when this returns: indexed, failed or superseded.

    It is "given back" when the run is being broken off, which frees the lease.
    """
    deadline_s = line.settings.limits.deadline_s
    line.publisher.expect(1)
    try:
        job = lease(line.run, document_id, line.policy, 2 * deadline_s + LEASE_SLACK_S)
        if job is None:
            return "superseded"
        course, failure = StageTimes(), None
        try:
            finished = _finish(line, job, course)
            course.at("publish")
            outcome = "indexed" if line.publisher.publish(finished) else "superseded"
        except StageFailed as error:
            failure = error.failure
        except PoolClosed:
            return "given back"
        except PinciteError:
            raise  # what is wrong with the index or the machine is no document's fault
        except Exception as error:  # noqa: BLE001  counts as an attempt: no document may break two nights
            failure = _unforeseen(error, course)
        if failure is not None:
            outcome = "failed" if fail(line.run, job, failure) else "superseded"
        if line.observer is not None:
            line.observer.document(job, outcome, failure, course)
        return outcome
    finally:
        line.publisher.expect(-1)


def _unforeseen(error: Exception, course: StageTimes) -> Failure:
    kind = type(error).__name__
    stage = course.stages[-1][0] if course.stages else "prepare"
    return Failure(stage, kind, f"{kind}: {error}", transient=outlook_of(kind).transient)


class _Deadline:
    """What is left to a document: its own work counts, waiting for a free child does not."""

    def __init__(self, whole_s: float, course: StageTimes) -> None:
        self._whole_s = whole_s
        self._course = course
        self._spent_s = 0.0
        self._began: float | None = None

    def at(self, stage: str, page: int | None) -> None:
        """Told first when a child begins."""
        if self._began is None:
            self._began = time.monotonic()
        self._course.at(stage, page)

    def left_s(self) -> float:
        """For the stage that comes next. A tenth at least: the former ones ended within what was granted to them."""
        if self._began is not None:
            self._spent_s += time.monotonic() - self._began
            self._began = None
        return max(self._whole_s - self._spent_s, self._whole_s / 10)


def _finish(line: IndexingContext, job: Job, course: StageTimes) -> Finished:
    deadline = _Deadline(line.settings.limits.deadline_s, course)
    with (
        nullcontext(job)
        if line.fetcher is None
        else line.fetcher.at_hand(job, deadline.left_s(), deadline.at) as here
    ):
        order = PrepareRequest(here, line.settings, line.model_name)
        prepared: Prepared = line.extraction.run("prepare", order, deadline.left_s(), deadline.at)
    texts = tuple(chunk.text for chunk in prepared.chunks)
    vectors = line.embedding.run("embed", EmbedOrder(line.model_name, texts), deadline.left_s(), deadline.at)
    try:
        check_invariants(prepared, vectors, line.model.dimension, is_whole(line.settings.chunker))
    except DocumentError as error:
        raise StageFailed(Failure("publish", error.kind, error.message, error.page)) from error
    one = Finished(job, document_title(prepared.extraction, job.path), prepared, vectors)
    return replace(one, copies=tuple(copy_for(standby, one) for standby in line.standbys))
