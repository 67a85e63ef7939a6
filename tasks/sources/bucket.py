"""A bucket, or any other store that fsspec reaches by a URL, as a source.

A store's own word for a version, the ETag, tells whether an object changed; where it has none, size and time of the
last change do. Only what differs is downloaded, 1 MiB at a time, hashed on the way, and kept until the child process
that extracts it has read it (`download_cache`); what was not kept is downloaded again by a child that has the keys
and parses nothing (`tasks.steps.fetch`). Credentials are those that the store's own tools use (environment,
`~/.aws`); they are neither settings of ours nor part of the URL.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pincite.schemas.errors import DocumentError, SourceChanged, SourceError, SourceUnavailable, UsageError
from pincite.schemas.plugins import SOURCES, installed
from pincite.schemas.records import Job, SourceFile
from pincite.storage.objects.download_cache import Fetching
from pincite.tasks.sources.folder import unreadable
from pincite.tasks.sources.interface import opened_by_plugin
from pincite.tasks.sources.left_out import is_left_out
from pincite.tasks.sources.patterns import Patterns

BLOCK_BYTES = 1 << 20
FRESH_S = 2.0  # as in `tasks.folder`; the times of stores have whole seconds
_FLAT = {
    "s3",
    "s3a",
    "gs",
    "gcs",
    "abfs",
    "abfss",
    "az",
}  # list all below a prefix at once, and tell each error
_ETAGS = ("ETag", "etag", "md5Hash", "content_md5")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "created")
_PATIENCE: Mapping[str, Mapping[str, Any]] = {
    "s3": {"config_kwargs": {"connect_timeout": 10, "read_timeout": 60}},
}


def is_url(address: str) -> bool:
    """Whether a source is named by a URL; anything else is a folder."""
    return "://" in address


def require_url(url: str) -> str:
    """The URL as the ledger shall name it. Raises `UsageError` for one that is no source."""
    protocol, _, rest = url.partition("://")
    if protocol in ("http", "https"):
        named = f"{protocol}://{rest[rest.rfind('@', 0, (rest + '/').find('/')) + 1 :]}"  # a password is not shown
        raise UsageError(
            f"{named}: a web server can't list its files. Name a folder or a bucket (s3://bucket/prefix)"
        )
    if "@" in rest.split("/")[0]:
        raise UsageError(
            f"{protocol}://…: credentials do not belong into the address, which is stored and shown: set them in the "
            "environment (for S3: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
        )
    if "::" in url or not rest.strip("/"):
        raise UsageError(f"{url} names no place: write it as s3://bucket/prefix")
    return f"{protocol}://{rest.rstrip('/')}"


@dataclass(frozen=True, slots=True)
class Bucket:
    """What lies below a URL, with what of it is to be indexed."""

    address: str  # as `require_url` returned it
    patterns: Patterns
    source_bytes: int  # a larger object is not downloaded
    fetching: Fetching | None = None  # keeps what is downloaded; None keeps nothing

    def list_files(self) -> tuple[SourceFile, ...]:
        """All objects below the URL, sorted by path, not hashed; without those of `left_out`.

        Raises `SourceError` when they can't all be listed.
        """
        system, root = _reach(self.address)
        try:
            found = _listed(system, root)
        except Exception as error:  # each store has exceptions of its own: they are the reason
            raise SourceError(
                f"can't list {self.address}: {_words(error)}. Nothing was changed in the index; mend that and run "
                "again"
            ) from error
        prefix = root.rstrip("/") + "/"
        files = (
            self._file(name.removeprefix(prefix), info) for name, info in found.items() if name != prefix
        )
        return tuple(sorted((file for file in files if file is not None), key=lambda file: file.path))

    def _file(self, path: str, info: Mapping[str, Any]) -> SourceFile | None:
        hidden = any(map(is_left_out, path.split("/")))
        folder_mark = path.endswith("/") and not info["size"]
        if hidden or folder_mark or not self.patterns.admit(path):
            return None
        if path.endswith("/"):
            return unreadable(path, "its name ends with a slash: rename it")
        changed_ns = _time_ns(info)
        size = info["size"] or 0
        file = SourceFile(path, f"{self.address}/{path}", size, changed_ns, changed_ns, "", etag=_etag(info))
        if size > self.source_bytes:
            limit = (
                f"is {size / 2**20:.0f} MiB, over limits.source_bytes ({self.source_bytes / 2**20:.0f} MiB)"
            )
            return replace(file, unreadable=f"{limit}: it was not downloaded")
        return file

    def hashed(self, file: SourceFile) -> SourceFile:
        """The object with the hash of its bytes, or with the reason why it can't be read."""
        before = time.time()
        digest = hashlib.sha256()
        keeping = self.fetching.draft(file.size_bytes) if self.fetching else nullcontext()
        try:
            with keeping as draft:
                for block in _blocks(self.address, file.path, file.size_bytes):
                    digest.update(block)
                    if draft:
                        draft.write(block)
                if draft:
                    draft.keep(digest.hexdigest(), file.path)
        except DocumentError as error:
            return replace(file, unreadable=error.message)
        settled = bool(file.etag) or file.ctime_ns < (before - FRESH_S) * 1e9
        return replace(file, sha256=digest.hexdigest(), ctime_ns=file.ctime_ns if settled else 0)


