"""What an index holds at one version."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from schemas.errors import IndexBroken
from schemas.records import Space
from schemas.tables import SEGMENT_SCHEMAS
from storage import ledger
from storage.segments import Segment, read_segment


@dataclass(frozen=True, slots=True)
class LiveDocument:
    """One document that can be found at a version, with the counts of what was stored for it."""

    document_id: str
    revision: int
    path: str
    title: str
    media_type: str
    chunks: int
    postings: int
    over_window: int
    characters: int
    pages: int
    ocr_pages: int
    ocr_confidence: float | None
    tables: int
    warnings: tuple[Mapping[str, object], ...]
    extractor: str
    extractor_version: str
    recipe: str
    source_sha256: str
    stale_reason: str  # "" when it is current


class Snapshot:
    """Live rows of one version. All that it knows of the ledger it read in one transaction."""

    def __init__(
        self,
        index: Path,
        version: int,
        space_id: int,
        space: Space,
        documents: tuple[LiveDocument, ...],
        segments: tuple[Segment, ...],
    ) -> None:
        self._index = index
        self.version = version
        self.space_id = space_id
        self.space = space
        self._documents = documents
        self.segments = segments
        self._revisions = {document.document_id: document.revision for document in documents}

    @classmethod
    def read(cls, connection: sa.Connection, index: Path, version: int) -> "Snapshot":
        space_id = connection.scalar(
            sa.select(ledger.live_spaces.c.space_id)
            .where(ledger.live_spaces.c.since_version <= version)
            .order_by(ledger.live_spaces.c.since_version.desc())
            .limit(1)
        )
        query = sa.select(ledger.spaces).where(ledger.spaces.c.space_id == space_id)
        row = connection.execute(query).mappings().first()
        if row is None or space_id is None:
            raise IndexBroken("the ledger names no live space: restore the index folder from a copy")
        space = Space(**{name: row[name] for name in Space.__slots__})
        return cls(
            index,
            version,
            space_id,
            space,
            tuple(_live_documents(connection, version, space_id)),
            tuple(_live_segments(connection, version, space_id)),
        )

    def documents(self) -> tuple[LiveDocument, ...]:
        """The documents that can be found, sorted by path."""
        return self._documents

    def chunks(self, columns: Sequence[str]) -> pa.Table:
        """Live rows of CHUNKS with these columns, sorted by chunk id."""
        return self._live("chunks", columns, sort="chunk_id")

    def postings(self, terms: Sequence[str]) -> pa.Table:
        """Live rows of POSTINGS for these terms, sorted by term, document and ordinal."""
        return self._live("postings", SEGMENT_SCHEMAS["postings"].names, [("term", "in", sorted(set(terms)))])

    def text(self, document_id: str) -> Mapping[str, object]:
        """The row of TEXTS of one live document. Raises `IndexBroken` when it is not stored."""
        names = SEGMENT_SCHEMAS["texts"].names
        rows = self._live("texts", names, [("document_id", "==", document_id)]).to_pylist()
        if not rows:
            raise IndexBroken(f"no stored text for document {document_id}: run `pincite verify`")
        row: Mapping[str, object] = rows[0]
        return row

    def tables(self, kind: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Live rows segment by segment, so that memory stays with one segment."""
        names = list(columns or SEGMENT_SCHEMAS[kind].names)
        for segment in self.segments:
            if segment.kind == kind:
                yield self._mask(read_segment(self._index, segment.file, _with_key(names))).select(names)

    def _live(
        self,
        kind: str,
        columns: Sequence[str],
        filters: list[tuple[str, str, object]] | None = None,
        sort: str | None = None,
    ) -> pa.Table:
        names = list(columns)
        read = _with_key([*names, sort] if sort and sort not in names else names)
        tables = [
            self._mask(read_segment(self._index, segment.file, read, filters))
            for segment in self.segments
            if segment.kind == kind
        ]
        schema = pa.schema([SEGMENT_SCHEMAS[kind].field(name) for name in read])
        table = pa.concat_tables([one.cast(schema) for one in tables]) if tables else schema.empty_table()
        return (table.sort_by(sort) if sort else table).select(names)

    def _mask(self, table: pa.Table) -> pa.Table:
        """The rows whose (document, revision) is live."""
        keys = pc.dictionary_encode(table["document_id"].combine_chunks())
        live = np.array([self._revisions.get(key, -1) for key in keys.dictionary.to_pylist()] or [-1])
        revision = table["revision"].to_numpy()
        return table.filter(pa.array(live[keys.indices.to_numpy()] == revision))


def _with_key(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*names, "document_id", "revision"]))


def _live_documents(connection: sa.Connection, version: int, space_id: int) -> Iterator[LiveDocument]:
    revisions, documents = ledger.revisions, ledger.documents
    query = (
        sa.select(revisions, documents.c.state, documents.c.reason, documents.c.sha256.label("now_sha256"))
        .join(documents, documents.c.document_id == revisions.c.document_id)
        .where(ledger.live_at(revisions, version), revisions.c.space_id == space_id)
        .order_by(revisions.c.path, revisions.c.document_id)
    )
    for row in connection.execute(query).mappings():
        values = {name: row[name] for name in LiveDocument.__slots__ if name != "stale_reason"}
        yield LiveDocument(**{**values, "warnings": tuple(row["warnings"])}, stale_reason=_stale_reason(row))


def _stale_reason(row: sa.RowMapping) -> str:
    if row["now_sha256"] == row["source_sha256"]:
        return f"the last attempt failed: {row['reason']}" if row["state"] == "failed" else ""
    if row["state"] == "failed":
        return f"the newer version failed: {row['reason']}"
    return "the file has changed since"


def _live_segments(connection: sa.Connection, version: int, space_id: int) -> Iterator[Segment]:
    segments = ledger.segments
    query = (
        sa.select(segments)
        .where(
            ledger.live_at(segments, version),
            sa.or_(segments.c.space_id.is_(None), segments.c.space_id == space_id),
        )
        .order_by(segments.c.segment_id)
    )
    for row in connection.execute(query).mappings():
        yield Segment(row["kind"], row["file"], row["rows"], row["size_bytes"], row["sha256"])
