"""What one version of an index holds, as arrays over its live chunks in chunk-id order."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retrieval import bm25, dense
from retrieval.filters import Filters, document_filter
from schemas.errors import IndexBroken
from storage.snapshot import LiveDocument, Snapshot


@dataclass(frozen=True, slots=True)
class Passage:
    """What a hit shows of its chunk."""

    chunk_id: str
    document_id: str
    header: str
    section: str
    content: str
    start: int
    end: int
    locator: str
    ocr_confidence: float | None


_UNIT_TOLERANCE = 1e-4  # the writer holds 1e-5; float32 sums of squares add some 1e-6


class Corpus:
    """The chunks of one version. A column is read when it is first asked for, and kept.

    A row is a chunk's place in chunk-id order.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.version = snapshot.version
        self.space = snapshot.space
        self.snapshot = snapshot
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
        lists = self.snapshot.chunks(("embedding",))["embedding"].combine_chunks()
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
        return bm25.scores(terms, self._by_term(self.snapshot.postings(terms)), self.lengths)

    @cached_property
    def documents(self) -> dict[str, LiveDocument]:
        """The documents by id."""
        return {document.document_id: document for document in self.snapshot.documents()}

    @cached_property
    def document_numbers(self) -> bm25.Rows:
        """int64[rows], a number for the document of each row."""
        return np.asarray(self._encoded_documents.indices.to_numpy(), dtype=np.int64)

    @cached_property
    def unread(self) -> dense.Mask | None:
        """bool[rows], whose document the embedding model can't read, as was found at indexing; None for none."""
        return self._mask_of({one for one, document in self.documents.items() if not document.encoder_fit})

    def among(self, filters: Filters, dated: frozenset[str] | None) -> dense.Mask:
        """bool[rows], what passes the filters. `dated` are the documents within its dates; None is all."""
        passes = document_filter(filters)
        kept = {one for one, document in self.documents.items() if passes(document)}
        mask = self._mask_of(kept if dated is None else kept & dated)
        result = np.zeros(len(self), dtype=bool) if mask is None else mask
        if filters.min_ocr_confidence is None:
            return result
        confidence = self._passages["ocr_confidence"].to_numpy()  # NaN where no OCR read
        return np.asarray(result & ~(confidence < filters.min_ocr_confidence))

    def _mask_of(self, document_ids: Set[str]) -> dense.Mask | None:
        """bool[rows], which are of these documents; None when none is."""
        names = self._encoded_documents.dictionary.to_pylist()
        wanted = np.array([name in document_ids for name in names], dtype=bool)
        mask: dense.Mask = wanted[self.document_numbers]
        return mask if mask.any() else None

    def contents(self, rows: Sequence[int]) -> list[str]:
        """The content of each row, in the order asked."""
        contents: list[str] = self._passages["content"].take(pa.array(rows, pa.int64())).to_pylist()
        return contents

    def passages(self, rows: Sequence[int]) -> list[Passage]:
        """The passage of each row, in the order asked."""
        return [Passage(**row) for row in self._passages.take(pa.array(rows, pa.int64())).to_pylist()]

    @cached_property
    def _passages(self) -> pa.Table:
        return self.snapshot.chunks(Passage.__slots__)

    @cached_property
    def _places(self) -> tuple[pa.Array, bm25.Rows]:
        """(document ids, key of (document, ordinal) of each row): what finds the row of a posting.

        Keys ascend, because chunk ids order by document, then ordinal, and documents are numbered as they come.
        """
        encoded = self._encoded_documents
        return encoded.dictionary, _key(encoded.indices.to_numpy(), self._keys["ordinal"].to_numpy())

    @cached_property
    def _encoded_documents(self) -> pa.DictionaryArray:
        return self._keys["document_id"].combine_chunks().dictionary_encode()

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
