"""Discover: which files a source holds, by name, state of the file and content hash."""

import heapq
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from schemas.errors import IndexBusy, SourceError
from schemas.records import Counts, Policy, Registered, SourceFile
from storage.index import LEDGER_FILE, Index
from storage.lock import LOCK_FILE, exclusive
from storage.register import is_idle, known_files, register
from storage.runs import Run, begin_run, finish_run
from storage.segments import sha256_of

FRESH_S = 1.0
"""A file changed this shortly before it was hashed may change again within the clock tick of its file system:
its change time is not recorded, so that the next run reads it again (the "racy" rule of Git's index)."""

Identity = tuple[int, int]  # device and inode


def source_root(source: Path, index: Path) -> Path:
    """The absolute folder. Raises `SourceError` unless it is one whose name can be stored, and not the index's."""
    try:
        info = source.stat()
    except FileNotFoundError as error:
        raise SourceError(f"no such folder: {source}. Nothing was changed in the index") from error
    except OSError as error:
        raise SourceError(
            f"can't reach {source}: {error.strerror}. Nothing was changed in the index"
        ) from error
    if not stat.S_ISDIR(info.st_mode):
        raise SourceError(f"{source} is a file: name the folder that holds it")
    root = source.resolve()
    if root == index.resolve():
        raise SourceError(f"{root} is the folder of the index itself: name the folder of the documents")
    if not _is_utf8(str(root)):
        raise SourceError(f"the name of the folder {str(root)!r} is not UTF-8: rename it")
    return root


def list_files(root: Path, excluded: Path | None = None) -> tuple[SourceFile, ...]:
    """All files below `root` without hidden ones and `excluded`, sorted by path, not hashed.

    Links are followed, and each folder is entered once, under its own name if it has one below `root`: so a
    loop of links ends and none multiplies files. What is no regular file or can't be reached, or a folder that
    can't be listed ("name/"), is listed with the reason in `unreadable`. Raises `SourceError` when `root` itself
    can't be listed: files that are merely out of sight must not look deleted.
    """
    walk = _Walk(root, excluded)
    return tuple(sorted(walk.files(), key=lambda file: file.path))


class _Walk:
    """One way through a tree, without recursion: a path may have two thousand parts."""

    def __init__(self, root: Path, excluded: Path | None) -> None:
        self._folders = [("", str(root))]  # prefix of relative paths, and absolute path
        self._links: list[tuple[str, str]] = []  # to folders; a heap: entered when no folder is left, by name
        self._entered: set[Identity] = set()
        if excluded is not None and excluded.exists():
            self._entered.add(_identity(excluded.stat()))

    def files(self) -> Iterator[SourceFile]:
        while self._folders or self._links:
            prefix, folder = self._folders.pop() if self._folders else heapq.heappop(self._links)
            try:
                entries = self._enter(folder)
            except OSError as error:
                if not prefix:
                    raise SourceError(
                        f"can't list {folder}: {error.strerror}. Nothing was changed in the index; mend that and "
                        "run again"
                    ) from error
                yield _unreadable(prefix, f"the folder can't be listed: {error.strerror}")
                continue
            for entry in entries:
                if entry.is_symlink() and _leads_to_folder(entry, follow=True):
                    heapq.heappush(self._links, (f"{prefix}{entry.name}/", entry.path))
                elif _leads_to_folder(entry, follow=False):
                    self._folders.append((f"{prefix}{entry.name}/", entry.path))
                else:
                    yield _file(entry, prefix + entry.name)

    def _enter(self, folder: str) -> list[os.DirEntry[str]]:
        """The entries that are not hidden; none of a folder that was entered before, or of any index."""
        identity = _identity(os.stat(folder))
        if identity in self._entered:
            return []
        self._entered.add(identity)
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".")]
        of_an_index = {LEDGER_FILE, LOCK_FILE} <= {entry.name for entry in found}
        return [] if of_an_index else found


