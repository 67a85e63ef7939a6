"""Compaction: many small segments of one kind and space become few, which hold live rows only.

What is written is claimed by one transaction: the old segments end at its version, the new ones begin. So a kill
leaves at most files that no transaction claimed, and older versions keep reading the old files until vacuum.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from schemas.errors import IndexBusy
from storage import ledger, transactions
from storage.commit import new_version
from storage.runs import Run
from storage.segments import Segment, read_segment, write_segment

MOST_SEGMENTS = 50
"""Of one kind and space: beyond it a search pays for each (1,000 segments cost BM25 53 ms where one costs 1)."""

FULL_BYTES = 128 << 20
FULL_ROWS = {"texts": 20_000, "chunks": 100_000, "postings": 8_000_000}
"""A segment of half this size is left alone unless many of its rows are dead; merging stays below some GB."""

MOST_DEAD = 0.25  # share of rows that no version from now on has

Group = tuple[str, int | None]
"""Kind and space of segments that may become one; texts are of no space."""


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
    file: str
    rows: int
    size_bytes: int


@dataclass
class _Work:
    """What is to be claimed by the one transaction."""

    ended: list[int] = field(default_factory=list)  # segment ids
    begun: list[tuple[Segment, int | None]] = field(default_factory=list)
    bytes_ended: int = 0
    dead_rows: int = 0


def compact_when_many(run: Run, most: int = MOST_SEGMENTS) -> Compacted | None:
    """Compacts when a kind of segment of one space has more than `most`; else None. For the end of a run."""
    with transactions.reading(run.index.engine) as connection:
        counts = [len(rows) for rows in _groups(connection).values()]
    return compact(run) if max(counts, default=0) > most else None


def compact(run: Run) -> Compacted:
    """Merges what is small and rewrites what is mostly dead, for the newest version of every space.

    Takes the run's hold on the index as granted. Raises `IndexBusy` when something was published meanwhile all
    the same: what was written is then left to the next sweep.
    """
    index = run.index
    with transactions.reading(index.engine) as connection:
        version = ledger.current_version(connection)
        groups = _groups(connection)
        live = {group: _live_revisions(connection, group) for group in groups}
    work = _Work()
    for group, rows in groups.items():
        _merge(run, group, rows, live[group], work, suffix=f"-{version + 1}")
    before = sum(len(rows) for rows in groups.values())
    if not work.ended:
        return Compacted(version, before, before)
    with transactions.writing(index.engine) as connection:
        _claim(connection, run, version, work)
    return Compacted(
        version=version + 1,
        segments_before=before,
        segments_after=before - len(work.ended) + len(work.begun),
        bytes_ended=work.bytes_ended,
        bytes_written=sum(segment.size_bytes for segment, _ in work.begun),
        dead_rows=work.dead_rows,
    )


def _groups(connection: sa.Connection) -> dict[Group, list[_Stored]]:
    """The segments of the newest version by kind and space, in the order in which they came."""
    segments = ledger.segments
    query = sa.select(segments).where(segments.c.ended_version.is_(None))
    groups: dict[Group, list[_Stored]] = {}
    for row in connection.execute(
        query.order_by(segments.c.kind, segments.c.space_id, segments.c.segment_id)
    ):
        stored = _Stored(row.segment_id, row.file, row.rows, row.size_bytes)
        groups.setdefault((row.kind, row.space_id), []).append(stored)
    return groups


def _live_revisions(connection: sa.Connection, group: Group) -> Mapping[str, frozenset[int]]:
    """The revisions of each document whose rows are live; of texts, in any space."""
    revisions = ledger.revisions
    query = sa.select(revisions.c.document_id, revisions.c.revision).where(
        revisions.c.ended_version.is_(None)
    )
    _, space_id = group
    if space_id is not None:
        query = query.where(revisions.c.space_id == space_id)
    live: dict[str, set[int]] = {}
    for document_id, revision in connection.execute(query):
        live.setdefault(document_id, set()).add(revision)
    return {document_id: frozenset(found) for document_id, found in live.items()}


def _merge(
    run: Run,
    group: Group,
    rows: Sequence[_Stored],
    live: Mapping[str, frozenset[int]],
    work: _Work,
    suffix: str,
) -> None:
    kind, space_id = group
    for batch in _batches(run, kind, rows, live):
        tables = [
            _live_rows(read_segment(run.index.path, row.file), live).replace_schema_metadata()
            for row in batch
        ]
        table = pa.concat_tables(tables)
        work.ended += [row.segment_id for row in batch]
        work.bytes_ended += sum(row.size_bytes for row in batch)
        work.dead_rows += sum(row.rows for row in batch) - table.num_rows
        if table.num_rows:
            work.begun.append((write_segment(run.index.path, kind, table, suffix), space_id))


def _batches(
    run: Run, kind: str, rows: Sequence[_Stored], live: Mapping[str, frozenset[int]]
) -> Iterator[list[_Stored]]:
    """Segments that are to become one each: small ones together, up to a full one, and mostly dead ones."""
    batch: list[_Stored] = []
    size = count = 0
    for row in rows:
        small = row.size_bytes < FULL_BYTES / 2 and row.rows < FULL_ROWS[kind] / 2
        if not small and not _mostly_dead(run, row, live):
            continue
        if batch and (size + row.size_bytes > FULL_BYTES or count + row.rows > FULL_ROWS[kind]):
            yield from _worthwhile(run, batch, live)
            batch, size, count = [], 0, 0
        batch.append(row)
        size, count = size + row.size_bytes, count + row.rows
    yield from _worthwhile(run, batch, live)


def _worthwhile(
    run: Run, batch: list[_Stored], live: Mapping[str, frozenset[int]]
) -> Iterator[list[_Stored]]:
    """A single segment is written again only for its dead rows."""
    if len(batch) > 1 or (batch and _mostly_dead(run, batch[0], live)):
        yield batch


def _mostly_dead(run: Run, row: _Stored, live: Mapping[str, frozenset[int]]) -> bool:
    keys = read_segment(run.index.path, row.file, ["document_id", "revision"])
    return bool(_live_rows(keys, live).num_rows < (1 - MOST_DEAD) * row.rows)


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


def _claim(connection: sa.Connection, run: Run, version: int, work: _Work) -> None:
    segments = ledger.segments
    if ledger.current_version(connection) != version:
        raise IndexBusy(f"the index at {run.index.path} changed while it was compacted: compact again")
    new = new_version(connection, run.run_id)
    connection.execute(
        segments.update()
        .where(segments.c.segment_id == sa.bindparam("key"), segments.c.ended_version.is_(None))
        .values(ended_version=new),
        [{"key": key} for key in work.ended],
    )
    if work.begun:
        connection.execute(
            segments.insert(),
            [asdict(one) | {"space_id": space_id, "began_version": new} for one, space_id in work.begun],
        )
