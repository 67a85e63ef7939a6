"""A ledger in a SQLite file in WAL mode: the local side of `pincite.storage.ledger.interface`.

All that only SQLite says or understands stands here, and in `upgrades`, which brings its older files to this schema.
"""

import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken, IndexBusy, PinciteError, UsageError
from pincite.storage.ledger.interface import ANY_CASE, WRITES, any_case


def connect(path: Path) -> sa.Engine:
    """An engine on the SQLite file. Transactions of `writing` take the write lock at once.

    Readers may be other users, to whom the folder is read only.
    """
    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(
        url, creator=lambda: _connection(path), poolclass=sa.pool.QueuePool, pool_size=4, max_overflow=60
    )

    @sa.event.listens_for(engine, "checkin")
    def forget(connection: object, record: sa.pool.ConnectionPoolEntry) -> None:
        if isinstance(connection, _Still):  # it sees no later version
            record.invalidate()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(WRITES, False)
        connection.exec_driver_sql(f"BEGIN {'IMMEDIATE' if writes else 'DEFERRED'}")

    return engine


class _Still(sqlite3.Connection):
    """A connection on a file that is taken to stay as it is; `changed` says whether it did."""

    opened: "_Look"

    def changed(self) -> bool:
        return _Look.at(self.opened.path) != self.opened


@dataclass(frozen=True, slots=True)
class _Look:
    path: Path
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def at(cls, path: Path) -> "_Look":
        status = path.stat()
        return cls(path, status.st_ino, status.st_size, status.st_mtime_ns)


def _connection(path: Path) -> sqlite3.Connection:
    connection = _opened(path)
    connection.create_function(ANY_CASE, 1, any_case, deterministic=True)
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False)
    connection.isolation_level = None  # SQLAlchemy's own BEGIN, not the driver's late one
    try:
        # busy_timeout comes first: the switch to WAL by the first of several connections waits by it.
        for pragma in ("busy_timeout=60000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
    except sqlite3.Error as error:
        connection.close()
        if _primary(error) not in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}:
            raise
        still = _still(path)
        if still is None:
            raise
        return still
    return connection


def _still(path: Path) -> _Still | None:
    """For a folder in which SQLite can't put the files of its WAL: while no process writes, all is in the ledger."""
    with suppress(OSError):
        look = _Look.at(path)
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise UsageError(
                f"the ledger {path} has changes in its log that only a writer can read, and its folder can't be "
                "written: copy the index to a disk that can, or open it there once"
            )
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1",
            uri=True,
            check_same_thread=False,
            factory=_Still,
        )
        connection.isolation_level = None
        connection.opened = look
        return connection
    return None


_REFUSED_BY_DISK = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
}
_HELD_BY_OTHERS = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _primary(cause: BaseException) -> int:
    return int(getattr(cause, "sqlite_errorcode", 0)) & 0xFF  # the low byte is the primary code


def _clear(cause: BaseException) -> PinciteError:
    code = _primary(cause)
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


class SqliteSide:
    """What `transactions` and the maintenance of a ledger ask of SQLite."""

    driver_error: type[Exception] = sqlite3.DatabaseError

    def clear(self, cause: BaseException) -> PinciteError:
        return _clear(cause)

    def require_unchanged(self, connection: sa.Connection) -> None:
        driver = connection.connection.driver_connection
        if isinstance(driver, _Still) and driver.changed():
            raise IndexBusy("the ledger was written while it was read: try again")

    def last_write(self, connection: sa.Connection) -> object:
        if isinstance(connection.connection.driver_connection, _Still):
            return None
        return connection.exec_driver_sql("PRAGMA data_version").scalar()

    def fold_log(self, engine: sa.Engine) -> None:
        with closing(engine.raw_connection()) as raw:
            busy, *_ = raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise IndexBusy(f"the log of {engine.url.database} is in use by another process: try again")

    def make_durable(self, engine: sa.Engine) -> None:
        log = Path(
            f"{engine.url.database}-wal"
        )  # with synchronous=NORMAL a commit does not wait for the disk
        with suppress(FileNotFoundError), log.open("rb") as file:
            os.fsync(file.fileno())

    def write_anew(self, engine: sa.Engine) -> bool:
        with closing(engine.raw_connection()) as raw:
            cursor = raw.cursor()
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            told = cursor.fetchone()  # busy, pages in the log, pages moved
            cursor.close()
        return told is not None and not told[0]

    def damage(self, connection: sa.Connection, quick: bool) -> list[str]:
        pages = connection.exec_driver_sql(
            "PRAGMA quick_check(5)" if quick else "PRAGMA integrity_check"
        ).all()
        keys = [] if quick else connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        return [row[0] for row in pages if row[0] != "ok"] + [
            f"a row of {row[0]} names a row of {row[2]} that is not there" for row in keys
        ]

    def copy_to(self, engine: sa.Engine, target: Path) -> None:
        with closing(sqlite3.connect(target)) as copy, closing(engine.raw_connection()) as raw:
            source = raw.driver_connection
            assert isinstance(source, sqlite3.Connection)
            source.backup(copy)
            copy.execute("DELETE FROM readers")
            copy.commit()
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
