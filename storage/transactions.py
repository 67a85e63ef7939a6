"""Transactions on the ledger: SQLite in WAL mode, and what it says of its disk as one clear error."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from schemas.errors import IndexBroken, IndexBusy, PinciteError, UsageError

# busy_timeout comes first: the switch to WAL by the first of several connections waits by it.
_PRAGMAS = ("busy_timeout=60000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON")
_PRAGMAS_OF_READERS = ("busy_timeout=60000", "query_only=ON")


def connect(path: Path) -> sa.Engine:
    """An engine on the SQLite file. Transactions of `writing` take the write lock at once.

    Where the disk or the rights let nothing be written, the engine reads only.
    """
    writes = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    url = sa.URL.create("sqlite", database=str(path)) if writes else _read_only_url(path)
    engine = sa.create_engine(url, poolclass=sa.pool.QueuePool, pool_size=4, max_overflow=60)
    pragmas = _PRAGMAS if writes else _PRAGMAS_OF_READERS

    @sa.event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # SQLAlchemy's own BEGIN below, not the driver's late one
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        mode = connection.get_execution_options().get("begin", "DEFERRED")
        connection.exec_driver_sql(f"BEGIN {mode}")

    return engine


def _read_only_url(path: Path) -> sa.URL:
    """SQLite reads a WAL ledger that it can't write if the log's index is there, or if there is no log to read."""
    log, index_of_log = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    logged = log.exists() and log.stat().st_size > 0
    if logged and not index_of_log.exists():
        raise UsageError(
            f"the ledger {path} has changes in its log that only a writer can read, and its folder can't be "
            "written: copy the index to a disk that can, or open it there once"
        )
    # Without an index of the log no process has the ledger open.
    query = {"mode": "ro", "uri": "true"} | ({} if index_of_log.exists() else {"immutable": "1"})
    return sa.URL.create("sqlite", database=f"file:{quote(str(path.absolute()))}", query=query)


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One write transaction: committed as a whole at the end of the block, or not at all."""
    with readable(), engine.connect().execution_options(begin="IMMEDIATE") as connection, connection.begin():
        yield connection


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One read transaction: all its statements see the same state of the ledger."""
    with readable(), engine.connect() as connection, connection.begin():
        yield connection


_REFUSED_BY_DISK = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}
_HELD_BY_OTHERS = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


@contextmanager
def readable() -> Iterator[None]:
    """Turns what SQLite says of a damaged, full, read-only or busy ledger into one clear error."""
    try:
        yield
    except (sa.exc.DatabaseError, sqlite3.DatabaseError) as error:
        raise _clear(getattr(error, "orig", error)) from error


def _clear(cause: BaseException) -> PinciteError:
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if code in _HELD_BY_OTHERS:
        return IndexBusy(f"the ledger is held by another process ({cause}): wait until it ends")
    if code in _REFUSED_BY_DISK:
        return UsageError(
            f"the ledger can't be read or written: {cause}. Nothing that was stored is lost: see that its folder "
            "may be written and that the disk has room, then run again"
        )
    return IndexBroken(
        f"the ledger can't be used: {cause}. Restore the index folder from a copy, or index again into a new folder"
    )
