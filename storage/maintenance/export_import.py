"""Exchange: a whole index as one file, and one version as plain Parquet.

The file is a tar archive: a manifest with the sha256 of every other member, the ledger, and the segments that it
names. What can be derived (the search cache) and what belongs to one machine (Prefect's database) is not in it.
"""

import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, cast

import pyarrow as pa
import pyarrow.parquet as pq
import sqlalchemy as sa

from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBroken, PinciteError, UsageError
from pincite.schemas.file_mode import umask
from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.sqlite import connect
from pincite.storage.ledger.versions import oldest_version
from pincite.storage.objects.digest import sha256_of
from pincite.storage.objects.disk_errors import writable
from pincite.storage.queries.sql import query
from pincite.storage.segments.places import Places
from pincite.storage.segments.segment import FOLDER, REMEDY, missing
from pincite.storage.snapshots.index import LEDGER_FILE, Index

MANIFEST = "pincite-export.json"
FORMAT = 1
_ROW_GROUP = 20_000
_BLOCK_BYTES = 1 << 20
_MOST_MANIFEST_BYTES = 64 << 20  # some 100 bytes a segment


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What an archive holds."""

    version: int
    segments: int
    size_bytes: int  # of ledger and segments


def export_index(index: Index, target: Path) -> Exchanged:
    """Writes the whole index, all its versions, to one file, while runs go on. Raises `UsageError` when it exists.

    The ledger is copied as of one moment, and a lease keeps every segment that it names.
    """
    if target.exists():
        raise UsageError(f"{target} exists: choose another name, or remove it")
    with (
        writable(target),
        index.hold(oldest_version),
        tempfile.TemporaryDirectory(prefix=".pincite-export-", dir=target.absolute().parent) as folder,
    ):
        copied = Path(folder) / LEDGER_FILE
        transactions.copy_to(index.engine, copied)
        version, segments = _named_by(copied)
        draft = Path(folder) / "draft"
        size = _write_archive(index.places, draft, copied, version, segments)
        os.replace(draft, target)
    return Exchanged(version, len(segments), size)


def _named_by(copied: Path) -> tuple[int, Mapping[str, str]]:
    """(newest version, sha256 of each segment file) of a ledger."""
    engine = connect(copied)
    try:
        with transactions.reading(engine) as connection:
            rows = connection.execute(
                sa.select(schema.segments.c.file, schema.segments.c.sha256).order_by(schema.segments.c.file)
            )
            return schema.current_version(connection), {row.file: row.sha256 for row in rows}
    finally:
        engine.dispose()


def _write_archive(
    places: Places, draft: Path, copied: Path, version: int, segments: Mapping[str, str]
) -> int:
    of_ledger = sha256_of(copied)
    manifest = {
        "format": FORMAT,
        "version": version,
        "made_at": time.time(),
        "sha256": {LEDGER_FILE: of_ledger, **segments},
    }
    content = json.dumps(manifest, indent=1).encode()
    with draft.open("wb") as file:
        with tarfile.open(fileobj=file, mode="w|") as archive:
            _add(archive, MANIFEST, io.BytesIO(content), len(content))
            with pa.OSFile(str(copied), "rb") as ledger:
                size = _add_checked(archive, LEDGER_FILE, ledger, of_ledger)
            for name, digest in segments.items():
                try:
                    opened = places.objects.open(name)
                except FileNotFoundError as error:
                    raise missing(places, name) from error
                with opened:
                    size += _add_checked(archive, name, opened, digest)
        file.flush()
        os.fsync(file.fileno())
    return size


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _Hashing:
    """A file of which a block at a time is read, hashed on the way."""

    def __init__(self, file: _Readable) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        self.size += len(data)
        return data

    def sha256(self) -> str:
        return self._hash.hexdigest()


def _add(archive: tarfile.TarFile, name: str, file: _Readable, size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    archive.addfile(member, cast(IO[bytes], file))


def _add_checked(archive: tarfile.TarFile, name: str, file: pa.NativeFile, digest: str) -> int:
    """Adds a file and returns its bytes. Raises `IndexBroken` when it is not what the ledger says."""
    hashing, size = _Hashing(file), int(file.size())
    _add(archive, name, hashing, size)
    if hashing.sha256() != digest:
        raise IndexBroken(f"{name} is not what was written: {REMEDY}")
    return size


def import_index(source: Path, target: Path) -> Exchanged:
    """Makes an index folder of an archive: whole, or not at all.

    Raises `UsageError` when there is something at `target`, and for an archive that is cut off, changed or foreign.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"there is something at {target}: import into a folder that is not there yet")
    parent = target.absolute().parent
    with writable(target):
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".pincite-import-", dir=parent))
    try:
        with _refusing(source), tarfile.open(source, "r|*") as archive:
            manifest, size = _unpack(archive, folder)
        version, segments = _named_by(folder / LEDGER_FILE)
        lacking = sorted(set(segments) - set(manifest))
        if lacking:
            raise UsageError(f"{source} has no {lacking[0]}, which its ledger names: nothing was imported")
        with writable(target):
            os.replace(folder, target)
    except BaseException:
        _remove(folder)
        raise
    return Exchanged(version, len(segments), size)


