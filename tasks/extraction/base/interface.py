"""What an extractor is."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings

Progress = Callable[[int], None]
"""Told the 1-based page before it is worked on, so that a killed worker's page is known."""


class Extractor(Protocol):
    """Reads one format. Raises a `DocumentError` where nothing fit to quote can be read."""

    def __call__(self, path: Path, settings: Settings, progress: Progress) -> Extraction: ...
