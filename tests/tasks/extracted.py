"""What the tests of extractors share: looking at an extraction, and changing a part of a zip container."""

import zipfile
from collections.abc import Callable
from pathlib import Path

from pincite.schemas.records import Extraction


def check_offsets(extraction: Extraction) -> None:
    """Blocks lie in order, apart by a blank line, on the whole text; places lie inside it, in order."""
    text = extraction.text
    assert "\n\n".join(text[block.start : block.end] for block in extraction.blocks) == text
    for block in extraction.blocks:
        assert text[block.start : block.end].strip() == text[block.start : block.end]
        if block.kind == "heading":
            assert text[block.start : block.end] == "#" * min(block.level, 6) + " " + block.title
        if block.repeat:
            assert block.repeat in text[block.start : block.end]
    starts = [(place.start, place.end) for place in extraction.places]
    assert starts == sorted(starts)
    assert all(0 <= place.start < place.end <= len(text) for place in extraction.places)


def codes(extraction: Extraction) -> list[str]:
    return [warning.code for warning in extraction.warnings]


def message(extraction: Extraction, code: str) -> str:
    """The message of the one warning with this code."""
    (found,) = [warning.message for warning in extraction.warnings if warning.code == code]
    return found


def places(extraction: Extraction) -> dict[str, str]:
    """The text on each place, by its label."""
    return {place.label: extraction.text[place.start : place.end] for place in extraction.places}


def rewrite_part(path: Path, name: str, change: Callable[[str], str]) -> None:
    """Writes the container anew with one part changed or added."""
    with zipfile.ZipFile(path) as archive:
        parts = {entry: archive.read(entry) for entry in archive.namelist()}
    parts[name] = change(parts.get(name, b"").decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, data in parts.items():
            archive.writestr(entry, data)
