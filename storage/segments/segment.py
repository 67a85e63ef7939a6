"""Immutable Parquet segments: written once, named by their content, never changed."""

import hashlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken, PinciteError, VersionGone
from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import oldest_version
from pincite.storage.objects.interface import ObjectStore
from pincite.storage.segments.places import Places

FOLDER = "segments"
REMEDY = "restore the file from a copy, or index again into a new folder"
_SORT = {
    "texts": [("document_id", "ascending"), ("revision", "ascending")],
    "chunks": [("chunk_id", "ascending")],
    "postings": [("term", "ascending"), ("document_id", "ascending"), ("ordinal", "ascending")],
}
_ROW_GROUP = {
    "postings": 16_384,  # eight terms of 272,000 rows: 6 ms CPU to read instead of 29
    "texts": 64,  # of thousands, one is read for a citation
}


@dataclass(frozen=True, slots=True)
class Segment:
    kind: str
    file: str  # relative to the index folder
    rows: int
    size_bytes: int
    sha256: str


def write_segment(places: Places, kind: str, table: pa.Table, suffix: str = "") -> Segment:
    """Writes `table` sorted and returns what was written, counted from the table itself.

    The file is named by its content, so the same rows give the same file. Who writes rows again that stood in a
    segment before adds a `suffix`: the new file must not be the old one. No reader sees it before a transaction
    of the ledger names it.
    """
    table = table.cast(SEGMENT_SCHEMAS[kind]).sort_by(_SORT[kind])
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        row_group_size=_ROW_GROUP.get(kind),
        compression="zstd",
        compression_level=1,
        use_dictionary=[
            name for name in table.schema.names if name not in ("text", "content", "chunk_id", "embedding")
        ],
        column_encoding={"embedding.list.element": "BYTE_STREAM_SPLIT"} if kind == "chunks" else None,
    )
    data = sink.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    file = f"{FOLDER}/{kind}/{digest[:32]}{suffix}.parquet"
    places.objects.put(file, data)
    return Segment(kind, file, table.num_rows, data.size, digest)


def read_segment(
    places: Places,
    file: str,
    columns: list[str] | None = None,
    filters: list[tuple[str, str, object]] | None = None,
    encoded: list[str] | None = None,
) -> pa.Table:
    """The rows of a segment, the columns `encoded` as dictionaries.

    Raises `IndexBroken` naming the file when it is lost or damaged, and `VersionGone` when no version that is
    kept has it.
    """
    try:
        with places.objects.open(file) as source:
            return pq.read_table(
                source, columns=columns, filters=filters, partitioning=None, read_dictionary=encoded
            )
    except FileNotFoundError as error:
        raise missing(places, file) from error
    except (OSError, pa.ArrowException) as error:
        raise IndexBroken(
            f"segment {file} can't be read: {error}. Run `pincite verify` to see what is broken; {REMEDY}"
        ) from error


def require_whole(places: Places, segment: Segment) -> None:
    """Raises `IndexBroken` unless the file is there with the bytes that were written."""
    try:
        with places.objects.open(segment.file) as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise missing(places, segment.file) from error
    except OSError as error:
        raise IndexBroken(f"{segment.file} can't be read: {error}; {REMEDY}") from error
    if digest != segment.sha256:
        raise IndexBroken(f"{segment.file} is not what was written: {REMEDY}")


def missing(places: Places, file: str) -> PinciteError:
    """What a segment that is not there means: `VersionGone` when the ledger no longer names it, else damage."""
    with transactions.reading(places.ledger) as connection:
        named = connection.scalar(sa.select(sa.exists().where(schema.segments.c.file == file)))
        oldest = oldest_version(connection)
    if named:
        return IndexBroken(f"{file} is missing: {REMEDY}")
    return VersionGone(
        f"the version that was being read is no longer kept: a vacuum or `pincite forget` took away {file}. "
        f"Ask again for the newest version; the oldest that is kept is {oldest}"
    )


def unclaimed(objects: ObjectStore, claimed: set[str]) -> list[str]:
    """Names of objects among the segments that no transaction claimed, sorted."""
    return sorted(name for name in objects.names(FOLDER) if name not in claimed)
