"""An index: a folder with a ledger and its segments."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlalchemy as sa

from pincite.schemas.errors import IndexBroken, PinciteError, SpaceMismatch, UsageError, VersionGone
from pincite.schemas.records import Space
from pincite.storage.ledger import schema, transactions, upgrades
from pincite.storage.ledger.sqlite import connect
from pincite.storage.ledger.versions import GONE_MEANWHILE, Moment, moment, require_version, told_since
from pincite.storage.locks.reader_leases import holding
from pincite.storage.objects.disk_errors import writable
from pincite.storage.objects.local import LocalStore
from pincite.storage.segments.places import Places, local_places
from pincite.storage.segments.segment import unclaimed
from pincite.storage.snapshots.snapshot import Snapshot, stale_reasons

LEDGER_FILE = schema.LEDGER_FILE
NEW_LEDGER = ".new-"
"""How a folder is named in which a ledger is made."""


class Index:
    """A handle on one index. Close it, or use it as a context manager."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.path = places.own  # the host's own folder, by which people name the index
        self.engine = places.ledger
        self.lock = places.lock

    @classmethod
    def open(cls, path: Path) -> "Index":
        """An existing index. Raises `UsageError` when there is none, `IndexBroken` when it can't be read."""
        if not has_index(path):
            raise UsageError(f"no index at {path}: make one with `pincite index SOURCE --index {path}`")
        index = cls(local_places(path))
        try:
            upgrades.upgrade(index.engine)
        except PinciteError:
            index.close()
            raise
        return index

    @classmethod
    def create(cls, path: Path, space: Space, setting: str = "") -> "Index":
        """The index at `path`, made if there is none. Raises `SpaceMismatch` when it is of another space.

        `setting` names the model in the settings where that is not its name but a folder.
        """
        _make_folder(path)
        if not has_index(path):
            _make_ledger(path, space, setting)
        index = cls.open(path)
        try:
            index.require_space(space)
        except PinciteError:
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
        with transactions.reading(self.engine) as connection:
            space_id, live = schema.live_space(connection, schema.current_version(connection))
            setting = schema.setting_of(connection, space_id)
        if live != wanted:
            raise SpaceMismatch(
                f"the index at {self.path} is of the model version {live}; the settings ask for {wanted}. "
                f"Vectors of two model versions can't be compared: {_ways_out(live, wanted, setting)}"
            )

    @contextmanager
    def snapshot(self, version: int | None = None) -> Iterator[Snapshot]:
        """One version of the index, the newest if none is named; later commits do not disturb it."""
        with transactions.reading(self.engine) as connection:
            snapshot = self._snapshot(connection, version)
        yield snapshot

    @contextmanager
    def held_snapshot(self, version: int | None = None) -> Iterator[Snapshot]:
        """As `snapshot`, under a lease for the block: no vacuum takes away what it reads, however long it reads."""
        if version is not None:
            with self.snapshot(version) as snapshot, holding(self.engine, version):
                yield snapshot
        else:
            with self.hold() as newest, self.snapshot(newest) as snapshot:
                yield snapshot

    @contextmanager
    def hold(self, choose: Callable[[sa.Connection], int] = schema.current_version) -> Iterator[int]:
        """Holds for the block what the version named by `choose`, by default the newest, and every later one has."""
        with ExitStack() as held:
            while True:
                with transactions.reading(self.engine) as connection:
                    version = choose(connection)
                with suppress(VersionGone):  # a vacuum came in between: another one is chosen
                    held.enter_context(holding(self.engine, version))
                    break
            yield version

    def moment(self, version: int | None = None, at: float | None = None) -> Moment:
        """What a version, a time (exclusive, seconds since the epoch) or neither (now) means."""
        with transactions.reading(self.engine) as connection:
            return moment(connection, version, at)

    def newest_version(self) -> int:
        """The newest version; 0 for an index to which nothing was ever published."""
        with transactions.reading(self.engine) as connection:
            return schema.current_version(connection)

    def told_since(self) -> int:
        """Another number once a vacuum or a forgetting took something out of the versions that are kept."""
        with transactions.reading(self.engine) as connection:
            return told_since(connection)

    def newer_snapshot(self, known: int | None) -> Snapshot | None:
        """The newest version, read only if it is another than the `known` one; else None.

        Looking whether there is one costs nearly nothing.
        """
        with transactions.reading(self.engine) as connection:
            newest = schema.current_version(connection)
            return None if newest == known else Snapshot.read(connection, self.places, newest)

    def stale_reasons(self, snapshot: Snapshot, document_ids: Sequence[str]) -> Mapping[str, str]:
        """Why documents of a snapshot are, by now, not current; "" of one that is.

        Raises `VersionGone` when one was forgotten meanwhile.
        """
        with transactions.reading(self.engine) as connection:
            require_version(connection, snapshot.version)
            reasons = stale_reasons(connection, snapshot.version, snapshot.space_id, document_ids)
        if reasons.keys() < set(document_ids):
            raise VersionGone(GONE_MEANWHILE)
        return reasons

    def modified_between(self, since_ns: int | None, before_ns: int | None) -> frozenset[str]:
        """Ids of the documents whose file, as the last run saw it, was modified in `[since, before)`."""
        modified = schema.documents.c.mtime_ns
        query = sa.select(schema.documents.c.document_id)
        query = query if since_ns is None else query.where(modified >= since_ns)
        query = query if before_ns is None else query.where(modified < before_ns)
        with transactions.reading(self.engine) as connection:
            return frozenset(connection.scalars(query))

    def snapshot_within(
        self, connection: sa.Connection, version: int | None = None, among: Sequence[str] | None = None
    ) -> Snapshot:
        """The snapshot that a read transaction sees, for who reads more of the ledger beside it.

        With `among` it holds these documents alone, and costs nothing for the others.
        """
        snapshot = self._snapshot(connection, version)
        snapshot.load_documents(connection, among)
        return snapshot

    def _snapshot(self, connection: sa.Connection, version: int | None) -> Snapshot:
        if version is None:
            version = schema.current_version(connection)
        else:
            require_version(connection, version)
        return Snapshot.read(connection, self.places, version)


