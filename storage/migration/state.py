"""Migrations as the ledger has them: begun, given up, what blocks them, and the old space's end.

What changes something is called under the lock of the index (`pincite.storage.locks.run_lock.patient`).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from pincite.schemas.errors import UsageError
from pincite.schemas.records import Space
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import new_version
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import (
    Kept,
    add_space,
    kept_spaces,
    remove_space,
    space_by_id,
    spaces_of,
)

State = Literal["building", "switched", "rolled back", "aborted"]
Stage = Literal["preparing", "building", "evaluating", "switching", "blocked", "refused", "held"]
"""What who is at work does, or how the last ended: held is ready, and waits for the word to switch."""
_AT_WORK = ("preparing", "building", "evaluating", "switching")
_AT_REST = {"held": "ready to switch", "blocked": "blocked", "refused": "refused"}


@dataclass(frozen=True, slots=True)
class Migration:
    """One row of `migrations` with its two spaces."""

    migration_id: int
    source: Kept
    target: Kept
    state: State
    settings: Mapping[
        str, object
    ]  # added: whether the target was made for it; keep_days: of the old space; stage, stage_at; questions
    started_at: float
    ended_at: float | None  # of the last switch, or of the abort
    gate: Mapping[str, object] | None

    @property
    def run_id(self) -> str:
        """By which its versions are known."""
        return f"migration-{self.migration_id}"

    @property
    def questions(self) -> str:
        """The file that it was last to be evaluated on; "" where none was named."""
        return str(self.settings.get("questions", ""))

    @property
    def stage(self) -> str:
        """A `Stage` of one that is building; "" where none was told."""
        return str(self.settings.get("stage", ""))

    @property
    def stage_at(self) -> float | None:
        """When its stage began, in seconds since the epoch; None where that was not told."""
        at = self.settings.get("stage_at")
        return at if isinstance(at, float) else None

    def standing(self, at_work: bool) -> str:
        """The one word for how it stands: its state, or of one that is building, what is done or how it was left.

        `at_work`: whether someone migrates now.
        """
        if self.state != "building":
            return self.state
        if at_work:
            return self.stage if self.stage in _AT_WORK else "preparing"
        return _AT_REST.get(self.stage, "interrupted")


@dataclass(frozen=True, slots=True)
class Blocker:
    """A document that the target can't have."""

    document_id: str
    path: str
    revision: int
    reason: str
    waived: bool


def newest_migration(index: Index) -> Migration | None:
    """The migration that was begun last, whatever became of it."""
    with transactions.reading(index.engine) as connection:
        return latest(connection)


