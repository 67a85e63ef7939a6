"""Packs out of Parquet segments."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pincite.schemas.records import Space
from pincite.schemas.tables import CHUNKS, POSTINGS
from pincite.storage.search_cache.packs import BLOCK, SHOWN, SHOWN_SCHEMA, LostPosting, Pack
from pincite.storage.segments.places import Places
from pincite.storage.segments.segment import read_segment
from pincite.storage.snapshots.snapshot import CommitGroup, document_numbers


def _encoded(schema: pa.Schema, names: Sequence[str], encoded: Sequence[str]) -> pa.Table:
    """An empty table as `read_segment` returns it."""
    fields = [schema.field(name) for name in names]
    kinds = pa.dictionary(pa.int32(), pa.string())
    return pa.schema([one.with_type(kinds) if one.name in encoded else one for one in fields]).empty_table()


_CHUNK = ["document_id", "revision", "ordinal", "terms", *SHOWN]
_POSTING = ["term", "document_id", "revision", "ordinal", "tf"]
_NO_CHUNKS = _encoded(CHUNKS, _CHUNK, ["document_id"])
_NO_POSTINGS = _encoded(POSTINGS, _POSTING, ["term", "document_id"])
_MISSHAPEN, _UNSCALED = 1, 2
_UNIT_TOLERANCE = 1e-4  # the writer holds 1e-5; float32 sums of squares add some 1e-6


def pack_units(places: Places, units: Sequence[CommitGroup], space: Space) -> Pack:
    """The pack of these units, in memory. Raises `IndexBroken` when a segment can't be read."""
    table, unit_of, codes, faults = _read_chunks(places, units, space.dimension)
    documents = _numbers_of(table["document_id"])
    revision, ordinal = table["revision"].to_numpy(), table["ordinal"].to_numpy()
    order = np.lexsort((ordinal, unit_of, revision, documents))
    documents, revision, unit_of, ordinal = (x[order] for x in (documents, revision, unit_of, ordinal))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (
        (documents[1:] != documents[:-1]) | (revision[1:] != revision[:-1]) | (unit_of[1:] != unit_of[:-1])
    )
    begins = np.flatnonzero(new)
    rows = _Rows(documents[begins], revision[begins], np.append(begins, len(order)), ordinal)
    terms, starts, at, tf, lost = _postings(places, units, rows)
    shown = table.select(list(SHOWN)).take(pa.array(order)).cast(SHOWN_SCHEMA)
    return Pack(
        units=tuple(unit.key for unit in units),
        documents=rows.documents,
        revisions=rows.revisions,
        unit_of=unit_of[begins],
        first=rows.first,
        ordinals=ordinal,
        lengths=table["terms"].to_numpy()[order],
        codes=codes[order],
        misshapen=np.flatnonzero(faults[order] == _MISSHAPEN),
        unscaled=np.flatnonzero(faults[order] == _UNSCALED),
        terms=terms,
        starts=starts,
        rows=at,
        tf=tf,
        shown=tuple(shown.combine_chunks().to_batches(max_chunksize=BLOCK)),
        lost=lost,
    )


def _read_chunks(
    places: Places, units: Sequence[CommitGroup], dimension: int
) -> tuple[pa.Table, np.ndarray, np.ndarray, np.ndarray]:
    """(rows without vectors, place of the unit of each, their vectors in float16, what is wrong with each)."""
    tables, unit_of, codes, faults = [], [], [], []
    for place, unit in enumerate(units):
        for segment in unit.chunks:
            table = read_segment(places, segment.file, [*_CHUNK, "embedding"], encoded=["document_id"])
            matrix, fault = _vectors(table["embedding"], dimension)
            tables.append(table.drop_columns(["embedding"]))
            unit_of.append(np.full(table.num_rows, place, dtype=np.int32))
            codes.append(matrix)
            faults.append(fault)
    return (
        pa.concat_tables([_NO_CHUNKS, *tables]).unify_dictionaries().combine_chunks(),
        np.concatenate([np.empty(0, np.int32), *unit_of]),
        np.concatenate([np.empty((0, dimension), np.float16), *codes]),
        np.concatenate([np.empty(0, np.uint8), *faults]),
    )


