"""Leases and outcomes: how a document's result becomes visible, all of it or nothing."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from pincite.schemas.errors import Failure, InvariantBroken
from pincite.schemas.records import Job, Policy, Space
from pincite.schemas.retrying import wait_s
from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import new_version
from pincite.storage.objects.download_cache import fetched_file
from pincite.storage.runs.replicas import adopt, claim, unblock, written_copies
from pincite.storage.runs.runs import Run
from pincite.storage.search_cache.prefetch import PacksAhead
from pincite.storage.segments.arrow_rows import Finished, rows_of, storable_text
from pincite.storage.segments.segment import write_segment


def lease(run: Run, document_id: str, policy: Policy, seconds: float) -> Job | None:
    """Takes a pending document for this run until `seconds` from now.

    None when it is no longer pending, or the run was broken off meanwhile.
    """
    documents, runs = schema.documents, schema.runs
    alive = sa.exists().where(runs.c.run_id == run.run_id, runs.c.state == "running")
    with transactions.writing(run.index.engine) as connection:
        path = connection.scalar(sa.select(documents.c.path).where(documents.c.document_id == document_id))
        row = connection.execute(
            documents.update()
            .where(documents.c.document_id == document_id, documents.c.state == "pending", alive)
            .values(
                state="running",
                lease_owner=run.run_id,
                lease_until=time.time() + seconds,
                revision=documents.c.revision + 1,
                attempts=documents.c.attempts + 1,
                recipe=policy.recipe,
                limits=policy.limits_of(path or ""),
            )
            .returning(documents)
        ).first()
    if row is None:
        return None
    return Job(
        document_id=row.document_id,
        path=row.path,
        absolute=_at_hand(run, row),
        source=row.source,
        size_bytes=row.size_bytes,
        sha256=row.sha256,
        source_version=row.source_version,
        revision=row.revision,
        attempt=row.attempts,
    )


def _at_hand(run: Run, row: sa.Row[Any]) -> str:
    """The file itself, or that of an object which discovery downloaded; else the URL."""
    kept = fetched_file(run.index.path, row.sha256, row.path)
    return str(kept.absolute()) if "://" in row.source and kept.is_file() else f"{row.source}/{row.path}"


def publish(
    run: Run, finished: Sequence[Finished], policy: Policy, ahead: PacksAhead | None = None
) -> frozenset[str]:
    """Makes documents visible in one transaction and returns the ids of those that it made visible.

    A document is left out when its job is stale: another run took it over, or the source moved on. Its rows
    stay in the segment and are never live. One that can't be stored fails, and the others are published.
    A document that another kept space has too goes there in the same transaction; where it can't, it blocks
    that space's migration and is published all the same. `ahead` makes what searches need of it before the commit.
    """
    with transactions.reading(run.index.engine) as connection:
        space_id, space = schema.live_space(connection, schema.current_version(connection))
    storable = list(_storable(run, finished, space))
    tables = {
        kind: pa.concat_tables([rows[kind] for _, rows in storable]) for kind in SEGMENT_SCHEMAS if storable
    }
    written = [
        write_segment(run.index.places, kind, table) for kind, table in tables.items() if table.num_rows
    ]
    stored = {kind: _count_rows(table) for kind, table in tables.items()}
    copies = written_copies(run.index, [copy for one, _ in storable for copy in one.copies])
    if ahead is not None:
        ahead.make(run.index, written, space_id)
    with transactions.writing(run.index.engine) as connection:
        accepted = [one for one, _ in storable if _accept(connection, run, one.job)]
        if accepted:
            version = new_version(connection, run.run_id)
            for one in accepted:
                _begin_revision(connection, one, stored, policy, space_id, version)
                unblock(connection, one.job.document_id)
            claim(connection, written, space_id, version)
            adopt(connection, copies, space_id, version)
    return frozenset(one.job.document_id for one in accepted)


def _storable(
    run: Run, finished: Sequence[Finished], space: Space
) -> Iterator[tuple[Finished, Mapping[str, pa.Table]]]:
    for one in finished:
        try:
            yield one, rows_of(one, space)
        except ValueError as error:
            fail(run, one.job, Failure("publish", InvariantBroken.kind, f"it can't be stored: {error}"))


def _count_rows(table: pa.Table) -> Mapping[str, int]:
    counts = pc.value_counts(table["document_id"].combine_chunks())
    return {item["values"].as_py(): item["counts"].as_py() for item in counts}


def _held(run: Run, job: Job) -> sa.ColumnElement[bool]:
    """Compare-and-set: the job is the newest of its document and this run still holds its lease."""
    documents = schema.documents
    return sa.and_(
        documents.c.document_id == job.document_id,
        documents.c.source_version == job.source_version,
        documents.c.revision == job.revision,
        documents.c.lease_owner == run.run_id,
        documents.c.state == "running",
    )


CLEARED = {"stage": None, "kind": None, "reason": None, "page": None, "transient": False, "not_before": None}
_RELEASED = {"lease_owner": None, "lease_until": None}


def _accept(connection: sa.Connection, run: Run, job: Job) -> bool:
    values = {"state": "indexed", "last_outcome": "indexed", "attempts": 0, "updated_at": time.time()}
    result = connection.execute(
        schema.documents.update().where(_held(run, job)).values(values | CLEARED | _RELEASED)
    )
    if result.rowcount:
        _remember(connection, run, job, "indexed", None)
    return bool(result.rowcount)


def _begin_revision(
    connection: sa.Connection,
    one: Finished,
    stored: Mapping[str, Mapping[str, int]],
    policy: Policy,
    space_id: int,
    version: int,
) -> None:
    revisions = schema.revisions
    connection.execute(
        revisions.update()
        .where(
            revisions.c.document_id == one.job.document_id,
            revisions.c.space_id == space_id,
            revisions.c.ended_version.is_(None),
        )
        .values(ended_version=version)
    )
    connection.execute(
        revisions.insert().values(
            document_id=one.job.document_id,
            revision=one.job.revision,
            space_id=space_id,
            began_version=version,
            path=one.job.path,
            source_sha256=one.job.sha256,
            recipe=policy.recipe,
            chunks=stored["chunks"].get(one.job.document_id, 0),
            postings=stored["postings"].get(one.job.document_id, 0),
            **_description(one),
        )
    )


def _description(one: Finished) -> dict[str, object]:
    """What the ledger says of an extraction, so that reports need not open a segment."""
    extraction = one.prepared.extraction
    read_by_ocr = [page for page in extraction.pages if page.ocr]
    return {
        "title": one.title,
        "title_from_name": one.title != extraction.title,
        "media_type": extraction.media_type,
        "extractor": extraction.extractor,
        "extractor_version": extraction.extractor_version,
        "over_window": sum(chunk.over_window for chunk in one.prepared.chunks),
        "characters": len(extraction.text),
        "pages": len(extraction.pages),
        "ocr_pages": len(read_by_ocr),
        "ocr_confidence": _mean([page.ocr_confidence for page in read_by_ocr]),
        "tables": sum(block.kind == "table" for block in extraction.blocks),
        "warnings": [asdict(warning) for warning in extraction.warnings],
        "language": one.prepared.language,
        "encoder_fit": one.prepared.encoder_fit,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def fail(run: Run, job: Job, failure: Failure) -> bool:
    """Ends the job as failed with its reason; its last good revision stays live. False when the job is stale."""
    failure = replace(failure, reason=storable_text(failure.reason))
    now = time.time()
    not_before = now + wait_s(job.document_id, job.attempt) if failure.transient else None
    values = {"state": "failed", "last_outcome": "failed", "updated_at": now, "not_before": not_before}
    with transactions.writing(run.index.engine) as connection:
        result = connection.execute(
            schema.documents.update().where(_held(run, job)).values(values | asdict(failure) | _RELEASED)
        )
        if result.rowcount:
            _remember(connection, run, job, "failed", failure)
    return bool(result.rowcount)


def _remember(connection: sa.Connection, run: Run, job: Job, outcome: str, failure: Failure | None) -> None:
    cause = asdict(failure) if failure else {}
    cause.pop("transient", None)
    connection.execute(
        schema.attempts.insert().values(
            document_id=job.document_id,
            run_id=run.run_id,
            attempt=job.attempt,
            ended_at=time.time(),
            outcome=outcome,
            **cause,
        )
    )
