"""Compaction: many small segments of one kind and space become few, which hold live rows only.

What is written is claimed by one transaction: the old segments end, the new ones begin. So a kill
leaves at most files that no transaction claimed, and older versions keep reading the old files until vacuum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from pincite.schemas.errors import IndexBusy
from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import new_version
from pincite.storage.runs.runs import Run
from pincite.storage.search_cache.prefetch import PacksAhead
from pincite.storage.segments.places import Places
from pincite.storage.segments.segment import Segment, read_segment, write_segment

MOST_UNITS = 50
"""Of one space: beyond it a search pays for each (1,000 segments cost BM25 53 ms where one costs 1)."""

FULL_BYTES = 128 << 20
FULL_ROWS = {"texts": 20_000, "chunks": 100_000, "postings": 8_000_000}
"""A unit of half this size is left alone unless many of its rows are dead; merging stays below some GB."""

MOST_DEAD = 0.25  # share of rows that no version from now on has


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did. Sizes are of the files that ended and of those that began."""

    version: int  # that it made, or the newest one when there was nothing to do
    segments_before: int = 0  # of all kinds and spaces
    segments_after: int = 0
    bytes_ended: int = 0
    bytes_written: int = 0
    dead_rows: int = 0  # left out


@dataclass(frozen=True, slots=True)
class _Stored:
    """A segment of the newest version, as its ledger has it."""

    segment_id: int
    kind: str
    file: str
    rows: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Unit:
    """Segments that began in one version and belong together: chunks with their postings, or texts.

    A revision has all its chunks and postings in one unit, before a compaction and after it.
    """

    segments: tuple[_Stored, ...]

    @property
    def share(self) -> float:
        """Of a full unit."""
        rows = max(segment.rows / FULL_ROWS[segment.kind] for segment in self.segments)
        return max(rows, sum(segment.size_bytes for segment in self.segments) / FULL_BYTES)


@dataclass(frozen=True, slots=True)
class _Merged:
    """What one batch of units became."""

    space_id: int | None
    ended: tuple[_Stored, ...]
    begun: tuple[Segment, ...]


def compact_when_many(run: Run, most: int = MOST_UNITS) -> Compacted | None:
    """Compacts when one space has more than `most` units; else None. For the end of a run that published."""
    with transactions.reading(run.index.engine) as connection:
        counts = [len(units) for units in _units(connection).values()]
    return compact(run) if max(counts, default=0) > most else None


def compact(run: Run) -> Compacted:
    """Merges what is small and rewrites what is mostly dead, for the newest version of every space.

    Takes the run's hold on the index as granted. Raises `IndexBusy` when something was published meanwhile all
    the same: what was written is then left to the next sweep.
    """
    index = run.index
    with transactions.reading(index.engine) as connection:
        version = schema.current_version(connection)
        spaces = _units(connection)
        live = {space_id: _live_revisions(connection, space_id) for space_id in spaces}
    batches = [
        (space_id, batch)
        for space_id, units in spaces.items()
        for batch in _batches(index.places, units, live[space_id])
    ]
    merged = [
        _merge(index.places, space_id, batch, live[space_id], f"-{version + nth}")
        for nth, (space_id, batch) in enumerate(batches, start=1)
    ]
    ahead = PacksAhead()
    for one in merged:
        if one.space_id is not None:
            ahead.make(index, one.begun, one.space_id, join=False)
    if merged:
        with transactions.writing(index.engine) as connection:
            version = _claim(connection, run, version, merged)
    before = sum(len(unit.segments) for units in spaces.values() for unit in units)
    return _report(version, before, merged)


def _report(version: int, before: int, merged: Sequence[_Merged]) -> Compacted:
    ended = [segment for one in merged for segment in one.ended]
    begun = [segment for one in merged for segment in one.begun]
    return Compacted(
        version=version,
        segments_before=before,
        segments_after=before - len(ended) + len(begun),
        bytes_ended=sum(segment.size_bytes for segment in ended),
        bytes_written=sum(segment.size_bytes for segment in begun),
        dead_rows=sum(segment.rows for segment in ended) - sum(segment.rows for segment in begun),
    )


def _units(connection: sa.Connection) -> dict[int | None, list[_Unit]]:
    """The units of the newest version by space (None: texts, which are of no space), oldest first."""
    segments = schema.segments
    query = sa.select(segments).where(segments.c.ended_version.is_(None))
    found: dict[int | None, dict[int, list[_Stored]]] = {}
    for row in connection.execute(query.order_by(segments.c.began_version, segments.c.segment_id)):
        stored = _Stored(row.segment_id, row.kind, row.file, row.rows, row.size_bytes)
        found.setdefault(row.space_id, {}).setdefault(row.began_version, []).append(stored)
    return {
        space_id: [_Unit(tuple(segments)) for segments in by_version.values()]
        for space_id, by_version in found.items()
    }


