"""Chunk-id order among rows: what decides between equal scores."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]  # bool[rows], which rows are looked at
Order = Callable[[Rows], Rows]
"""Of each of some rows its place among them in chunk-id order."""


def as_numbered(rows: Rows) -> Rows:
    """The order of rows that are numbered in chunk-id order."""
    return rows


def best_first(rows: Rows, scores: Floats, k: int, order: Order) -> tuple[Rows, Floats]:
    """The `k` rows with the highest scores, best first, ties in chunk-id order."""
    if 0 < k < len(rows):
        high = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        rows, scores = rows[high], scores[high]
    first = np.lexsort((order(rows), -scores))[: max(k, 0)]
    return rows[first], scores[first]
