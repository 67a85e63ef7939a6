"""An index with a document that is to be forgotten."""

from pathlib import Path

from pincite.storage.erasure.forget import Forgotten, forget
from pincite.storage.search_cache.cache import refresh_cache
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import find
from tests.storage.building import PERMANENT, fill, reindex
from tests.storage.maintaining import compacted

SECRET = "Zbigniew Brzezina owes forty thousand"
FILES = {
    "public.txt": "# Public\n\nnothing to hide here at all\n\nmore of the same kind",
    "letters/brzezina-case.txt": f"# The Brzezina case\n\n{SECRET}\n\nhis address is Lindenallee 44",
}


def make(index: Path, source: Path) -> None:
    """Two versions of the document; in one it failed with a reason that quotes it; side files and old segments."""
    reindex(index, fill(source, FILES))
    reindex(index, fill(source, FILES | {"letters/brzezina-case.txt": f"{PERMANENT}: {SECRET}"}))
    reindex(index, fill(source, FILES | {"letters/brzezina-case.txt": f"# New\n\n{SECRET}\n\nand more"}))
    with Index.open(index) as opened:
        refresh_cache(opened)
    compacted(index)
    (index / "prefect" / "slot-0").mkdir(parents=True)
    (index / "prefect" / "slot-0" / "server.log").write_text("error in letters/brzezina-case.txt")


def forgotten(index: Path, name: str = "letters/brzezina-case.txt") -> Forgotten:
    with Index.open(index) as opened:
        return forget(opened, find(opened, name))


def bytes_of(index: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(index.rglob("*")) if path.is_file())
