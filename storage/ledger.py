"""The ledger: the only truth about documents, revisions, segments, spaces and runs.

SQLite in WAL mode inside the index folder. Every content change is one version; a row of `revisions` or
`segments` is live at version v when `began_version <= v` and not `ended_version <= v`.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from schemas.errors import IndexBroken, IndexBusy, PinciteError, UsageError
from schemas.records import Space

SCHEMA_VERSION = "1"

metadata = sa.MetaData()

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

versions = sa.Table(
    "versions",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("committed_at", sa.Float, nullable=False),  # seconds since the epoch
)

spaces = sa.Table(
    "spaces",
    metadata,
    sa.Column("space_id", sa.Integer, primary_key=True),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("dimension", sa.Integer, nullable=False),
    sa.Column("window", sa.Integer, nullable=False),
    sa.Column("pipeline", sa.Text, nullable=False),
    sa.Column("chunker", sa.Text, nullable=False),
    sa.Column("tokenizer", sa.Text, nullable=False),
)

live_spaces = sa.Table(
    "live_spaces",
    metadata,
    sa.Column("since_version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id"), nullable=False),
)

documents = sa.Table(
    "documents",
    metadata,
    sa.Column("document_id", sa.Text, primary_key=True),
    sa.Column("source", sa.Text, nullable=False),  # the folder that was indexed
    sa.Column("path", sa.Text, nullable=False),  # relative to the source
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("stage", sa.Text),
    sa.Column("kind", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("page", sa.Integer),
    sa.Column("transient", sa.Boolean, nullable=False, default=False),
    sa.Column("attempts", sa.Integer, nullable=False, default=0),  # since the file or the settings changed
    sa.Column("lease_owner", sa.Text),  # run_id
    sa.Column("lease_until", sa.Float),
    sa.Column("source_version", sa.Integer, nullable=False, default=1),
    sa.Column("revision", sa.Integer, nullable=False, default=0),  # the last one handed out
    sa.Column("size_bytes", sa.Integer, nullable=False),
    sa.Column("mtime_ns", sa.Integer, nullable=False),
    sa.Column("ctime_ns", sa.Integer, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("recipe", sa.Text, nullable=False, default=""),  # of the last attempt
    sa.Column("limits", sa.Text, nullable=False, default=""),  # of the last attempt
    sa.Column("last_run", sa.Text, nullable=False),
    sa.Column("last_outcome", sa.Text),  # in last_run: indexed, failed, unchanged, deleted
    sa.Column("updated_at", sa.Float, nullable=False),
    sa.Index("documents_by_state", "source", "state"),
    sa.Index(
        "one_document_a_path",
        "source",
        "path",
        unique=True,
        sqlite_where=sa.text("state <> 'deleted'"),
        postgresql_where=sa.text("state <> 'deleted'"),
    ),
)

revisions = sa.Table(
    "revisions",
    metadata,
    sa.Column("document_id", sa.Text, sa.ForeignKey("documents.document_id"), primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True),
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id"), primary_key=True),
    sa.Column("began_version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ended_version", sa.Integer),
    sa.Column("path", sa.Text, nullable=False),  # at that version; a rename ends a row and begins another
    sa.Column("source_sha256", sa.Text, nullable=False),
    sa.Column("recipe", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("title_from_name", sa.Boolean, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("extractor", sa.Text, nullable=False),
    sa.Column("extractor_version", sa.Text, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),  # counted from the rows that were written
    sa.Column("postings", sa.Integer, nullable=False),
    sa.Column("over_window", sa.Integer, nullable=False),
    sa.Column("characters", sa.Integer, nullable=False),
    sa.Column("pages", sa.Integer, nullable=False),
    sa.Column("ocr_pages", sa.Integer, nullable=False),
    sa.Column("ocr_confidence", sa.Float),
    sa.Column("tables", sa.Integer, nullable=False),
    sa.Column("warnings", sa.JSON, nullable=False),
    sa.Index("revisions_ended", "ended_version"),
)

segments = sa.Table(
    "segments",
    metadata,
    sa.Column("segment_id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),  # texts, chunks, postings
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id")),  # NULL for texts
    sa.Column("file", sa.Text, nullable=False, unique=True),  # relative to the index folder
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("size_bytes", sa.Integer, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("began_version", sa.Integer, nullable=False),
    sa.Column("ended_version", sa.Integer),
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),  # running, completed, broken
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("started_at", sa.Float, nullable=False),
    sa.Column("ended_at", sa.Float),
    sa.Column("discovered", sa.Integer),
    sa.Column("indexed", sa.Integer),
    sa.Column("failed", sa.Integer),
    sa.Column("unchanged", sa.Integer),
    sa.Column("deleted", sa.Integer),
    sa.Column("message", sa.Text),
)

attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("attempt_id", sa.Integer, primary_key=True),
    sa.Column("document_id", sa.Text, sa.ForeignKey("documents.document_id"), nullable=False, index=True),
    sa.Column("run_id", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("ended_at", sa.Float, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("stage", sa.Text),
    sa.Column("kind", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("page", sa.Integer),
)


def connect(path: Path) -> sa.Engine:
    """An engine on the SQLite file. Transactions of `writing` take the write lock at once."""
    url = sa.URL.create("sqlite", database=str(path))
    engine = sa.create_engine(url, poolclass=sa.pool.QueuePool, pool_size=4, max_overflow=60)

    @sa.event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # SQLAlchemy's own BEGIN below, not the driver's late one
        # busy_timeout comes first: the switch to WAL by the first of several connections waits by it.
        for pragma in ("busy_timeout=60000", "journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        mode = connection.get_execution_options().get("begin", "DEFERRED")
        connection.exec_driver_sql(f"BEGIN {mode}")

    return engine


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


def create_schema(connection: sa.Connection) -> None:
    """Makes the tables in an empty ledger."""
    metadata.create_all(connection)
    connection.execute(meta.insert().values(key="schema_version", value=SCHEMA_VERSION))


def check_schema(connection: sa.Connection) -> None:
    """Raises `IndexBroken` when the ledger is of another schema version or is none at all."""
    known = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "schema_version"))
    if known != SCHEMA_VERSION:
        raise IndexBroken(
            f"the ledger has schema version {known}, this Pincite reads {SCHEMA_VERSION}: use the Pincite that "
            "made the index, or index again into a new folder"
        )


def live_at(table: sa.Table, version: int) -> sa.ColumnElement[bool]:
    """The live rule: began at or before `version` and had not ended at it."""
    return sa.and_(
        table.c.began_version <= version,
        sa.or_(table.c.ended_version.is_(None), table.c.ended_version > version),
    )


def current_version(connection: sa.Connection) -> int:
    """The newest version; 0 for an index to which nothing was ever published."""
    return connection.scalar(sa.select(sa.func.coalesce(sa.func.max(versions.c.version), 0))) or 0


def live_space(connection: sa.Connection, version: int) -> tuple[int, Space]:
    """The space that is searched at a version, with its key."""
    query = (
        sa.select(spaces)
        .join(live_spaces, live_spaces.c.space_id == spaces.c.space_id)
        .where(live_spaces.c.since_version <= version)
        .order_by(live_spaces.c.since_version.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().first()
    if row is None:
        raise IndexBroken("the ledger names no live space: restore the index folder from a copy")
    return row["space_id"], Space(**{name: row[name] for name in Space.__slots__})
