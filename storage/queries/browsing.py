"""Browsing: documents that match, in an order that a person chose, a page at a time.

Pages follow a key (the last row's values), never a count: the hundredth page costs what the first does.
"""

from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from pincite.schemas.errors import UsageError
from pincite.schemas.records import Space
from pincite.storage.ledger import schema, transactions
from pincite.storage.queries.index_report import STATES, report_of
from pincite.storage.queries.listing import Listing, of_state, place_keys, rows_in_order
from pincite.storage.queries.staleness import Current
from pincite.storage.runs.collections import collection_names
from pincite.storage.snapshots.index import Index

Order = Literal["path", "changed", "attempts", "chunks", "pages", "confidence"]
ORDERS: tuple[Order, ...] = ("path", "changed", "attempts", "chunks", "pages", "confidence")
MOST_WORDS = 200
_THERE = schema.documents.c.state != sa.literal_column("'deleted'")
_OF_REVISION = frozenset({"chunks", "pages", "confidence"})
_BEHIND_ALL = -1  # the value of a document that has none


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which documents, all conditions together; "" and None admit all."""

    state: str | None = None  # one of STATES; "stale" is one
    source: str = ""
    words: str = ""  # in the path, in any case
    stage: str = ""  # of the failure
    kind: str = ""
    reason: str = ""  # the whole reason
    order: Order = "path"
    descending: bool = False


def browse(index: Index, current: Current, wanted: Wanted, after: str = "", limit: int = 50) -> Listing:
    """At most `limit` documents behind the document `after` (an id), which may have moved or be gone by now.

    Raises `UsageError` for an unknown state or order, and an id that the ledger never had.
    """
    if wanted.state is not None and wanted.state not in STATES:
        raise UsageError(f"no document is ever {wanted.state!r}: ask for one of {', '.join(STATES)}")
    if wanted.order not in ORDERS:
        raise UsageError(f"documents have no order by {wanted.order!r}: use one of {', '.join(ORDERS)}")
    with transactions.reading(index.engine) as connection:
        version = schema.current_version(connection)
        space_id, space = schema.live_space(connection, version)
        query = _matching(wanted, (space_id, space), current)
        total = connection.scalar(query.with_only_columns(sa.func.count()))
        if wanted.order in _OF_REVISION and wanted.state != "stale":
            query = query.outerjoin(schema.revisions, _live(space_id))
        keys = _keys(wanted)
        if after:
            query = query.where(_behind(connection, keys, wanted, after, space_id))
        ordered = [key.desc() if wanted.descending else key for key in keys]
        rows = rows_in_order(connection, query.order_by(*ordered), limit + 1)
        snapshot = index.snapshot_within(connection, version, [row.document_id for row in rows])
        names = collection_names(connection, {row.source for row in rows})
    live = {one.document_id: one for one in snapshot.documents()}
    reports = tuple(
        report_of(row, live.get(row.document_id), space, current, names[row.source]) for row in rows[:limit]
    )
    return Listing(reports, total or 0, len(rows) > limit, snapshot.space, version)


def ids_of(index: Index, current: Current, wanted: Wanted, limit: int) -> tuple[str, ...]:
    """The ids of all that match, sorted, at most `limit` and one: more than `limit` says that there are more."""
    with transactions.reading(index.engine) as connection:
        version = schema.current_version(connection)
        query = _matching(wanted, schema.live_space(connection, version), current)
        column = schema.documents.c.document_id
        return tuple(connection.scalars(query.with_only_columns(column).order_by(column).limit(limit + 1)))


def _matching(wanted: Wanted, live_space: tuple[int, Space], current: Current) -> sa.Select[tuple[Any, ...]]:
    documents = schema.documents
    query = of_state(wanted.state, live_space, current)
    for name in ("source", "stage", "kind", "reason"):
        if value := getattr(wanted, name):
            query = query.where(documents.c[name] == value)
    for word in wanted.words[:MOST_WORDS].split():
        query = query.where(documents.c.path.icontains(word, autoescape=True))
    return query


def _keys(wanted: Wanted) -> list[sa.ColumnElement[Any]]:
    """What is ordered by: the column that was chosen, then the place, which makes it total."""
    documents, revisions = schema.documents, schema.revisions
    columns: dict[str, sa.ColumnElement[Any]] = {
        "changed": documents.c.updated_at,
        "attempts": documents.c.attempts,
        "chunks": sa.func.coalesce(revisions.c.chunks, _BEHIND_ALL),
        "pages": sa.func.coalesce(revisions.c.pages, _BEHIND_ALL),
        "confidence": sa.func.coalesce(revisions.c.ocr_confidence, _BEHIND_ALL),
    }
    return (
        [*place_keys(wanted.state)]
        if wanted.order == "path"
        else [columns[wanted.order], documents.c.document_id]
    )


def _behind(
    connection: sa.Connection,
    keys: list[sa.ColumnElement[Any]],
    wanted: Wanted,
    document_id: str,
    space_id: int,
) -> sa.ColumnElement[bool]:
    query = sa.select(*keys).select_from(schema.documents.outerjoin(schema.revisions, _live(space_id)))
    last = connection.execute(query.where(schema.documents.c.document_id == document_id)).first()
    if last is None:
        raise UsageError(f"no document ever had the id {document_id!r}: begin the listing without it")
    here, there = sa.tuple_(*keys), sa.tuple_(*(sa.literal(value) for value in last))
    return here < there if wanted.descending else here > there


def _live(space_id: int) -> sa.ColumnElement[bool]:
    revisions = schema.revisions
    return sa.and_(
        revisions.c.document_id == schema.documents.c.document_id,
        revisions.c.ended_version.is_(None),
        revisions.c.space_id == space_id,
    )
