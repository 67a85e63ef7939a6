"""The extractors. A parser of a library would be imported here."""

from pathlib import Path

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import TextBuilder


def extract(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A paragraph for each line below the first."""
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    if first != "%READINGS":
        raise Unreadable("no readings: the first line is not %READINGS")
    builder = TextBuilder()
    for number, line in enumerate(lines, start=2):
        with builder.place("entry", f"line {number}"):
            builder.paragraph(line)
    return builder.extraction("Readings", "text/x-readings")


def extract_shouted(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """Settings name it: ".loud" = "shouted"."""
    builder = TextBuilder()
    builder.paragraph(path.read_text(encoding="utf-8").upper())
    return builder.extraction("", "text/plain")
