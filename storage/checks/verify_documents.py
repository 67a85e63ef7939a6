"""Verify, document by document: the rows that are stored against each other and against the ledger.

Memory stays with one segment of texts and the chunks of its documents.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pincite.schemas.chunkers import is_whole
from pincite.schemas.counting import counted
from pincite.schemas.locators import char_fragment, overlapping, place_fragment
from pincite.schemas.marks import count_marks
from pincite.schemas.records import UNFIT, Block, Page, Place, Space
from pincite.schemas.tables import CHUNKS, chunk_id
from pincite.storage.checks.check_counts import Tally
from pincite.storage.runs.invariants import coverage_problems, slice_problems, vector_problems
from pincite.storage.segments.segment import Segment
from pincite.storage.snapshots.snapshot import LiveDocument, Snapshot

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _StoredChunk:
    ordinal: int
    content: str
    start: int
    end: int
    locator: str
    page_first: int | None
    page_last: int | None
    tokens: int
    over_window: bool


@dataclass(frozen=True, slots=True)
class _Stored:
    """All that is stored of one document but its postings. `table` has its rows of CHUNKS by ordinal."""

    document: LiveDocument
    space: Space
    row: Row  # of TEXTS
    blocks: Sequence[Block]
    places: Sequence[Place]
    pages: Sequence[Page]
    chunks: Sequence[_StoredChunk]
    table: pa.Table


def verify_documents(snapshot: Snapshot, tally: Tally) -> None:
    """Adds the checks on the rows of whole segments."""
    documents = {document.document_id: document for document in snapshot.documents()}
    located = _locate(snapshot)
    texts: Counter[str] = Counter()
    terms: Counter[str] = Counter()
    for segment in snapshot.of_kind("texts"):
        for stored in _stored_documents(snapshot, segment, documents, located):
            key = stored.document.document_id
            texts[key] += 1
            terms[key] += pc.sum(stored.table["terms"]).as_py() or 0
            _verify_document(stored, tally)
    chunks = {key: sum(where.values()) for key, where in located.items()}
    _compare(tally, "each document has one text", documents, texts, dict.fromkeys(documents, 1), "text")
    wanted = {key: document.chunks for key, document in documents.items()}
    _compare(tally, "chunk counts equal the rows", documents, chunks, wanted, "chunk")
    _verify_postings(snapshot, documents, terms, tally)


def _compare(
    tally: Tally,
    name: str,
    documents: Mapping[str, LiveDocument],
    found: Mapping[str, int],
    wanted: Mapping[str, int],
    one: str,
    many: str = "",
) -> None:
    tally.add(
        name,
        sum(wanted.values()),
        (
            f"{document.path} has {counted(found.get(key, 0), one, many)}, not {wanted.get(key, 0)}"
            for key, document in documents.items()
            if found.get(key, 0) != wanted.get(key, 0)
        ),
    )


def _verify_postings(
    snapshot: Snapshot, documents: Mapping[str, LiveDocument], terms: Mapping[str, int], tally: Tally
) -> None:
    rows: Counter[str] = Counter()
    frequencies: Counter[str] = Counter()
    for segment in snapshot.of_kind("postings"):
        table = snapshot.rows(segment, ["document_id", "tf"])
        for item in table.group_by("document_id").aggregate([("tf", "sum"), ("tf", "count")]).to_pylist():
            rows[item["document_id"]] += item["tf_count"]
            frequencies[item["document_id"]] += item["tf_sum"]
    wanted = {key: document.postings for key, document in documents.items()}
    _compare(tally, "posting counts equal the rows", documents, rows, wanted, "posting")
    _compare(
        tally,
        "postings account for every term",
        documents,
        frequencies,
        terms,
        "term in postings",
        "terms in postings",
    )


def _locate(snapshot: Snapshot) -> dict[str, dict[Segment, int]]:
    """How many rows of each document each segment of chunks has."""
    located: dict[str, dict[Segment, int]] = {}
    for segment in snapshot.of_kind("chunks"):
        counts = pc.value_counts(snapshot.rows(segment, ["document_id"])["document_id"].combine_chunks())
        for item in counts.to_pylist():
            located.setdefault(item["values"], {})[segment] = item["counts"]
    return located


def _stored_documents(
    snapshot: Snapshot,
    segment: Segment,
    documents: Mapping[str, LiveDocument],
    located: Mapping[str, Mapping[Segment, int]],
) -> Iterator[_Stored]:
    texts = snapshot.rows(segment)
    chunks = _chunks_by_document(snapshot, located, texts["document_id"].to_pylist())
    for number in range(texts.num_rows):
        row = texts.slice(number, 1).to_pylist()[0]
        table = chunks.get(row["document_id"], CHUNKS.empty_table())
        yield _Stored(
            document=documents[row["document_id"]],
            space=snapshot.space,
            row=row,
            blocks=[Block(**block) for block in row["blocks"]],
            places=[Place(**place) for place in row["places"]],
            pages=[Page(**page) for page in row["pages"]],
            chunks=[_StoredChunk(**chunk) for chunk in table.select(_StoredChunk.__slots__).to_pylist()],
            table=table,
        )


def _chunks_by_document(
    snapshot: Snapshot, located: Mapping[str, Mapping[Segment, int]], keys: Sequence[str]
) -> dict[str, pa.Table]:
    """The rows of CHUNKS of these documents, by ordinal."""
    segments = dict.fromkeys(segment for key in keys for segment in located.get(key, {}))
    wanted: list[tuple[str, str, object]] = [("document_id", "in", sorted(keys))]
    tables = [snapshot.rows(segment, filters=wanted) for segment in segments]
    table = pa.concat_tables([CHUNKS.empty_table(), *(one.cast(CHUNKS) for one in tables)])
    table = table.sort_by([("document_id", "ascending"), ("ordinal", "ascending")])
    by_document, start = {}, 0
    for item in pc.value_counts(
        table["document_id"].combine_chunks()
    ).to_pylist():  # in order of first occurrence
        by_document[item["values"]] = table.slice(start, item["counts"])
        start += item["counts"]
    return by_document


def _verify_document(stored: _Stored, tally: Tally) -> None:
    """The checks of `_CHECKS`, and those that only the product's own chunker promises to hold."""
    path, count = stored.document.path, len(stored.chunks)
    own = is_whole(stored.space.chunker)
    tally.add("no document is without chunks", 1, [] if count else [f"{path} has no chunks"])
    if marks := count_marks(stored.row["text"]).total:
        tally.add("signs written as marks (10^6, H₂O, ~~old~~)", marks)
    for name, problems in (_CHECKS | (_CHECKS_OF_OWN_CHUNKER if own else {})).items():
        tally.add(name, count, (f"{path}: {problem}" for problem in problems(stored)))


