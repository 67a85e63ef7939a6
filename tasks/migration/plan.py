"""Ways: what can be asked of a migration, and whether it fits how the ledger stands. Loads no model.

forward: begin or go on, to the switch or to the word for it     switch: go on with what waits for the word
rollback: back to the space before     abort: drop the new space     remove-old: drop the space before
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pincite.encoders.models import resolve_model
from pincite.schemas.errors import UsageError
from pincite.schemas.settings import Settings, completed
from pincite.storage.migration.cut_over import missing
from pincite.storage.migration.state import (
    Migration,
    newest_migration,
    require_abortable,
    require_old_space,
    require_startable,
)
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import spaces_of
from pincite.tasks.steps.plan import space_of

Way = Literal["forward", "switch", "rollback", "abort", "remove-old"]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MigrationOptions:
    """What the user asked of a migration."""

    throttle: float = 1.0  # share of the time in which it works
    waive: tuple[str, ...] = ()  # paths of documents that may be left out
    questions: Path | None = (
        None  # both spaces are evaluated on them before the switch; None: on those of before
    )
    force: str = ""  # why the switch is made though the gate says no
    keep_days: float | None = None  # after which the old space is removed; None is by command only
    switch: bool = True  # False stops before the switch and waits for the word
    model: str = ""  # to move to; "" is that of what was begun, of the settings, or of the index
    chunker: str = ""
    say: Say = field(default=lambda _line: None)

    def parameters(self) -> dict[str, Any]:
        """As the Prefect flow takes them, in JSON."""
        return {
            "model": self.model or None,
            "chunker": self.chunker or None,
            "throttle": self.throttle,
            "waive": list(self.waive),
            "questions": str(self.questions or ""),
            "force": self.force,
            "keep_days": self.keep_days,
            "switch": self.switch,
        }


def heading(index: Index, settings: Settings, choice: MigrationOptions) -> Settings:
    """The settings with the model and chunker to move to, in full.

    What was begun goes on, though the settings may still name the old space; else they or the index say what was
    not chosen.
    """
    chosen = replace(settings, model=choice.model, chunker=choice.chunker)
    migration, live = newest_migration(index), spaces_of(index)[0]
    if migration is not None and migration.state == "building":
        return completed(chosen, migration.target.setting, migration.target.space.chunker)
    return completed(completed(chosen, settings.model, settings.chunker), live.setting, live.space.chunker)


def require(index: Index, way: Way, settings: Settings, choice: MigrationOptions) -> bool:
    """Whether there is anything to do; False when the index is of the space already that `settings` name in full.

    Raises `UsageError` and `ModelUnavailable` for what can't be done now, so that it is told before work begins.
    """
    _check(choice)
    if way == "forward":
        return _is_due(index, settings, choice)
    VERBS[way].require(index)
    return True


def require_under_way(index: Index) -> Migration:
    """The migration that was begun and not finished. Raises `UsageError` when there is none."""
    migration = newest_migration(index)
    if migration is None or migration.state != "building":
        raise UsageError(f"no migration is under way: {_last(migration)}")
    return migration


def require_switched(index: Index) -> Migration:
    """The migration that can be rolled back. Raises `UsageError` when there is none or the old space is gone."""
    migration = newest_migration(index)
    if migration is None or migration.state != "switched":
        raise UsageError(f"nothing to roll back: {_last(migration)}")
    if all(kept.space_id != migration.source.space_id for kept in spaces_of(index)):
        raise UsageError(
            f"the old model version {migration.source.space} was removed: go back with "
            f"`pincite migrate --model {migration.source.setting}`, which builds it again"
        )
    return migration


@dataclass(frozen=True, slots=True)
class Verb:
    """What can be asked of a migration that was begun."""

    words: str  # for a person, of the spaces {old} and {new}
    effect: str
    require: Callable[[Index], object]  # raises `UsageError` when it does not fit how the migration stands


VERBS: Mapping[Way, Verb] = {
    "switch": Verb("Switch to {new}", "Goes on with what waits for the word.", require_under_way),
    "rollback": Verb(
        "Roll back to {old}",
        "Switches back to the model version before, once it has caught up.",
        require_switched,
    ),
    "abort": Verb(
        "Give up the migration to {new}", "Drops the new model version; the index stays.", require_abortable
    ),
    "remove-old": Verb(
        "Remove the old model version",
        "Removes the model version before the switch: there is no way back then.",
        require_old_space,
    ),
}


def is_level(index: Index) -> bool:
    """Whether the way back needs no work: the old space has all that the one has that is searched."""
    migration = require_switched(index)
    return not missing(index, migration, migration.source.space_id)


def _is_due(index: Index, settings: Settings, choice: MigrationOptions) -> bool:
    target, migration = space_of(resolve_model(settings.model), settings), newest_migration(index)
    building = migration is not None and migration.state == "building"
    if not building and spaces_of(index)[0].space == target:
        if choice.waive:
            raise UsageError("no migration is under way: there is nothing to leave out")
        return False
    require_startable(index, target)
    return True


def _last(migration: Migration | None) -> str:
    return "no migration was ever begun" if migration is None else f"the last migration is {migration.state}"


def _check(choice: MigrationOptions) -> None:
    if not 0 < choice.throttle <= 1:
        raise UsageError(f"the throttle is {choice.throttle}: a share of the time, above 0 and at most 1")
    if choice.keep_days is not None and not choice.keep_days >= 0:
        raise UsageError(f"--keep-days is {choice.keep_days}: give a number of days from 0 up")
