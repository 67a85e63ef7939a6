"""The ledger's schema: made anew, or brought from an older version to this one, step by step."""

from collections.abc import Callable, Iterator

import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken
from pincite.storage.ledger import schema
from pincite.storage.ledger.schema import SCHEMA_VERSION, meta
from pincite.storage.ledger.transactions import reading, writing


def create_schema(connection: sa.Connection) -> None:
    """Makes the tables in an empty ledger."""
    schema.metadata.create_all(connection)
    connection.execute(meta.insert().values(key="schema_version", value=SCHEMA_VERSION))


def upgrade(engine: sa.Engine) -> None:
    """Brings an older ledger to this schema, in one transaction. Raises `IndexBroken` for one that is unknown."""
    with reading(engine) as connection:
        known = _require_known(connection)
    if known == SCHEMA_VERSION:
        return
    with writing(engine) as connection:
        for step in _steps_from(_require_known(connection)):  # another process may have been faster
            step(connection)
        connection.execute(meta.update().where(meta.c.key == "schema_version").values(value=SCHEMA_VERSION))


def _require_known(connection: sa.Connection) -> str | None:
    known: str | None = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "schema_version"))
    if known not in (*_STEPS, SCHEMA_VERSION):
        raise IndexBroken(
            f"the ledger has schema version {known}, this Pincite reads {SCHEMA_VERSION}: use the Pincite that "
            "made the index, or index again into a new folder"
        )
    return known


def _steps_from(known: str | None) -> Iterator[Callable[[sa.Connection], None]]:
    for version, step in _STEPS.items():
        if known is not None and int(known) <= int(version):
            yield step


def _to_2(connection: sa.Connection) -> None:
    """Language, fitness and what migrations, collections and calibrations need."""
    for statement in (
        "ALTER TABLE spaces ADD COLUMN setting TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE spaces ADD COLUMN removed_at FLOAT",
        "ALTER TABLE documents ADD COLUMN etag TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE documents ADD COLUMN not_before FLOAT",
        "ALTER TABLE revisions ADD COLUMN language TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX segments_ended ON segments (ended_version)",
        "ALTER TABLE revisions ADD COLUMN encoder_fit BOOLEAN NOT NULL DEFAULT 1",
        """UPDATE revisions SET encoder_fit = 0 WHERE warnings LIKE '%"code": "embedding-fit"%'""",
    ):
        connection.exec_driver_sql(statement)
    _create(connection, "collections", "calibrations", "migrations", "blockers", "probes")


def _to_3(connection: sa.Connection) -> None:
    """Which process a row means, the names and the proof of what is forgotten, and indexes for reports."""
    for statement in (
        "ALTER TABLE documents ADD COLUMN former_names JSON NOT NULL DEFAULT '[]'",
        "ALTER TABLE runs ADD COLUMN process TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX documents_failed ON documents (stage, kind, reason, state) WHERE state = 'failed'",
        "CREATE INDEX revisions_live ON revisions (space_id, recipe, extractor, extractor_version, chunks, "
        "over_window, pages, ocr_pages, encoder_fit, ended_version) WHERE ended_version IS NULL",
        "CREATE INDEX revisions_warned ON revisions (space_id) WHERE ended_version IS NULL AND warnings <> '[]'",
    ):
        connection.exec_driver_sql(statement)
    for table, kept in _MADE_ANEW.items():
        known = sa.inspect(connection).has_table(table)  # not in a ledger of schema 1
        if known:
            connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO former_{table}")
        _create(connection, table)
        if known:
            connection.exec_driver_sql(f"INSERT INTO {table} {kept} FROM former_{table}")
            connection.exec_driver_sql(f"DROP TABLE former_{table}")


_MADE_ANEW = {
    "readers": "(reader_id, host, pid, version, lease_until) SELECT reader_id, host, pid, version, lease_until",
    # That nothing is left of it was told to whoever asked, but not kept: `pincite forget --verify` tells it again.
    "forgotten": "(document_id, names, contents, asked_at, done_at) "
    "SELECT document_id, json_array(name_sha256), contents, asked_at, done_at",
}


def _create(connection: sa.Connection, *tables: str) -> None:
    schema.metadata.create_all(connection, [schema.metadata.tables[name] for name in tables])


_STEPS = {"1": _to_2, "2": _to_3}
"""What leads from each schema version to the next."""