def _ways_out(live: Space, wanted: Space, setting: str) -> str:
    """What to set to go on with the space of the index, and what to run to move the index to the other."""
    back = []
    if live.model != wanted.model or live.dimension != wanted.dimension:
        back.append(f'set model = "{setting}", or leave it out of the settings')
    elif live.fingerprint != wanted.fingerprint or live.window != wanted.window:
        back.append(f"put the files of {live.model} back that the index was made with")
    if live.chunker != wanted.chunker:
        back.append(f'set chunker = "{live.chunker}", or leave it out of the settings')
    if (live.pipeline, live.tokenizer) != (wanted.pipeline, wanted.tokenizer):
        back.append("use the Pincite that made it")
    return (
        f"to go on with the index as it is, {' and '.join(back)}; to bring it to the settings, run "
        f"`pincite migrate` with them; or index into a new folder"
    )


def _make_folder(path: Path) -> None:
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the index folder {path!r} has a name that is not UTF-8: choose another") from error
    with writable(path):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)  # it quotes all documents


def has_index(path: Path) -> bool:
    """Whether an index was made at `path`. Raises `UsageError` when its folder can't be reached."""
    try:
        return (path / LEDGER_FILE).is_file()
    except OSError as error:
        raise UsageError(f"can't reach the index at {path}: {error.strerror}") from error


def _make_ledger(path: Path, space: Space, setting: str) -> None:
    """A whole ledger appears under its name at once: no reader and no kill meets half of one."""
    if unclaimed(LocalStore(path), set()):
        raise IndexBroken(
            f"the index at {path} has segments but no ledger: restore {LEDGER_FILE} from a copy, or index again "
            "into a new folder"
        )
    with writable(path), TemporaryDirectory(prefix=NEW_LEDGER, dir=path) as folder:
        made = Path(folder) / LEDGER_FILE
        engine = connect(made)
        try:
            with transactions.writing(engine) as connection:
                upgrades.create_schema(connection)
                space_id = connection.scalar(
                    schema.spaces.insert()
                    .values(**asdict(space), setting=setting)
                    .returning(schema.spaces.c.space_id)
                )
                connection.execute(schema.live_spaces.insert().values(since_version=0, space_id=space_id))
            transactions.fold_log(engine)
        finally:
            engine.dispose()
        with suppress(FileExistsError):  # another process was faster
            os.link(made, path / LEDGER_FILE)
