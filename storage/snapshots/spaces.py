"""The spaces of an index: the one that is searched, and others that are kept beside it.

A migration builds a space beside the live one; after the switch the old one is kept until it is removed. What is
published goes to every kept space, and what is deleted leaves every one.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import sqlalchemy as sa

from pincite.schemas.errors import UsageError
from pincite.schemas.records import Space
from pincite.storage.ledger import schema, transactions
from pincite.storage.snapshots.index import Index

PROBE_TOLERANCE = 1e-3
"""Largest cosine distance between a probe's stored vector and one that is made now: the fastest exact kernels
differ by 1e-4 (docs/benchmarks.md), other weights by tenths."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A space whose rows are kept."""

    space_id: int
    space: Space
    setting: str  # what names its model in the settings: a known name, or a folder
    live: bool


def kept_spaces(connection: sa.Connection) -> tuple[Kept, ...]:
    """The live space first, then the others in the order in which they were made."""
    live_id, _ = schema.live_space(connection, schema.current_version(connection))
    query = sa.select(schema.spaces).where(schema.spaces.c.removed_at.is_(None))
    kept = [_kept(row, live_id) for row in connection.execute(query).mappings()]
    return tuple(sorted(kept, key=lambda one: (not one.live, one.space_id)))


def _kept(row: sa.RowMapping, live_id: int) -> Kept:
    space = Space(**{name: row[name] for name in Space.__slots__})
    return Kept(row["space_id"], space, row["setting"] or space.model, row["space_id"] == live_id)


def spaces_of(index: Index) -> tuple[Kept, ...]:
    """As `kept_spaces`, in a transaction of its own."""
    with transactions.reading(index.engine) as connection:
        return kept_spaces(connection)


def space_by_id(connection: sa.Connection, space_id: int) -> Kept:
    """A space, kept or removed."""
    live_id, _ = schema.live_space(connection, schema.current_version(connection))
    query = sa.select(schema.spaces).where(schema.spaces.c.space_id == space_id)
    return _kept(connection.execute(query).mappings().one(), live_id)


def add_space(connection: sa.Connection, space: Space, setting: str) -> int:
    """The id of the kept space that equals `space`, which is added if there is none."""
    for kept in kept_spaces(connection):
        if kept.space == space:
            return kept.space_id
    values = asdict(space) | {"setting": setting}
    inserted = schema.spaces.insert().values(values).returning(schema.spaces.c.space_id)
    return int(connection.execute(inserted).scalar_one())


def remove_space(connection: sa.Connection, space_id: int, version: int) -> None:
    """Ends all revisions and segments of a space; its files are left to vacuum. Raises for the live one."""
    live_id, space = schema.live_space(connection, version)
    if space_id == live_id:
        raise UsageError(f"{space} is the model version that is searched: it can't be removed")
    for table in (schema.revisions, schema.segments):
        connection.execute(
            table.update()
            .where(table.c.space_id == space_id, table.c.ended_version.is_(None))
            .values(ended_version=version)
        )
    connection.execute(
        schema.spaces.update().where(schema.spaces.c.space_id == space_id).values(removed_at=time.time())
    )


def probes(index: Index, space_id: int) -> Mapping[str, np.ndarray]:
    """The probe texts of a space and their vectors, float32 [dimension]; {} when none were stored."""
    table = schema.probes
    query = sa.select(table).where(table.c.space_id == space_id).order_by(table.c.ordinal)
    with transactions.reading(index.engine) as connection:
        rows = connection.execute(query).all()
    return {row.text: np.frombuffer(row.vector, dtype="<f4") for row in rows}


def store_probes(index: Index, space_id: int, texts: Sequence[str], vectors: np.ndarray) -> None:
    """Remembers what the model of a space makes of some texts: `vectors` is float32 [texts, dimension]."""
    rows = [
        {"space_id": space_id, "ordinal": ordinal, "text": text, "vector": vector.astype("<f4").tobytes()}
        for ordinal, (text, vector) in enumerate(zip(texts, vectors, strict=True))
    ]
    with transactions.writing(index.engine) as connection:
        known = connection.scalar(sa.select(sa.func.count()).where(schema.probes.c.space_id == space_id))
        if not known:
            connection.execute(schema.probes.insert(), rows)
