"""What an index holds at one version."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken
from pincite.schemas.records import Space
from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import require_version, told_since
from pincite.storage.segments.places import Places
from pincite.storage.segments.segment import Segment, read_segment

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
    source: str  # the folder or address that it is of
    stale_reason: str  # "" when it is current


@dataclass(frozen=True, slots=True, eq=False)
class LiveKeys:
    """The revisions that are live at a version, sorted by document."""

    documents: np.ndarray  # uint64, a document id read as a hexadecimal number
    revisions: np.ndarray  # int32
    encoder_fit: np.ndarray  # bool

    def changed(self, ended: np.ndarray, begun: "LiveKeys") -> "LiveKeys":
        """Without the documents `ended`, with the revisions `begun`."""
        kept = ~np.isin(self.documents, ended)
        documents = np.concatenate([self.documents[kept], begun.documents])
        order = np.argsort(documents, kind="stable")
        return LiveKeys(
            documents[order],
            np.concatenate([self.revisions[kept], begun.revisions])[order],
            np.concatenate([self.encoder_fit[kept], begun.encoder_fit])[order],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """What changed between two versions: uint64, documents."""

    ended: np.ndarray  # that ended, changed or got another name
    begun: np.ndarray  # that are new, changed or got another name


@dataclass(frozen=True, slots=True)
class CommitGroup:
    """The segments of chunks and postings that began in one version.

    A revision has all its chunks and postings in one unit.
    """

    key: str  # a digest of the files' names, which are digests of their contents
    chunks: tuple[Segment, ...]
    postings: tuple[Segment, ...]

    @property
    def rows(self) -> int:
        return sum(segment.rows for segment in self.chunks)


class Snapshot:
    """Live rows of one version.

    What a version holds never changes, so documents and keys are read when they are first asked for; that raises
    `VersionGone` when a vacuum took the version away meanwhile.
    """

    def __init__(
        self,
        places: Places,
        version: int,
        space_id: int,
        space: Space,
        segments: Mapping[Segment, int],
    ) -> None:
        """`segments` with the versions at which they began, in the order of the ledger."""
        self._engine = places.ledger
        self.places = places
        self.version = version
        self.space_id = space_id
        self.space = space
        self._began = segments
        self.segments = tuple(segments)
        self._documents: tuple[LiveDocument, ...] | None = None

    @classmethod
    def read(
        cls, connection: sa.Connection, places: Places, version: int, of_space: int | None = None
    ) -> "Snapshot":
        """What a version holds of the space that is searched at it, or of another one."""
        space_id, space = schema.live_space(connection, version)
        if of_space is not None:
            space_id, space = of_space, schema.space_of(connection, of_space)
        segments = dict(_live_segments(connection, version, space_id))
        return cls(places, version, space_id, space, segments)

    def load_documents(self, connection: sa.Connection, among: Sequence[str] | None = None) -> None:
        """Reads the documents in the transaction of the caller, whose other statements must agree with them.

        With `among` the snapshot is from now on as if it held no other documents than these ids.
        """
        require_version(connection, self.version)
        self._documents = tuple(_live_documents(connection, self.version, self.space_id, among))

    def documents(self) -> tuple[LiveDocument, ...]:
        """The documents that can be found, sorted by path. Some 15 µs a document, when first asked for."""
        if self._documents is None:
            with transactions.reading(self._engine) as connection:
                self.load_documents(connection)
        return self._documents or ()

    def languages(self) -> frozenset[str]:
        """The languages of the documents that can be found; "" where one could not be told."""
        revisions = schema.revisions
        query = (
            sa.select(revisions.c.language)
            .distinct()
            .where(schema.live_at(revisions, self.version), revisions.c.space_id == self.space_id)
        )
        with transactions.reading(self._engine) as connection:
            return frozenset(connection.scalars(query))

    def documents_of(self, document_ids: Sequence[str]) -> dict[str, LiveDocument]:
        """Single documents by id; one that the version does not have is left out."""
        if self._documents is not None:
            wanted = frozenset(document_ids)
            return {one.document_id: one for one in self._documents if one.document_id in wanted}
        found: dict[str, LiveDocument] = {}
        with transactions.reading(self._engine) as connection:
            require_version(connection, self.version)
            for first in range(0, len(document_ids), _ASKED_AT_ONCE):
                asked = document_ids[first : first + _ASKED_AT_ONCE]
                for one in _live_documents(connection, self.version, self.space_id, asked):
                    found[one.document_id] = one
        return found

    def forgotten(self) -> np.ndarray:
        """uint64, the documents that were ever to be forgotten, whatever the version."""
        with transactions.reading(self._engine) as connection:
            return document_numbers(connection.scalars(sa.select(schema.forgotten.c.document_id)).all())

    @cached_property
    def model_setting(self) -> str:
        """What names the model of its space in the settings: a known name, or a folder."""
        with transactions.reading(self._engine) as connection:
            return schema.setting_of(connection, self.space_id)

    @cached_property
    def keys(self) -> LiveKeys:
        """The live revisions; 1 to 2 µs each."""
        with transactions.reading(self._engine) as connection:
            require_version(connection, self.version)
            return _live_keys(connection, self.version, self.space_id)

    def follow(self, earlier: "Snapshot") -> Changed | None:
        """Takes over what an earlier snapshot of the same space has read: the keys then cost what changed since.

        None, and nothing is taken over, of another space, and where a vacuum or a forgetting deleted the rows
        that would tell.
        """
        if self.space_id != earlier.space_id or self.version < earlier.version:
            return None
        with transactions.reading(self._engine) as connection:
            if earlier.version < told_since(connection):
                return None
            ended, begun = _changes(connection, earlier.version, self.version, self.space_id)
        self.keys = earlier.keys.changed(ended, begun)
        return Changed(ended, begun.documents)

    @cached_property
    def units(self) -> tuple[CommitGroup, ...]:
        """The units that hold the live chunks and postings, oldest first."""
        by_version: dict[int, list[Segment]] = {}
        for segment, began in self._began.items():
            if segment.kind != "texts":
                by_version.setdefault(began, []).append(segment)
        return tuple(unit_of(by_version[began]) for began in sorted(by_version))

    @cached_property
    def _revisions(self) -> Mapping[str, int]:
        if self._documents is not None:
            return {one.document_id: one.revision for one in self._documents}
        keys = self.keys
        return dict(zip(map(document_name, keys.documents.tolist()), keys.revisions.tolist(), strict=True))

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
        return self._mask(read_segment(self.places, segment.file, _with_key(names), filters)).select(names)

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


def unit_of(segments: Sequence[Segment]) -> CommitGroup:
    """The unit of these segments of chunks and postings, in any order."""
    ordered = sorted(segments, key=lambda one: one.file)
    digest = hashlib.sha256("\n".join(one.file for one in ordered).encode()).hexdigest()
    return CommitGroup(
        digest[:32],
        tuple(one for one in ordered if one.kind == "chunks"),
        tuple(one for one in ordered if one.kind == "postings"),
    )


def document_name(number: int) -> str:
    """The document id that was read as this number."""
    return f"{number:016x}"


def document_numbers(document_ids: Sequence[str]) -> np.ndarray:
    """uint64, ids as numbers, which have the same order. Raises `IndexBroken` for what is no id."""
    try:
        numbers = np.frombuffer(bytes.fromhex("".join(document_ids)), dtype=">u8").astype(np.uint64)
    except ValueError:
        numbers = np.empty(0, dtype=np.uint64)
    if len(numbers) != len(document_ids):
        raise IndexBroken("a document id is not 16 hexadecimal digits: run `pincite verify`")
    return numbers


def _with_key(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*names, "document_id", "revision"]))


def _live_keys(connection: sa.Connection, version: int, space_id: int) -> LiveKeys:
    revisions = schema.revisions
    query = (
        sa.select(revisions.c.document_id, revisions.c.revision, revisions.c.encoder_fit)
        .where(schema.live_at(revisions, version), revisions.c.space_id == space_id)
        .order_by(revisions.c.document_id)
    )
    return _as_keys(connection.execute(query).all())


def _as_keys(rows: Sequence[Sequence[Any]]) -> LiveKeys:
    documents, numbers, fit = zip(*rows, strict=True) if rows else ((), (), ())
    return LiveKeys(document_numbers(documents), np.array(numbers, dtype=np.int32), np.array(fit, dtype=bool))


def _changes(
    connection: sa.Connection, before: int, version: int, space_id: int
) -> tuple[np.ndarray, LiveKeys]:
    """(documents whose revision at `before` is not live at `version`, revisions live since)."""
    revisions = schema.revisions
    columns = revisions.c.document_id, revisions.c.revision, revisions.c.encoder_fit
    of_space = sa.select(*columns).where(revisions.c.space_id == space_id)
    ended = of_space.where(schema.live_at(revisions, before), revisions.c.ended_version <= version)
    begun = of_space.where(schema.live_at(revisions, version), revisions.c.began_version > before)
    return _as_keys(connection.execute(ended).all()).documents, _as_keys(connection.execute(begun).all())


def _live_documents(
    connection: sa.Connection, version: int, space_id: int, among: Sequence[str] | None = None
) -> Iterator[LiveDocument]:
    revisions, documents = schema.revisions, schema.documents
    stored = [name for name in LiveDocument.__slots__ if name not in ("source", "stale_reason")]
    query = (
        sa.select(
            *(revisions.c[name] for name in stored),
            documents.c.source,
            documents.c.state,
            documents.c.reason,
            documents.c.sha256 == revisions.c.source_sha256,
        )
        .join(documents, documents.c.document_id == revisions.c.document_id)
        .where(schema.live_at(revisions, version), revisions.c.space_id == space_id)
        .order_by(revisions.c.path, revisions.c.document_id)
    )
    if among is not None:
        query = query.where(revisions.c.document_id.in_(among))
    for *values, source, state, reason, same_file in connection.execute(query):
        row = dict(zip(stored, values, strict=True))
        row["warnings"] = tuple(row["warnings"])
        yield LiveDocument(**row, source=source, stale_reason=reason_of_state(state, reason, same_file))


def stale_reasons(
    connection: sa.Connection, version: int, space_id: int, document_ids: Sequence[str]
) -> dict[str, str]:
    """Why each of some documents that are live at a version is not current; "" when it is.

    For who keeps a snapshot: whether a document is stale changes without a new version.
    """
    revisions, documents = schema.revisions, schema.documents
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
                schema.live_at(revisions, version),
                revisions.c.space_id == space_id,
                documents.c.document_id.in_(document_ids[first : first + _ASKED_AT_ONCE]),
            )
        )
        for document_id, state, reason, same_file in connection.execute(query):
            reasons[document_id] = reason_of_state(state, reason, same_file)
    return reasons


def reason_of_state(state: str, reason: str | None, same_file: bool) -> str:
    if state == "deleted":  # of an older version than the newest
        return "the document has been deleted since"
    if state == "failed":
        return f"the last attempt failed: {reason}" if same_file else f"the newer version failed: {reason}"
    return "" if same_file else "the file has changed since"


def _live_segments(connection: sa.Connection, version: int, space_id: int) -> Iterator[tuple[Segment, int]]:
    """Segments with the versions at which they began."""
    segments = schema.segments
    query = sa.select(segments).where(
        schema.live_at(segments, version),
        sa.or_(segments.c.space_id.is_(None), segments.c.space_id == space_id),
    )
    # Sorted here: SQLite would scan the ended segments too, to have the rows in this order.
    rows = sorted(connection.execute(query).mappings(), key=lambda row: int(row["segment_id"]))
    for row in rows:
        segment = Segment(row["kind"], row["file"], row["rows"], row["size_bytes"], row["sha256"])
        yield segment, row["began_version"]
