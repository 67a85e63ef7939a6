"""Files that a command writes because it was asked to."""

import os
import tempfile
from pathlib import Path

from pincite.schemas.errors import UsageError
from pincite.schemas.file_mode import umask


def check_target(target: Path | None) -> None:
    """Raises `UsageError` when nothing can be written there; asked before the work begins."""
    if target is None:
        return
    if target.is_dir():
        raise UsageError(f"can't write {target}: it is a folder")
    if not target.parent.is_dir():
        raise UsageError(f"can't write {target}: its folder does not exist")


def write_whole(target: Path, text: str) -> None:
    """The file appears whole under its name, or not at all."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=target.parent, prefix=".pincite-", delete=False
        ) as file:
            file.write(text)
        os.chmod(file.name, 0o666 & ~umask())
        os.replace(file.name, target)
    except OSError as error:
        raise UsageError(f"can't write {target}: {error.strerror}") from error
