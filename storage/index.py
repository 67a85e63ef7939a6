"""An index: a folder with a ledger and its segments."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import sqlalchemy as sa

from schemas.errors import IndexBroken, SpaceMismatch, UsageError
from schemas.records import Space
from storage import ledger
from storage.snapshot import Snapshot

LEDGER_FILE = "ledger.sqlite"


class Index:
    """A handle on one index folder. Close it, or use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine = ledger.connect(path / LEDGER_FILE)

    @classmethod
    def open(cls, path: Path) -> "Index":
        """An existing index. Raises `UsageError` when there is none, `IndexBroken` when it can't be read."""
        if not (path / LEDGER_FILE).is_file():
            raise UsageError(f"no index at {path}: make one with `pincite index SOURCE --index {path}`")
        index = cls(path)
        try:
            ledger.check_schema(index.engine)
        except IndexBroken:
            index.close()
            raise
        return index

    @classmethod
    def create(cls, path: Path, space: Space) -> "Index":
        """The index at `path`, made if there is none. Raises `SpaceMismatch` when it is of another space."""
        path.mkdir(parents=True, exist_ok=True)
        index = cls(path)
        try:
            ledger.create_schema(index.engine)
            ledger.check_schema(index.engine)
            with ledger.writing(index.engine) as connection:
                if connection.scalar(sa.select(ledger.live_spaces.c.space_id)) is None:
                    space_id = connection.scalar(
                        ledger.spaces.insert().values(**asdict(space)).returning(ledger.spaces.c.space_id)
                    )
                    connection.execute(ledger.live_spaces.insert().values(since_version=0, space_id=space_id))
            index.require_space(space)
        except BaseException:
            index.close()
            raise
        return index

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.engine.dispose()

    def require_space(self, wanted: Space) -> None:
        """Raises `SpaceMismatch`, naming both, unless `wanted` is the live space."""
        with self.snapshot() as snapshot:
            if snapshot.space != wanted:
                raise SpaceMismatch(
                    f"the index at {self.path} is of the space {snapshot.space}; the settings ask for {wanted}. "
                    "Vectors of two spaces can't be compared: use the settings that the index was made with, or "
                    "index into a new folder"
                )

    @contextmanager
    def snapshot(self, version: int | None = None) -> Iterator[Snapshot]:
        """One version of the index, the newest if none is named; later commits do not disturb it."""
        with ledger.reading(self.engine) as connection:
            newest = ledger.current_version(connection)
            if version is not None and not 0 <= version <= newest:
                raise UsageError(f"there is no version {version}: the index has the versions 0 to {newest}")
            snapshot = Snapshot.read(connection, self.path, newest if version is None else version)
        yield snapshot
