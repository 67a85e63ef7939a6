"""Transactions on the ledger: SQLite in WAL mode, and what it says of its disk as one clear error."""

import os
import sqlite3
import threading
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken, IndexBusy, PinciteError, UsageError


def connect(path: Path) -> sa.Engine:
    """An engine on the SQLite file. Transactions of `writing` take the write lock at once.

    Readers may be other users, to whom the folder is read only.
    """
    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(
        url,
        creator=lambda: _with_functions(_connection(path)),
        poolclass=sa.pool.QueuePool,
        pool_size=4,
        max_overflow=60,
    )

    @sa.event.listens_for(engine, "checkin")
    def forget(connection: object, record: sa.pool.ConnectionPoolEntry) -> None:
        if isinstance(connection, _Still):  # it sees no later version
            record.invalidate()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        mode = connection.get_execution_options().get("begin", "DEFERRED")
        connection.exec_driver_sql(f"BEGIN {mode}")

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


def folded(text: str) -> str:
    """The text as it is compared where case does not matter, in every script; SQLite itself folds ASCII alone."""
    return unicodedata.normalize("NFKC", text).casefold()


def _with_functions(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.create_function("folded", 1, folded, deterministic=True)
    return connection


def _connection(path: Path) -> sqlite3.Connection:
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
        driver = connection.connection.driver_connection
        if isinstance(driver, _Still) and driver.changed():
            raise IndexBusy("the ledger was written while it was read: try again")


class Watch:
    """A connection that is kept, since only it can tell whether others wrote meanwhile. Threads take turns."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._kept: sa.Connection | None = None
        self._opened = 0

    @contextmanager
    def reading(self) -> Iterator[tuple[sa.Connection, object]]:
        """As `reading`, with what is equal as long as nothing was written in between.

        It is None where that can't be told: on a ledger that is taken to stay as it is.
        """
        with self._lock, readable():
            connection, self._kept = self._kept or self._open(), None
            driver = connection.connection.driver_connection
            with ExitStack() as given_up:
                given_up.callback(connection.close)
                with connection.begin():
                    if isinstance(driver, _Still):
                        yield connection, None
                        if driver.changed():
                            raise IndexBusy("the ledger was written while it was read: try again")
                        return
                    written = connection.exec_driver_sql("PRAGMA data_version").scalar()
                    yield connection, (self._opened, written)
                given_up.pop_all()
                self._kept = connection

    def _open(self) -> sa.Connection:
        self._opened += 1
        return self._engine.connect()

    def close(self) -> None:
        with self._lock:
            if self._kept is not None:
                self._kept.close()
                self._kept = None


def fold_log(engine: sa.Engine) -> None:
    """Puts all that was committed into the ledger's file itself, which is then whole without its log.

    Closing the last connection does that too, and says nothing when the disk is full. Raises `UsageError` then.
    """
    with readable(), closing(engine.raw_connection()) as raw:
        busy, *_ = raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise IndexBusy(f"the log of {engine.url.database} is in use by another process: try again")


def make_durable(engine: sa.Engine) -> None:
    """Puts what was committed on the disk, before files go that only an earlier state of the ledger names.

    A commit alone survives a kill, not a loss of power (synchronous=NORMAL): that could bring such a state back.
    """
    log = Path(f"{engine.url.database}-wal")
    with suppress(FileNotFoundError), log.open("rb") as file:
        os.fsync(file.fileno())


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
