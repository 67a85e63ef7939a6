"""Originals: the file that a document was made from, read again to show its pages, if it is still the same one.

An object of a bucket is downloaded, and kept for a while: a person turns pages to and fro.
"""

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakValueDictionary

from pincite.schemas.errors import DocumentError, UsageError
from pincite.schemas.settings import Settings
from pincite.storage.documents.live import live_revisions
from pincite.storage.objects.digest import sha256_of
from pincite.storage.objects.download_cache import suffix_of
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument
from pincite.tasks.sources.bucket import download, is_url
from pincite.tasks.sources.regular_file import NotReadable, digest_of, opened

KEPT_S = 120.0
KEPT_BYTES = 256 << 20  # of objects, while none of them is looked at; the one at hand may be larger
CHANGED = "the file has changed since it was indexed"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the file of a document is, and which bytes it had when it was indexed."""

    document_id: str
    source: str
    path: str
    sha256: str

    @classmethod
    def of(cls, document: LiveDocument) -> "Origin":
        return cls(document.document_id, document.source, document.path, document.source_sha256)


@contextmanager
def original(origin: Origin, settings: Settings) -> Iterator[tuple[Path, str]]:
    """(a file of this machine with the bytes that were indexed, why there is none or "").

    A server calls `keep_live_objects` after each use: the document may have been forgotten meanwhile.
    """
    if is_url(origin.source):
        with _objects.at_hand(origin, settings.limits.source_bytes) as found:
            yield found
        return
    file = Path(origin.source, origin.path)
    yield file, _why_not(file, origin.sha256, settings)


def _why_not(file: Path, sha256: str, settings: Settings) -> str:
    try:
        with opened(file, settings.limits.source_bytes) as descriptor:
            return "" if digest_of(descriptor, settings.limits) == sha256 else CHANGED
    except NotReadable:
        return "it is no longer a file that could be indexed"
    except OSError as error:
        return f"the file can't be read ({error.strerror})"


@dataclass
class _Object:
    folder: "tempfile.TemporaryDirectory[str]"
    path: Path
    size_bytes: int
    until: float  # monotonic
    users: int = 0
    gone: bool = False  # no document is made of it any more: its last user deletes it


@dataclass
class _Objects:
    """Downloaded objects. Threads share it; each object is downloaded by one at a time."""

    _kept: dict[Origin, _Object] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _turns: WeakValueDictionary[Origin, threading.Lock] = field(default_factory=WeakValueDictionary)

    @contextmanager
    def at_hand(self, origin: Origin, most_bytes: int) -> Iterator[tuple[Path, str]]:
        missing = ""
        with self._lock:
            self._sweep()
            turn = self._turns.setdefault(origin, threading.Lock())
        with turn:  # a slow object keeps nobody from the others
            one = self._taken(origin)
            if one is None:
                found, missing = _downloaded(origin, most_bytes)
                one = self._taken(origin, found)
        if one is None:
            yield Path(origin.path), missing
            return
        try:
            yield one.path, ""
        finally:
            with self._lock:
                one.users -= 1
                if one.gone and not one.users:
                    self._delete(origin)

    def _taken(self, origin: Origin, found: _Object | None = None) -> _Object | None:
        """The object that is kept, or the one that was just found, with one user more."""
        with self._lock:
            if found is not None:
                self._kept[origin] = found
            one = self._kept.get(origin)
            if one is not None:
                one.users += 1
            return one

    def keep_live(self, index: Index) -> None:
        """Deletes the objects of documents that are not live any more; what is in use, when it no longer is."""
        with self._lock:
            asked = set(self._kept)
        if not asked:
            return
        found = live_revisions(index, {origin.document_id for origin in asked})
        live = {(document_id, sha256) for document_id, _, sha256 in found}
        with self._lock:
            for origin, one in list(self._kept.items()):
                if origin in asked and (origin.document_id, origin.sha256) not in live:
                    one.gone = True
                    if not one.users:
                        self._delete(origin)

    def _sweep(self) -> None:
        """Deletes what is kept too long, or too much, and looked at by nobody; the oldest first."""
        now, total = time.monotonic(), sum(one.size_bytes for one in self._kept.values())
        for origin, one in list(self._kept.items()):
            if not one.users and (one.until < now or total > KEPT_BYTES):
                total -= one.size_bytes
                self._delete(origin)

    def _delete(self, origin: Origin) -> None:
        self._kept.pop(origin).folder.cleanup()


_objects = _Objects()


def keep_live_objects(index: Index) -> None:
    """Deletes what was downloaded to be looked at, where no document is made of it any more."""
    _objects.keep_live(index)


def _downloaded(origin: Origin, most_bytes: int) -> tuple[_Object | None, str]:
    folder = tempfile.TemporaryDirectory(prefix="original-")
    file = Path(folder.name, f"object{suffix_of(origin.path)}")
    try:
        download(origin.source, origin.path, file, most_bytes)
    except (DocumentError, UsageError) as error:
        missing = str(error)
    except OSError as error:
        missing = f"the object can't be kept here ({error.strerror})"
    else:
        missing = "" if sha256_of(file) == origin.sha256 else CHANGED
    if missing:
        folder.cleanup()
        return None, missing
    return _Object(folder, file, os.stat(file).st_size, time.monotonic() + KEPT_S), ""
