"""A file of named arrays: written once, checked when it is opened, then mapped.

sections, each at a multiple of 64 bytes │ contents as JSON │ size and checksum of the contents, format
"""

import json
import math
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

FORMAT = b"PINPACK2"
"""Another layout or another meaning of a section needs another number; files of other formats are made again.

1 → 2: joining could write the rows of a unit twice; a posting without its chunk names its unit.
"""

_ALIGNMENT = 64  # bytes; a cache line, and what Arrow asks for
_END = struct.Struct("<QI8s")  # size and CRC-32 of the contents, format

Bytes = np.ndarray  # uint8


class Damaged(Exception):
    """The bytes are not what was written. It never leaves this room."""


class PackWriter:
    """Writes sections one after another into a file that is open for writing."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._at = 0
        self._sections: dict[str, dict[str, Any]] = {}

    def add(self, name: str, array: np.ndarray) -> None:
        """One array as a section."""
        self.add_blocks(name, array.dtype, array.shape, [array])

    def add_blocks(
        self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], blocks: Iterable[np.ndarray]
    ) -> None:
        """One array, given as blocks of its rows."""
        self.begin(name)
        for block in blocks:
            self.write(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
        self._sections[name] |= {"dtype": dtype.str, "shape": shape}

    def begin(self, name: str) -> None:
        """Begins a section of bytes, which follow by `write`."""
        self._file.write(bytes(-self._at % _ALIGNMENT))
        self._at += -self._at % _ALIGNMENT
        self._sections[name] = {"at": self._at, "size": 0, "crc": 0, "dtype": "|u1", "shape": None}
        self._open = self._sections[name]

    def write(self, data: memoryview | bytes) -> int:
        self._file.write(data)
        size = memoryview(data).nbytes
        self._at += size
        self._open["size"] += size
        self._open["crc"] = zlib.crc32(data, self._open["crc"])
        return size

    def end(self, facts: Mapping[str, Any]) -> None:
        """Writes the contents: the sections, and `facts`, which JSON must be able to hold."""
        contents = json.dumps({"sections": self._sections, "facts": facts}).encode()
        self._file.write(contents + _END.pack(len(contents), zlib.crc32(contents), FORMAT))


def read_contents(data: Bytes) -> dict[str, Any]:
    """`facts` and `sections` of the file. Raises `Damaged`; the sections themselves are not looked at."""
    if len(data) < _END.size:
        raise Damaged("it is too short")
    size, crc, written_format = _END.unpack(data[-_END.size :].tobytes())
    if written_format != FORMAT:
        raise Damaged("it is of another format, or cut off")
    contents = data[max(0, len(data) - _END.size - size) : len(data) - _END.size].tobytes()
    if zlib.crc32(contents) != crc:
        raise Damaged("its contents do not match their checksum")
    read: dict[str, Any] = json.loads(contents)
    return read


def read_sections(data: Bytes, contents: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The arrays by name: views of `data`, which is read once for the checksums. Raises `Damaged`."""
    arrays = {}
    for name, section in contents["sections"].items():
        raw = data[section["at"] : section["at"] + section["size"]]
        if zlib.crc32(raw.data) != section["crc"]:
            raise Damaged(f"its section {name} does not match its checksum")
        shape = section["shape"]
        array = raw.view(np.dtype(section["dtype"]))
        arrays[name] = array if shape is None else array[: math.prod(shape)].reshape(shape)
    return arrays


def map_file(path: Path) -> Bytes:
    """uint8, the bytes of a file, mapped read only. Raises `OSError`."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return np.empty(0, dtype=np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), dtype=np.uint8)
