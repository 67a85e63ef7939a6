"""Fetched objects: what a run downloaded to hash it, kept in INDEX/fetched until its documents are extracted.

So each object is downloaded once. The folder goes with the run; what a kill leaves of it the next run removes.
"""

import logging
import os
import shutil
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO

FOLDER = "fetched"
_LONGEST_SUFFIX = 32  # a format's suffix is shorter, and file systems bound names

_logger = logging.getLogger(__name__)


def suffix_of(path: str) -> str:
    """The suffix of an object's name, by which its format is judged; "" when it is too long for one."""
    suffix = PurePosixPath(path).suffix
    return suffix if len(suffix) <= _LONGEST_SUFFIX else ""


def fetched_file(own: Path, sha256: str, path: str) -> Path:
    """Where the bytes of an object lie, if they are kept."""
    return own / FOLDER / f"{sha256}{suffix_of(path)}"


def drop_fetched(own: Path) -> None:
    """Removes what is kept. Only under the lock."""
    shutil.rmtree(own / FOLDER, ignore_errors=True)  # what can't be removed now the next run tries again


class Fetching:
    """What one run keeps: at most half of the space that was free when it began. Threads may share it."""

    def __init__(self, own: Path) -> None:
        self._own = own
        self._lock = threading.Lock()
        self._left = shutil.disk_usage(own).free // 2

    @contextmanager
    def draft(self, size_bytes: int) -> Iterator["Draft | None"]:
        """A file to write an object to while it is hashed; None where there is no room: it is downloaded again."""
        with self._lock:
            fits = size_bytes <= self._left
            self._left -= size_bytes if fits else 0
        draft = Draft(self._own) if fits else None
        try:
            yield draft
        finally:
            if draft is not None:
                draft.close()


class Draft:
    """One object that is being written. Where the disk refuses it, it is given up and downloaded again."""

    def __init__(self, own: Path) -> None:
        self._own = own
        self._path = own / FOLDER / f".{uuid.uuid4().hex}.tmp"
        self._file: IO[bytes] | None = None
        with self._giving_up():
            self._path.parent.mkdir(exist_ok=True)
            self._file = self._path.open("xb")

    def write(self, block: bytes) -> None:
        with self._giving_up():
            if self._file:
                self._file.write(block)

    def keep(self, sha256: str, path: str) -> None:
        """Gives it its name, now that it is whole."""
        with self._giving_up():
            if self._file:
                self._file.flush()
                os.replace(self._path, fetched_file(self._own, sha256, path))

    def close(self) -> None:
        if self._file:
            self._file.close()
        with suppress(OSError):  # it may never have come to be
            self._path.unlink()

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            _logger.warning(
                "an object can't be kept in %s and is downloaded twice: %s", self._path.parent, error
            )
            file, self._file = self._file, None
            if file:
                with suppress(OSError):  # what it still holds has no room either
                    file.close()
