"""Stamps: the version that each extractor writes on what it reads, told without an import of its parsers."""

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from pincite.schemas.errors import OcrUnavailable
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.ocr import installed
from pincite.tasks.extraction.office import libreoffice
from pincite.tasks.extraction.registry import Format, formats
from pincite.tasks.extraction.user_extractors import version_of


def current_version(extractor: str) -> str | None:
    """What an extractor, a key of `formats()`, stamps now; None for one that can't run here."""
    try:
        return version_of_format(formats()[extractor])
    except OcrUnavailable:
        return None


def version_of_format(row: Format) -> str:
    """Its version with the releases of the parsers that it names. Raises `OcrUnavailable`."""
    return row.version.format_map(_Releases())


@functools.cache
def extractors_digest() -> str:
    """Digest of what all extractors stamp and of their parsers' releases: another makes a failed document worth an
    attempt.
    """
    rows = formats()
    stamps = {key: current_version(key) for key in rows}
    parsers = {parser: _release(parser) for row in rows.values() for parser in row.parsers}
    return hashlib.sha256(json.dumps([stamps, parsers], sort_keys=True).encode()).hexdigest()[:16]


class _Releases(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return _SPECIAL[name]() if name in _SPECIAL else importlib.metadata.version(name)


def _release(parser: str) -> str:
    """Of a parser that need not be here."""
    try:
        return _Releases()[parser]
    except (OcrUnavailable, importlib.metadata.PackageNotFoundError):
        return ""


def _pdfium() -> str:
    """The build of PDFium within pypdfium2, which stands beside the library; its import maps the library itself."""
    spec = importlib.util.find_spec("pypdfium2_raw")
    assert spec is not None and spec.origin is not None, "pypdfium2 is a dependency"
    facts = json.loads(Path(spec.origin).with_name("version.json").read_text(encoding="utf-8"))
    return str(facts["build"])


_SPECIAL: Mapping[str, Callable[[], str]] = {
    "pdfium": _pdfium,
    "tesseract": installed.version,
    "libreoffice": libreoffice.stamp,
}
"""Releases that are not those of a package of their name."""


def own_versions(settings: Settings) -> Mapping[str, str]:
    """Suffix to what the extractor that the settings name for it stamps now; "" where it can't be told."""
    return {suffix: _own_version(address, settings.folder) for suffix, address in settings.extractors.items()}


def _own_version(address: str, folder: str) -> str:
    if ":" in address:
        return version_of(address, folder)
    return (current_version(address) or "") if address in formats() else ""
