"""One document as it is stored: its extraction and its chunks, without reading the others."""

from dataclasses import dataclass

from pincite.schemas.errors import IndexBroken
from pincite.schemas.records import Chunk, Extraction
from pincite.storage.documents.extractions import extraction_of
from pincite.storage.documents.texts import likely_first
from pincite.storage.ledger import transactions
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument

_CHUNK = ("ordinal", "content", "header", "section", "start", "end", "tokens", "over_window")


@dataclass(frozen=True, slots=True)
class WholeDocument:
    document: LiveDocument
    extraction: Extraction
    chunks: tuple[Chunk, ...]  # in text order; `text` is "", it is never shown
    version: int


def read_whole(index: Index, document_id: str) -> WholeDocument | None:
    """The document at the newest version; None when nothing of it can be found.

    Raises `IndexBroken` when it has no text.
    """
    with transactions.reading(index.engine) as connection:
        snapshot = index.snapshot_within(connection, among=[document_id])
        live = {one.document_id: one for one in snapshot.documents()}
        if not live:
            return None
        segments = {kind: likely_first(connection, snapshot, live, kind) for kind in ("texts", "chunks")}
    document = live[document_id]
    only: list[tuple[str, str, object]] = [("document_id", "=", document_id)]
    extraction = None
    for segment in segments["texts"]:
        if rows := snapshot.rows(segment, filters=only).to_pylist():
            extraction = extraction_of(rows[0])
            break
    if extraction is None:
        raise IndexBroken(f"the index has {document.path} but not its text: run `pincite verify`")
    chunks: list[Chunk] = []
    for segment in segments["chunks"]:
        if len(chunks) >= document.chunks:
            break
        rows = snapshot.rows(segment, _CHUNK, only).to_pylist()
        chunks += [Chunk(text="", **row) for row in rows]
    ordered = tuple(sorted(chunks, key=lambda one: one.ordinal))
    return WholeDocument(document, extraction, ordered, snapshot.version)
