"""Packs: what a search needs of the chunks of some units, in arrays. Derived from the segments, never the truth.

A pack has the chunks in chunk-id order, each with its vector in float16, its length and what a hit shows, and
the postings by term. It keeps the rows that are not live: which rows are, the ledger says at each version.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pincite.schemas.tables import CHUNKS
from pincite.storage.search_cache.array_file import Bytes, PackWriter, read_contents, read_sections

SHOWN = ("header", "section", "content", "start", "end", "locator", "ocr_confidence")
SHOWN_SCHEMA = pa.schema([CHUNKS.field(name) for name in SHOWN])

BLOCK = 16_384  # rows: of a batch of what hits show, and copied at once when packs are joined


@dataclass(frozen=True, slots=True)
class LostPosting:
    """A posting whose chunk is not stored beside it."""

    unit: str
    term: str
    document: int
    revision: int
    ordinal: int


@dataclass(frozen=True, slots=True, eq=False)
class Pack:
    """A row is a chunk; rows are in chunk-id order. A revision is a run of rows."""

    units: tuple[str, ...]
    documents: np.ndarray  # uint64[revisions], sorted, then by revision number
    revisions: np.ndarray  # int32[revisions]
    unit_of: np.ndarray  # int32[revisions], place in `units`
    first: np.ndarray  # int64[revisions + 1], first row of each
    ordinals: np.ndarray  # int32[rows]
    lengths: np.ndarray  # int32[rows], in terms
    codes: np.ndarray  # float16[rows, dimension]
    misshapen: np.ndarray  # int64, rows whose stored vector has another dimension; their codes are 0
    unscaled: np.ndarray  # int64, rows whose stored vector is not of unit length
    terms: pa.Array  # large_binary, UTF-8, sorted by its bytes
    starts: np.ndarray  # int64[terms + 1], first posting of each
    rows: np.ndarray  # int32[postings], ascending within a term
    tf: np.ndarray  # int32[postings]
    shown: tuple[pa.RecordBatch, ...]  # SHOWN_SCHEMA, each but the last of BLOCK rows
    lost: tuple[LostPosting, ...] = ()
    path: Path | None = None  # None: in memory only

    def __len__(self) -> int:
        return len(self.ordinals)

    def show(self, row: int, columns: Sequence[str]) -> list[Any]:
        """What a hit shows of a row, by column of SHOWN. `take` would copy whole columns for a few rows."""
        batch, place = self.shown[row // BLOCK], row % BLOCK
        return [batch[name][place].as_py() for name in columns]

    def find(self, term: str) -> slice:
        """The postings of a term."""
        wanted = term.encode()
        at = bisect_left(self.terms, wanted, key=lambda one: one.as_py())
        if at < len(self.terms) and self.terms[at].as_py() == wanted:
            return slice(int(self.starts[at]), int(self.starts[at + 1]))
        return slice(0, 0)


_ARRAYS = (
    "documents", "revisions", "unit_of", "first", "ordinals", "lengths", "codes", "misshapen", "unscaled",
    "starts", "rows", "tf",
)  # fmt: skip


def parse_pack(data: Bytes, path: Path | None = None) -> Pack:
    """The pack in these bytes, which stay mapped while it lives. Raises `Damaged`."""
    contents = read_contents(data)
    arrays = read_sections(data, contents)
    facts = contents["facts"]
    shown = pa.ipc.open_file(pa.py_buffer(arrays["shown"]))
    buffers = [None, pa.py_buffer(arrays["term_starts"]), pa.py_buffer(arrays["term_bytes"])]
    return Pack(
        units=tuple(facts["units"]),
        **{name: arrays[name] for name in _ARRAYS},
        terms=pa.Array.from_buffers(pa.large_binary(), len(arrays["starts"]) - 1, buffers),
        shown=tuple(shown.get_batch(number) for number in range(shown.num_record_batches)),
        lost=tuple(LostPosting(*one) for one in facts["lost"]),
        path=path,
    )


def units_in(data: Bytes) -> tuple[str, ...]:
    """The units of the pack in these bytes; nothing else of it is looked at. Raises `Damaged`."""
    return tuple(read_contents(data)["facts"]["units"])


Serving = tuple[Pack, frozenset[str]]
"""A pack and those of its units that are taken from it; it may hold others, which another pack serves."""


def join_packs(parts: Sequence[Serving], dimension: int, file: BinaryIO) -> None:
    """Writes one pack with the rows that each of these serves. Raises `ValueError` when two serve the same unit."""
    packs = [pack for pack, _ in parts]
    joined = _Joined(parts)
    writer = PackWriter(file)
    for name in ("documents", "revisions", "unit_of", "first", "ordinals", "lengths"):
        writer.add(name, getattr(joined, name))
    shape = (len(joined.old), dimension)
    writer.add_blocks("codes", np.dtype(np.float16), shape, joined.blocks_of_codes(dimension))
    for name in ("misshapen", "unscaled"):
        writer.add(name, joined.moved([getattr(pack, name) for pack in packs]))
    _write_postings(writer, joined)
    writer.begin("shown")
    with pa.ipc.new_file(pa.PythonFile(_Sink(writer), "w"), SHOWN_SCHEMA) as sink:
        for block in joined.blocks_of_shown():
            sink.write_table(block)
    lost = [one for pack, units in parts for one in pack.lost if one.unit in units]
    facts = [[one.unit, one.term, one.document, one.revision, one.ordinal] for one in lost]
    writer.end({"units": joined.units, "lost": facts})


class _Sink:
    """What pyarrow writes an Arrow file to."""

    closed = False

    def __init__(self, writer: PackWriter) -> None:
        self._writer = writer

    def write(self, data: Any) -> int:
        return self._writer.write(memoryview(data))

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """The section ends with what was written."""


class _Joined:
    """The order of the rows of several packs in one.

    An old row is a place in the packs laid one behind the other.
    """

    def __init__(self, parts: Sequence[Serving]) -> None:
        self.packs = packs = [pack for pack, _ in parts]
        self._bases = np.cumsum([0, *(len(pack) for pack in packs)])
        self.units = sorted(unit for _, units in parts for unit in units)
        places = {unit: place for place, unit in enumerate(self.units)}
        if len(places) < len(self.units):
            raise ValueError("a unit is served by two packs")
        new_units = [
            np.array([places[u] if u in units else -1 for u in p.units], dtype=np.int32) for p, units in parts
        ]
        unit_of = np.concatenate([new[p.unit_of] for new, p in zip(new_units, packs, strict=True)])
        documents = np.concatenate([pack.documents for pack in packs])
        revisions = np.concatenate([pack.revisions for pack in packs])
        starts = np.concatenate([b + p.first[:-1] for b, p in zip(self._bases, packs, strict=False)])
        counts = np.concatenate([np.diff(pack.first) for pack in packs])
        order = np.lexsort((unit_of, revisions, documents))
        order = order[unit_of[order] >= 0]
        self.documents, self.revisions, self.unit_of = documents[order], revisions[order], unit_of[order]
        self.first = np.concatenate([[0], np.cumsum(counts[order])]).astype(np.int64)
        self.old = np.repeat(starts[order] - self.first[:-1], counts[order]) + np.arange(self.first[-1])
        self.new = np.full(self._bases[-1], -1, dtype=np.int32)  # by old row; -1 where it is left out
        self.new[self.old] = np.arange(len(self.old), dtype=np.int32)
        self.ordinals = np.concatenate([pack.ordinals for pack in packs])[self.old]
        self.lengths = np.concatenate([pack.lengths for pack in packs])[self.old]

    def moved(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        """int64, new rows, sorted, of some rows of each pack."""
        old = np.concatenate([base + one for base, one in zip(self._bases, rows, strict=False)])
        new = self.new[old.astype(np.int64)].astype(np.int64)
        return np.sort(new[new >= 0])

    def blocks_of_codes(self, dimension: int) -> Iterator[np.ndarray]:
        for start in range(0, len(self.old), BLOCK):
            old = self.old[start : start + BLOCK]
            pack_of = np.searchsorted(self._bases, old, side="right") - 1
            block = np.empty((len(old), dimension), dtype=np.float16)
            for number in np.unique(pack_of):
                here = pack_of == number
                block[here] = self.packs[number].codes[old[here] - self._bases[number]]
            yield block

    def blocks_of_shown(self) -> Iterator[pa.Table]:
        shown = pa.Table.from_batches([one for pack in self.packs for one in pack.shown], SHOWN_SCHEMA)
        for start in range(0, len(self.old), BLOCK):
            yield shown.take(pa.array(self.old[start : start + BLOCK])).combine_chunks()

    def postings_of(self, number: int, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(key of term and new row, tf) of the postings of one pack, whose terms have these ranks."""
        pack = self.packs[number]
        rows = self.new[self._bases[number] + pack.rows.astype(np.int64)]
        terms = np.repeat(ranks, np.diff(pack.starts))
        kept = rows >= 0
        return (terms[kept] << 32) | rows[kept], pack.tf[kept]