@contextmanager
def _refusing(source: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise UsageError(f"no such file: {source}") from error
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{source} is no whole export of Pincite ({error}): nothing was imported") from error


def _unpack(archive: tarfile.TarFile, folder: Path) -> tuple[Mapping[str, str], int]:
    """(sha256 by member, bytes). Each member is compared with the manifest, which comes first."""
    first = archive.next()
    if first is None or first.name != MANIFEST:
        raise ValueError("its manifest does not come first")
    if first.size > _MOST_MANIFEST_BYTES:
        raise ValueError("its manifest is too large for one")
    sink = io.BytesIO()
    _copy(archive, first, sink)
    manifest = json.loads(sink.getvalue())
    if manifest["format"] != FORMAT:
        raise ValueError(f"it is of format {manifest['format']}, this Pincite reads {FORMAT}")
    wanted: dict[str, str] = manifest["sha256"]
    left, size = dict(wanted), 0
    while (member := archive.next()) is not None:
        path, expected = folder / _safe(member.name), left.pop(member.name, "")
        if not expected:  # before it takes room
            raise ValueError(f"{member.name} is not what was exported")
        with writable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                digest = _copy(archive, member, file)
                file.flush()
                os.fsync(file.fileno())
        if digest != expected:
            raise ValueError(f"{member.name} is not what was exported")
        size += member.size
    if left:
        raise ValueError(f"{min(left)} is missing, and {counted(len(left) - 1, 'member')} more")
    return wanted, size


def _copy(archive: tarfile.TarFile, member: tarfile.TarInfo, target: IO[bytes]) -> str:
    """Copies a member, a block at a time, and returns its sha256."""
    content = archive.extractfile(member)
    if content is None:
        raise ValueError(f"{member.name} is no file")
    hashing = _Hashing(content)
    shutil.copyfileobj(hashing, target, _BLOCK_BYTES)
    if hashing.size != member.size:
        raise ValueError(f"{member.name} is cut off")
    return hashing.sha256()


def _safe(name: str) -> str:
    """The name of a member that may be written. Raises `ValueError` for any other."""
    parts = PurePosixPath(name).parts
    of_segment = len(parts) == 3 and parts[0] == FOLDER and parts[1] in SEGMENT_SCHEMAS and ".." not in parts
    if name != LEDGER_FILE and not of_segment:
        raise ValueError(f"{name!r} is no part of an index")
    return name


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def export_parquet(index: Index, target: Path, version: int | None = None) -> dict[str, int]:
    """Writes the live rows of a version as plain Parquet, a file a table, and returns the rows by table.

    `documents` has those of the view of that name. Raises `UsageError` when there is something at `target`.
    """
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"there is something at {target}: export into a folder that is not there yet")
    counts: dict[str, int] = {}
    with writable(target):
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".pincite-export-", dir=target.absolute().parent))
    try:
        with writable(target), index.held_snapshot(version) as snapshot:
            documents = query(index, "FROM documents ORDER BY path", snapshot.version)
            pq.write_table(documents, draft / "documents.parquet", compression="zstd")
            counts["documents"] = documents.num_rows
            for kind, schema in SEGMENT_SCHEMAS.items():
                counts[kind] = 0
                with pq.ParquetWriter(draft / f"{kind}.parquet", schema, compression="zstd") as writer:
                    for segment in snapshot.of_kind(kind):
                        rows = snapshot.rows(segment).cast(schema)
                        writer.write_table(rows, row_group_size=_ROW_GROUP)
                        counts[kind] += rows.num_rows
            os.chmod(draft, 0o777 & ~umask())
            os.replace(draft, target)
    except (PinciteError, OSError):
        _remove(draft)
        raise
    return counts
