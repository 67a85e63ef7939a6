"""What a plug-in for sources is: the file system behind the URLs of one scheme.

A store that fsspec knows (s3, gs, az, sftp, …) needs none. Any other becomes a source by a file system of fsspec.
"""

from typing import Any, Protocol, cast

from pincite.schemas.errors import UsageError
from pincite.schemas.plugins import SOURCES, load, not_of_kind


class StoreOpener(Protocol):
    """What an entry point of `pincite.sources` names; the entry point's name is the scheme: "shelf" for shelf://…"""

    def __call__(self, url: str) -> tuple[Any, str]:
        """(a `fsspec.AbstractFileSystem` without a cache of listings, the path in it that the URL means).

        Called in each process that lists or downloads. Raises `OSError` or `ValueError` for what can't be reached.
        """
        ...


def opened_by_plugin(scheme: str, url: str) -> tuple[Any, str]:
    """Raises `UsageError` for a plug-in that can't be used."""
    opener = load(SOURCES, scheme)
    if not callable(opener):
        raise not_of_kind(SOURCES, scheme, opener, "a function that opens a URL")
    try:
        return cast(StoreOpener, opener)(url)
    except (OSError, ValueError) as error:
        raise UsageError(f"{url} can't be reached: {error}") from error
