"""The cache of an index: packs of its segments in INDEX/cache, so that a search need not read Parquet.

It can be deleted at any time. A search makes what it misses, in memory where the folder can't be written; the
end of a run joins small packs into larger ones, so that many small segments cost about as much as one.
"""

import fcntl
import hashlib
import io
import logging
import os
import uuid
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import sqlalchemy as sa

from pincite.schemas.errors import PinciteError
from pincite.storage.ledger import schema, transactions
from pincite.storage.search_cache.array_file import Damaged, map_file
from pincite.storage.search_cache.build import pack_units
from pincite.storage.search_cache.packs import Pack, Serving, join_packs, parse_pack, units_in
from pincite.storage.segments.segment import Segment
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import CommitGroup, Snapshot, unit_of

_SUFFIX = ".pack"
_GROWTH = 4
"""A pack up to so many times as large as what is new is joined with it: n chunks lie in about log4(n) packs."""

_READER_ROWS = 20_000
"""A search joins packs up to this size, some .5 CPU s of work; larger ones wait for the end of a run."""

_READ_ROWS = 131_072  # rows read from Parquet at once: some 1 GB of memory

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cover:
    """Packs that together have every live chunk of a snapshot. A chunk counts in the pack that serves its unit."""

    packs: tuple[Pack, ...]
    serves: tuple[frozenset[str], ...]  # by pack, keys of units; no unit is in two


def open_cover(snapshot: Snapshot, known: Sequence[Pack] = ()) -> Cover:
    """The packs for a snapshot: of those `known`, then of those on disk; what is missing is made.

    Raises `IndexBroken` when a segment that is not in a pack can't be read.
    """
    return _cover(snapshot, known, thorough=False)


def refresh_cache(index: Index) -> None:
    """Brings the cache up to date with the newest version and deletes what no version needs any more.

    For the end of a run, which it never fails: what goes wrong is logged, and the next search makes good for it.
    """
    try:
        with index.snapshot() as snapshot:
            cover = _cover(snapshot, (), thorough=True)
        _sweep(index, cover)
    except (PinciteError, OSError) as error:
        _logger.warning("the search cache of %s is not up to date: %s", index.path, error)


def packed_ahead(
    snapshot: Snapshot, known: Sequence[Pack], coming: CommitGroup, join: bool
) -> tuple[Pack, ...]:
    """The packs for a snapshot that are there, and that of a unit which the next version begins.

    With `join` it takes in small packs, as a search would do with it. Nothing is packed of a document that is to be
    forgotten. Raises `IndexBroken` as `open_cover` does, and `OSError` where the folder can't be written.
    """
    chosen = _choose(
        snapshot.places.cache, frozenset({coming.key, *(unit.key for unit in snapshot.units)}), known
    )
    if coming.key not in _served(chosen):
        absorbed = _absorbed(chosen, coming.rows, thorough=False) if join else []
        made = _written(snapshot, _parts(snapshot, [coming], absorbed), absorbed, synced=False)
        chosen = chosen if made is None else _replaced(chosen, absorbed, made)
    return tuple(pack for pack, _ in chosen)


def _cover(snapshot: Snapshot, known: Sequence[Pack], thorough: bool) -> Cover:
    wanted = {unit.key: unit for unit in snapshot.units}
    chosen = _choose(snapshot.places.cache, frozenset(wanted), known)
    served = _served(chosen)
    missing = [unit for key, unit in wanted.items() if key not in served]
    absorbed = _absorbed(chosen, sum(unit.rows for unit in missing), thorough)
    if missing or (thorough and absorbed):
        made = _make(snapshot, _parts(snapshot, missing, absorbed), absorbed, synced=thorough)
        chosen = _replaced(chosen, absorbed, made)
    return Cover(tuple(pack for pack, _ in chosen), tuple(units for _, units in chosen))


def _served(chosen: Sequence[Serving]) -> frozenset[str]:
    return frozenset[str]().union(*(units for _, units in chosen))


def _replaced(chosen: Sequence[Serving], absorbed: Sequence[Serving], made: Pack) -> list[Serving]:
    return [one for one in chosen if one not in absorbed] + [(made, frozenset(made.units))]