def fetch_object(job: Job, into: Path) -> None:
    """Writes the object of a document into a file. Raises `SourceUnavailable` or `SourceChanged`."""
    with into.open("wb") as file:
        for block in _blocks(job.source, job.path, job.size_bytes):
            file.write(block)


def download(address: str, path: str, into: Path, most_bytes: int) -> None:
    """Writes an object into a file, as it is now. Raises `SourceUnavailable`, `SourceChanged` for a larger one."""
    read = 0
    with into.open("wb") as file:
        for block in _blocks(address, path):
            read += len(block)
            if read > most_bytes:
                raise SourceChanged(f"the object is larger than {most_bytes:,} bytes")
            file.write(block)


def _blocks(address: str, path: str, size_bytes: int | None = None) -> Iterator[bytes]:
    """The bytes of an object, which must be as many as were listed, if that is told."""
    system, root = _reach(address)
    read = 0
    try:
        with system.open(
            f"{root.rstrip('/')}/{path}", "rb", block_size=BLOCK_BYTES, cache_type="readahead"
        ) as file:
            while block := file.read(BLOCK_BYTES):
                read += len(block)
                if size_bytes is not None and read > size_bytes:
                    break
                yield block
    except FileNotFoundError as error:
        raise SourceChanged("the object vanished before it was read. Run again") from error
    except Exception as error:  # each store has exceptions of its own: they are the reason
        raise SourceUnavailable(f"the object can't be downloaded: {_words(error)}. Run again") from error
    if size_bytes not in (None, read):
        raise SourceChanged("the object changed after it was listed. Run again when it is at rest")


def _reach(address: str) -> tuple[Any, str]:
    """fsspec's file system for a URL and the path in it, without its caches. Raises `UsageError`."""
    import fsspec  # here, so that who reads folders need not load it

    protocol = address.partition("://")[0]
    if protocol in installed(SOURCES):
        return opened_by_plugin(protocol, address)
    try:
        system, root = fsspec.core.url_to_fs(address, use_listings_cache=False, **_PATIENCE.get(protocol, {}))
    except ImportError as error:
        extra = ' (`pip install "pincite[s3]"`, or s3fs)' if protocol in ("s3", "s3a") else ""
        raise UsageError(f"{address} can't be reached: {error}{extra}") from error
    except ValueError as error:
        raise UsageError(f"{address} can't be reached: {error}") from error
    return system, root


def _listed(system: Any, root: str) -> dict[str, Mapping[str, Any]]:
    """Every object by its whole name. A store of folders is walked: fsspec's `find` leaves out what it can't list."""
    protocols = {system.protocol} if isinstance(system.protocol, str) else set(system.protocol)
    if protocols & _FLAT:
        found = system.find(root, detail=True)
        return {name: info for name, info in found.items() if name != root}
    everything: dict[str, Mapping[str, Any]] = {}
    for folder, _, files in system.walk(root, detail=True, on_error="raise"):
        everything |= {f"{folder.rstrip('/')}/{name}": info for name, info in files.items()}
    return everything


def _etag(info: Mapping[str, Any]) -> str:
    return next((str(info[name]).strip('"') for name in _ETAGS if info.get(name)), "")


def _time_ns(info: Mapping[str, Any]) -> int:
    """When the object was last changed, 0 where the store does not tell."""
    value = next((info[name] for name in _TIMES if info.get(name)), None)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return int(value.timestamp() * 1e9)
    return int(value * 1e9) if isinstance(value, int | float) else 0


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
