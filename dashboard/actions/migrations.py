"""Migrations: how one stands, and what can be asked of it. The pages and the HTTP API call these functions.

start → progress → gate → switch → roll back. What takes a while is an order for the deployment migrate/migrate.
"""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pincite.dashboard.state.run_requests import RequestedRun, RunRequest
from pincite.dashboard.state.serving import Serving
from pincite.encoders.models import models_here
from pincite.flows.deployments.schedule import MIGRATE
from pincite.schemas.errors import IndexBusy, NotFound, UsageError
from pincite.storage.locks.interface import LockName
from pincite.storage.migration.state import newest_migration
from pincite.storage.migration.state import waive as waive_documents
from pincite.storage.migration.status import MigrationStatus, status_of
from pincite.storage.snapshots.spaces import Kept, spaces_of
from pincite.tasks.chunking.chunk import strategies
from pincite.tasks.migration.plan import VERBS, MigrationOptions, Way, heading, require
from pincite.tasks.steps.configuration import advice

QUESTIONS = "questions"
"""The folder in the index whose question sets (`*.jsonl`) may be chosen."""

_SHOWN_S = 3_600.0  # for which an order that is over is still shown
_MOST_ORDERS = 5


@dataclass(frozen=True, slots=True)
class Offered:
    """What a migration can be begun with on this machine."""

    models: tuple[str, ...]
    chunkers: tuple[str, ...]
    questions: tuple[str, ...]  # names of files


@dataclass(frozen=True, slots=True)
class Seen:
    """How the migration stands, and what can be asked of it here."""

    status: MigrationStatus
    ways: tuple[Way, ...]  # that fit, beside forward
    advice: tuple[str, ...]  # what to write into the settings
    offered: Offered
    orders: tuple[RequestedRun, ...]  # newest first

    @property
    def follows(self) -> bool:
        """Whether it will change without a person."""
        return bool(self.status.at_work) or any(not one.over for one in self.orders)


def seen(served: Serving) -> Seen:
    status = status_of(served.index)
    return Seen(
        status,
        ways=tuple(way for way in VERBS if _fits(served, way)),
        advice=advice(served.settings, status.spaces[0]),
        offered=Offered(models(status.spaces), strategies(), tuple(question_files(served))),
        orders=tuple(_orders(served)),
    )


def models(spaces: Sequence[Kept]) -> tuple[str, ...]:
    """What may be named as a model: known ones whose weights are here, and those of the index's own spaces.

    Never a folder that a request names: the server would read what it can reach.
    """
    return tuple(dict.fromkeys((*models_here(), *(one.setting for one in spaces))))


def question_files(served: Serving) -> Mapping[str, Path]:
    """Question sets by name, sorted: the file of the settings, and `*.jsonl` in the folder `questions` of the index.

    A link that leads out of that folder is none of them.
    """
    folder = (served.index.path / QUESTIONS).resolve()
    found = {
        file.name: file
        for file in sorted(folder.glob("*.jsonl"))
        if file.is_file() and file.resolve().parent == folder
    }
    if served.settings.questions:
        file = Path(served.settings.questions).resolve()
        found[file.name] = file
    return dict(sorted(found.items()))


def start(served: Serving, asked: MigrationOptions) -> RequestedRun:
    """Asks for a migration, or for the one under way to go on. Its questions are the name of a set.

    Raises `UsageError` for a model, chunker or question set that is not offered, or when there is nothing to do,
    `ModelUnavailable`, and `IndexBusy` when a migration is at work.
    """
    _require_free(served)
    files, offered = question_files(served), models(spaces_of(served.index))
    questions = str(asked.questions or "")
    if asked.model and asked.model not in offered:
        raise UsageError(f"this server has no model {asked.model!r}; it has {', '.join(offered)}")
    if questions and questions not in files:
        raise UsageError(
            f"this server has no questions {questions!r}; it has {', '.join(files) or 'none'}: put a file into "
            f"the folder {QUESTIONS} of the index, or name one in the settings"
        )
    choice = replace(asked, questions=files[questions] if questions else None)
    to = heading(served.index, served.settings, choice)
    if not require(served.index, "forward", to, choice):
        raise UsageError("the index is of that model and chunker already: there is nothing to migrate")
    words = f"Migrate to {to.model}, {to.chunker}"
    return served.runs.ask(RunRequest(words, MIGRATE, choice.parameters()))


def go(served: Serving, way: Way, force: str = "") -> RequestedRun:
    """Asks for the switch, the way back, or an end. `force`: why to switch against the gate.

    Raises `UsageError` when it does not fit how the migration stands, and `IndexBusy` when one is at work.
    """
    _require_free(served)
    require(served.index, way, served.settings, MigrationOptions())
    migration = newest_migration(served.index)
    assert migration is not None
    if force and migration.gate is None:
        raise UsageError("no quality check was asked for: there is no verdict to switch against")
    words = VERBS[way].words.format(
        old=f"{migration.source.space.model}, {migration.source.space.chunker}",
        new=f"{migration.target.space.model}, {migration.target.space.chunker}",
    )
    return served.runs.ask(RunRequest(words, MIGRATE, {"way": way, "force": force}))


def waive(served: Serving, paths: Sequence[str]) -> None:
    """Lets the migration end without these documents. Raises `UsageError` for one that does not block it."""
    migration = newest_migration(served.index)
    if migration is None:
        raise UsageError("no migration was ever begun: there is nothing to leave out")
    if not paths:
        raise UsageError("no document was chosen: tick those to leave out")
    waive_documents(served.index, migration, paths)


def cancel(served: Serving) -> None:
    """Interrupts the migration that is at work, or takes its order back: what was built stays.

    Raises `NotFound` when there is none, and `UsageError` for one of another machine.
    """
    lock = served.index.lock
    if orders := [one for one in _orders(served) if not one.over]:
        for one in orders:
            served.runs.withdraw(one.order)
        return
    if not (who := lock.holder(LockName.MIGRATION)):
        raise NotFound("no migration is at work")
    pid = lock.holder_pid(LockName.MIGRATION)
    if pid is None:
        raise UsageError(f"the migration is not at work on this machine: {who}. Cancel it there")
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def _require_free(served: Serving) -> None:
    if who := served.index.lock.holder(LockName.MIGRATION):
        raise IndexBusy(f"a migration is at work: {who}. Wait until it ends, or cancel it")
    if order := next((one for one in _orders(served) if not one.over), None):
        raise IndexBusy(f"{order.words!r} was asked for and is not done: wait until it ends, or cancel it")


def _orders(served: Serving) -> list[RequestedRun]:
    now = time.time()
    ours = [one for one in served.runs.orders() if one.wish.deployment == MIGRATE]
    return [one for one in ours if not one.over or now - one.asked_at < _SHOWN_S][:_MOST_ORDERS]


def _fits(served: Serving, way: Way) -> bool:
    try:
        return require(served.index, way, served.settings, MigrationOptions())
    except UsageError:
        return False
