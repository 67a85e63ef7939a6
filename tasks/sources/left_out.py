"""Left out: names that programs and systems leave in folders, and the folders of indexes. None is a document."""

import logging
import os
import re
from pathlib import Path

from pincite.storage.locks.run_lock import LOCK_FILE
from pincite.storage.snapshots.index import LEDGER_FILE

_NAMES = re.compile(
    r"""\..* | ~\$.* | ~wr[a-z]\d+\.tmp | (?:eh)?thumbs(?:\.db|_vista\.db) | desktop\.ini | icon\r | __macosx
        | \$recycle\.bin | system\ volume\ information | lost\+found | @eadir | \#recycle""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_SQLITE = b"SQLite format 3\0"
_TABLES = (b"CREATE TABLE documents", b"CREATE TABLE revisions")
_HEAD_BYTES = 1 << 20  # of a ledger: its tables are declared at its beginning

INDEX_NAMES = frozenset({LEDGER_FILE, LOCK_FILE})
"""Names by which the folder of an index is suspected."""

_logger = logging.getLogger(__name__)
_told: set[str] = set()


def is_left_out(name: str) -> bool:
    """Whether a file or folder of this name is never a document: hidden, or an office's or a system's own."""
    return _NAMES.fullmatch(name) is not None


def is_index(folder: str, names: set[str]) -> bool:
    """Whether a folder with these names is an index, judged by its ledger's content. Says so, once a process."""
    if not names >= INDEX_NAMES:
        return False
    heads = [_head(Path(folder, LEDGER_FILE)), _head(Path(folder, f"{LEDGER_FILE}-wal"))]
    found = heads[0].startswith(_SQLITE) and all(any(table in head for head in heads) for table in _TABLES)
    if found and folder not in _told:
        _told.add(folder)
        _logger.warning("%s is the folder of an index: nothing in it is taken for a document", folder)
    return found


def _head(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            return file.read(_HEAD_BYTES) or b""
    except OSError:
        return b""
