"""Sources: where documents come from, behind one small interface."""

from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from pincite.schemas.records import Collection, SourceFile
from pincite.schemas.settings import Limits
from pincite.storage.objects.download_cache import Fetching
from pincite.tasks.sources.bucket import Bucket, is_url, require_url
from pincite.tasks.sources.folder import Folder, source_root
from pincite.tasks.sources.patterns import Patterns


class Source(Protocol):
    """A place that can be listed. Another kind of place is another class with these four names."""

    @property
    def address(self) -> str: ...

    @property
    def patterns(self) -> Patterns: ...

    def list_files(self) -> tuple[SourceFile, ...]:
        """All files that the patterns admit, sorted by path, not hashed. Raises `SourceError`."""
        ...

    def hashed(self, file: SourceFile) -> SourceFile:
        """The file with the hash of its bytes, or with the reason in `unreadable`."""
        ...


def address_of(named: str) -> str:
    """A source as the ledger names it: the absolute folder without links, or the URL; it need not be there.

    Raises `UsageError` for a URL that is no source.
    """
    if named.startswith(("file://", "local://")):
        named = unquote(urlsplit(named).path)
    return require_url(named) if is_url(named) else str(_at_home(named).resolve())


def _at_home(named: str) -> Path:
    """`~` is the home, as in a shell, which does not read settings."""
    try:
        return Path(named).expanduser()
    except RuntimeError:  # "~someone" whom the machine does not know is a name like any other
        return Path(named)


def open_source(
    collection: Collection,
    excluded: Path,
    limits: Limits,
    fetching: Fetching | None = None,
    follow_links_out: bool = True,
) -> Source:
    """The source of a collection. Raises `SourceError` for a folder that is not there.

    `excluded` is this host's folder of the index, which is none of the documents. `fetching` keeps what is
    downloaded for the rest of the run. `follow_links_out` is as in `pincite.schemas.settings`.
    """
    patterns = Patterns(collection.include, collection.exclude)
    if is_url(collection.source):
        return Bucket(collection.source, patterns, limits.source_bytes, fetching)
    return Folder(
        source_root(Path(collection.source), excluded), patterns, excluded, follow_links_out, limits
    )
