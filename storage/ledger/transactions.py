"""Transactions on the ledger, whichever database holds it, and what that says of its disk as one clear error."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import sqlalchemy as sa

from pincite.storage.ledger.interface import WRITES, LedgerSide
from pincite.storage.ledger.sqlite import SqliteSide

_SIDES: Mapping[str, LedgerSide] = {"sqlite": SqliteSide()}
"""By SQLAlchemy's name of the dialect."""


def side_of(engine: sa.Engine) -> LedgerSide:
    """What the kind of database of this engine offers beside SQL."""
    return _SIDES[engine.dialect.name]


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One write transaction: committed as a whole at the end of the block, or not at all."""
    with readable(side_of(engine)), engine.connect() as opened:
        connection = opened.execution_options(**{WRITES: True})
        with connection.begin():
            yield connection


@contextmanager
def reading(engine: sa.Engine) -> Iterator[sa.Connection]:
    """One read transaction: all its statements see the same state of the ledger."""
    side = side_of(engine)
    with readable(side), engine.connect() as connection, connection.begin():
        yield connection
        side.require_unchanged(connection)


@contextmanager
def readable(side: LedgerSide) -> Iterator[None]:
    """Turns what the database says of a damaged, full, read-only or busy ledger into one clear error."""
    try:
        yield
    except (sa.exc.DatabaseError, side.driver_error) as error:
        raise side.clear(getattr(error, "orig", error)) from error


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
        side = side_of(self._engine)
        with self._lock, readable(side):
            connection, self._kept = self._kept or self._open(), None
            with ExitStack() as given_up:
                given_up.callback(connection.close)
                with connection.begin():
                    written = side.last_write(connection)
                    yield connection, None if written is None else (self._opened, written)
                    side.require_unchanged(connection)
                if written is not None:
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
    side = side_of(engine)
    with readable(side):
        side.fold_log(engine)


def make_durable(engine: sa.Engine) -> None:
    """Puts what was committed on the disk, before files go that only an earlier state of the ledger names.

    A commit alone survives a kill, not a loss of power, which could bring such a state back.
    """
    side_of(engine).make_durable(engine)


def write_anew(engine: sa.Engine) -> bool:
    """Leaves nothing of deleted rows in the ledger's files; False when a reader kept its log in use."""
    side = side_of(engine)
    with readable(side):
        return side.write_anew(engine)


def copy_to(engine: sa.Engine, target: Path) -> None:
    """Writes the ledger without the leases of its readers into one SQLite file, while runs go on."""
    side = side_of(engine)
    with readable(side):
        side.copy_to(engine, target)


def damage(engine: sa.Engine, connection: sa.Connection, quick: bool = False) -> list[str]:
    """What is broken in the ledger's files and references; [] when all is well."""
    return side_of(engine).damage(connection, quick)
