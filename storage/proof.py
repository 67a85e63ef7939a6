"""Proof that a document is forgotten: a scan of every byte below the index folder.

Looked for are rows with the document's id in every Parquet file and pack, and what the document said: its names and
title, stretches of its texts, and its vectors. Parquet is decoded for it; all other files are searched as they are.
A stretch that a row of another document has as well proves nothing and is listed as shared.
"""

import json
import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import sqlalchemy as sa

from schemas.errors import IndexBroken
from storage import ledger, transactions
from storage.forgotten import Asked
from storage.index import Index
from storage.pack_file import Damaged, map_file
from storage.packs import parse_pack
from storage.segments import read_segment
from storage.snapshot import document_numbers

STRETCH = 40  # characters of a text that are looked for as one
MOST_STRETCHES = 48  # of one document
SHORTEST = 8  # a shorter string stands in any file by chance
MOST_VECTORS = 16


@dataclass(frozen=True, slots=True)
class Traces:
    """What would betray a document, gathered before it is erased."""

    document_ids: tuple[str, ...]
    names: tuple[str, ...] = ()  # paths and titles
    stretches: tuple[str, ...] = ()
    vectors: tuple[
        tuple[str, bytes, bytes], ...
    ] = ()  # content of the chunk, vector in float32 and in float16


@dataclass(frozen=True, slots=True)
class Proof:
    """What was scanned and what was found. `found` is empty when the document is gone."""

    files: int
    size_bytes: int
    rows: int  # decoded
    strings: int  # looked for
    vectors: int
    found: tuple[str, ...]
    shared: int  # strings that other documents have too, so that nothing follows from them


def gather(index: Index, asked: Sequence[Asked]) -> Traces:
    """The traces of documents in all versions, as far as they are still there."""
    ids = tuple(one.document_id for one in asked)
    revisions = ledger.revisions
    with transactions.reading(index.engine) as connection:
        files = connection.execute(sa.select(ledger.segments.c.kind, ledger.segments.c.file)).all()
        titles = connection.scalars(
            sa.select(revisions.c.title).where(revisions.c.document_id.in_(ids))
        ).all()
    wanted: list[tuple[str, str, object]] = [("document_id", "in", sorted(ids))]
    texts: list[str] = []
    vectors: list[tuple[str, bytes, bytes]] = []
    for kind, file in files:
        if kind == "texts":
            texts += read_segment(index.path, file, ["text"], wanted)["text"].to_pylist()
        elif kind == "chunks" and len(vectors) < MOST_VECTORS:
            for row in read_segment(index.path, file, ["content", "embedding"], wanted).to_pylist():
                vector = np.array(row["embedding"], dtype=np.float32)
                vectors.append((row["content"], vector.tobytes(), vector.astype(np.float16).tobytes()))
    names = {*titles, *(path for one in asked for path in one.paths)}
    return Traces(
        ids,
        tuple(sorted(name for name in names if len(name) >= SHORTEST)),
        tuple(dict.fromkeys(stretch for text in texts for stretch in _stretches(text))),
        tuple(vectors[:MOST_VECTORS]),
    )