def _identity(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino


def _leads_to_folder(entry: os.DirEntry[str], follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False  # it is listed as a file, with the reason why it can't be reached


def _file(entry: os.DirEntry[str], relative: str) -> SourceFile:
    if not _is_utf8(relative):
        return _unreadable(relative, "its name is not UTF-8: rename it")
    try:
        info = entry.stat()
    except OSError as error:
        return _unreadable(relative, f"can't be reached: {error.strerror}")
    if not stat.S_ISREG(info.st_mode):
        return _unreadable(relative, "is no regular file")
    times = _as_int64(info.st_mtime_ns), _as_int64(info.st_ctime_ns)
    return SourceFile(relative, entry.path, info.st_size, *times, sha256="")


def _unreadable(relative: str, reason: str) -> SourceFile:
    return SourceFile(_storable_path(relative), "", 0, 0, 0, "", unreadable=reason)


def _storable_path(relative: str) -> str:
    """The path itself, or one that no other file can have: "./" and the name with its stray bytes escaped."""
    if _is_utf8(relative):
        return relative
    escaped = os.fsencode(relative).replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    return f"./{escaped}"


def _is_utf8(name: str) -> bool:
    return not any("\udc80" <= character <= "\udcff" for character in name)  # PEP 383


def _as_int64(time_ns: int) -> int:
    """A time as SQLite can store it; file systems have years past 2262."""
    return max(-(2**63), min(time_ns, 2**63 - 1))


def read_hashes(files: Iterable[SourceFile], known: Mapping[str, SourceFile]) -> tuple[SourceFile, ...]:
    """The files with their content hash; one that `known` has with the same size and times is not read."""
    return tuple(file if file.unreadable else _hashed(file, known.get(file.path)) for file in files)


def _hashed(file: SourceFile, known: SourceFile | None) -> SourceFile:
    if known is not None and known.sha256 and _times(known) == _times(file):
        return replace(file, sha256=known.sha256)
    before = time.time()
    try:
        digest = sha256_of(Path(file.absolute))
    except OSError as error:
        return replace(file, unreadable=f"can't be read: {error.strerror}")
    settled = file.ctime_ns < (before - FRESH_S) * 1e9
    return replace(file, sha256=digest, ctime_ns=file.ctime_ns if settled else 0)


def _times(file: SourceFile) -> tuple[int, int, int]:
    return file.size_bytes, file.mtime_ns, file.ctime_ns


def _out_of_sight(listed: Iterable[SourceFile], known: Iterable[str]) -> Iterator[SourceFile]:
    """Known documents below a folder that can't be listed, or behind a link that leads nowhere now."""
    closed = {file.path.rstrip("/"): file.unreadable for file in listed if file.unreadable}
    for path in known if closed else ():
        parts = path.split("/")
        above = next((a for n in range(1, len(parts)) if (a := "/".join(parts[:n])) in closed), None)
        if above is not None:
            yield _unreadable(path, f"{above}: {closed[above]}")


def look(index: Index, root: Path, known: Mapping[str, SourceFile]) -> tuple[SourceFile, ...]:
    """The files of a source with their hashes, and those that are known but out of sight."""
    listed = list_files(root, index.path)
    hidden = tuple(_out_of_sight(listed, known))
    return read_hashes(listed, known) + hidden


def discover(run: Run, policy: Policy) -> Registered:
    """Lists and hashes the run's source and writes what is to be done into the ledger."""
    return register(run, look(run.index, Path(run.source), known_files(run.index, run.source)), policy)


def settle_if_idle(index: Index, root: Path, policy: Policy) -> Counts | None:
    """Records a run over a source in which no document is to be read; None when one is.

    This spares a nightly run without changes the start of a Prefect server. Raises `IndexBusy` when another run
    holds the index, before a server is started in vain.
    """
    with exclusive(index.path):
        known = known_files(index, str(root))
    sizes = {file.size_bytes for file in known.values() if file.sha256}
    if any(file.size_bytes not in sizes for file in list_files(root, index.path) if not file.unreadable):
        return None  # surely new or changed: no need to hash all now and once more in the flow
    files = look(index, root, known)
    if not is_idle(index, str(root), files, policy):
        return None
    with begin_run(index, "reindex", str(root)) as run:
        if not is_idle(index, run.source, files, policy):
            raise IndexBusy(f"another run worked on the index at {index.path} meanwhile: run again")
        register(run, files, policy)
        return finish_run(run)
