"""Records to Arrow rows, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from schemas.locators import char_fragment, overlapping, place_fragment
from schemas.records import (
    Block,
    Chunk,
    DocumentWarning,
    Extraction,
    Job,
    Page,
    Place,
    Prepared,
    Space,
    Word,
)
from schemas.tables import CHUNKS, POSTINGS, TEXTS, chunk_id


@dataclass(frozen=True, slots=True)
class Finished:
    """One document ready to be published."""

    job: Job
    title: str  # the document's own, or made from its name
    prepared: Prepared
    vectors: np.ndarray  # float32 [chunks, dimension]


def text_rows(finished: Sequence[Finished], space: Space) -> pa.Table:
    rows = [
        {
            "document_id": one.job.document_id,
            "revision": one.job.revision,
            "title": one.title,
            "media_type": extraction.media_type,
            "text": extraction.text,
            "source_sha256": one.job.sha256,
            "blocks": [asdict(block) for block in extraction.blocks],
            "places": [asdict(place) for place in extraction.places],
            "pages": [asdict(page) for page in extraction.pages],
            "words": [asdict(word) for word in extraction.words],
            "warnings": [asdict(warning) for warning in extraction.warnings],
            "pipeline": space.pipeline,
            "extractor": extraction.extractor,
            "extractor_version": extraction.extractor_version,
        }
        for one in finished
        for extraction in [one.prepared.extraction]
    ]
    return pa.Table.from_pylist(rows, schema=TEXTS)


def chunk_rows(finished: Sequence[Finished], space: Space) -> pa.Table:
    rows = [
        _chunk_row(one, chunk, terms, space)
        for one in finished
        for chunk, terms in zip(one.prepared.chunks, one.prepared.terms, strict=True)
    ]
    columns = [field for field in CHUNKS if field.name != "embedding"]
    table = pa.Table.from_pylist(rows, schema=pa.schema(columns))
    vectors = np.concatenate([one.vectors for one in finished]).astype(np.float32, copy=False)
    offsets = np.arange(0, vectors.size + 1, space.dimension, dtype=np.int32)
    embedding = pa.ListArray.from_arrays(pa.array(offsets), pa.array(vectors.reshape(-1)))
    return table.append_column(CHUNKS.field("embedding"), embedding)


def _chunk_row(one: Finished, chunk: Chunk, terms: Mapping[str, int], space: Space) -> dict[str, object]:
    extraction = one.prepared.extraction
    places = overlapping(extraction.places, chunk.start, chunk.end)
    pages = [page.number for page in overlapping(extraction.pages, chunk.start, chunk.end)]
    return {
        "chunk_id": chunk_id(one.job.document_id, one.job.revision, chunk.ordinal),
        "document_id": one.job.document_id,
        "revision": one.job.revision,
        "ordinal": chunk.ordinal,
        "text": chunk.text,
        "content": chunk.content,
        "header": chunk.header,
        "section": chunk.section,
        "start": chunk.start,
        "end": chunk.end,
        "locator": place_fragment(places) or char_fragment(chunk.start, chunk.end),
        "page_first": pages[0] if pages else None,
        "page_last": pages[-1] if pages else None,
        "ocr_confidence": ocr_confidence(extraction, chunk.start, chunk.end),
        "tokens": chunk.tokens,
        "over_window": chunk.over_window,
        "terms": sum(terms.values()),
        "model": space.model,
        "fingerprint": space.fingerprint,
        "dimension": space.dimension,
        "chunker": space.chunker,
        "tokenizer": space.tokenizer,
        "pipeline": space.pipeline,
        "extractor": extraction.extractor,
        "extractor_version": extraction.extractor_version,
    }


def ocr_confidence(extraction: Extraction, start: int, end: int) -> float | None:
    """Mean confidence, 0 to 100 and weighted by characters, of the OCR words in `[start, end)`; None without any."""
    overlaps = [
        (min(word.end, end) - max(word.start, start), word.confidence)
        for word in overlapping(extraction.words, start, end)
    ]
    weight = sum(length for length, _ in overlaps)
    return sum(length * confidence for length, confidence in overlaps) / weight if weight else None


def posting_rows(finished: Sequence[Finished]) -> pa.Table:
    keys = [
        (term, one.job.document_id, one.job.revision, chunk.ordinal, tf)
        for one in finished
        for chunk, terms in zip(one.prepared.chunks, one.prepared.terms, strict=True)
        for term, tf in sorted(terms.items())
    ]
    columns: Sequence[Sequence[object]] = list(zip(*keys, strict=True)) if keys else [[]] * len(POSTINGS)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, POSTINGS, strict=True)],
        schema=POSTINGS,
    )


def extraction_of(row: Mapping[str, object]) -> Extraction:
    """The extraction that a row of TEXTS holds."""

    def records(column: str, record: type) -> tuple[object, ...]:
        value = row[column]
        assert isinstance(value, list)
        return tuple(record(**item) for item in value)

    return Extraction(
        text=str(row["text"]),
        title=str(row["title"]),
        media_type=str(row["media_type"]),
        extractor=str(row["extractor"]),
        extractor_version=str(row["extractor_version"]),
        blocks=records("blocks", Block),  # type: ignore[arg-type]  # one loader for five record types
        places=records("places", Place),  # type: ignore[arg-type]
        pages=records("pages", Page),  # type: ignore[arg-type]
        words=records("words", Word),  # type: ignore[arg-type]
        warnings=records("warnings", DocumentWarning),  # type: ignore[arg-type]
    )