_Offers = dict[Path | int, tuple[frozenset[str], Pack | None]]


def _choose(cache: Path, wanted: frozenset[str], known: Sequence[Pack]) -> list[Serving]:
    """Packs with the wanted units that each serves; what holds most of those that are left comes next."""
    offers: _Offers = {
        pack.path or number: (frozenset(pack.units), pack) for number, pack in enumerate(known)
    }
    offers |= _fresh(cache, offers)
    tried = set(offers)
    chosen: list[Serving] = []
    left = set(wanted)
    while offers and left:
        key = max(offers, key=lambda one: len(left & offers[one][0]))
        units, pack = offers.pop(key)
        if not left & units:
            break
        if pack is None and isinstance(key, Path):
            try:
                pack = _open(key)
            except FileNotFoundError:  # joined with others by another process meanwhile
                fresh = _fresh(cache, tried)
                tried.update(fresh)
                offers |= fresh
        if pack:
            chosen.append((pack, frozenset(left & units)))
            left -= units
    return chosen


def _fresh(cache: Path, known: Container[Path | int]) -> _Offers:
    return {path: (units, None) for path, units in _offered(cache) if path not in known}


def _offered(cache: Path) -> Iterator[tuple[Path, frozenset[str]]]:
    """The packs on disk with their units, sorted by name. One that can't be used is deleted."""
    for path in sorted(cache.glob(f"*{_SUFFIX}")):
        with suppress(FileNotFoundError):
            try:
                yield path, frozenset(units_in(map_file(path)))
            except Damaged as error:
                _discard(path, error)


def _open(path: Path) -> Pack | None:
    """The pack in a file; None for one that can't be used. Raises `FileNotFoundError`."""
    try:
        return parse_pack(map_file(path), path)
    except Damaged as error:
        _discard(path, error)
        return None


def _discard(path: Path, error: Damaged) -> None:
    _logger.warning("the search cache %s can't be used and is made again: %s", path, error)
    with suppress(OSError):  # on a disk that can't be written it stays, and is passed over each time
        path.unlink(missing_ok=True)


def _served_rows(pack: Pack, units: frozenset[str]) -> int:
    rows = np.bincount(pack.unit_of, weights=np.diff(pack.first), minlength=len(pack.units))
    return int(sum(count for unit, count in zip(pack.units, rows.tolist(), strict=True) if unit in units))


def _absorbed(chosen: Sequence[Serving], new_rows: int, thorough: bool) -> list[Serving]:
    """The packs to be joined with what is new, so that each pack is much larger than all smaller ones together.

    A thorough look joins all packs up to _READER_ROWS, also when nothing is new, and takes larger ones most of whose
    rows serve nothing.
    """
    size = new_rows
    joined: list[Serving] = []
    for one in sorted(chosen, key=lambda one: (_served_rows(*one), one[0].units)):
        rows = _served_rows(*one)
        small = rows <= _GROWTH * size and (thorough or rows <= _READER_ROWS)
        if small or (thorough and (rows <= _READER_ROWS or _is_idle(one))):
            joined.append(one)
            size += rows
    alone = len(joined) == 1 and not new_rows and not _is_idle(joined[0])
    return [] if alone else joined


def _is_idle(one: Serving) -> bool:
    return 2 * _served_rows(*one) < len(one[0])


def _parts(snapshot: Snapshot, missing: Sequence[CommitGroup], absorbed: Sequence[Serving]) -> list[Serving]:
    """What the missing units and the served ones of these packs are joined from."""
    read = (pack_units(snapshot.places, group, snapshot.space) for group in _groups(missing))
    return [*absorbed, *((pack, frozenset(pack.units)) for pack in read)]


def _make(snapshot: Snapshot, parts: Sequence[Serving], absorbed: Sequence[Serving], synced: bool) -> Pack:
    """The pack of these parts, on disk if that is possible."""
    try:
        made = _written(snapshot, parts, absorbed, synced)
    except OSError as error:
        _warn_once(snapshot.places.cache, error)
        made = None
    return _in_memory(parts, snapshot.space.dimension) if made is None else made


