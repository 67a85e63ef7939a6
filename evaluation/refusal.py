"""Saying no, measured: what each threshold answers, refuses and bluffs. Pure functions over distances.

A threshold answers a question when any passage lies under it in cosine distance. Of those under it at most four
are handed over (section 6 of the spec).
"""

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pincite.retrieval.threshold import MOST_PASSAGES
from pincite.schemas.evaluation import Bluffs, RefusalPoint

REMOVED = "evidence removed"
"""The control: every answerable question once more, its evidence hidden. What is answered then is a bluff."""

_STEPS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1)
_MOST_POINTS = 40


@dataclass(frozen=True, slots=True)
class Distances:
    """How far one question is from what it finds. A distance is None where nothing is found."""

    id: str
    kind: str
    answerable: bool
    nearest: float | None
    nearest_other: float | None  # with the evidence hidden; of an unanswerable question as `nearest`
    right: tuple[tuple[float, float], ...]  # thresholds in (low, high] hand over a correct passage
    evidence: float | None = None  # the evidence score; None where it was not measured
    evidence_other: float | None = None  # with the evidence hidden

    def from_evidence(self, least: float) -> "Distances":
        """As if nothing were found where the evidence score is less."""
        found = self
        if self.evidence is not None and self.evidence < least:
            found = replace(found, nearest=None, right=())
        if self.evidence_other is not None and self.evidence_other < least:
            found = replace(found, nearest_other=None)
        return found

    def answered(self, threshold: float) -> bool:
        return self.nearest is not None and self.nearest < threshold

    def answered_right(self, threshold: float) -> bool:
        return any(low < threshold <= high for low, high in self.right)

    def bluffs(self, threshold: float) -> bool:
        """Whether it is answered though nothing that answers it can be seen."""
        return self.nearest_other is not None and self.nearest_other < threshold


def right_between(
    distances: Sequence[float], correct: Sequence[bool], most: int = MOST_PASSAGES
) -> tuple[tuple[float, float], ...]:
    """The thresholds (low, high] under which a correct passage is among the first `most` that pass.

    Both in the order of the ranking. A passage at distance d is handed over by a threshold over d, until `most`
    of those before it pass too; the last high is infinity where fewer stand before it.
    """
    before: list[float] = []  # the distances of earlier passages, ascending, at most `most`
    found: list[tuple[float, float]] = []
    for distance, holds in zip(distances, correct, strict=True):
        high = before[most - 1] if len(before) >= most else float("inf")
        if holds and distance < high:
            found.append((distance, high))
        insort(before, distance)
        del before[most:]
    return tuple(found)


def thresholds_for(found: Iterable[Distances], always: Iterable[float] = ()) -> list[float]:
    """Even steps over all distances that occur, at most some forty, and those of `always`; ascending."""
    seen = [one for each in found for one in (each.nearest, each.nearest_other) if one is not None]
    if not seen:
        return sorted(set(always))
    low, high = min(seen), max(seen)
    step = next((step for step in _STEPS if (high - low) / step <= _MOST_POINTS), _STEPS[-1])
    first, last = int(np.floor(low / step)), int(np.ceil(high / step)) + 1
    return sorted({round(place * step, 6) for place in range(first, last + 1)} | set(always))


def threshold_answering(count: int, found: Sequence[Distances]) -> float:
    """The least threshold that answers at least `count` of the questions, or all that can be; 0 for none.

    Distances of two models can't be compared, so a model without a threshold of its own is held against another
    where it answers as much.
    """
    near = sorted(one.nearest for one in found if one.nearest is not None)[:count]
    return float(np.nextafter(near[-1], np.inf)) if near else 0.0


def sweep(found: Sequence[Distances], thresholds: Iterable[float]) -> tuple[RefusalPoint, ...]:
    """What each threshold does to the questions, in the order of the thresholds."""
    answerable = [one for one in found if one.answerable]
    negatives = [one for one in found if not one.answerable]
    kinds = sorted({one.kind for one in negatives})
    return tuple(_point(threshold, answerable, negatives, kinds) for threshold in thresholds)


def _point(
    threshold: float, answerable: Sequence[Distances], negatives: Sequence[Distances], kinds: Sequence[str]
) -> RefusalPoint:
    right = sum(one.answered_right(threshold) for one in answerable)
    answered = sum(one.answered(threshold) for one in answerable)
    return RefusalPoint(
        threshold,
        right,
        answered - right,
        len(answerable) - answered,
        tuple(_bluffs(kind, [one for one in negatives if one.kind == kind], threshold) for kind in kinds),
        _bluffs(REMOVED, answerable, threshold),
    )


def _bluffs(kind: str, found: Sequence[Distances], threshold: float) -> Bluffs:
    return Bluffs(kind, sum(one.bluffs(threshold) for one in found), len(found))
