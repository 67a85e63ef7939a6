"""Regular file: what is opened is judged by its open descriptor, so that no swap of a name can block or mislead."""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from pincite.schemas.settings import Limits

BLOCK_BYTES = 1 << 20
_PSEUDO = frozenset(
    (
        *("proc", "sysfs", "debugfs", "tracefs", "securityfs", "cgroup", "cgroup2", "configfs", "devpts"),
        *("devtmpfs", "mqueue", "pstore", "bpf", "efivarfs", "fusectl", "binfmt_misc", "nsfs", "rpc_pipefs"),
        *("selinuxfs", "hugetlbfs", "autofs"),
    )
)
"""File systems of the kernel: reading a file there may wait for ever, or tell of the machine."""


class NotReadable(Exception):
    """Why a file is not read, and the kind of that failure (`schemas.retrying`)."""

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason, kind)
        self.reason = reason
        self.kind = kind


@contextmanager
def opened(path: str | Path, most_bytes: int) -> Iterator[int]:
    """The descriptor of a regular file of at most so many bytes. Never blocks. Raises `NotReadable`, `OSError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV):  # a socket, or a device without a driver
            raise NotReadable("is no regular file", "unfit") from error
        raise
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise NotReadable("is no regular file", "unfit")
        if (system := file_system(info.st_dev)) in _PSEUDO:
            raise NotReadable(f"lies in a file system of the kernel ({system}): it is no document", "unfit")
        if info.st_size > most_bytes:
            raise NotReadable(over_limit(info.st_size, most_bytes), "limit")
        yield descriptor
    finally:
        os.close(descriptor)


def over_limit(size_bytes: int, most_bytes: int) -> str:
    """The reason of a file that is too large."""
    most = f"limits.source_bytes ({most_bytes / 2**20:,.0f} MiB)"
    return f"is {size_bytes / 2**20:,.0f} MiB, over {most}: it was not read"


def digest_of(descriptor: int, limits: Limits) -> str:
    """SHA-256 of what is left of the file. Raises `NotReadable` when it grows over the limit, or takes too long."""
    digest, read = hashlib.sha256(), 0
    until = time.monotonic() + limits.deadline_s
    while block := os.read(descriptor, BLOCK_BYTES):
        digest.update(block)
        read += len(block)
        if read > limits.source_bytes:
            raise NotReadable(over_limit(read, limits.source_bytes), "limit")
        if time.monotonic() > until:
            late = f"not read after {limits.deadline_s:.3g} s, when limits.deadline_s was used up"
            raise NotReadable(late, "unavailable")
    return digest.hexdigest()


@lru_cache(maxsize=256)
def file_system(device: int) -> str:
    """The type of the file system of a device; "" where the system does not tell."""
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) > 2 and parts[2] == wanted and "-" in parts:
            return parts[parts.index("-") + 1]
    return ""