def _written(
    snapshot: Snapshot, parts: Sequence[Serving], absorbed: Sequence[Serving], synced: bool
) -> Pack | None:
    """The pack of these parts on disk, in place of those that it absorbs; None for documents to be forgotten.

    Raises `OSError` when it can't be written there.
    """
    units = _served(parts)
    name = hashlib.sha256("\n".join(sorted(units)).encode()).hexdigest()[:32] + _SUFFIX
    path = snapshot.places.cache / name
    with snapshot.places.quotes.shared():
        if _of_forgotten(snapshot, parts):
            return None
        with _appearing(path, synced) as file:
            join_packs(parts, snapshot.space.dimension, file)
    try:
        made = parse_pack(map_file(path), path)
    except Damaged as error:
        raise OSError(f"{path} does not read as it was written: {error}") from error
    for pack, _ in absorbed:
        if pack.path and pack.path != path and units.issuperset(pack.units):
            with suppress(OSError):
                pack.path.unlink()
    return made


def _of_forgotten(snapshot: Snapshot, parts: Sequence[Serving]) -> bool:
    """Whether one of the documents is to be forgotten by now: its words must not reach the disk again."""
    forgotten = snapshot.forgotten()
    for pack, units in parts:
        served = np.array([unit in units for unit in pack.units], dtype=bool)[pack.unit_of]
        if np.isin(forgotten, pack.documents[served]).any():
            return True
    return False


def _in_memory(parts: Sequence[Serving], dimension: int) -> Pack:
    memory = io.BytesIO()
    join_packs(parts, dimension, memory)
    return parse_pack(np.frombuffer(memory.getbuffer(), dtype=np.uint8))


def _groups(units: Sequence[CommitGroup]) -> Iterator[list[CommitGroup]]:
    """The units in their order, as many at a time as memory takes; one empty group for none."""
    group: list[CommitGroup] = []
    for unit in units:
        if group and sum(one.rows for one in group) + unit.rows > _READ_ROWS:
            yield group
            group = []
        group.append(unit)
    if group:
        yield group


@contextmanager
def _appearing(path: Path, synced: bool = True) -> Iterator[BinaryIO]:
    """A file that gets its name when it is whole. Who was killed while it wrote leaves a `.tmp`.

    What is not `synced`, for which a search would wait, may be cut off by a loss of power: it then fails its
    checksums and is made again.
    """
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # tells `_sweep` that its writer is alive
            yield file
            file.flush()
            if synced:
                os.fsync(file.fileno())
            temporary.rename(path)
    finally:
        temporary.unlink(missing_ok=True)


_warned: set[Path] = set()


def _warn_once(folder: Path, error: Exception) -> None:
    if folder not in _warned:
        _warned.add(folder)
        _logger.warning(
            "the search cache %s can't be written (%s): it is made in memory, again by each process. See that the "
            "folder may be written and that the disk has room",
            folder,
            error,
        )


def _sweep(index: Index, cover: Cover) -> None:
    """Deletes packs that nobody needs at the newest version, and what a killed writer left."""
    live = _live_units(index)
    kept = {pack.path for pack in cover.packs}
    served = frozenset[str]().union(*cover.serves)
    for path, units in _offered(index.places.cache):
        if path not in kept and (units & live) <= served:
            path.unlink(missing_ok=True)
    for path in index.places.cache.glob(".*.tmp"):
        with suppress(FileNotFoundError), path.open("rb") as file, suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


def _live_units(index: Index) -> frozenset[str]:
    """The units of every space at the newest version."""
    segments = schema.segments
    query = sa.select(segments).where(segments.c.ended_version.is_(None), segments.c.kind != "texts")
    groups: dict[tuple[int, int], list[Segment]] = {}
    with transactions.reading(index.engine) as connection:
        for row in connection.execute(query).mappings():
            segment = Segment(row["kind"], row["file"], row["rows"], row["size_bytes"], row["sha256"])
            groups.setdefault((row["space_id"], row["began_version"]), []).append(segment)
    return frozenset(unit_of(group).key for group in groups.values())
