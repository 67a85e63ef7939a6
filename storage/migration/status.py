"""How a migration stands: the one record that the command line, the page and the HTTP API show."""

from dataclasses import dataclass

from pincite.storage.locks.interface import LockName
from pincite.storage.migration.cut_over import SpaceProgress, progress_of
from pincite.storage.migration.state import Blocker, Migration, blockers, changed_since_gate, newest_migration
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.spaces import Kept, spaces_of


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """What the ledger says of the migration that was begun last; without one `progress` is None."""

    spaces: tuple[Kept, ...]  # the one that is searched first
    migration: Migration | None
    progress: SpaceProgress | None
    blockers: tuple[Blocker, ...]
    changed: int  # documents of either space since the verdict of the gate
    at_work: str  # who migrates; "" for nobody

    @property
    def standing(self) -> str:
        """The one word for how it stands; "" without a migration."""
        return self.migration.standing(bool(self.at_work)) if self.migration else ""


def status_of(index: Index) -> MigrationStatus:
    migration = newest_migration(index)
    return MigrationStatus(
        spaces=spaces_of(index),
        migration=migration,
        progress=progress_of(index, migration) if migration else None,
        blockers=blockers(index, migration) if migration else (),
        changed=changed_since_gate(index, migration) if migration else 0,
        at_work=index.lock.holder(LockName.MIGRATION),
    )