def _slice_problems(stored: _Stored) -> list[str]:
    return slice_problems(stored.row["text"], stored.chunks)


def _numbering_problems(stored: _Stored) -> Iterator[str]:
    document, numbers = stored.document, range(len(stored.chunks))
    if [chunk.ordinal for chunk in stored.chunks] != list(numbers):
        yield "ordinals are doubled or missing"
    wanted = [chunk_id(document.document_id, document.revision, number) for number in numbers]
    if stored.table["chunk_id"].to_pylist() != wanted:
        yield "chunk ids are doubled or missing"


def _vector_problems(stored: _Stored) -> list[str]:
    dimension = stored.space.dimension
    embedding = stored.table["embedding"].combine_chunks()
    if set(pc.list_value_length(embedding).to_pylist()) - {dimension}:
        return [f"a chunk has no vector of {counted(dimension, 'dimension')}"]
    vectors = embedding.flatten().to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
    return vector_problems(vectors.reshape(-1, dimension), len(stored.chunks), dimension)


def _place_problems(stored: _Stored) -> Iterator[str]:
    for chunk in stored.chunks:
        places = overlapping(stored.places, chunk.start, chunk.end)
        wanted = place_fragment(places) or char_fragment(chunk.start, chunk.end)
        if chunk.locator != wanted:
            yield f"chunk {chunk.ordinal} stands at {wanted}, not at {chunk.locator}"
        pages = [page.number for page in overlapping(stored.pages, chunk.start, chunk.end)]
        if (chunk.page_first, chunk.page_last) != ((pages[0], pages[-1]) if pages else (None, None)):
            yield f"chunk {chunk.ordinal} stands on the pages {pages}"


def _stamp_problems(stored: _Stored) -> Iterator[str]:
    document, space = stored.document, stored.space
    of_extractor = {"extractor": document.extractor, "extractor_version": document.extractor_version}
    of_space = {
        name: getattr(space, name)
        for name in ("model", "fingerprint", "dimension", "chunker", "tokenizer", "pipeline")
    }
    for name, value in (of_space | of_extractor).items():
        if set(pc.unique(stored.table[name]).to_pylist()) - {value}:
            yield f"{name} of a chunk is not {value!r}"
    of_text = {
        "source_sha256": document.source_sha256,
        "title": document.title,
        "media_type": document.media_type,
    }
    for name, value in (of_text | of_extractor).items():
        if stored.row[name] != value:
            yield f"{name} of the text is not {value!r}"


def _count_problems(stored: _Stored) -> Iterator[str]:
    found = {
        "over_window": sum(chunk.over_window for chunk in stored.chunks),
        "characters": len(stored.row["text"]),
        "pages": len(stored.pages),
        "ocr_pages": sum(page.ocr for page in stored.pages),
        "tables": sum(block.kind == "table" for block in stored.blocks),
    }
    for name, count in found.items():
        if count != getattr(stored.document, name):
            yield f"{name} is {count}, the ledger says {getattr(stored.document, name)}"
    # Whether a model can read it is said in each space by itself, and in the text by the first one.
    texts, told = (
        sum(one["code"] != UNFIT for one in warnings)
        for warnings in (stored.row["warnings"], stored.document.warnings)
    )
    if texts != told:
        yield f"it has {counted(texts, 'warning')}, the ledger {told}"


def _flag_problems(stored: _Stored) -> Iterator[str]:
    for chunk in stored.chunks:
        if chunk.over_window != (chunk.tokens > stored.space.window):
            yield f"chunk {chunk.ordinal} of {counted(chunk.tokens, 'word-piece')} is wrongly flagged"


def _coverage_problems(stored: _Stored) -> list[str]:
    return coverage_problems(stored.row["text"], stored.blocks, stored.chunks)


def _window_problems(stored: _Stored) -> Iterator[str]:
    if not stored.document.encoder_fit:
        return  # cut by characters
    for chunk in stored.chunks:
        if chunk.tokens > stored.space.window:
            yield f"chunk {chunk.ordinal} has {counted(chunk.tokens, 'word-piece')}, the window {stored.space.window}"


_Problems = Callable[[_Stored], Iterable[str]]
_CHECKS: dict[str, _Problems] = {
    "each chunk is a slice of its text": _slice_problems,
    "chunks are numbered without a gap": _numbering_problems,
    "vectors are finite and of unit length": _vector_problems,
    "places of chunks are right": _place_problems,
    "stamps are those of the space": _stamp_problems,
    "counts of each document are those of what is stored": _count_problems,
    "chunks over the window are flagged": _flag_problems,
}
_CHECKS_OF_OWN_CHUNKER: dict[str, _Problems] = {
    "all text lies in a chunk": _coverage_problems,
    "no chunk is over the window": _window_problems,
}
