"""Small vectors and postings in memory, as the ranking takes them."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pincite.retrieval import bm25, dense
from pincite.retrieval.bm25 import TermPostings


def unit(rows: int, dimension: int, seed: int) -> np.ndarray:
    """float16 rows of unit length, as near as float16 comes to it."""
    matrix = np.random.default_rng(seed).standard_normal((rows, dimension))
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float16)


def vectors_of(matrix: np.ndarray, *cuts: int) -> dense.Vectors:
    """The rows in blocks that end at these cuts."""
    return dense.Vectors([np.ascontiguousarray(one, np.float16) for one in np.split(matrix, cuts)])


def postings_of(counts: Sequence[Counter[str]]) -> dict[str, TermPostings]:
    postings = {}
    for term in sorted({term for one in counts for term in one}):
        rows = [row for row, one in enumerate(counts) if one[term]]
        tf = np.array([counts[row][term] for row in rows], dtype=np.int32)
        postings[term] = TermPostings(np.array(rows, dtype=np.int32), tf, int(tf.max()))
    return postings


def lexical_of(scores: np.ndarray) -> bm25.BM25Scores:
    """Scores of one term that have the order and the ties of these, and are 0 where they are."""
    _, ranks = np.unique(scores, return_inverse=True)
    tf = ranks.astype(np.int32) + (0 if (scores == 0).any() else 1)
    rows = np.flatnonzero(tf).astype(np.int32)
    postings = {"x": TermPostings(rows, tf[rows], int(tf.max(initial=0)))}
    return bm25.BM25Scores(["x"], postings, bm25.statistics(np.ones(len(scores))))
