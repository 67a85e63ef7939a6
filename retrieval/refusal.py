"""Saying no: the only part of a search that can (section 6 of the spec)."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from schemas.calibration import Calibration
from schemas.settings import DEFAULT_MODEL
from storage.calibrations import latest_calibration, share_changed_since
from storage.index import Index
from storage.spaces import spaces_of

DEFAULT_THRESHOLD = 0.675  # cosine distance, of the founding measurement, with all-MiniLM-L6-v2
MOST_PASSAGES = 4
MOVED_AWAY = 0.2
"""Share of documents that are new, changed or gone, from which on a stored threshold is doubted."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold in cosine distance; `warning` says why it may not fit the index, "" when it does."""

    distance: float
    calibration: Calibration | None = None
    warning: str = ""


def threshold_of(index: Index) -> Threshold:
    """The threshold that was calibrated on this index, or the default one; with a warning where it is doubtful."""
    found = latest_calibration(index)
    if found is None:
        return _default(spaces_of(index)[0].space.model)
    changed = share_changed_since(index, found.version)
    if changed <= MOVED_AWAY:
        return Threshold(found.threshold, found)
    return Threshold(
        found.threshold,
        found,
        f"the threshold {found.threshold:g} was measured at version {found.version}, and {changed:.0%} of the "
        f"documents are others since then: run `pincite calibrate` again with {found.questions} or newer questions",
    )


def _default(model: str) -> Threshold:
    if model == DEFAULT_MODEL:
        return Threshold(DEFAULT_THRESHOLD)
    return Threshold(
        DEFAULT_THRESHOLD,
        warning=f"the threshold {DEFAULT_THRESHOLD:g} was measured with {DEFAULT_MODEL}, and the index is of "
        f"{model}, whose distances are others: measure one with `pincite calibrate QUESTIONS`",
    )


def under_cut(distances: Iterable[float | None], threshold: float, most: int = MOST_PASSAGES) -> list[int]:
    """The places, in order, of the first `most` distances that lie under the threshold; [] is a refusal.

    A distance that is unknown or not a number lies under no threshold. No more distances are taken than needed.
    """
    passed = (
        place
        for place, distance in enumerate(distances)
        if distance is not None and distance < threshold  # false for NaN
    )
    return list(islice(passed, max(most, 0)))


def no_answer(query: str, threshold: float) -> str:
    """The line that stands where an answer would."""
    return f'NO ANSWER: nothing under cosine distance {threshold:g} for "{query}"'
