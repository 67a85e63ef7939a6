"""What an index holds at one version."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from schemas.records import Space
from schemas.tables import SEGMENT_SCHEMAS
from storage import ledger
from storage.segments import Segment, read_segment

_ASKED_AT_ONCE = 500  # SQLite bounds the variables of a statement


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
    language: str  # ISO 639-1; "" when it can't be told
    encoder_fit: bool  # whether the embedding model can read it
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
    def read(
        cls, connection: sa.Connection, index: Path, version: int, of_space: int | None = None
    ) -> "Snapshot":
        """What a version holds of the space that is searched at it, or of another one."""
        space_id, space = ledger.live_space(connection, version)
        if of_space is not None:
            space_id, space = of_space, ledger.space_of(connection, of_space)
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
        """Live rows of POSTINGS for these terms, segment by segment; each is sorted by term, document, ordinal."""
        return self._live("postings", SEGMENT_SCHEMAS["postings"].names, [("term", "in", sorted(set(terms)))])

    def rows(
        self,
        segment: Segment,
        columns: Sequence[str] | None = None,
        filters: list[tuple[str, str, object]] | None = None,
    ) -> pa.Table:
        """The live rows of one segment, in the order in which it has them."""
        names = list(columns or SEGMENT_SCHEMAS[segment.kind].names)
        return self._mask(read_segment(self._index, segment.file, _with_key(names), filters)).select(names)

    def of_kind(self, kind: str) -> tuple[Segment, ...]:
        """The segments of "texts", "chunks" or "postings"."""
        return tuple(segment for segment in self.segments if segment.kind == kind)

    def _live(
        self,
        kind: str,
        columns: Sequence[str],
        filters: list[tuple[str, str, object]] | None = None,
        sort: str | None = None,
    ) -> pa.Table:
        names = list(columns)
        read = list(dict.fromkeys([*names, sort])) if sort else names
        schema = pa.schema([SEGMENT_SCHEMAS[kind].field(name) for name in read])
        tables = [self.rows(segment, read, filters).cast(schema) for segment in self.of_kind(kind)]
        table = pa.concat_tables([schema.empty_table(), *tables])
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
    stored = [name for name in LiveDocument.__slots__ if name != "stale_reason"]
    query = (
        sa.select(
            *(revisions.c[name] for name in stored),
            documents.c.state,
            documents.c.reason,
            documents.c.sha256 == revisions.c.source_sha256,
        )
        .join(documents, documents.c.document_id == revisions.c.document_id)
        .where(ledger.live_at(revisions, version), revisions.c.space_id == space_id)
        .order_by(revisions.c.path, revisions.c.document_id)
    )
    for *values, state, reason, same_file in connection.execute(query):
        row = dict(zip(stored, values, strict=True))
        row["warnings"] = tuple(row["warnings"])
        yield LiveDocument(**row, stale_reason=_stale_reason(state, reason, same_file))


def stale_reasons(
    connection: sa.Connection, version: int, space_id: int, document_ids: Sequence[str]
) -> dict[str, str]:
    """Why each of some documents that are live at a version is not current; "" when it is.

    For who keeps a snapshot: whether a document is stale changes without a new version.
    """
    revisions, documents = ledger.revisions, ledger.documents
    reasons: dict[str, str] = {}
    for first in range(0, len(document_ids), _ASKED_AT_ONCE):
        query = (
            sa.select(
                documents.c.document_id,
                documents.c.state,
                documents.c.reason,
                documents.c.sha256 == revisions.c.source_sha256,
            )
            .join(revisions, documents.c.document_id == revisions.c.document_id)
            .where(
                ledger.live_at(revisions, version),
                revisions.c.space_id == space_id,
                documents.c.document_id.in_(document_ids[first : first + _ASKED_AT_ONCE]),
            )
        )
        for document_id, state, reason, same_file in connection.execute(query):
            reasons[document_id] = _stale_reason(state, reason, same_file)
    return reasons


def _stale_reason(state: str, reason: str | None, same_file: bool) -> str:
    if state == "deleted":  # of an older version than the newest
        return "the document has been deleted since"
    if state == "failed":
        return f"the last attempt failed: {reason}" if same_file else f"the newer version failed: {reason}"
    return "" if same_file else "the file has changed since"


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
