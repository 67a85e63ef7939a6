"""Readers hold a lease on the version that they read, and vacuum keeps what living readers hold.

A lease ends with its time, when its reader lets go, and when its reader's process is seen to be gone. It is
written when a reader takes up a version and again after a quarter of its time: not once a search.
"""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import sqlalchemy as sa

from pincite.schemas.errors import IndexBusy, PinciteError, UsageError, VersionGone
from pincite.storage.ledger import transactions
from pincite.storage.ledger.schema import readers
from pincite.storage.ledger.versions import require_version
from pincite.storage.locks.process_identity import has_died, this_process

LEASE_S = 3_600.0
_REFRESH_S = LEASE_S / 4
_AFTERWARDS_S = 120.0  # a former version stays held for the searches that are still at it

_logger = logging.getLogger(__name__)


class Lease:
    """What one long-lived reader holds. Threads may share it."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._name = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._version: int | None = None
        self._refresh_at = 0.0  # monotonic
        self._until: dict[int, float] = {}  # monotonic, of each version that is still held
        self._warned = False

    def hold(self, version: int) -> None:
        """Holds this version and lets go of others. Raises `VersionGone` when it is no longer kept.

        Where the ledger can't be written (a read-only disk), the reader goes on without a lease and says so once.
        """
        with self._lock:
            if version == self._version and time.monotonic() < self._refresh_at:
                return
            # As the ledger counts: from before the wait for who writes it, which may take a minute.
            now = time.monotonic()
            try:
                self._write(version)
            except VersionGone:
                raise
            except (UsageError, IndexBusy) as error:
                self._read_without(version, error)
            self._version, self._refresh_at = version, now + _REFRESH_S
            former = {held: min(until, now + _AFTERWARDS_S) for held, until in self._until.items()}
            self._until = {held: until for held, until in former.items() if until > now} | {
                version: now + LEASE_S
            }

    def holds(self, version: int) -> bool:
        """Whether no vacuum takes away now what a version has; waits for nobody.

        A vacuum takes what ended up to the oldest version that is held, and so nothing that a later one has.
        """
        now = time.monotonic()
        return any(held <= version and now < until for held, until in self._until.items())

    def release(self) -> None:
        """Lets go of everything; a lease that can't be deleted ends by itself."""
        with self._lock:
            if self._version is None or self._warned:
                return
            self._version, self._until = None, {}
            with suppress(PinciteError), transactions.writing(self._engine) as connection:
                connection.execute(readers.delete().where(self._own()))

    def _own(self) -> sa.ColumnElement[bool]:
        return readers.c.reader_id.startswith(f"{self._name}:")

    def _write(self, version: int) -> None:
        now = time.time()
        with transactions.writing(self._engine) as connection:
            require_version(connection, version)
            others = sa.and_(self._own(), readers.c.version != version)
            connection.execute(readers.delete().where(others, readers.c.lease_until < now))
            connection.execute(
                readers.update()
                .where(others, readers.c.lease_until > now + _AFTERWARDS_S)
                .values(lease_until=now + _AFTERWARDS_S)
            )
            key = f"{self._name}:{version}"
            connection.execute(readers.delete().where(readers.c.reader_id == key))
            connection.execute(
                readers.insert().values(
                    reader_id=key,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    process=this_process(),
                    version=version,
                    lease_until=now + LEASE_S,
                )
            )

    def _read_without(self, version: int, error: PinciteError) -> None:
        with transactions.reading(self._engine) as connection:
            require_version(connection, version)
        if not self._warned:
            _logger.warning(
                "reading version %d without a lease, so that a vacuum may take it away meanwhile: %s",
                version,
                error if isinstance(error, IndexBusy) else "the ledger can't be written from here",
            )
        self._warned = True


@contextmanager
def holding(engine: sa.Engine, version: int) -> Iterator[None]:
    """Holds a version for the block."""
    lease = Lease(engine)
    lease.hold(version)
    try:
        yield
    finally:
        lease.release()


def living(connection: sa.Connection) -> list[sa.Row[tuple[str, str, int, str, int, float]]]:
    """Rows of `readers` whose lease runs and whose process is not known to be gone, by version."""
    query = sa.select(readers).where(readers.c.lease_until > time.time())
    rows = connection.execute(query.order_by(readers.c.version, readers.c.reader_id)).all()
    return [row for row in rows if not has_died(row.host, row.pid, row.process)]


def drop_dead(connection: sa.Connection) -> None:
    """Deletes the leases that hold nothing any more."""
    alive = [row.reader_id for row in living(connection)]
    connection.execute(readers.delete().where(readers.c.reader_id.not_in(alive)))
