"""SQL on a snapshot: DuckDB over the live rows, read only."""

from dataclasses import asdict

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import sqlalchemy as sa
from pyarrow.fs import LocalFileSystem

from pincite.schemas.errors import UsageError
from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import Moment
from pincite.storage.ledger.versions import moment as moment_of
from pincite.storage.locks.reader_leases import holding
from pincite.storage.queries.time_travel import PastDocument, past_documents
from pincite.storage.segments.segment import require_whole
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument, Snapshot

VIEWS = ("documents", "failures", *SEGMENT_SCHEMAS)

_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,  # no files, no network, no extensions
    "python_enable_replacements": False,  # a name in a query is no variable of this process
    "lock_configuration": True,
}


def query(index: Index, sql: str, version: int | None = None, moment: Moment | None = None) -> pa.Table:
    """The rows of one statement over the views `VIEWS` of one version; no columns when it returns nothing.

    Of a former version (or `moment`), `documents` and `failures` are as the ledger knows them then (`time_travel`).

    The statement reaches neither files nor the network, and changes nothing. Columns that it doesn't name are
    not read. Raises `UsageError` with DuckDB's words when it can't be run, `IndexBroken` when a segment is
    missing or damaged.
    """
    with transactions.reading(index.engine) as connection:
        moment = moment or moment_of(connection, version)
        snapshot = index.snapshot_within(connection, moment.version)
        documents = _documents(connection, moment, snapshot.documents())
    with (
        holding(index.engine, snapshot.version),
        duckdb.connect(":memory:", config=_SEALED) as duck,
    ):
        try:
            _make_views(duck, snapshot, documents)
            relation = duck.sql(sql)
            return pa.table({}) if relation is None else relation.to_arrow_table()
        except duckdb.Error as error:
            if isinstance(error, duckdb.InvalidInputException):  # also what it says of a damaged segment
                for segment in snapshot.segments:
                    require_whole(index.places, segment)
            raise UsageError(f"the query can't be run: {error}. Views are: {', '.join(VIEWS)}") from error


def _make_views(duck: duckdb.DuckDBPyConnection, snapshot: Snapshot, documents: pa.Table) -> None:
    duck.register("documents", documents)
    duck.register("failures", documents.filter(pc.equal(documents["state"], "failed")))
    duck.register("live", _live_keys(snapshot))
    for kind, columns in SEGMENT_SCHEMAS.items():
        files = [snapshot.places.objects.address(segment.file) for segment in snapshot.of_kind(kind)]
        stored = f"stored_{kind}"  # also holds rows of replaced and deleted documents
        dataset = ds.FileSystemDataset.from_paths(
            files, schema=columns, format=ds.ParquetFileFormat(), filesystem=LocalFileSystem()
        )
        duck.register(stored, dataset if files else columns.empty_table())
        duck.execute(f"CREATE VIEW {kind} AS FROM {stored} SEMI JOIN live USING (document_id, revision)")


def _live_keys(snapshot: Snapshot) -> pa.Table:
    documents = snapshot.documents()
    return pa.table(
        {
            "document_id": pa.array([document.document_id for document in documents], pa.string()),
            "revision": pa.array([document.revision for document in documents], pa.int32()),
        }
    )


def _documents(connection: sa.Connection, moment: Moment, live: tuple[LiveDocument, ...]) -> pa.Table:
    """All documents of the ledger, found or not, with the counts of the revision that is live."""
    columns_of_view = pa.schema([*_LEDGER_COLUMNS.items(), *_LIVE_COLUMNS.items()])
    if not moment.newest:
        return pa.Table.from_pylist(
            [_past_row(one) for one in past_documents(connection, moment, live)], schema=columns_of_view
        )
    by_id = {document.document_id: document for document in live}
    documents = schema.documents
    columns = [documents.c[name] for name in _LEDGER_COLUMNS]
    rows = [
        {**row, **{name: getattr(by_id.get(row["document_id"]), name, None) for name in _LIVE_COLUMNS}}
        for row in connection.execute(
            sa.select(*columns).where(documents.c.state != "deleted").order_by(documents.c.path)
        ).mappings()
    ]
    return pa.Table.from_pylist(rows, schema=columns_of_view)


def _past_row(past: PastDocument) -> dict[str, object]:
    """A row of a former moment; of size, hash and attempts then nothing is kept of what was not indexed."""
    ledger_row = {
        "document_id": past.document_id,
        "source": past.source,
        "path": past.path,
        "state": past.state,
        "sha256": past.live.source_sha256 if past.live else None,
    }
    cause = asdict(past.failure) if past.failure else {}
    live_row = {name: getattr(past.live, name, None) for name in _LIVE_COLUMNS}
    stale = {"stale_reason": past.stale_reason if past.live else None}
    return {**cause, **ledger_row, **live_row, **stale}


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
