"""Copies: the same revisions in the spaces that are kept beside the live one.

The live space says what there is; a copy has its path, title and counts from the row of the live one. A copy begins
only while that row is live, so that nothing that was deleted or replaced meanwhile comes back.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from pincite.schemas.records import UNFIT
from pincite.storage.ledger import schema
from pincite.storage.segments.arrow_rows import Blocked, Copy, storable_text
from pincite.storage.segments.segment import Segment, write_segment
from pincite.storage.snapshots.index import Index


def claim(connection: sa.Connection, written: Sequence[Segment], space_id: int, version: int) -> None:
    """Makes segments that were written part of the index from `version` on."""
    connection.execute(
        schema.segments.insert(),
        [
            asdict(segment)
            | {"space_id": None if segment.kind == "texts" else space_id, "began_version": version}
            for segment in written
        ],
    )


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies in one space, whose segments are written and not yet claimed."""

    space_id: int
    copies: tuple[Copy, ...]
    blocked: tuple[Blocked, ...]
    written: tuple[Segment, ...]


def written_copies(index: Index, copies: Sequence[Copy | Blocked]) -> tuple[Copies, ...]:
    """The copies by space, with their segments. The caller holds the lock of the index, as for any segment."""
    return tuple(
        _written(index, space_id, [one for one in copies if one.space_id == space_id])
        for space_id in sorted({one.space_id for one in copies})
    )


def _written(index: Index, space_id: int, copies: Sequence[Copy | Blocked]) -> Copies:
    made = tuple(one for one in copies if isinstance(one, Copy))
    tables = {
        "chunks": pa.concat_tables([one.chunks for one in made]) if made else pa.table({}),
        "postings": pa.concat_tables([one.postings for one in made]) if made else pa.table({}),
    }
    written = tuple(
        write_segment(index.places, kind, table, f"-s{space_id}")  # two spaces may have the same postings
        for kind, table in tables.items()
        if table.num_rows
    )
    return Copies(space_id, made, tuple(one for one in copies if isinstance(one, Blocked)), written)


def adopt(connection: sa.Connection, written: Sequence[Copies], live_id: int, version: int) -> frozenset[str]:
    """Begins the copies of revisions that are live, and returns the ids of their documents."""
    adopted = set()
    for one in written:
        adopted |= {copy.document_id for copy in one.copies if _adopt(connection, copy, live_id, version)}
        if one.written:
            claim(connection, one.written, one.space_id, version)
        block(connection, [blocked for blocked in one.blocked if _live_row(connection, blocked, live_id)])
    return frozenset(adopted)


def _adopt(connection: sa.Connection, copy: Copy, live_id: int, version: int) -> bool:
    revisions = schema.revisions
    row = _live_row(connection, copy, live_id)
    if row is None:
        return False
    end_copies(connection, copy.space_id, [copy.document_id], version)
    connection.execute(
        revisions.insert().values(dict(row) | _own_values(copy, row) | {"began_version": version})
    )
    _unblock(connection, copy)
    return True


def _live_row(connection: sa.Connection, one: Copy | Blocked, live_id: int) -> sa.RowMapping | None:
    """The row of the live space that has this revision now; None when it was replaced or deleted."""
    revisions = schema.revisions
    query = sa.select(revisions).where(
        revisions.c.document_id == one.document_id,
        revisions.c.revision == one.revision,
        revisions.c.space_id == live_id,
        revisions.c.ended_version.is_(None),
    )
    return connection.execute(query).mappings().first()


def _own_values(copy: Copy, row: sa.RowMapping) -> dict[str, object]:
    """What a space says of a revision otherwise than the live one."""
    kept = [warning for warning in row["warnings"] if warning["code"] != UNFIT]
    return {
        "space_id": copy.space_id,
        "chunks": copy.chunks.num_rows,
        "postings": copy.postings.num_rows,
        "over_window": pc.sum(copy.chunks["over_window"]).as_py() or 0,
        "warnings": [*kept, *(asdict(warning) for warning in copy.unfit)],
        "encoder_fit": not copy.unfit,
    }


def end_copies(connection: sa.Connection, space_id: int, document_ids: Sequence[str], version: int) -> None:
    """Ends what a space has of these documents."""
    revisions = schema.revisions
    for document_id in document_ids:
        connection.execute(
            revisions.update()
            .where(
                revisions.c.document_id == document_id,
                revisions.c.space_id == space_id,
                revisions.c.ended_version.is_(None),
            )
            .values(ended_version=version)
        )


def block(connection: sa.Connection, blocked: Sequence[Blocked]) -> None:
    """Names what a space can't have in the newest migration to or from it. A waiver holds for its revision alone."""
    table = schema.blockers
    for one in blocked:
        migration_id = _migration_of(connection, one.space_id)
        if migration_id is None:
            continue
        key = sa.and_(table.c.migration_id == migration_id, table.c.document_id == one.document_id)
        values = {"revision": one.revision, "reason": storable_text(one.reason)}
        waived = sa.and_(table.c.waived, table.c.revision == one.revision)
        if not connection.execute(table.update().where(key).values(**values, waived=waived)).rowcount:
            named = {"migration_id": migration_id, "document_id": one.document_id, "waived": False}
            connection.execute(table.insert().values(values | named))


def unblock(connection: sa.Connection, document_id: str) -> None:
    """What is said of a revision that has ended, a waiver too, blocks no migration any more."""
    connection.execute(schema.blockers.delete().where(schema.blockers.c.document_id == document_id))


def _unblock(connection: sa.Connection, copy: Copy) -> None:
    table = schema.blockers
    migration_id = _migration_of(connection, copy.space_id)
    connection.execute(
        table.delete().where(table.c.migration_id == migration_id, table.c.document_id == copy.document_id)
    )


def _migration_of(connection: sa.Connection, space_id: int) -> int | None:
    migrations = schema.migrations
    query = sa.select(sa.func.max(migrations.c.migration_id)).where(
        sa.or_(migrations.c.from_space == space_id, migrations.c.to_space == space_id)
    )
    found: int | None = connection.scalar(query)
    return found
