"""Vacuum: what only old versions had is taken away after a grace time, except where a living reader holds it."""

import time
from dataclasses import dataclass

import sqlalchemy as sa

from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import (
    OLDEST_TIME,
    OLDEST_VERSION,
    TOLD_SINCE,
    local,
    oldest_time,
    oldest_version,
    remember,
    told_since,
)
from pincite.storage.locks.reader_leases import drop_dead, living
from pincite.storage.runs.runs import Run, sweep
from pincite.storage.snapshots.index import Index

GRACE_S = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What a vacuum took away."""

    oldest: int  # the oldest version that can still be read
    files: int = 0
    bytes_freed: int = 0
    revisions: int = 0  # rows of the ledger
    attempts: int = 0
    held_by: tuple[str, ...] = ()  # readers that kept it from taking more


@dataclass(frozen=True, slots=True)
class _Horizon:
    version: int
    time: float  # attempts that ended before it go, except the last of each document
    held_by: tuple[str, ...]


def vacuum(run: Run, grace_s: float = GRACE_S) -> Vacuumed:
    """Takes away what no version younger than the grace time has; a version is as old as what replaced it.

    The ledger first, then the files: a kill leaves files that nobody claims, which the next run sweeps.
    """
    index = run.index
    with transactions.writing(index.engine) as connection:
        drop_dead(connection)
        horizon = _horizon(connection, time.time() - grace_s)
        ended = _ended(schema.segments, horizon.version)
        count, size = connection.execute(
            sa.select(sa.func.count(), sa.func.sum(schema.segments.c.size_bytes)).where(ended)
        ).one()
        connection.execute(schema.segments.delete().where(ended))
        revisions = connection.execute(
            schema.revisions.delete().where(_ended(schema.revisions, horizon.version))
        )
        attempts = connection.execute(schema.attempts.delete().where(_outlived(horizon.time)))
        claimed = set(connection.scalars(sa.select(schema.segments.c.file)))
        remember(connection, OLDEST_VERSION, str(horizon.version))
        remember(connection, TOLD_SINCE, str(max(horizon.version, told_since(connection))))
        remember(connection, OLDEST_TIME, repr(horizon.time))
    transactions.make_durable(index.engine)
    sweep(index, claimed)
    return Vacuumed(horizon.version, count, size or 0, revisions.rowcount, attempts.rowcount, horizon.held_by)


def freeable(index: Index, grace_s: float = GRACE_S) -> tuple[int, int]:
    """(files, bytes) that a vacuum would take away now."""
    with transactions.reading(index.engine) as connection:
        horizon = _horizon(connection, time.time() - grace_s)
        query = sa.select(sa.func.count(), sa.func.sum(schema.segments.c.size_bytes))
        count, size = connection.execute(query.where(_ended(schema.segments, horizon.version))).one()
    return count, size or 0


def _horizon(connection: sa.Connection, before: float) -> _Horizon:
    """The oldest version to keep: the newest of those times, or the oldest that a living reader holds."""
    versions = schema.versions
    newest_then = sa.select(sa.func.max(versions.c.version)).where(versions.c.committed_at <= before)
    wanted = connection.scalar(newest_then) or 0
    oldest = oldest_version(connection)
    held = [reader for reader in living(connection) if reader.version < wanted]
    version = max(oldest, min([wanted, *(reader.version for reader in held)]))
    committed = connection.scalar(sa.select(versions.c.committed_at).where(versions.c.version == version))
    return _Horizon(
        version,
        max(oldest_time(connection), min(before, committed or 0.0) if held else before),
        tuple(
            f"process {reader.pid} on {reader.host} holds version {reader.version} "
            f"until {local(reader.lease_until)}"
            for reader in held
        ),
    )


def _ended(table: sa.Table, version: int) -> sa.ColumnElement[bool]:
    """What had ended at `version` and so is live at no version from there on."""
    return sa.and_(table.c.ended_version.is_not(None), table.c.ended_version <= version)


def _outlived(before: float) -> sa.ColumnElement[bool]:
    """Attempts that ended before a time and were not the last of their document then."""
    attempts, later = schema.attempts, schema.attempts.alias()
    return sa.and_(
        attempts.c.ended_at < before,
        sa.exists().where(
            later.c.document_id == attempts.c.document_id,
            later.c.attempt_id > attempts.c.attempt_id,
            later.c.ended_at < before,
        ),
    )
