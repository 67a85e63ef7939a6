"""The digest of a file. It imports nothing, since every process that reads documents needs it."""

import hashlib
from pathlib import Path


def sha256_of(path: Path) -> str:
    """Hex digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
