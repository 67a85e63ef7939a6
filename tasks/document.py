"""One document from its lease to its outcome: prepare → embed → publish."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pincite.encoders.models import Model
from pincite.schemas.errors import DocumentError, Failure
from pincite.schemas.records import Job, Policy, Prepared
from pincite.schemas.settings import DEFAULT_CHUNKER, Settings
from pincite.storage.runs.commit import fail, lease
from pincite.storage.runs.runs import Run
from pincite.storage.segments.arrow_rows import Finished
from pincite.tasks.migration.shadow import Standby, copy_for
from pincite.tasks.sandbox.pool import Pool, PoolClosed, StageFailed
from pincite.tasks.steps.embed import EmbedOrder
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
            outcome = "failed" if fail(line.run, job, failure) else "superseded"
        except PoolClosed:
            return "given back"
        if line.observer is not None:
            line.observer.document(job, outcome, failure, course)
        return outcome
    finally:
        line.publisher.expect(-1)


def _finish(line: IndexingContext, job: Job, course: StageTimes) -> Finished:
    deadline = time.monotonic() + line.settings.limits.deadline_s
    prepared: Prepared = line.extraction.run(
        "prepare", PrepareRequest(job, line.settings, line.model), line.settings.limits.deadline_s, course.at
    )
    texts = tuple(chunk.text for chunk in prepared.chunks)
    left_s = max(deadline - time.monotonic(), 1.0)
    vectors = line.embedding.run("embed", EmbedOrder(line.model, texts), left_s, course.at)
    try:
        check_invariants(
            prepared, vectors, line.model.dimension, line.settings.chunker in ("", DEFAULT_CHUNKER)
        )
    except DocumentError as error:
        raise StageFailed(Failure("publish", error.kind, error.message, error.page)) from error
    one = Finished(job, document_title(prepared.extraction, job.path), prepared, vectors)
    return replace(one, copies=tuple(copy_for(standby, one) for standby in line.standbys))
