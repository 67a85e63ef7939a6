"""Exact cosine search over unit vectors.

On unit vectors the dot product is the cosine, and the cosine distance 1 - cos is half the squared L2
distance.
"""

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]  # float32[dimension], unit length
Matrix = npt.NDArray[np.float32]  # float32[rows, dimension], unit rows
Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]  # bool[rows], which rows are looked at

_FEW = 0.1  # of all rows: so few are copied out before they are scored
_BLOCK = 8_192  # rows widened to float64 at once: 25 MB at 384 dimensions


def similarities(query: Vector, matrix: Matrix) -> Floats:
    """float64[rows], the cosine of each row with the query.

    Summed row by row: equal rows get equal bits wherever they stand, which BLAS does not promise.
    """
    wide = query.astype(np.float64)
    result = np.empty(len(matrix), dtype=np.float64)
    for start in range(0, len(matrix), _BLOCK):
        block = matrix[start : start + _BLOCK].astype(np.float64)
        result[start : start + _BLOCK] = (block * wide).sum(axis=1)
    return result


def distances(cosines: Floats) -> Floats:
    """Cosine distances, 0 to 2; NaN stays NaN. Rounding can't make a distance negative."""
    return np.clip(1.0 - cosines, 0.0, 2.0)


def nearest(query: Vector, matrix: Matrix, k: int, among: Mask | None = None) -> tuple[Rows, Floats]:
    """(int64[k], float64[k]): the rows nearest to the query and their cosines, nearest first, ties by row.

    Exact, though most rows are only looked at in float32: the error of a float32 dot product of unit vectors
    is at most e = dimension * 2**-24 (Higham 2002, section 3.1), so the true best k lie within 2e of the k-th
    best approximation; those rows are summed again in float64. Top-k is therefore a prefix of top-(k+1).
    Fewer than `k` when there are fewer rows; a row whose cosine is not a number is never returned, nor one
    that is not `among` those to look at.
    """
    if k <= 0 or not len(matrix):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float64)
    rows = _candidates(query, matrix, k, among)
    exact = similarities(query, matrix[rows])
    known = np.isfinite(exact)
    rows, exact = rows[known], exact[known]
    order = np.lexsort((rows, -exact))[:k]
    return rows[order], exact[order]


def _candidates(query: Vector, matrix: Matrix, k: int, among: Mask | None) -> Rows:
    """Rows, ascending, among which the true best `k` are."""
    rows = np.arange(len(matrix), dtype=np.int64) if among is None else np.flatnonzero(among)
    count = len(rows)
    if k >= count:
        return rows
    if count < _FEW * len(matrix):
        rough = np.asarray(matrix[rows] @ query, dtype=np.float32)
    else:
        rough = np.asarray(matrix @ query, dtype=np.float32)
        rough = rough if among is None else rough[rows]
    rough[np.isnan(rough)] = -np.inf
    floor = float(np.partition(rough, count - k)[count - k])
    margin = 2.0 * (matrix.shape[1] + 2) * 2.0**-24  # 2: room for lengths of 1 and for the cut's own rounding
    return rows[rough >= np.float32(floor - margin)]
