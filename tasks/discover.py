"""Discover: which files a source holds, by name, state of the file and content hash."""

import os
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from schemas.errors import SourceError
from schemas.records import Counts, Policy, Registered, SourceFile
from storage.index import Index
from storage.register import is_idle, known_files, register
from storage.runs import Run, begin_run, finish_run
from storage.segments import sha256_of

FRESH_S = 1.0
"""A file changed this shortly before it was hashed may change again within the clock tick of its file system:
its change time is not recorded, so that the next run reads it again (the "racy" rule of Git's index)."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a source, sorted by path, not yet read."""

    files: tuple[SourceFile, ...]


def source_root(source: Path) -> Path:
    """The absolute folder. Raises `SourceError` unless it is one that can be listed."""
    if not source.exists():
        raise SourceError(f"no such folder: {source}. Nothing was changed in the index")
    if not source.is_dir():
        raise SourceError(f"{source} is a file: name the folder that holds it")
    return source.resolve()


def list_files(root: Path, excluded: Path | None = None) -> tuple[SourceFile, ...]:
    """All files below `root` without hidden ones and `excluded`, sorted by path, not hashed.

    Links are followed; a folder is entered once on each way down, so a loop of links ends. What is no
    regular file or can't be reached is listed with the reason in `unreadable`. Raises `SourceError` when a
    folder can't be listed: files that are merely out of sight must not look deleted.
    """
    return tuple(sorted(_walk(root, "", (), excluded), key=lambda file: file.path))


def _walk(
    folder: Path, prefix: str, above: tuple[tuple[int, int], ...], excluded: Path | None
) -> Iterator[SourceFile]:
    info = folder.stat()
    identity = (info.st_dev, info.st_ino)
    if identity in above or (excluded is not None and folder.resolve() == excluded):
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        raise SourceError(
            f"can't list {folder}: {error.strerror}. Nothing was changed in the index; mend that and run again"
        ) from error
    for name in names:
        path = folder / name
        if path.is_dir():
            yield from _walk(path, f"{prefix}{name}/", (*above, identity), excluded)
        else:
            yield _file(path, prefix + name)


def _file(path: Path, relative: str) -> SourceFile:
    try:
        relative.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(relative).decode("utf-8", "backslashreplace")
        return SourceFile(shown, "", 0, 0, 0, "", unreadable="its name is not UTF-8: rename it")
    try:
        info = path.stat()
    except OSError as error:
        return SourceFile(relative, str(path), 0, 0, 0, "", unreadable=f"can't be reached: {error.strerror}")
    if not stat.S_ISREG(info.st_mode):
        return SourceFile(relative, str(path), 0, 0, 0, "", unreadable="is no regular file")
    return SourceFile(relative, str(path), info.st_size, info.st_mtime_ns, info.st_ctime_ns, "")


def read_hashes(files: tuple[SourceFile, ...], known: Mapping[str, SourceFile]) -> tuple[SourceFile, ...]:
    """The files with their content hash; one that `known` has with the same size and times is not read."""
    return tuple(file if file.unreadable else _hashed(file, known.get(file.path)) for file in files)


def _hashed(file: SourceFile, known: SourceFile | None) -> SourceFile:
    if known is not None and known.sha256 and _times(known) == _times(file):
        return replace(file, sha256=known.sha256)
    try:
        before = time.time()
        digest = sha256_of(Path(file.absolute))
    except OSError as error:
        return replace(file, unreadable=f"can't be read: {error.strerror}")
    settled = file.ctime_ns < (before - FRESH_S) * 1e9
    return replace(file, sha256=digest, ctime_ns=file.ctime_ns if settled else 0)


def _times(file: SourceFile) -> tuple[int, int, int]:
    return file.size_bytes, file.mtime_ns, file.ctime_ns


def discover(run: Run, policy: Policy) -> Registered:
    """Lists and hashes the run's source and writes what is to be done into the ledger."""
    listed = list_files(Path(run.source), run.index.path.resolve())
    return register(run, read_hashes(listed, known_files(run.index, run.source)), policy)


def settle_if_idle(index: Index, root: Path, policy: Policy) -> Counts | None:
    """Records a run over a source in which nothing is to be done; None when there is work.

    This spares a nightly run without changes the start of a Prefect server.
    """
    known = known_files(index, str(root))
    listed = list_files(root, index.path.resolve())
    if {path: file.size_bytes for path, file in known.items()} != {
        file.path: file.size_bytes for file in listed
    }:
        return None
    if not is_idle(index, str(root), read_hashes(listed, known), policy):
        return None
    with begin_run(index, "reindex", str(root)) as run:
        if discover(run, policy).pending:
            raise SourceError(f"{root} changed while it was looked at: run again")
        return finish_run(run)
