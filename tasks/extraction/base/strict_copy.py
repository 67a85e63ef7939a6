"""A Strict Open XML package under the everyday namespaces (ISO/IEC 29500-1 against part 4): the same elements,
other addresses. Readers know only the everyday ones."""

import re
import zipfile
from pathlib import Path

_STRICT = re.compile(
    rb"http://purl\.oclc\.org/ooxml/(wordprocessingml|spreadsheetml|presentationml|drawingml|officeDocument)/(\w+)(?:/(\w+))?"
)
_RENAMED = {
    b"extendedProperties": b"extended-properties", b"customProperties": b"custom-properties",
}  # fmt: skip
_TEXT = (".xml", ".rels", ".vml")


def write_transitional(archive: zipfile.ZipFile, target: Path) -> None:
    """Writes the package to `target`, each address replaced."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in archive.infolist():
            data = archive.read(entry)
            if entry.filename.lower().endswith(_TEXT):
                data = _STRICT.sub(_everyday, data)
            copy.writestr(entry.filename, data)


def _everyday(match: re.Match[bytes]) -> bytes:
    room, name, rest = match.groups()
    address = b"http://schemas.openxmlformats.org/" + room + b"/2006/" + _RENAMED.get(name, name)
    return address + (b"/" + _RENAMED.get(rest, rest) if rest else b"")
