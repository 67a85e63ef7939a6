"""What one version of an index holds, as arrays over its live chunks in chunk-id order."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retrieval import bm25, dense
from schemas.errors import IndexBroken
from storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Passage:
    """What a hit shows of its chunk."""

    chunk_id: str
    document_id: str
    section: str
    content: str
    start: int
    end: int
    locator: str
    ocr_confidence: float | None


_UNIT_TOLERANCE = 1e-4  # the writer holds 1e-5; float32 sums of squares add some 1e-6


class Corpus:
    """The chunks of one version. A column is read when it is first asked for, and kept.

    Reads happen while a search holds a snapshot of the same version. A row is a chunk's place in chunk-id
    order.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.version = snapshot.version
        self.space = snapshot.space
        self._snapshot = snapshot
        self._keys = snapshot.chunks(("chunk_id", "document_id", "ordinal", "terms"))

    def __len__(self) -> int:
        return int(self._keys.num_rows)

    @cached_property
    def lengths(self) -> bm25.Floats:
        """float64[rows], the length of each chunk in terms, repeats counted."""
        return np.asarray(self._keys["terms"].to_numpy(), dtype=np.float64)

    @cached_property
    def matrix(self) -> dense.Matrix:
        """float32[rows, dimension], the vectors. Raises `IndexBroken` when one is not of unit length."""
        lists = self._snapshot.chunks(("embedding",))["embedding"].combine_chunks()
        widths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
        self._refuse(widths != self.space.dimension, f"do not have {self.space.dimension} dimensions")
        matrix = lists.flatten().to_numpy(zero_copy_only=False).reshape(len(self), self.space.dimension)
        squares = np.einsum("ij,ij->i", matrix, matrix)
        self._refuse(~(np.abs(squares - 1.0) <= _UNIT_TOLERANCE), "are not of unit length")
        return np.ascontiguousarray(matrix, dtype=np.float32)

    def bm25_scores(self, terms: Sequence[str]) -> bm25.Floats:
        """float64[rows], the BM25 score of each chunk for the terms of a query."""
        if not terms or not len(self):
            return np.zeros(len(self), dtype=np.float64)
        return bm25.scores(terms, self._by_term(self._snapshot.postings(terms)), self.lengths)

    def passages(self, rows: Sequence[int]) -> list[Passage]:
        """The passage of each row, in the order asked."""
        return [Passage(**row) for row in self._passages.take(pa.array(rows, pa.int64())).to_pylist()]

    @cached_property
    def _passages(self) -> pa.Table:
        return self._snapshot.chunks(Passage.__slots__)

    @cached_property
    def _places(self) -> tuple[pa.Array, bm25.Rows]:
        """(document ids, key of (document, ordinal) of each row): what finds the row of a posting.

        Keys ascend, because chunk ids order by document, then ordinal, and documents are numbered as they come.
        """
        encoded = self._keys["document_id"].combine_chunks().dictionary_encode()
        return encoded.dictionary, _key(encoded.indices.to_numpy(), self._keys["ordinal"].to_numpy())

    def _by_term(self, postings: pa.Table) -> dict[str, bm25.TermPostings]:
        """Postings by term. Raises `IndexBroken` for one without a live chunk."""
        if not postings.num_rows:
            return {}
        documents, keys = self._places
        document = pc.fill_null(pc.index_in(postings["document_id"], value_set=documents), -1).to_numpy()
        wanted = _key(document, postings["ordinal"].to_numpy())
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        if not np.array_equal(keys[at], wanted):
            lost = postings.take(pa.array(np.flatnonzero(keys[at] != wanted)[:1])).to_pylist()[0]
            raise IndexBroken(
                f"version {self.version} has a posting of document {lost['document_id']}, ordinal "
                f"{lost['ordinal']}, but no such chunk: run `pincite verify`"
            )
        tf = postings["tf"].to_numpy().astype(np.float64)
        terms = postings["term"].combine_chunks().dictionary_encode()
        order = np.argsort(terms.indices.to_numpy(), kind="stable")
        cuts = np.searchsorted(terms.indices.to_numpy()[order], np.arange(1, len(terms.dictionary)))
        groups = np.split(order, cuts)
        return {
            term: bm25.TermPostings(at[group], tf[group])
            for term, group in zip(terms.dictionary.to_pylist(), groups, strict=True)
        }

    def _refuse(self, faulty: np.ndarray, what: str) -> None:
        if faulty.any():
            first = self._keys["chunk_id"][int(np.argmax(faulty))].as_py()
            raise IndexBroken(
                f"{int(faulty.sum())} stored vectors {what}, first of chunk {first}: run `pincite verify`, "
                "then restore the index folder from a copy or index again into a new folder"
            )


def _key(document: np.ndarray, ordinal: np.ndarray) -> bm25.Rows:
    return (document.astype(np.int64) << 32) | ordinal.astype(np.int64)
