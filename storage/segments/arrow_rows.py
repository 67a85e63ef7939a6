"""Records to Arrow rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from pincite.schemas.locators import char_fragment, overlapping, place_fragment
from pincite.schemas.records import UNFIT, Chunk, DocumentWarning, Extraction, Job, Prepared, Space
from pincite.schemas.tables import CHUNKS, POSTINGS, TEXTS, chunk_id

Terms = Sequence[Mapping[str, int]]
"""The frequency of each term, chunk by chunk."""


@dataclass(frozen=True, slots=True)
class Finished:
    """One document ready to be published."""

    job: Job
    title: str  # the document's own, or made from its name
    prepared: Prepared
    vectors: np.ndarray  # float32 [chunks, dimension]
    copies: tuple["Copy | Blocked", ...] = ()  # the same in the spaces that are kept beside the live one


@dataclass(frozen=True, slots=True)
class Copy:
    """One revision as a space beside the live one has it."""

    space_id: int
    document_id: str
    revision: int
    chunks: pa.Table  # CHUNKS
    postings: pa.Table  # POSTINGS
    unfit: tuple[DocumentWarning, ...] = ()  # that the model of that space can't read it


@dataclass(frozen=True, slots=True)
class Blocked:
    """One revision that another space can't have, and why."""

    space_id: int
    document_id: str
    revision: int
    reason: str


def copy_of(one: Finished, space_id: int, space: Space) -> Copy:
    """A document that was made for `space`, as rows. Raises `ValueError` when a value can't be stored."""
    try:
        chunks, postings = _chunk_rows(one, space), _posting_rows(one)
    except (UnicodeError, OverflowError, pa.ArrowException) as error:
        raise ValueError(str(error)) from error
    unfit = tuple(warning for warning in one.prepared.extraction.warnings if warning.code == UNFIT)
    return Copy(space_id, one.job.document_id, one.job.revision, chunks, postings, unfit)


def restamped(
    stored: pa.Table, chunks: Sequence[Chunk], terms: Terms, vectors: np.ndarray, space: Space
) -> pa.Table:
    """The stored rows of CHUNKS of one document, by ordinal, as another space has them.

    What does not depend on a model stays as it is; `vectors` is float32 [chunks, dimension].
    """
    count = len(chunks)
    columns: dict[str, pa.Array] = {
        "tokens": pa.array([chunk.tokens for chunk in chunks], pa.int32()),
        "over_window": pa.array([chunk.over_window for chunk in chunks]),
        "terms": pa.array([sum(one.values()) for one in terms], pa.int32()),
        "embedding": _embedding(vectors, space.dimension),
    }
    for name in ("model", "fingerprint", "dimension", "chunker", "tokenizer", "pipeline"):
        columns[name] = pa.repeat(pa.scalar(getattr(space, name), CHUNKS.field(name).type), count)
    arrays = [columns[field.name] if field.name in columns else stored[field.name] for field in CHUNKS]
    return pa.table(arrays, schema=CHUNKS)


def posting_rows(document_id: str, revision: int, terms: Terms) -> pa.Table:
    """Rows of POSTINGS: `terms` are the frequencies in each chunk, by ordinal."""
    keys = [
        (term, document_id, revision, ordinal, tf)
        for ordinal, frequencies in enumerate(terms)
        for term, tf in sorted(frequencies.items())
    ]
    columns: Sequence[Sequence[object]] = list(zip(*keys, strict=True)) if keys else [[]] * len(POSTINGS)
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, POSTINGS, strict=True)],
        schema=POSTINGS,
    )


def rows_of(one: Finished, space: Space) -> dict[str, pa.Table]:
    """The rows of one document by kind of segment. Raises `ValueError` when a value can't be stored."""
    try:
        return {
            "texts": _text_row(one, space),
            "chunks": _chunk_rows(one, space),
            "postings": _posting_rows(one),
        }
    except (UnicodeError, OverflowError, pa.ArrowException) as error:
        raise ValueError(str(error)) from error


def _text_row(one: Finished, space: Space) -> pa.Table:
    extraction = one.prepared.extraction
    row = {
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
    return pa.Table.from_pylist([row], schema=TEXTS)


def _chunk_rows(one: Finished, space: Space) -> pa.Table:
    rows = [
        _chunk_row(one, chunk, terms, space)
        for chunk, terms in zip(one.prepared.chunks, one.prepared.terms, strict=True)
    ]
    columns = [field for field in CHUNKS if field.name != "embedding"]
    table = pa.Table.from_pylist(rows, schema=pa.schema(columns))
    return table.append_column(CHUNKS.field("embedding"), _embedding(one.vectors, space.dimension))


def _embedding(vectors: np.ndarray, dimension: int) -> pa.Array:
    flat = vectors.astype(np.float32, copy=False).reshape(-1)
    offsets = np.arange(0, flat.size + 1, dimension, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


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
        "ocr_confidence": _ocr_confidence(extraction, chunk.start, chunk.end),
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


def _ocr_confidence(extraction: Extraction, start: int, end: int) -> float | None:
    """Mean confidence, 0 to 100 and weighted by characters, of the OCR words in `[start, end)`; None without any."""
    overlaps = [
        (min(word.end, end) - max(word.start, start), word.confidence)
        for word in overlapping(extraction.words, start, end)
    ]
    weight = sum(length for length, _ in overlaps)
    return sum(length * confidence for length, confidence in overlaps) / weight if weight else None


def _posting_rows(one: Finished) -> pa.Table:
    return posting_rows(one.job.document_id, one.job.revision, one.prepared.terms)


def storable_text(text: str) -> str:
    """`text` with what UTF-8 can't hold, halves of surrogate pairs, shown as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
