"""SQL on a snapshot: DuckDB over the live rows, read only."""

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from schemas.errors import UsageError
from schemas.tables import SEGMENT_SCHEMAS
from storage import ledger
from storage.index import Index
from storage.snapshot import Snapshot

VIEWS = ("documents", "failures", *SEGMENT_SCHEMAS)


def query(index: Index, sql: str, version: int | None = None) -> pa.Table:
    """The rows of one statement over the views `VIEWS` of one version.

    The statement reaches neither files nor the network, and changes nothing. Raises `UsageError` with
    DuckDB's words when it can't be run.
    """
    with index.snapshot(version) as snapshot, duckdb.connect(":memory:") as duck:
        try:
            for name in sorted(duck.get_table_names(sql) & set(VIEWS)):
                duck.register(name, _view(index, snapshot, name))
            duck.execute("SET enable_external_access = false")
            duck.execute("SET lock_configuration = true")
            relation = duck.sql(sql)
            return pa.table({}) if relation is None else relation.to_arrow_table()
        except duckdb.Error as error:
            raise UsageError(f"the query can't be run: {error}. Views are: {', '.join(VIEWS)}") from error


def _view(index: Index, snapshot: Snapshot, name: str) -> pa.Table:
    if name == "documents":
        return _documents(index, snapshot)
    if name == "failures":
        documents = _documents(index, snapshot)
        return documents.filter(pc.equal(documents["state"], "failed"))
    return pa.concat_tables([SEGMENT_SCHEMAS[name].empty_table(), *snapshot.tables(name)])


def _documents(index: Index, snapshot: Snapshot) -> pa.Table:
    """All documents of the ledger, found or not, with the counts of the revision that is live."""
    live = {document.document_id: document for document in snapshot.documents()}
    documents = ledger.documents
    columns = [documents.c[name] for name in _LEDGER_COLUMNS]
    query = sa.select(*columns).where(documents.c.state != "deleted").order_by(documents.c.path)
    with ledger.reading(index.engine) as ledger_connection:
        rows = [dict(row) for row in ledger_connection.execute(query).mappings()]
    for row in rows:
        found = live.get(row["document_id"])
        row |= {name: getattr(found, name, None) for name in _LIVE_COLUMNS}
        row["stale_reason"] = found.stale_reason if found else None
    return pa.Table.from_pylist(rows, schema=pa.schema([*_LEDGER_COLUMNS.items(), *_LIVE_COLUMNS.items()]))


_LEDGER_COLUMNS = {
    "document_id": pa.string(),
    "source": pa.string(),
    "path": pa.string(),
    "state": pa.string(),
    "stage": pa.string(),
    "kind": pa.string(),
    "reason": pa.string(),
    "page": pa.int32(),
    "attempts": pa.int32(),
    "size_bytes": pa.int64(),
    "sha256": pa.string(),
}
_LIVE_COLUMNS = {
    "revision": pa.int32(),
    "title": pa.string(),
    "media_type": pa.string(),
    "chunks": pa.int32(),
    "characters": pa.int64(),
    "pages": pa.int32(),
    "ocr_pages": pa.int32(),
    "ocr_confidence": pa.float64(),
    "tables": pa.int32(),
    "extractor": pa.string(),
    "extractor_version": pa.string(),
    "stale_reason": pa.string(),
}
