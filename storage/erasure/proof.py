"""Proof that a document is forgotten: a scan of every byte below the index folder.

Looked for are rows with the document's id in every Parquet file and pack, and what the document said: its names and
titles, stretches of its texts, and its vectors. Parquet and the ledger are decoded for it; all other files are
searched as they are. What a row of another document has as well proves nothing and is listed as shared.
"""

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken
from pincite.storage.erasure.fingerprints import Seeker, digest_of
from pincite.storage.erasure.traces import Trace, Traces, words_of
from pincite.storage.ledger import schema, transactions
from pincite.storage.search_cache.array_file import Damaged, map_file
from pincite.storage.search_cache.packs import parse_pack
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import document_numbers

_OF_DOCUMENTS = ("documents", "revisions")
"""Tables in which a forgotten document has no names any more: what they have is of others."""


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


@dataclass
class _Scan:
    traces: Traces
    seeker: Seeker
    files: int = 0
    size_bytes: int = 0
    rows: int = 0
    found: list[str] = field(default_factory=list)
    shared: set[str] = field(default_factory=set)  # digests

    def seen(self, data: memoryview) -> list[Trace]:
        """The traces that these bytes have, without those that are shared."""
        return self.traces.of(self.seeker.seek(data), self.shared)


def prove(index: Index, traces: Traces) -> Proof:
    """Scans the whole folder. Raises `IndexBroken` when a file can't be read, since then nothing is proved."""
    scan = _Scan(traces, Seeker(traces.sought()))
    paths = sorted(path for path in index.path.rglob("*") if path.is_file())
    for path in paths:  # first, since what rows of other documents say too is no trace
        if path.suffix == ".parquet":
            _scan_parquet(scan, path, path.relative_to(index.path).as_posix())
    _scan_ledger(scan, index)
    for path in paths:
        name = path.relative_to(index.path).as_posix()
        if path.suffix == ".pack":
            _scan_pack(scan, path, name)
        _scan_bytes(scan, path, name)
    return Proof(
        scan.files,
        scan.size_bytes,
        scan.rows,
        traces.strings,
        traces.vectors,
        tuple(dict.fromkeys(scan.found)),
        len(scan.shared),
    )


def _scan_parquet(scan: _Scan, path: Path, name: str) -> None:
    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=4_096):
            scan.rows += batch.num_rows
            if "document_id" not in batch.schema.names:
                if _hits_in(scan, batch):
                    scan.found.append(f"{name} has its words")
                continue
            own = pc.is_in(batch["document_id"], pa.array(scan.traces.document_ids, pa.string()))
            if pc.any(own).as_py():
                scan.found.append(f"{name} has rows of it")
            others = batch.filter(pc.invert(own))
            scan.shared.update(hit.guard for hit in _hits_in(scan, others))
    except (OSError, pa.ArrowException) as error:
        raise IndexBroken(f"{name} can't be scanned, so nothing is proved: {error}") from error


def _hits_in(scan: _Scan, batch: pa.RecordBatch) -> list[Trace]:
    columns = [column for whole in batch.columns for column in _texts(whole)]
    return [hit for column in columns for hit in scan.seen(_bytes_of(column))]


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


def _bytes_of(strings: pa.Array) -> memoryview:
    """The strings of an array, one behind the other, as it has them."""
    _, offsets, data = strings.buffers()
    if data is None or not len(strings):
        return memoryview(b"")
    width = np.int64 if pa.types.is_large_string(strings.type) else np.int32
    places = np.frombuffer(offsets, dtype=width)[strings.offset : strings.offset + len(strings) + 1]
    return memoryview(data)[int(places[0]) : int(places[-1])]


def _scan_ledger(scan: _Scan, index: Index) -> None:
    """Value by value: a name too short to be looked for in bytes is found here, and long ones across pages."""
    tables = schema.metadata.tables
    with transactions.reading(index.engine) as connection:
        for name in _OF_DOCUMENTS:
            others = tables[name].c.document_id.not_in(scan.traces.document_ids)
            for column in _columns(tables[name]):
                scan.shared |= _said_in(scan, connection, column, others)
        for name in sorted(tables):
            rows = (
                tables[name].c.document_id.in_(scan.traces.document_ids)
                if name in _OF_DOCUMENTS
                else sa.true()
            )
            for column in _columns(tables[name]):
                if hits := _said_in(scan, connection, column, rows):
                    what = f"{len(hits)} of its names or stretches in {name}.{column.name}"
                    scan.found.append(f"{schema.LEDGER_FILE} has {what}")


def _columns(table: sa.Table) -> list[sa.Column[Any]]:
    return [column for column in table.columns if isinstance(column.type, sa.Text | sa.JSON)]


def _said_in(
    scan: _Scan, connection: sa.Connection, column: sa.Column[Any], rows: sa.ColumnElement[bool]
) -> set[str]:
    """Digests of what is said in a column of some rows, without what is shared."""
    values = connection.scalars(sa.select(column).where(rows, column.is_not(None)).distinct())
    texts = [text for value in values for text in _strings_in(value)]
    hits = {hit.guard for hit in scan.seen(memoryview("\0".join(texts).encode("utf-8", "surrogatepass")))}
    return hits | ({*_short_in(texts, scan.traces)} - scan.shared)


def _short_in(texts: Iterable[str], traces: Traces) -> Iterator[str]:
    """Digests of the short names that are one of the texts or, of a path, stand in one as a word."""
    for text in texts if traces.short else ():
        words = {word.encode("utf-8", "surrogatepass") for word in words_of(text)}
        whole = text.encode("utf-8", "surrogatepass")
        for one in traces.short:
            looked_at = {whole, *words} if one.is_path else {whole}
            if any(len(s) == one.size and digest_of(s, one.document_id) == one.digest for s in looked_at):
                yield one.digest


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _strings_in(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            yield from _strings_in(one)


def _scan_pack(scan: _Scan, path: Path, name: str) -> None:
    try:
        documents = parse_pack(map_file(path), path).documents
    except (Damaged, FileNotFoundError):
        return  # its bytes are looked at all the same
    if np.isin(document_numbers(sorted(scan.traces.document_ids)), documents).any():
        scan.found.append(f"{name} has rows of it")


def _scan_bytes(scan: _Scan, path: Path, name: str) -> None:
    try:
        size = path.stat().st_size
        scan.files, scan.size_bytes = scan.files + 1, scan.size_bytes + size
        if not size:
            return
        with (
            path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            memoryview(data) as view,
        ):
            hits = scan.seen(view)
    except FileNotFoundError:
        return  # another process tidied up
    except OSError as error:
        raise IndexBroken(f"{name} can't be scanned, so nothing is proved: {error}") from error
    if hits:
        count = len({hit.guard if hit.is_string else hit.sought.digest for hit in hits})
        scan.found.append(f"{name} has {count} of the strings and vectors that were looked for")