def _write_postings(writer: PackWriter, joined: _Joined) -> None:
    terms = pc.unique(pa.concat_arrays([pack.terms for pack in joined.packs]))
    terms = terms.take(pc.array_sort_indices(terms))
    keys, tf = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    for number, pack in enumerate(joined.packs):
        ranks = pc.index_in(pack.terms, value_set=terms).to_numpy(zero_copy_only=False).astype(np.int64)
        more_keys, more_tf = joined.postings_of(number, ranks)
        keys.append(more_keys)
        tf.append(more_tf)
    key, frequency = np.concatenate(keys), np.concatenate(tf)
    if len(joined.packs) > 1:
        order = np.argsort(key, kind="stable")  # joins runs that are sorted already
        key, frequency = key[order], frequency[order]
    counts = np.bincount(key >> 32, minlength=len(terms))
    held = np.flatnonzero(counts)  # without the terms of the rows that were left out
    writer.add("starts", np.concatenate([[0], np.cumsum(counts[held])]).astype(np.int64))
    writer.add("rows", (key & 0xFFFFFFFF).astype(np.int32))
    writer.add("tf", frequency.astype(np.int32))
    _, starts, data = terms.take(pa.array(held)).buffers() if len(held) else (None, bytes(8), b"")
    writer.add("term_starts", np.frombuffer(starts, dtype=np.int64)[: len(held) + 1])
    writer.add("term_bytes", np.frombuffer(data, dtype=np.uint8))