def _live_revisions(connection: sa.Connection, space_id: int | None) -> Mapping[str, frozenset[int]]:
    """The revisions of each document whose rows are live; of texts, in any space."""
    revisions = schema.revisions
    query = sa.select(revisions.c.document_id, revisions.c.revision).where(
        revisions.c.ended_version.is_(None)
    )
    if space_id is not None:
        query = query.where(revisions.c.space_id == space_id)
    live: dict[str, set[int]] = {}
    for document_id, revision in connection.execute(query):
        live.setdefault(document_id, set()).add(revision)
    return {document_id: frozenset(found) for document_id, found in live.items()}


def _batches(
    places: Places, units: Sequence[_Unit], live: Mapping[str, frozenset[int]]
) -> Iterator[list[_Unit]]:
    """Units that are to become one each: small ones together, up to a full one, and mostly dead ones."""
    batch: list[_Unit] = []
    share = 0.0
    for unit in units:
        if unit.share >= 0.5 and not _mostly_dead(places, unit, live):
            continue
        if batch and share + unit.share > 1:
            yield from _worthwhile(places, batch, live)
            batch, share = [], 0.0
        batch.append(unit)
        share += unit.share
    yield from _worthwhile(places, batch, live)


def _worthwhile(
    places: Places, batch: list[_Unit], live: Mapping[str, frozenset[int]]
) -> Iterator[list[_Unit]]:
    """A single unit is written again only for its dead rows."""
    if len(batch) > 1 or (batch and _mostly_dead(places, batch[0], live)):
        yield batch


def _mostly_dead(places: Places, unit: _Unit, live: Mapping[str, frozenset[int]]) -> bool:
    first = unit.segments[0]
    keys = read_segment(places, first.file, ["document_id", "revision"])
    return bool(_live_rows(keys, live).num_rows < (1 - MOST_DEAD) * first.rows)


def _merge(
    places: Places,
    space_id: int | None,
    batch: Sequence[_Unit],
    live: Mapping[str, frozenset[int]],
    suffix: str,
) -> _Merged:
    ended = [segment for unit in batch for segment in unit.segments]
    begun = []
    for kind in SEGMENT_SCHEMAS:
        files = [segment.file for segment in ended if segment.kind == kind]
        tables = [_live_rows(read_segment(places, file), live).cast(SEGMENT_SCHEMAS[kind]) for file in files]
        table = pa.concat_tables([SEGMENT_SCHEMAS[kind].empty_table(), *tables])
        if table.num_rows:
            begun.append(write_segment(places, kind, table, suffix))
    return _Merged(space_id, tuple(ended), tuple(begun))


def _live_rows(table: pa.Table, live: Mapping[str, frozenset[int]]) -> pa.Table:
    return table.filter(pa.array(_mask(table, live)))


def _mask(table: pa.Table, live: Mapping[str, frozenset[int]]) -> np.ndarray:
    """bool[rows], whose (document, revision) is among `live`."""
    keys = pc.dictionary_encode(table["document_id"].combine_chunks())
    names, numbers = keys.dictionary.to_pylist(), table["revision"].to_numpy()
    documents = keys.indices.to_numpy()
    mask = np.zeros(table.num_rows, dtype=bool)
    nobody: frozenset[int] = frozenset()
    most = max((len(live.get(name, nobody)) for name in names), default=0)
    for nth in range(most):  # once, but for a document of which two spaces have two revisions
        wanted = [sorted(live.get(name, nobody))[nth : nth + 1] or [-1] for name in names]
        mask |= np.array([one[0] for one in wanted])[documents] == numbers
    return mask


def _claim(connection: sa.Connection, run: Run, version: int, merged: Sequence[_Merged]) -> int:
    """Each batch ends and begins in a version of its own, so that each stays a unit. Returns the last one."""
    segments = schema.segments
    if schema.current_version(connection) != version:
        raise IndexBusy(f"the index at {run.index.path} changed while it was compacted: compact again")
    for one in merged:
        version = new_version(connection, run.run_id)
        connection.execute(
            segments.update()
            .where(segments.c.segment_id == sa.bindparam("key"), segments.c.ended_version.is_(None))
            .values(ended_version=version),
            [{"key": segment.segment_id} for segment in one.ended],
        )
        if one.begun:
            space = {"space_id": one.space_id, "began_version": version}
            connection.execute(segments.insert(), [asdict(segment) | space for segment in one.begun])
    return version
