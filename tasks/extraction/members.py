"""Files inside a document: attachments of mail and members of archives, each read by the extractor of its format.

They become sections of the document that holds them, on a place that names them. A document of its own for each
would need a parent in the ledger; until then a citation leads to the message or the archive, and names the file.
"""

import posixpath
import re
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from pincite.schemas.errors import DocumentError, LimitExceeded
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.text_builder import TextBuilder
from pincite.tasks.extraction.extract import extract

MOST_DEEP = 4  # files within files within files
MOST_FILES = 2_000
_UNSAFE = re.compile(r"[^\w.-]+")

_depth = 0


class Members:
    """Reads the files of one document into its builder; keeps count of their bytes."""

    def __init__(self, settings: Settings, progress: Callable[[int], None]) -> None:
        self._settings = settings
        self._progress = progress
        self._bytes = 0
        self._files = 0

    def read(self, builder: TextBuilder, name: str, data: bytes) -> str:
        """Appends what `data` holds under its name; returns why not, "" when it was read."""
        self._files += 1
        self._bytes += len(data)
        if self._files > MOST_FILES:
            return f"over {MOST_FILES:,} files in one document"
        if self._bytes > self._settings.limits.inflated_bytes:
            raise LimitExceeded(
                f"the files inside come to more than {self._settings.limits.inflated_bytes:,} bytes: "
                "raise limits.inflated_bytes if the file is trusted"
            )
        self._progress(self._files)
        return self._read(builder, name, data)

    def _read(self, builder: TextBuilder, name: str, data: bytes) -> str:
        global _depth  # noqa: PLW0603  # a member that holds members comes back here through the registry
        if _depth >= MOST_DEEP:
            return f"files within files, more than {MOST_DEEP} deep"
        _depth += 1
        try:
            with tempfile.TemporaryDirectory(prefix="pincite-member-") as folder:
                path = Path(folder) / _file_name(name)
                path.write_bytes(data)
                extraction = extract(path, self._settings, lambda page: None)
        except DocumentError as error:
            return error.message.partition(". Formats that are read")[0]
        finally:
            _depth -= 1
        builder.member(name, extraction)
        return ""


def _file_name(name: str) -> str:
    """A name that is safe in a folder and keeps its suffix."""
    path = PurePosixPath(posixpath.basename(name.replace("\\", "/")) or "unnamed")
    suffix = _UNSAFE.sub("", path.suffix)[:12]
    return (_UNSAFE.sub("_", path.stem)[:60] or "unnamed") + suffix
