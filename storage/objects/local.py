"""A folder as an object store: a file is written under another name, synced and renamed."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from pincite.storage.objects.disk_errors import writable


class LocalStore:
    """The objects below a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, name: str, data: pa.Buffer) -> None:
        path = self._folder / name
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        with writable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with temporary.open("wb") as file:
                    file.write(memoryview(data))
                    file.flush()
                    os.fsync(file.fileno())
                temporary.rename(path)
            finally:
                temporary.unlink(missing_ok=True)  # of a write that failed, on a full disk above all
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def open(self, name: str) -> pa.NativeFile:
        return pa.OSFile(str(self._folder / name), "rb")

    def size_bytes(self, name: str) -> int | None:
        path = self._folder / name
        return path.stat().st_size if path.is_file() else None

    def delete(self, name: str) -> None:
        path = self._folder / name
        with writable(path):
            path.unlink(missing_ok=True)

    def names(self, prefix: str) -> Iterator[str]:
        for path in (self._folder / prefix).rglob("*"):
            if path.is_file():
                yield path.relative_to(self._folder).as_posix()

    def address(self, name: str) -> str:
        return str(self._folder / name)
