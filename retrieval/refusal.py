"""Saying no: the only part of a search that can (section 6 of the spec)."""

from collections.abc import Iterable

DEFAULT_THRESHOLD = 0.675  # cosine distance, of the founding measurement
MOST_PASSAGES = 4


def under_cut(distances: Iterable[float | None], threshold: float, most: int = MOST_PASSAGES) -> list[int]:
    """The places, in order, of the first `most` distances that lie under the threshold; [] is a refusal.

    A distance that is unknown or not a number lies under no threshold.
    """
    passed = [
        place
        for place, distance in enumerate(distances)
        if distance is not None and distance < threshold  # false for NaN
    ]
    return passed[: max(most, 0)]


def no_answer(query: str, threshold: float) -> str:
    """The line that stands where an answer would."""
    return f'NO ANSWER: nothing under cosine distance {threshold:g} for "{query}"'
