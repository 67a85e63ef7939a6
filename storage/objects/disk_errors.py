"""What the disk refuses to a writer, as one clear error."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pincite.schemas.errors import UsageError


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turns an `OSError` of the block into a `UsageError` that names `path` and what to do."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"can't write {path}: {error.strerror}. Nothing that was stored is lost: see that its folder may be "
            "written and that the disk has room, then run again"
        ) from error