def _vectors(column: pa.ChunkedArray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """(float16[rows, dimension], uint8[rows]: what is wrong with each)."""
    lists = column.combine_chunks()
    faults = np.zeros(len(lists), dtype=np.uint8)
    widths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    faults[widths != dimension] = _MISSHAPEN
    sound = faults == 0
    flat = (lists if sound.all() else lists.filter(pa.array(sound))).flatten()
    matrix = np.zeros((len(lists), dimension), dtype=np.float32)
    matrix[sound] = flat.to_numpy(zero_copy_only=False).reshape(-1, dimension)
    with np.errstate(over="ignore", invalid="ignore"):  # what is no unit vector is told by its fault
        squares = np.einsum("ij,ij->i", matrix, matrix)
        faults[sound & ~(np.abs(squares - 1.0) <= _UNIT_TOLERANCE)] = _UNSCALED
        return matrix.astype(np.float16), faults


def _numbers_of(column: pa.ChunkedArray) -> np.ndarray:
    encoded = column.combine_chunks()
    numbers = document_numbers(encoded.dictionary.to_pylist())
    found: np.ndarray = numbers[encoded.indices.to_numpy()]
    return found


class _Rows:
    """Finds the row of a chunk in a pack."""

    def __init__(
        self, documents: np.ndarray, revisions: np.ndarray, first: np.ndarray, ordinals: np.ndarray
    ) -> None:
        self.documents = documents
        self.revisions = revisions
        self.first = first
        self._ordinals = ordinals
        self._known = np.unique(documents)
        number = np.searchsorted(self._known, documents)
        self._keys = (number.astype(np.int64) << 32) | revisions

    def find(
        self, documents: np.ndarray, of: np.ndarray, revision: np.ndarray, ordinal: np.ndarray
    ) -> np.ndarray:
        """int64, the row of each (`documents[of]`, revision, ordinal); -1 where there is none."""
        if not len(self._keys):
            return np.full(len(of), -1, dtype=np.int64)
        number = np.minimum(np.searchsorted(self._known, documents), len(self._known) - 1)
        number = np.where(self._known[number] == documents, number, -1).astype(np.int64)
        wanted = (number[of] << 32) | revision
        run = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        row = self.first[run] + ordinal  # ordinals count from 0 without a gap
        there = (self._keys[run] == wanted) & (row < self.first[run + 1])
        row = np.where(there, row, 0)
        found: np.ndarray = np.where(there & (self._ordinals[row] == ordinal), row, -1)
        return found


_Postings = tuple[pa.Array, np.ndarray, np.ndarray, np.ndarray, tuple[LostPosting, ...]]


def _postings(places: Places, units: Sequence[CommitGroup], rows: _Rows) -> _Postings:
    """(terms, first posting of each, row and frequency of each posting, postings without their chunk)."""
    encoded = ["term", "document_id"]
    by_unit = [
        [read_segment(places, segment.file, _POSTING, encoded=encoded) for segment in unit.postings]
        for unit in units
    ]
    tables = [one for read in by_unit for one in read]
    ends = np.cumsum([sum(one.num_rows for one in read) for read in by_unit])
    table = pa.concat_tables([_NO_POSTINGS, *tables]).unify_dictionaries().combine_chunks()
    document, term = table["document_id"].combine_chunks(), table["term"].combine_chunks()
    ids = document_numbers(document.dictionary.to_pylist())
    of, revision, ordinal = (
        document.indices.to_numpy(),
        table["revision"].to_numpy(),
        table["ordinal"].to_numpy(),
    )
    at = rows.find(ids, of, revision, ordinal)
    words = term.dictionary.cast(pa.large_binary())
    order = pc.array_sort_indices(words).to_numpy()
    ranks = np.empty(len(words), dtype=np.int64)
    ranks[order] = np.arange(len(words))
    key = (ranks[term.indices.to_numpy()] << 32) | np.maximum(at, 0)
    sorting = np.argsort(key[at >= 0])
    key = key[at >= 0][sorting]
    counts = np.bincount(key >> 32, minlength=len(words))
    gone = np.flatnonzero(at < 0)
    lost = tuple(
        LostPosting(units[place].key, term[i].as_py(), int(ids[of[i]]), int(revision[i]), int(ordinal[i]))
        for i, place in zip(gone.tolist(), np.searchsorted(ends, gone, side="right").tolist(), strict=True)
    )
    return (
        words.take(pa.array(order)),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        (key & 0xFFFFFFFF).astype(np.int32),
        table["tf"].to_numpy()[at >= 0][sorting].astype(np.int32),
        lost,
    )
