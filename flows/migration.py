"""Migration: move an index to another embedding model or chunker while it is searched.

begin → build (derive → publish) × n → gate → [the word] → last catch-up → switch      rollback: catch-up → back

A second process is refused; a run of `pincite index` comes in between at any time, since the lock of the index is
held only for moments. A kill loses at most one batch. The Prefect flow around it is `pincite.flows.migrate`.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pincite.encoders.models import resolve_model
from pincite.flows.gating import passes
from pincite.schemas.settings import Settings
from pincite.storage.locks.interface import LockName
from pincite.storage.migration.cut_over import missing, switch, tidy
from pincite.storage.migration.state import (
    Migration,
    State,
    abort,
    begin,
    in_the_way,
    newest_migration,
    note,
    record_stage,
    remove_old,
    waive,
)
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import Kept, spaces_of
from pincite.tasks.migration.backfill import Builder, finish
from pincite.tasks.migration.plan import (
    MigrationOptions,
    Way,
    heading,
    require,
    require_switched,
    require_under_way,
)
from pincite.tasks.migration.probes import check_probes
from pincite.tasks.migration.shadow import model_of, standby
from pincite.tasks.sandbox.pool import end_leftovers
from pincite.tasks.steps.configuration import setting_of
from pincite.tasks.steps.plan import space_of


def carry_out(index: Index, way: Way, settings: Settings, choice: MigrationOptions) -> Migration | None:
    """The migration as it is when this ends; None when the index is of that space already.

    Where `choice` names no model or no chunker, that of the migration under way is meant, else that of the
    settings, else that of the index.
    """
    if way == "switch":
        require_under_way(index)
    whole = heading(index, settings, choice)
    if way == "rollback":
        return rollback(index, whole, choice)
    if way in ("abort", "remove-old"):
        return alone(index, abort if way == "abort" else remove_old)
    return migrate(index, whole, choice)


def went(migration: Migration | None, way: Way, choice: MigrationOptions) -> bool:
    """Whether it came to what was asked for."""
    if way == "rollback":
        return migration is not None and migration.state == "rolled back"
    if way in ("abort", "remove-old") or migration is None:
        return True
    return migration.state == "switched" or (not choice.switch and migration.stage == "held")


def migrate(index: Index, settings: Settings, choice: MigrationOptions) -> Migration | None:
    """The migration as it is when this ends: switched, or building still: what holds it is told by its `stage`.

    `settings` name model and chunker of the new space, in full. What was begun and not finished goes on. None when
    the index is of that space already. Raises `UsageError` when another migration is not finished, or a wish
    can't be met.
    """
    with _migrating(index):
        if not require(index, "forward", settings, choice):
            return None
        model = resolve_model(settings.model)
        with index.lock.patient():
            setting = setting_of(settings.model, model)
            begin(index, space_of(model, settings), setting, choice.keep_days)
        if choice.questions is not None:
            note(index, questions=str(choice.questions.resolve()))
        migration = _now(index)
        target, live = migration.target, spaces_of(index)[0].space
        if migration.stage == "held" and not missing(index, migration, target.space_id):
            may = _may_switch(index, migration, settings, choice)
            if not may or _at_once(index, migration, target, "switched"):
                return _ended(index)
        record_stage(index, "preparing")
        with standby(target, live, model, family_of(index), settings.limits.deadline_s) as beside:
            check_probes(index, target, beside.embed)
            record_stage(index, "building")
            builder = Builder(index, migration, beside, choice.throttle)
            builder.catch_up()
            if _may_switch(index, migration, settings, choice) and not finish(
                index, migration, builder, target, "switched", choice.say
            ):
                record_stage(index, "blocked")
        return _ended(index)


def rollback(index: Index, settings: Settings, choice: MigrationOptions) -> Migration:
    """The same switch back to the space that was searched before, after it has caught up with the newer one.

    The migration is still switched when a document blocks it. Raises `UsageError` when nothing was switched or
    the old space is gone, and `ModelUnavailable` when it must catch up and its model is not here.
    """
    with _migrating(index):
        migration = require_switched(index)
        old, live = migration.source, spaces_of(index)[0].space
        if _at_once(index, migration, old, "rolled back"):
            return _now(index)
        model = model_of(old)
        with standby(old, live, model, family_of(index), settings.limits.deadline_s) as beside:
            check_probes(index, old, beside.embed)
            builder = Builder(index, migration, beside, choice.throttle)
            builder.catch_up()
            waive(index, migration, choice.waive)
            if not in_the_way(index, migration):
                finish(index, migration, builder, old, "rolled back", choice.say)
        return _now(index)


def alone(index: Index, change: Callable[[Index], object]) -> Migration | None:
    """Changes the migration (aborts it, removes the old space) while nobody else migrates or publishes."""
    with _migrating(index):
        with index.lock.patient():
            change(index)
        return newest_migration(index)


@contextmanager
def _migrating(index: Index) -> Iterator[None]:
    with index.lock.exclusive(LockName.MIGRATION):
        end_leftovers(family_of(index))
        yield


def family_of(index: Index) -> str:
    """Not that of a reindex, which ends what a killed run of its own left behind."""
    return "migrate-" + hashlib.sha256(str(index.path.resolve()).encode()).hexdigest()[:16]


def _now(index: Index) -> Migration:
    migration = newest_migration(index)
    assert migration is not None
    return migration


def _ended(index: Index) -> Migration:
    migration = _now(index)
    if migration.state == "switched":
        refresh_cache(index)
    return migration


def _at_once(index: Index, migration: Migration, to: Kept, state: State) -> bool:
    """Switches to a space that is level already; False when it is not."""
    with index.lock.patient():
        if missing(index, migration, to.space_id):
            return False
        tidy(index, migration, to.space_id)
        switch(index, migration, to, state)
        return True


def _may_switch(index: Index, migration: Migration, settings: Settings, choice: MigrationOptions) -> bool:
    """What keeps it from the switch is told as its stage."""
    waive(index, migration, choice.waive)
    if in_the_way(index, migration):
        record_stage(index, "blocked")
    elif not passes(index, migration, settings, choice):
        record_stage(index, "refused")
    elif not choice.switch:
        record_stage(index, "held")
    else:
        record_stage(index, "switching")
        return True
    return False
