"""What a database must offer to hold a ledger, beside SQL. SQLite is the one that there is (`sqlite`)."""

import unicodedata
from pathlib import Path
from typing import Protocol

import sqlalchemy as sa

from pincite.schemas.errors import PinciteError

WRITES = "pincite_writes"
"""An execution option of a connection: its transaction takes the lock of writers when it begins."""


ANY_CASE = "any_case"
"""The name in SQL of the function `any_case`, which each side offers."""


def any_case(text: str | None) -> str | None:
    """Text as it is compared where neither case nor the form of its accents matters, in every script."""
    return None if text is None else unicodedata.normalize("NFC", text).casefold()


class LedgerSide(Protocol):
    """One kind of database. Its engine lets one transaction with the option `WRITES` be open at a time."""

    driver_error: type[Exception]
    """What its driver raises where SQLAlchemy is not in between."""

    def clear(self, cause: BaseException) -> PinciteError:
        """What the database said, as one clear error: a full disk, a busy or a damaged ledger."""
        ...

    def require_unchanged(self, connection: sa.Connection) -> None:
        """At the end of a read transaction. Raises `IndexBusy` where it may have seen two states of the ledger."""
        ...

    def last_write(self, connection: sa.Connection) -> object:
        """Something that is equal on one connection while nobody wrote; None where that can't be told."""
        ...

    def fold_log(self, engine: sa.Engine) -> None:
        """Puts all that was committed where a copy of the database's own file finds it, or does nothing without one.

        Raises `IndexBusy` while another process keeps it from that.
        """
        ...

    def make_durable(self, engine: sa.Engine) -> None:
        """Returns when what was committed survives a loss of power."""
        ...

    def write_anew(self, engine: sa.Engine) -> bool:
        """Leaves nothing of deleted rows in its files; False when a reader kept it from that."""
        ...

    def damage(self, connection: sa.Connection, quick: bool) -> list[str]:
        """What is broken in its files, and rows that name rows which are not there; [] when all is well.

        A `quick` look reads no index and no reference.
        """
        ...

    def copy_to(self, engine: sa.Engine, target: Path) -> None:
        """Writes the whole ledger, but the leases of readers, into one SQLite file, which must not be there."""
        ...