def latest(connection: sa.Connection) -> Migration | None:
    """As `newest_migration`, in a transaction of the caller."""
    query = sa.select(schema.migrations).order_by(schema.migrations.c.migration_id.desc()).limit(1)
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    return Migration(
        migration_id=row["migration_id"],
        source=space_by_id(connection, row["from_space"]),
        target=space_by_id(connection, row["to_space"]),
        state=row["state"],
        settings=row["settings"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        gate=row["gate"],
    )


def begin(index: Index, target: Space, setting: str, keep_days: float | None) -> Migration:
    """A migration from the live space to `target`: a new one, or the one that was begun and not finished.

    Raises `UsageError` when `target` is live already or another migration is not finished.
    """
    with transactions.writing(index.engine) as connection:
        kept = kept_spaces(connection)
        last = latest(connection)
        _require_other(kept[0], target, last)
        if last is None or not _goes_on(last, target, kept):
            last = _insert(connection, kept, target, setting)
        settings = dict(last.settings) | ({} if keep_days is None else {"keep_days": keep_days})
        record(connection, last, state="building", settings=settings, ended_at=None)
        return current(connection)


def require_startable(index: Index, target: Space) -> None:
    """Raises `UsageError` as `begin` does."""
    with transactions.reading(index.engine) as connection:
        _require_other(kept_spaces(connection)[0], target, latest(connection))


def _goes_on(last: Migration, target: Space, kept: Sequence[Kept]) -> bool:
    there = any(one.space_id == last.target.space_id for one in kept)
    return last.state == "building" or (last.state == "rolled back" and there and last.target.space == target)


def _insert(connection: sa.Connection, kept: Sequence[Kept], target: Space, setting: str) -> Migration:
    added = all(one.space != target for one in kept)
    connection.execute(
        schema.migrations.insert().values(
            from_space=kept[0].space_id,
            to_space=add_space(connection, target, setting),
            state="building",
            settings={"added": added},
            started_at=time.time(),
        )
    )
    return current(connection)


def _require_other(live: Kept, target: Space, last: Migration | None) -> None:
    if last is not None and last.state == "building" and last.target.space != target:
        raise UsageError(
            f"a migration to {last.target.space} is not finished: go on with `pincite migrate`, or give it up "
            f"with `pincite migrate --abort` before one to {target}"
        )
    if live.space == target:
        raise UsageError(f"the index is of the model version {target} already: there is nothing to migrate")


def current(connection: sa.Connection) -> Migration:
    """The migration that was begun last. Raises `UsageError` when there never was one."""
    last = latest(connection)
    if last is None:
        raise UsageError("no migration was ever begun: begin one with `pincite migrate --model MODEL`")
    return last


def record(connection: sa.Connection, migration: Migration, **values: object) -> None:
    """Sets columns of a migration's row."""
    table = schema.migrations
    connection.execute(table.update().where(table.c.migration_id == migration.migration_id).values(**values))


def record_gate(index: Index, migration: Migration, gate: Mapping[str, object]) -> None:
    """Keeps the verdict of the evaluation before the switch."""
    with transactions.writing(index.engine) as connection:
        record(connection, migration, gate=dict(gate))


def record_stage(index: Index, stage: Stage) -> None:
    """Tells how far the newest migration is."""
    note(index, stage=stage, stage_at=time.time())


def note(index: Index, **told: object) -> None:
    """Keeps values in the newest migration's settings: one row, so that no lock of the index is waited for."""
    with transactions.writing(index.engine) as connection:
        migration = current(connection)
        record(connection, migration, settings=dict(migration.settings) | told)


def changed_since(index: Index, space_id: int, version: int) -> int:
    """How many documents a space has got, lost or renamed after a version."""
    table = schema.revisions
    query = sa.select(sa.func.count(table.c.document_id.distinct())).where(
        table.c.space_id == space_id,
        sa.or_(table.c.began_version > version, table.c.ended_version > version),
    )
    with transactions.reading(index.engine) as connection:
        return int(connection.scalar(query) or 0)


def changed_since_gate(index: Index, migration: Migration) -> int:
    """How many documents of either space changed after the verdict; 0 without one.

    A verdict that does not say of which versions it is counts as changed.
    """
    if migration.gate is None:
        return 0
    versions = migration.gate.get("versions")
    if not isinstance(versions, Mapping):
        return 1
    pairs = ((migration.source, versions["old"]), (migration.target, versions["new"]))
    return max(changed_since(index, kept.space_id, version) for kept, version in pairs)


def abort(index: Index) -> Migration:
    """Gives up the newest migration: the space that was made for it is removed. The live one stays."""
    with transactions.writing(index.engine) as connection:
        migration = _abortable(connection)
        if migration.settings.get("added"):
            remove_space(connection, migration.target.space_id, new_version(connection, migration.run_id))
        record(connection, migration, state="aborted", ended_at=time.time())
        return current(connection)


def remove_old(index: Index) -> tuple[Space, ...]:
    """Removes every space beside the live one, and returns them. Raises `UsageError` when there is none."""
    with transactions.writing(index.engine) as connection:
        last, old = _with_old(connection)
        version = new_version(connection, last.run_id)
        for one in old:
            remove_space(connection, one.space_id, version)
        return tuple(one.space for one in old)


def require_abortable(index: Index) -> None:
    """Raises `UsageError` as `abort` does."""
    with transactions.reading(index.engine) as connection:
        _abortable(connection)


def require_old_space(index: Index) -> None:
    """Raises `UsageError` as `remove_old` does."""
    with transactions.reading(index.engine) as connection:
        _with_old(connection)


def _abortable(connection: sa.Connection) -> Migration:
    migration = current(connection)
    if migration.state not in ("building", "rolled back"):
        raise UsageError(
            f"the migration to {migration.target.space} is {migration.state}: only one that is building or "
            "rolled back can be given up. To go back use `pincite migrate --rollback`"
        )
    return migration


def _with_old(connection: sa.Connection) -> tuple[Migration, list[Kept]]:
    last = latest(connection)
    if last is not None and last.state in ("building", "rolled back"):
        raise UsageError(
            f"the migration to {last.target.space} is {last.state}: give it up with "
            "`pincite migrate --abort`, or finish it first"
        )
    old = [one for one in kept_spaces(connection) if not one.live]
    if last is None or not old:
        raise UsageError("no old model version is kept: there is nothing to remove")
    return last, old


def old_space_expired(index: Index, now: float) -> bool:
    """Whether the old space was to be kept for some days after the switch, and they are over."""
    migration = newest_migration(index)
    if migration is None or migration.state != "switched" or migration.ended_at is None:
        return False
    days = migration.settings.get("keep_days")
    kept = any(one.space_id == migration.source.space_id for one in spaces_of(index))
    return kept and isinstance(days, int | float) and now >= migration.ended_at + days * 86_400


def remove_expired(index: Index, _run_id: str) -> None:
    """Removes the old space when the days are over for which it was to be kept."""
    if old_space_expired(index, time.time()):
        remove_old(index)


def blockers(index: Index, migration: Migration) -> tuple[Blocker, ...]:
    """Documents that the migration met and could not bring over, sorted by path."""
    table, documents = schema.blockers, schema.documents
    query = (
        sa.select(table, documents.c.path)
        .join(documents, documents.c.document_id == table.c.document_id)
        .where(table.c.migration_id == migration.migration_id, documents.c.state != "deleted")
        .order_by(documents.c.path, table.c.document_id)
    )
    with transactions.reading(index.engine) as connection:
        return tuple(
            Blocker(row.document_id, row.path, row.revision, row.reason, row.waived)
            for row in connection.execute(query)
        )


def in_the_way(index: Index, migration: Migration) -> tuple[Blocker, ...]:
    """Documents that block the migration and were not waived."""
    return tuple(one for one in blockers(index, migration) if not one.waived)


def waived_documents(connection: sa.Connection, migration: Migration) -> dict[str, str]:
    """Why each document that was waived blocked the migration, by id."""
    table = schema.blockers
    query = sa.select(table).where(table.c.migration_id == migration.migration_id, table.c.waived)
    return {row.document_id: row.reason for row in connection.execute(query)}


def waive(index: Index, migration: Migration, paths: Sequence[str]) -> None:
    """Lets the migration end without these documents, in one transaction: no lock of the index is waited for.

    Raises `UsageError` for one that blocks nothing.
    """
    if not paths:
        return
    known = {one.path: one for one in blockers(index, migration)}
    if unknown := sorted(set(paths) - known.keys()):
        named = ", ".join(sorted(known)) or "none"
        raise UsageError(f"{', '.join(unknown)} does not block the migration; what blocks it: {named}")
    table = schema.blockers
    with transactions.writing(index.engine) as connection:
        for path in sorted(set(paths)):
            key = sa.and_(
                table.c.migration_id == migration.migration_id, table.c.document_id == known[path].document_id
            )
            connection.execute(table.update().where(key).values(waived=True))
