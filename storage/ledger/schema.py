"""The ledger: the only truth about documents, revisions, segments, spaces and runs.

Every content change is one version; a row of `revisions` or
`segments` is live at version v when `began_version <= v` and not `ended_version <= v`.
"""

import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken
from pincite.schemas.records import Space

LEDGER_FILE = "ledger.sqlite"
SCHEMA_VERSION = "3"
"""Another one needs a step in `pincite.storage.ledger.upgrades`."""

LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""Bytes and nanoseconds need 64 bits, which an INTEGER of SQLite has."""

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
    sa.Column("setting", sa.Text, nullable=False, server_default=""),  # what names its model in the settings
    sa.Column("removed_at", sa.Float),  # when its segments were given up
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
    sa.Column("not_before", sa.Float),  # of the next attempt, seconds since the epoch
    sa.Column("attempts", sa.Integer, nullable=False, default=0),  # since the file or the settings changed
    sa.Column("lease_owner", sa.Text),  # run_id
    sa.Column("lease_until", sa.Float),
    sa.Column("source_version", sa.Integer, nullable=False, default=1),
    sa.Column("revision", sa.Integer, nullable=False, default=0),  # the last one handed out
    sa.Column("size_bytes", LONG, nullable=False),
    sa.Column("mtime_ns", LONG, nullable=False),
    sa.Column("ctime_ns", LONG, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("etag", sa.Text, nullable=False, server_default=""),  # of an object in a bucket
    sa.Column("former_names", sa.JSON, nullable=False, server_default="[]"),  # sha256 of source and path
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
    sa.Index(
        "documents_failed",
        *("stage", "kind", "reason", "state"),
        sqlite_where=sa.text("state = 'failed'"),
        postgresql_where=sa.text("state = 'failed'"),
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
    sa.Column("language", sa.Text, nullable=False, server_default=""),  # ISO 639-1; "" when it can't be told
    sa.Column("encoder_fit", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Index("revisions_ended", "ended_version"),
    # What a report of the whole index counts of what is live, so that it reads no row for it.
    sa.Index(
        "revisions_live",
        *("space_id", "recipe", "extractor", "extractor_version"),
        *("chunks", "over_window", "pages", "ocr_pages", "encoder_fit", "ended_version"),
        sqlite_where=sa.text("ended_version IS NULL"),
        postgresql_where=sa.text("ended_version IS NULL"),
    ),
    sa.Index(
        "revisions_warned",
        "space_id",
        sqlite_where=sa.text("ended_version IS NULL AND warnings <> '[]'"),
        postgresql_where=sa.text("ended_version IS NULL AND CAST(warnings AS text) <> '[]'"),
    ),
)

segments = sa.Table(
    "segments",
    metadata,
    sa.Column("segment_id", sa.Integer, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),  # texts, chunks, postings
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id")),  # NULL for texts
    sa.Column("file", sa.Text, nullable=False, unique=True),  # relative to the index folder
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("size_bytes", LONG, nullable=False),
    sa.Column("sha256", sa.Text, nullable=False),
    sa.Column("began_version", sa.Integer, nullable=False),
    sa.Column("ended_version", sa.Integer),
    sa.Index("segments_ended", "ended_version"),
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
    sa.Column("process", sa.Text, nullable=False, server_default=""),  # as `storage.processes` tells it
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


collections = sa.Table(
    "collections",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("source", sa.Text, nullable=False, unique=True),  # a folder or a URL
    sa.Column("include", sa.JSON, nullable=False),  # globs of paths below it
    sa.Column("exclude", sa.JSON, nullable=False),
)

calibrations = sa.Table(
    "calibrations",
    metadata,
    sa.Column("calibration_id", sa.Integer, primary_key=True),
    sa.Column("made_at", sa.Float, nullable=False),
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id"), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("threshold", sa.Float, nullable=False),  # cosine distance
    sa.Column("questions", sa.Text, nullable=False),  # the set's name
    sa.Column("questions_sha256", sa.Text, nullable=False),
    sa.Column("report", sa.JSON, nullable=False),
)

migrations = sa.Table(
    "migrations",
    metadata,
    sa.Column("migration_id", sa.Integer, primary_key=True),
    sa.Column("from_space", sa.Integer, sa.ForeignKey("spaces.space_id"), nullable=False),
    sa.Column("to_space", sa.Integer, sa.ForeignKey("spaces.space_id"), nullable=False),
    sa.Column("state", sa.Text, nullable=False),  # building, switched, rolled back, aborted
    sa.Column("settings", sa.JSON, nullable=False),  # model and chunker of the new space
    sa.Column("started_at", sa.Float, nullable=False),
    sa.Column("ended_at", sa.Float),
    sa.Column("gate", sa.JSON),  # the verdict of the evaluation before the switch
)

blockers = sa.Table(
    "blockers",
    metadata,
    sa.Column("migration_id", sa.Integer, sa.ForeignKey("migrations.migration_id"), primary_key=True),
    sa.Column("document_id", sa.Text, sa.ForeignKey("documents.document_id"), primary_key=True),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("waived", sa.Boolean, nullable=False, default=False),
)

probes = sa.Table(
    "probes",
    metadata,
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id"), primary_key=True),
    sa.Column("ordinal", sa.Integer, primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("vector", sa.LargeBinary, nullable=False),  # float32[dimension], little endian
)

readers = sa.Table(
    "readers",
    metadata,
    sa.Column("reader_id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("process", sa.Text, nullable=False, server_default=""),  # as `storage.processes` tells it
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("lease_until", sa.Float, nullable=False),  # seconds since the epoch
)

forgotten = sa.Table(
    "forgotten",
    metadata,
    sa.Column("document_id", sa.Text, primary_key=True),
    sa.Column("names", sa.JSON, nullable=False),  # sha256 of source and each path, which are not kept
    sa.Column("contents", sa.JSON, nullable=False),  # sha256 of each file that the document was made from
    sa.Column("asked_at", sa.Float, nullable=False),
    sa.Column("done_at", sa.Float),  # NULL while some of it may be left
    sa.Column("traces", sa.JSON),  # digests of what a scan looks for; NULL once one found nothing
    sa.Column("proven_at", sa.Float),
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
        raise IndexBroken("the ledger names no live model version: restore the index folder from a copy")
    return row["space_id"], _space(row)


def space_of(connection: sa.Connection, space_id: int) -> Space:
    """A space by its key, kept or removed."""
    return _space(connection.execute(sa.select(spaces).where(spaces.c.space_id == space_id)).mappings().one())


def setting_of(connection: sa.Connection, space_id: int) -> str:
    """What names the model of a space in the settings: a known name, or a folder."""
    query = sa.select(spaces.c.setting, spaces.c.model).where(spaces.c.space_id == space_id)
    setting, model = connection.execute(query).one()
    return str(setting or model)


def _space(row: sa.RowMapping) -> Space:
    return Space(**{name: row[name] for name in Space.__slots__})
