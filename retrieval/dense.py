"""Exact cosine search over unit vectors that are kept in float16.

On unit vectors the dot product is the cosine, and the cosine distance 1 - cos is half the squared L2
distance. Rounding to float16 moves a cosine by at most 2**-11 (docs/retrieval.md has what was measured).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pincite.retrieval.tie_order import Floats, Mask, Order, Rows, as_numbered, best_first

if TYPE_CHECKING:
    import faiss

Vector = npt.NDArray[np.float32]  # float32[dimension], unit length
Matrix = npt.NDArray[np.float32]  # float32[rows, dimension], unit rows
Codes = npt.NDArray[np.float16]  # float16[rows, dimension], unit rows

_SPARE = 16  # rows looked at beyond the k best: enough unless many tie
_MANY = 4_096  # rows: the heap of a scan is slower than to sum all rows
_BLOCK = 8_192  # rows widened to float64 at once: 25 MB at 384 dimensions


def distances(cosines: Floats) -> Floats:
    """Cosine distances, 0 to 2; NaN stays NaN. Rounding can't make a distance negative."""
    return np.clip(1.0 - cosines, 0.0, 2.0)


class Vectors:
    """Unit vectors in blocks; a row is a place in the blocks laid one behind the other.

    The blocks are read where they lie, so they may be mapped files.
    """

    def __init__(self, blocks: Sequence[Codes], order: Order = as_numbered) -> None:
        self.order = order
        self._blocks = blocks
        self._bases = np.cumsum([0, *(len(block) for block in blocks)])

    def __len__(self) -> int:
        return int(self._bases[-1])

    def similarities(self, query: Vector, rows: Rows) -> Floats:
        """float64[rows], the cosine of each of these rows with the query.

        Summed row by row: equal rows get equal bits wherever they stand, which BLAS does not promise.
        """
        wide = query.astype(np.float64)
        result = np.empty(len(rows), dtype=np.float64)
        for start in range(0, len(rows), _BLOCK):
            some = rows[start : start + _BLOCK]
            block_of = np.searchsorted(self._bases, some, side="right") - 1
            for number in np.unique(block_of).tolist():
                here = np.flatnonzero(block_of == number)
                found = self._blocks[number][some[here] - self._bases[number]].astype(np.float64)
                result[start + here] = np.einsum("ij,j->i", found, wide)
        return result

    def of(self, rows: Rows) -> Matrix:
        """float32[rows, dimension], the vectors of these rows."""
        found = np.empty((len(rows), self._blocks[0].shape[1] if self._blocks else 0), dtype=np.float32)
        block_of = np.searchsorted(self._bases, rows, side="right") - 1
        for number in np.unique(block_of).tolist():
            here = np.flatnonzero(block_of == number)
            found[here] = self._blocks[number][rows[here] - self._bases[number]]
        return found

    def nearest(self, query: Vector, k: int, among: Mask | None = None) -> tuple[Rows, Floats]:
        """(int64[k], float64[k]): the rows nearest to the query and their cosines, nearest first, ties by chunk id.

        Exact, though most rows are only looked at in float32: the error of a float32 dot product of unit vectors
        is at most e = dimension * 2**-24 (Higham 2002, section 3.1), so the true best k lie within 2e of the
        k-th best approximation; those rows are summed again in float64. Top-k is therefore a prefix of
        top-(k+1). Fewer than `k` when there are fewer rows; a row whose cosine is not a number is never
        returned, nor one that is not `among` those to look at.
        """
        if k <= 0 or not len(self):
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64)
        rows = self._candidates(np.ascontiguousarray(query, dtype=np.float32), k, among)
        exact = self.similarities(query, rows)
        known = np.isfinite(exact)
        return best_first(rows[known], exact[known], k, self.order)

    def _candidates(self, query: Vector, k: int, among: Mask | None) -> Rows:
        """Rows among which the true best `k` are."""
        margin = (
            2.0 * (query.shape[0] + 2) * 2.0**-24
        )  # 2: room for lengths of 1 and for the cut's own rounding
        depth = k + _SPARE
        while depth < _MANY:
            scans = [self._scan(number, query, depth, among) for number in range(len(self._blocks))]
            rough = np.concatenate([cosines for _, cosines in scans])
            if len(rough) < k:
                return np.concatenate([rows for rows, _ in scans])
            floor = np.partition(rough, len(rough) - k)[len(rough) - k] - np.float32(margin)
            if all(len(cosines) < depth or cosines.min() < floor for _, cosines in scans):
                near: Rows = np.concatenate([rows for rows, _ in scans])[rough >= floor]
                return near
            depth *= 4
        return np.arange(len(self), dtype=np.int64) if among is None else np.flatnonzero(among)

    def _scan(
        self, number: int, query: Vector, depth: int, among: Mask | None
    ) -> tuple[Rows, npt.NDArray[np.float32]]:
        """(rows, cosines in float32) of the `depth` nearest of one block, in no order."""
        import faiss  # .5 CPU s, which a search by words alone does not need

        base, block = int(self._bases[number]), self._blocks[number]
        selector, bits = None, None
        if among is not None:
            bits = np.packbits(among[base : base + len(block)], bitorder="little")
            selector = faiss.IDSelectorBitmap(len(block), faiss.swig_ptr(bits))
        # What IndexScalarQuantizer.search does, but on codes that stay where they are, and three times as fast
        # (6.5 against 18 CPU ms over 200,000 x 384).
        scanner = self._quantizer.select_InvertedListScanner(faiss.METRIC_INNER_PRODUCT, None, True, selector)  # type: ignore[attr-defined]  # of its C++ side
        scanner.list_no = 0
        scanner.set_query(faiss.swig_ptr(query))
        cosines = np.full(depth, -np.inf, dtype=np.float32)
        rows = np.full(depth, -1, dtype=np.int64)
        codes = faiss.swig_ptr(block.reshape(-1).view(np.uint8))
        scanner.scan_codes(len(block), codes, None, faiss.swig_ptr(cosines), faiss.swig_ptr(rows), depth)
        found = rows >= 0
        return rows[found] + base, cosines[found]

    @cached_property
    def _quantizer(self) -> "faiss.ScalarQuantizer":
        import faiss

        return faiss.ScalarQuantizer(self._blocks[0].shape[1], faiss.ScalarQuantizer.QT_fp16)
