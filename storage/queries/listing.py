"""Listing: pages of documents and single ones, without reading the others."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.schemas.errors import NotFound, UsageError
from pincite.schemas.records import Space
from pincite.storage.ledger import schema, transactions
from pincite.storage.queries.index_report import STATES, DocumentReport, report_of
from pincite.storage.queries.staleness import Current, is_stale
from pincite.storage.runs.collections import collection_names
from pincite.storage.snapshots.index import Index

_THERE = schema.documents.c.state != sa.literal_column("'deleted'")
"""In the words of the partial index `one_document_a_path`, whose order is that of a listing."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Some documents in the order of source, then path. `total` is of the state asked for; `more` behind these."""

    documents: tuple[DocumentReport, ...]
    total: int
    more: bool
    space: Space
    version: int


def list_documents(
    index: Index, current: Current, state: str | None = None, after: str = "", limit: int = 100
) -> Listing:
    """At most `limit` documents of a state ("stale" is one) that come after the document of this id.

    Raises `UsageError` for an unknown state and an `after` that the ledger never had.
    """
    if state is not None and state not in STATES:
        raise UsageError(f"no document is ever {state!r}: ask for one of {', '.join(STATES)}")
    with transactions.reading(index.engine) as connection:
        version = schema.current_version(connection)
        query = of_state(state, schema.live_space(connection, version), current)
        total = connection.scalar(query.with_only_columns(sa.func.count()))
        place = place_keys(state)
        if after:
            query = query.where(_behind(connection, place, after))
        rows = rows_in_order(connection, query.order_by(*place), limit + 1)
        snapshot = index.snapshot_within(connection, version, [row.document_id for row in rows])
        names = collection_names(connection, {row.source for row in rows})
    live = {one.document_id: one for one in snapshot.documents()}
    reports = tuple(
        report_of(row, live.get(row.document_id), snapshot.space, current, names[row.source])
        for row in rows[:limit]
    )
    return Listing(reports, total or 0, len(rows) > limit, snapshot.space, version)


def document_of(index: Index, current: Current, document_id: str) -> tuple[DocumentReport, Space]:
    """One document, and the live space. Raises `NotFound`."""
    documents = schema.documents
    query = sa.select(documents).where(documents.c.document_id == document_id, _THERE)
    with transactions.reading(index.engine) as connection:
        row = connection.execute(query).first()
        if row is None:
            raise NotFound(f"the index has no document {document_id!r}: `pincite documents` lists them")
        snapshot = index.snapshot_within(connection, among=[document_id])
        name = collection_names(connection, [row.source])[row.source]
    live = snapshot.documents()
    return report_of(row, live[0] if live else None, snapshot.space, current, name), snapshot.space


def of_state(
    state: str | None, live_space: tuple[int, Space], current: Current
) -> sa.Select[tuple[object, ...]]:
    """The documents of a state now; the stale ones are found by their live revisions, whatever their order."""
    documents, revisions = schema.documents, schema.revisions
    space_id, space = live_space
    if state != "stale":
        query = sa.select(documents).where(_THERE)
        return query if state is None else query.where(documents.c.state == state)
    stale = [
        documents.c.state == "failed",
        documents.c.sha256 != revisions.c.source_sha256,
        is_stale(space, current),
    ]
    live = sa.and_(
        revisions.c.document_id == documents.c.document_id,
        revisions.c.ended_version.is_(None),
        revisions.c.space_id + 0 == space_id,  # not by the index, which lacks what is compared
    )
    return sa.select(documents).join(revisions, live).where(_THERE, sa.or_(*stale))


def place_keys(state: str | None) -> list[sa.ColumnElement[str]]:
    """The order of a listing: source, then path; by an index, unless few of its rows may be of the state."""
    documents = schema.documents
    source = documents.c.source + "" if state == "stale" else documents.c.source
    return [source, documents.c.path, documents.c.document_id]


def rows_in_order(
    connection: sa.Connection, query: sa.Select[tuple[Any, ...]], limit: int
) -> list[sa.Row[Any]]:
    """The first rows of `documents` of an ordered query; whole rows are read of these alone, not sorted."""
    documents = schema.documents
    ids = connection.scalars(query.with_only_columns(documents.c.document_id).limit(limit)).all()
    found = connection.execute(sa.select(documents).where(documents.c.document_id.in_(ids)))
    rows = {row.document_id: row for row in found}
    return [rows[one] for one in ids]


def _behind(
    connection: sa.Connection, place: list[sa.ColumnElement[str]], document_id: str
) -> sa.ColumnElement[bool]:
    query = sa.select(*place).where(schema.documents.c.document_id == document_id)
    last = connection.execute(query).first()
    if last is None:
        raise UsageError(f"no document ever had the id {document_id!r}: begin the listing without it")
    return sa.tuple_(*place) > sa.tuple_(*(sa.literal(value) for value in last))
