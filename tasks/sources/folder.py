"""A folder as a source: which files lie below it, by name and state of the file."""

import heapq
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pincite.schemas.errors import SourceError
from pincite.schemas.records import SourceFile
from pincite.schemas.settings import Limits
from pincite.tasks.sources.left_out import is_index, is_left_out
from pincite.tasks.sources.patterns import Patterns
from pincite.tasks.sources.regular_file import NotReadable, digest_of, opened

FRESH_S = 1.0
"""A file changed this shortly before it was hashed may change again within the clock tick of its file system:
its change time is not recorded, so that the next run reads it again (the "racy" rule of Git's index)."""

Identity = tuple[int, int]  # device and inode


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of this machine, with what of it is to be indexed."""

    root: Path  # as `source_root` returned it
    patterns: Patterns
    excluded: Path | None = None  # the folder of the index, which is none of the documents
    follow_links_out: bool = True
    limits: Limits = field(default_factory=Limits)

    @property
    def address(self) -> str:
        return str(self.root)

    def list_files(self) -> tuple[SourceFile, ...]:
        return list_files(self.root, self.excluded, self.patterns, self.follow_links_out)

    def hashed(self, file: SourceFile) -> SourceFile:
        """The file with the hash of its bytes, or with the reason why it can't be read."""
        before = time.time()
        try:
            with opened(file.absolute, self.limits.source_bytes) as descriptor:
                if out := self._leads_out(file, descriptor):
                    return replace(file, unreadable=out, kind="unfit")
                digest = digest_of(descriptor, self.limits)
        except NotReadable as why:
            return replace(file, unreadable=why.reason, kind=why.kind)
        except OSError as error:
            return replace(file, unreadable=f"can't be read: {error.strerror}")
        settled = file.ctime_ns < (before - FRESH_S) * 1e9
        return replace(file, sha256=digest, ctime_ns=file.ctime_ns if settled else 0)

    def _leads_out(self, file: SourceFile, descriptor: int) -> str:
        """Why what was opened is not to be read: it may have been swapped for a link since it was listed."""
        if self.follow_links_out:
            return ""
        itself = f"/proc/self/fd/{descriptor}"
        return _leads_out(os.path.realpath(self.root), itself if os.path.exists(itself) else file.absolute)


def source_root(source: Path, excluded: Path) -> Path:
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
    if root == excluded.resolve():
        raise SourceError(f"{root} is the folder of the index itself: name the folder of the documents")
    if not _is_utf8(str(root)):
        raise SourceError(f"the name of the folder {str(root)!r} is not UTF-8: rename it")
    return root


def list_files(
    root: Path,
    excluded: Path | None = None,
    patterns: Patterns | None = None,
    follow_links_out: bool = True,
) -> tuple[SourceFile, ...]:
    """All files below `root`, sorted by path, not hashed; without those of `left_out`,
    `excluded` and what `patterns` bar.

    Links are followed, and each folder is entered once, under its own name if it has one below `root`: so a
    loop of links ends and none multiplies files; without `follow_links_out` a link whose end is not below `root` is
    listed with that reason. What is no regular file or can't be reached, or a folder that
    can't be listed ("name/"), is listed with the reason in `unreadable`. Raises `SourceError` when `root` itself
    can't be listed: files that are merely out of sight must not look deleted.
    """
    walk = _Walk(root, excluded, patterns or Patterns(), follow_links_out)
    return tuple(sorted(walk.files(), key=lambda file: file.path))


class _Walk:
    """One way through a tree, without recursion: a path may have two thousand parts."""

    def __init__(self, root: Path, excluded: Path | None, patterns: Patterns, follow_links_out: bool) -> None:
        self._patterns = patterns
        self._bound = None if follow_links_out else os.path.realpath(root)
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
                yield unreadable(prefix, f"the folder can't be listed: {error.strerror}")
                continue
            for entry in entries:
                linked = entry.is_symlink() and _leads_to_folder(entry, follow=True)
                if out := self._leads_out(entry):
                    relative = f"{prefix}{entry.name}{'/' if linked else ''}"
                    admitted = not self._patterns.bar(relative) if linked else self._patterns.admit(relative)
                    if admitted:
                        yield unreadable(relative, out, "unfit")
                elif linked or _leads_to_folder(entry, follow=False):
                    self._take_folder(f"{prefix}{entry.name}/", entry.path, linked)
                elif self._patterns.admit(prefix + entry.name) or _is_closed(entry):
                    yield _file(entry, prefix + entry.name)

    def _leads_out(self, entry: os.DirEntry[str]) -> str:
        """Why a link is not followed; "" for one that is, for one that leads nowhere, and for what is no link."""
        if self._bound is None or not entry.is_symlink() or not os.path.exists(entry.path):
            return ""
        return _leads_out(self._bound, entry.path)

    def _take_folder(self, prefix: str, path: str, linked: bool) -> None:
        if self._patterns.bar(prefix):
            return
        if linked:
            heapq.heappush(self._links, (prefix, path))
        else:
            self._folders.append((prefix, path))

    def _enter(self, folder: str) -> list[os.DirEntry[str]]:
        """The entries that may be documents; none of a folder that was entered before, or of any index."""
        identity = _identity(os.stat(folder))
        if identity in self._entered:
            return []
        self._entered.add(identity)
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not is_left_out(entry.name)]
        return [] if is_index(folder, {entry.name for entry in found}) else found


def _leads_out(bound: str, path: str) -> str:
    """Why a path is not below the real path `bound`; "" where it is."""
    end = os.path.realpath(path)
    if os.path.commonpath([bound, end]) == bound:
        return ""
    shown = os.fsencode(end).decode("utf-8", "backslashreplace")
    return f"a link that leads out of the source, to {shown}: with follow_links_out = true it is read"


def _identity(info: os.stat_result) -> Identity:
    return info.st_dev, info.st_ino


def _leads_to_folder(entry: os.DirEntry[str], follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False  # it is listed as a file, with the reason why it can't be reached


def _is_closed(entry: os.DirEntry[str]) -> bool:
    """Whether it is a link that leads nowhere now: it may have led to a folder, whose documents are out of sight."""
    return entry.is_symlink() and not os.path.exists(entry.path)


def _file(entry: os.DirEntry[str], relative: str) -> SourceFile:
    if not _is_utf8(relative):
        return unreadable(relative, "its name is not UTF-8: rename it", "unfit")
    try:
        info = entry.stat()
    except OSError as error:
        return unreadable(relative, f"can't be reached: {error.strerror}")
    if not stat.S_ISREG(info.st_mode):
        return unreadable(relative, "is no regular file", "unfit")
    times = _as_int64(info.st_mtime_ns), _as_int64(info.st_ctime_ns)
    return SourceFile(relative, entry.path, info.st_size, *times, sha256="")


def unreadable(relative: str, reason: str, kind: str = "unavailable") -> SourceFile:
    """What was listed and can't be read, with the reason."""
    return SourceFile(_storable_path(relative), "", 0, 0, 0, "", unreadable=reason, kind=kind)


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
