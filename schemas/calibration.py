"""The record of a threshold with what it was measured on."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Calibration:
    """A threshold in cosine distance, and the questions, index version and model that it was measured on."""

    threshold: float
    model: str
    fingerprint: str  # of the model's weights
    version: int  # of the index
    questions: str  # name of the question set
    questions_sha256: str
    made_at: float  # seconds since the epoch
    report: Mapping[str, object]  # what was measured, as `pincite calibrate --json` printed it

    @property
    def adopted(self) -> bool:
        """Whether it was taken over at a migration: it answers as many of the questions as the space before."""
        return "adopted" in self.report