def _stretches(text: str) -> list[str]:
    """Evenly spread stretches of single lines; of a short text the text itself."""
    pieces = [
        line[at : at + STRETCH].strip()
        for line in text.splitlines()
        for at in range(0, max(len(line) - STRETCH // 2, 1), STRETCH)
    ]
    long = [piece for piece in pieces if len(piece) >= SHORTEST]
    step = max(len(long) // MOST_STRETCHES, 1)
    return long[::step][:MOST_STRETCHES]


@dataclass
class _Scan:
    traces: Traces
    files: int = 0
    size_bytes: int = 0
    rows: int = 0
    found: list[str] = field(default_factory=list)
    shared: set[str] = field(default_factory=set)


def prove(index: Index, traces: Traces) -> Proof:
    """Scans the whole folder. Raises `IndexBroken` when a file can't be read, since then nothing is proved."""
    scan = _Scan(traces)
    paths = sorted(path for path in index.path.rglob("*") if path.is_file())
    for path in paths:  # first, since what rows of other documents say too is no trace
        if path.suffix == ".parquet":
            _scan_parquet(scan, path, path.relative_to(index.path).as_posix())
    needles = list(_needles(traces, scan.shared))
    for path in paths:
        name = path.relative_to(index.path).as_posix()
        if path.suffix == ".pack":
            _scan_pack(scan, path, name)
        _scan_bytes(scan, path, name, needles)
    return Proof(
        scan.files,
        scan.size_bytes,
        scan.rows,
        len({*traces.names, *traces.stretches}),
        len(traces.vectors),
        tuple(scan.found),
        len(scan.shared),
    )


def _scan_parquet(scan: _Scan, path: Path, name: str) -> None:
    strings = sorted({*scan.traces.names, *scan.traces.stretches, *(one[0] for one in scan.traces.vectors)})
    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=4_096):
            scan.rows += batch.num_rows
            if "document_id" in batch.schema.names:
                ids = pa.array(scan.traces.document_ids, pa.string())
                if pc.any(pc.is_in(batch["document_id"], ids)).as_py():
                    scan.found.append(f"{name} has rows of it")
            said = [text for column in batch.columns for text in _texts(column)]
            hits = _said(said, [one for one in strings if one not in scan.shared])
            if "document_id" in batch.schema.names:
                scan.shared.update(hits)
            else:
                scan.found += [f"{name} has its words" for _ in hits[:1]]
    except (OSError, pa.ArrowException) as error:
        raise IndexBroken(f"{name} can't be scanned, so nothing is proved: {error}") from error


def _texts(column: pa.Array) -> Iterator[pa.Array]:
    """The strings in a column, also in lists and structs."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        yield from _texts(column.dictionary)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield column
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _texts(column.flatten())
    elif pa.types.is_struct(kind):
        for part in column.flatten():
            yield from _texts(part)


def _said(columns: Sequence[pa.Array], strings: Sequence[str]) -> list[str]:
    """Those of the strings that stand in a column; one pass finds that none does."""
    any_of_them = "|".join(map(re.escape, strings))
    columns = [
        one for one in columns if strings and pc.any(pc.match_substring_regex(one, any_of_them)).as_py()
    ]
    return [
        string
        for string in strings
        if any(pc.any(pc.match_substring(column, string)).as_py() for column in columns)
    ]


def _scan_pack(scan: _Scan, path: Path, name: str) -> None:
    try:
        documents = parse_pack(map_file(path), path).documents
    except Damaged:
        return  # its bytes are looked at all the same
    if np.isin(document_numbers(sorted(scan.traces.document_ids)), documents).any():
        scan.found.append(f"{name} has rows of it")


def _needles(traces: Traces, shared: Iterable[str]) -> Iterator[bytes]:
    """The bytes of what is looked for: UTF-8, and as JSON escapes it; vectors as they are."""
    known = set(shared)
    for string in dict.fromkeys([*traces.names, *traces.stretches]):
        if string not in known:
            yield from dict.fromkeys(
                [string.encode("utf-8", "surrogatepass"), json.dumps(string)[1:-1].encode()]
            )
    for content, *vectors in traces.vectors:
        if content not in known:
            yield from vectors


def _scan_bytes(scan: _Scan, path: Path, name: str, needles: Sequence[bytes]) -> None:
    try:
        size = path.stat().st_size
        scan.files, scan.size_bytes = scan.files + 1, scan.size_bytes + size
        if not size:
            return
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            hits = sum(data.find(needle) >= 0 for needle in needles)
    except FileNotFoundError:
        return  # another process tidied up
    except OSError as error:
        raise IndexBroken(f"{name} can't be scanned, so nothing is proved: {error}") from error
    if hits:
        scan.found.append(f"{name} has {hits} of the strings and vectors that were looked for")
