"""Archives (.zip): each file in them is a section, on a place that names it."""

import zipfile
import zlib
from pathlib import Path, PurePosixPath

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import TextBuilder
from pincite.tasks.extraction.base.zip_container import check_sizes
from pincite.tasks.extraction.members import Members

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError)
_NOISE = {"__MACOSX", "Thumbs.db", "desktop.ini"}


def extract_zip(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """What the files say, in the order of their names. Raises `Encrypted`, `LimitExceeded` or `Unreadable`."""
    builder = TextBuilder()
    members = Members(settings, progress)
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise Unreadable(f"not a readable ZIP archive ({error}): it is damaged or cut off") from error
    with archive:
        check_sizes(archive, settings.limits)
        for entry in sorted(archive.infolist(), key=lambda entry: entry.filename):
            if not entry.is_dir() and not _is_noise(entry.filename):
                try:
                    reason = members.read(builder, entry.filename, archive.read(entry))
                except _DAMAGE as error:
                    reason = f"damaged: {error}"
                if reason:
                    builder.name("not-followed", "files that are not read", f"{entry.filename} ({reason})")
    return builder.extraction("", "application/zip")


def _is_noise(name: str) -> bool:
    """What systems put beside files: names that begin with a dot, and their like."""
    return any(part in _NOISE or part.startswith((".", "~$")) for part in PurePosixPath(name).parts)
