"""Indexes of any size for the benchmarks of retrieval: random unit vectors, words by Zipf's law.

Segments and ledger are written through the storage room, many documents a commit, without texts: what is
measured does not read them.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import sqlalchemy as sa

from pincite.schemas.records import Space
from pincite.schemas.tables import CHUNKS, POSTINGS
from pincite.storage.ledger import schema, transactions
from pincite.storage.runs.commit import new_version
from pincite.storage.segments.segment import write_segment
from pincite.storage.snapshots.index import Index

CHUNKS_A_DOCUMENT = 5
VOCABULARY = 50_000


def word(number: int) -> str:
    return f"w{number}"


def zipf_words(draw: np.random.Generator, count: int) -> np.ndarray:
    """int64[count], words by rank: the chance of rank r is as 1/(r + 3)."""
    weights = np.cumsum(1.0 / (np.arange(VOCABULARY) + 3.0))
    return np.searchsorted(weights / weights[-1], draw.random(count))


def queries(count: int, words: int = 4, seed: int = 99) -> list[str]:
    """Queries with words as frequent as in the passages."""
    draw = np.random.default_rng(seed)
    return [" ".join(map(word, zipf_words(draw, words).tolist())) for _ in range(count)]


def unit_vectors(draw: np.random.Generator, rows: int, dimension: int) -> np.ndarray:
    vectors = draw.standard_normal((rows, dimension), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def add_commit(
    index: Index, space: Space, first: int, documents: int, words: int, revision: int = 1
) -> np.ndarray:
    """One commit of documents numbered from `first`; returns int64[chunks, words], the words of their chunks."""
    draw = np.random.default_rng(first * 1_000 + revision)
    rows = documents * CHUNKS_A_DOCUMENT
    ids = [f"{number:016x}" for number in range(first, first + documents)]
    drawn = zipf_words(draw, rows * words).reshape(rows, words)
    contents = [" ".join(map(word, row)) for row in drawn.tolist()]
    tables = {
        "chunks": _chunks(ids, revision, contents, unit_vectors(draw, rows, space.dimension), words, space),
        "postings": _postings(ids, revision, drawn),
    }
    written = [write_segment(index.places, kind, table) for kind, table in tables.items()]
    with transactions.writing(index.engine) as connection:
        version = new_version(connection, "benchmark")
        space_id, _ = schema.live_space(connection, version)
        connection.execute(
            schema.segments.insert(),
            [asdict(one) | {"space_id": space_id, "began_version": version} for one in written],
        )
        _begin(connection, ids, revision, space_id, version)
    return drawn


def make_index(path: Path, space: Space, chunks: int, words: int, commits: int = 8) -> np.ndarray:
    """An index of so many chunks of so many words; returns int64[chunks, words] in chunk-id order."""
    documents = chunks // CHUNKS_A_DOCUMENT
    each = -(-documents // commits)
    drawn = []
    with Index.create(path, space) as index:
        for first in range(0, documents, each):
            drawn.append(add_commit(index, space, first, min(each, documents - first), words))
    return np.concatenate(drawn)


def _chunks(
    ids: Sequence[str], revision: int, contents: list[str], vectors: np.ndarray, words: int, space: Space
) -> pa.Table:
    rows = len(contents)
    ordinals = np.tile(np.arange(CHUNKS_A_DOCUMENT, dtype=np.int32), len(ids))
    documents = np.repeat(ids, CHUNKS_A_DOCUMENT).tolist()
    columns: dict[str, object] = {
        "chunk_id": [
            f"{d}-{revision:06d}-{n:06d}" for d, n in zip(documents, ordinals.tolist(), strict=True)
        ],
        "document_id": documents,
        "revision": np.full(rows, revision, np.int32),
        "ordinal": ordinals,
        "text": contents,
        "content": contents,
        "terms": np.full(rows, words, np.int32),
        "dimension": np.full(rows, space.dimension, np.int32),
        "embedding": pa.ListArray.from_arrays(
            pa.array(np.arange(rows + 1, dtype=np.int32) * space.dimension), pa.array(vectors.reshape(-1))
        ),
    }
    defaults = {pa.string(): "", pa.int32(): 0, pa.bool_(): False, pa.float32(): None}
    arrays = [
        pa.array(columns[field.name], field.type)
        if field.name in columns and field.name != "embedding"
        else columns.get(field.name, pa.repeat(pa.scalar(defaults.get(field.type), field.type), rows))
        for field in CHUNKS
    ]
    return pa.Table.from_arrays(arrays, schema=CHUNKS)


def _postings(ids: Sequence[str], revision: int, drawn: np.ndarray) -> pa.Table:
    keys, tf = np.unique(
        (drawn + np.arange(len(drawn))[:, None] * VOCABULARY).reshape(-1), return_counts=True
    )
    row = keys // VOCABULARY
    names = pa.DictionaryArray.from_arrays(
        pa.array((keys % VOCABULARY).astype(np.int32)), pa.array([word(n) for n in range(VOCABULARY)])
    )
    documents = pa.DictionaryArray.from_arrays(
        pa.array((row // CHUNKS_A_DOCUMENT).astype(np.int32)), pa.array(list(ids))
    )
    columns = [
        names.cast(pa.string()),
        documents.cast(pa.string()),
        pa.array(np.full(len(keys), revision, np.int32)),
        pa.array((row % CHUNKS_A_DOCUMENT).astype(np.int32)),
        pa.array(tf.astype(np.int32)),
    ]
    return pa.Table.from_arrays(columns, schema=POSTINGS)


def _begin(connection: sa.Connection, ids: Sequence[str], revision: int, space_id: int, version: int) -> None:
    """Rows of `documents` and `revisions`; what a document had before ends."""
    now = time.time()
    document = {
        "source": "/source", "state": "indexed", "size_bytes": 1, "mtime_ns": 0, "ctime_ns": 0,
        "sha256": "x", "last_run": "benchmark", "updated_at": now,
    }  # fmt: skip
    live = {
        "space_id": space_id, "revision": revision, "began_version": version, "source_sha256": "x",
        "recipe": "r", "title": "t", "title_from_name": True, "media_type": "text/plain", "extractor": "b",
        "extractor_version": "1", "chunks": CHUNKS_A_DOCUMENT, "postings": 0, "over_window": 0,
        "characters": 0, "pages": 0, "ocr_pages": 0, "tables": 0, "warnings": [], "encoder_fit": True,
        "language": "en",
    }  # fmt: skip
    paths = [{"document_id": one, "path": f"f{int(one, 16) % 20}/{one}.txt"} for one in ids]
    if revision == 1:
        connection.execute(schema.documents.insert(), [document | one for one in paths])
    else:
        ended = schema.revisions.update().where(
            schema.revisions.c.document_id.in_(ids), schema.revisions.c.ended_version.is_(None)
        )
        connection.execute(ended.values(ended_version=version))
    connection.execute(schema.revisions.insert(), [live | one for one in paths])
