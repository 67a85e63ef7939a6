"""Uploads: a file put into the folder of a collection, whole or not at all, never over another without a word.

It is written beside its place under a hidden name, which its writer holds locked: what a writer that was killed left
behind can be told from what is being written.
"""

import fcntl
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pincite.schemas.display import one_line
from pincite.schemas.errors import NotFound, UsageError
from pincite.schemas.file_mode import umask
from pincite.schemas.records import Collection
from pincite.tasks.sources.left_out import INDEX_NAMES, is_left_out

_DRAFT = re.compile(r"\.[0-9a-f]{16}\.upload")
_logger = logging.getLogger(__name__)
LONGEST_NAME = 200  # bytes: file systems have 255, and the unfinished file's name is longer


class NameTaken(UsageError):
    """A file of that name is there, and replacing it was not asked for."""


def checked_name(name: str) -> str:
    """The name of a new file. Raises `UsageError` for one that could leave the folder, hide, or not be stored."""
    if not name or name in (".", ".."):
        raise UsageError("the file has no name")
    if "/" in name or "\\" in name:
        raise UsageError(f"{one_line(name)} names a folder: only a file name is taken")
    if name.startswith("."):
        raise UsageError(f"{one_line(name)} begins with a dot: hidden files are not indexed")
    if is_left_out(name) or name in INDEX_NAMES:
        raise UsageError(
            f"{one_line(name)} is a name that a program gives to its own files: it is never indexed"
        )
    if not name.isprintable() or len(os.fsencode(name)) > LONGEST_NAME:
        raise UsageError(f"{one_line(name)[:80]} can't be a file's name here: rename it")
    return name


def put(collection: Collection, relative: str, content: BinaryIO, replace: bool) -> Path:
    """Writes a file below the collection's folder; with `replace` over the one that is there, with its mode.

    `relative` is a `checked_name`, or the path of a document of the ledger. Raises `NameTaken`, `NotFound` when
    there is no file to replace or no folder, and `UsageError` for a place outside the folder.
    """
    root = folder_of(collection)
    if relative.startswith("./"):  # as `tasks.folder` lists a name that can't be stored: no file is called so
        raise UsageError(f"the name of {one_line(relative)} is not UTF-8: rename it in its folder")
    target = root / relative
    if not target.parent.is_dir():
        raise NotFound(f"the folder of {one_line(relative)} is gone")
    if target.parent.resolve() != target.parent or not target.parent.is_relative_to(root):
        raise UsageError(
            f"{one_line(relative)} lies behind a link or outside of its collection: replace it there"
        )
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise UsageError(f"{one_line(relative)} is no regular file: it is left as it is")
    try:
        with _draft(target.parent) as (draft, file):
            shutil.copyfileobj(content, file, 1 << 20)
            file.flush()
            os.fsync(file.fileno())
            _settle(draft, target, replace)
    except OSError as error:
        raise UsageError(f"{one_line(relative)} can't be written: {error.strerror}") from error
    return target


def sweep(folders: Iterable[Path]) -> int:
    """Removes what writers that were killed left below the folders; how many files that were."""
    swept = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in filter(_DRAFT.fullmatch, names):
                try:
                    swept += _remove_if_left(Path(parent, name))
                except OSError as error:
                    _logger.warning("what is left of an upload can't be removed: %s", error)
    return swept


def _remove_if_left(draft: Path) -> bool:
    if draft.is_symlink():
        return False
    with draft.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False  # it is being written
        draft.unlink(missing_ok=True)
    return True


@contextmanager
def _draft(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A file of ours under a hidden name, locked; gone at the end if it still has that name."""
    draft = folder / f".{secrets.token_hex(8)}.upload"
    try:
        with draft.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield draft, file
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def folder_of(collection: Collection) -> Path:
    """The folder of a collection on this machine. Raises `UsageError` for a bucket, `NotFound` when it is gone."""
    if not collection.source.startswith("/"):
        raise UsageError(
            f"{one_line(collection.name)} is no folder of this machine: upload to it where it is"
        )
    root = Path(collection.source)
    if not root.is_dir() or root.resolve() != root:
        raise NotFound(f"the folder {one_line(collection.source)} is not there")
    return root


def _settle(draft: Path, target: Path, replace: bool) -> None:
    if replace and target.exists():
        shutil.copymode(target, draft)
        draft.replace(target)
        return
    draft.chmod(0o666 & ~umask())
    try:
        os.link(draft, target)  # fails where a file has come meanwhile
    except FileExistsError as error:
        raise NameTaken(
            f"{one_line(target.name)} is there already: tick “replace” to write over it"
        ) from error
