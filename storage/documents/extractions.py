"""Stored extractions, whole: what documents are chunked and embedded again from, without reading their files."""

from collections.abc import Iterator, Mapping
from typing import Any

from pincite.schemas.records import Block, DocumentWarning, Extraction, Page, Place, Word
from pincite.storage.snapshots.snapshot import LiveDocument, Snapshot


def read_extractions(snapshot: Snapshot) -> Iterator[tuple[LiveDocument, Extraction]]:
    """Each live document with what was extracted from it, segment by segment; one row is in memory at a time."""
    live = {document.document_id: document for document in snapshot.documents()}
    for segment in snapshot.of_kind("texts"):
        for batch in snapshot.rows(segment).to_batches(max_chunksize=1):
            for row in batch.to_pylist():
                document = live[row["document_id"]]
                yield document, extraction_of(row)


def extraction_of(row: Mapping[str, Any]) -> Extraction:
    """What a row of TEXTS says was extracted."""
    return Extraction(
        text=row["text"],
        title=row["title"],
        media_type=row["media_type"],
        extractor=row["extractor"],
        extractor_version=row["extractor_version"],
        blocks=tuple(Block(**one) for one in row["blocks"]),
        places=tuple(Place(**one) for one in row["places"]),
        pages=tuple(Page(**one) for one in row["pages"]),
        words=tuple(Word(**one) for one in row["words"]),
        warnings=tuple(DocumentWarning(**one) for one in row["warnings"]),
    )
