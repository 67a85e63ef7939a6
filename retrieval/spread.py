"""How the cosines of one query spread over an index: whether one of them is high there."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pincite.retrieval.dense import Matrix, Vector
from pincite.retrieval.tie_order import Floats, Rows

MOST_SAMPLED = 4_096
"""Rows whose cosines are looked at. Their mean and deviation tell those of all within 2 %, which moves a z of 3 by
less than .1: nothing beside BM25."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of a query's cosines."""

    mean: float
    deviation: float

    def z(self, cosines: Floats) -> Floats:
        """float64, the standard score of each cosine; 0 where it is not a number, or all cosines are the same."""
        if not self.deviation:
            return np.zeros(len(cosines))
        standard: Floats = np.nan_to_num((cosines - self.mean) / self.deviation, nan=0.0)
        return standard


def spread_of(query: Vector, sample: Matrix) -> Spread:
    """Of a query over some rows. They must come in an order of their own: then equal rows give equal bits."""
    cosines = (sample @ query).astype(np.float64)
    cosines = cosines[np.isfinite(cosines)]
    if len(cosines) < 2:
        return Spread(0.0, 0.0)
    return Spread(float(cosines.mean()), float(cosines.std()))


def sampled(
    keys: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]], most: int
) -> Rows:
    """The places of at most `most` of these rows, named by (document, revision, ordinal), in that order.

    Chosen by a hash of the name, so that the same chunks are looked at in whatever packs they lie.
    """
    documents, revisions, ordinals = keys
    places = np.arange(len(documents))
    if len(documents) > most:
        mixed = _mixed(_mixed(documents) + revisions.astype(np.uint64))
        mixed = _mixed(mixed + ordinals.astype(np.uint64))
        places = np.argsort(mixed, kind="stable")[:most]
    return places[np.lexsort((ordinals[places], revisions[places], documents[places]))]


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64 (Steele, Lea and Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed
