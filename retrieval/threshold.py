"""Saying no: the only part of a search that can (section 6 of the spec)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from pincite.schemas.calibration import Calibration
from pincite.schemas.settings import DEFAULT_MODEL
from pincite.storage.queries.calibrations import calibrated_space, latest_calibration, share_changed_since
from pincite.storage.snapshots.index import Index

DEFAULT_THRESHOLD = 0.675  # cosine distance, of the founding measurement, with all-MiniLM-L6-v2
MOST_PASSAGES = 4
MOVED_AWAY = 0.2
"""Share of documents that are new, changed or gone, from which on a stored threshold is doubted."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold in cosine distance, and the least evidence score; `warning`: why they may not fit, "" when they do.

    0 is no evidence score: none is known for an index before `pincite calibrate` has measured it.
    """

    distance: float
    calibration: Calibration | None = None
    warning: str = ""

    @property
    def evidence(self) -> float:
        least = self.calibration.report.get("evidence", 0.0) if self.calibration else 0.0
        return least if isinstance(least, float) else 0.0


def threshold_of(index: Index, version: int | None = None) -> Threshold:
    """The threshold that was calibrated on this index, or the default one; with a warning where it is doubtful.

    With a former `version` the one that was measured on it or before it, never a later one.
    """
    space, found = calibrated_space(index, version)
    if found is None:
        default = _default(space.model)
        later = latest_calibration(index) if version is not None else None
        if later is None or version is None:
            return default
        warnings = [_later(default.distance, later, version), *([default.warning] if default.warning else [])]
        return replace(default, warning="; ".join(warnings))
    if found.adopted:
        return Threshold(
            found.threshold,
            found,
            f"the threshold {found.threshold:g} was taken over at a migration: it answers as many of "
            f"{found.questions} as the model version before. Measure one with `pincite calibrate QUESTIONS`",
        )
    changed = share_changed_since(index, found.version, version)
    if changed <= MOVED_AWAY:
        return Threshold(found.threshold, found)
    return Threshold(
        found.threshold,
        found,
        f"the threshold {found.threshold:g} was measured at version {found.version}, and {changed:.0%} of the "
        f"documents are others since then: run `pincite calibrate` again with {found.questions} or newer questions",
    )


def _later(default: float, later: Calibration, version: int) -> str:
    return (
        f"no threshold had been measured at version {version}: {default:g} is the default. At version "
        f"{later.version} one of {later.threshold:g} was measured: give it as the threshold if you want that one"
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
