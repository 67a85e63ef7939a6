"""Documents of the ledger: pages of them in an order that a person chose, single ones, and those that match.

Pages follow a key (the last row's values), never a count: the hundredth page costs what the first does.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from pincite.schemas.errors import NotFound, UsageError
from pincite.schemas.records import Space
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.interface import ANY_CASE, any_case
from pincite.storage.queries.index_report import STATES, DocumentReport, report_of
from pincite.storage.queries.staleness import Current, is_stale
from pincite.storage.runs.collections import collection_names
from pincite.storage.snapshots.index import Index

Order = Literal["path", "changed", "attempts", "chunks", "pages", "confidence"]
ORDERS: tuple[Order, ...] = ("path", "changed", "attempts", "chunks", "pages", "confidence")
MOST_WORDS = 200
_AT_ONCE = 30_000  # values of one statement: SQLite takes 32,766
_OF_REVISION = frozenset({"chunks", "pages", "confidence"})
_BEHIND_ALL = -1  # the value of a document that has none
_THERE = schema.documents.c.state != sa.literal_column("'deleted'")
"""In the words of the partial index `one_document_a_path`, whose order is that of a listing."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Some documents in their order. `total` is of the state asked for; `more` behind these."""

    documents: tuple[DocumentReport, ...]
    total: int
    more: bool
    space: Space
    version: int


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


ALL = Wanted()


@dataclass(frozen=True, slots=True)
class RetryCandidate:
    """A document as far as it matters for a retry."""

    document_id: str
    path: str
    state: str
    collection: str


def list_documents(
    index: Index, current: Current, wanted: Wanted = ALL, after: str = "", limit: int = 50
) -> Listing:
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
        rows = _rows_in_order(connection, query.order_by(*ordered), limit + 1)
        snapshot = index.snapshot_within(connection, version, [row.document_id for row in rows])
        names = collection_names(connection, {row.source for row in rows})
    live = {one.document_id: one for one in snapshot.documents()}
    reports = tuple(
        report_of(row, live.get(row.document_id), space, current, names[row.source]) for row in rows[:limit]
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


def ids_of(index: Index, current: Current, wanted: Wanted, limit: int) -> tuple[str, ...]:
    """The ids of all that match, sorted, at most `limit` and one: more than `limit` says that there are more."""
    with transactions.reading(index.engine) as connection:
        version = schema.current_version(connection)
        query = _matching(wanted, schema.live_space(connection, version), current)
        column = schema.documents.c.document_id
        return tuple(connection.scalars(query.with_only_columns(column).order_by(column).limit(limit + 1)))


def chosen_documents(index: Index, document_ids: Sequence[str]) -> tuple[RetryCandidate, ...]:
    """The documents of these ids, each once, sorted by id. Raises `NotFound` naming one that is not there."""
    documents = schema.documents
    columns = documents.c.document_id, documents.c.path, documents.c.state, documents.c.source
    wanted = sorted(set(document_ids))
    rows: list[sa.Row[tuple[str, str, str, str]]] = []
    with transactions.reading(index.engine) as connection:
        for first in range(0, len(wanted), _AT_ONCE):
            query = sa.select(*columns).where(
                documents.c.document_id.in_(wanted[first : first + _AT_ONCE]), documents.c.state != "deleted"
            )
            rows += connection.execute(query.order_by(documents.c.document_id))
        names = collection_names(connection, {row.source for row in rows})
    if len(rows) < len(wanted):
        missing = min(set(wanted) - {row.document_id for row in rows})
        raise NotFound(f"the index has no document {missing!r}: `pincite documents` lists them")
    return tuple(RetryCandidate(row.document_id, row.path, row.state, names[row.source]) for row in rows)


def reason_digest(reason: str) -> str:
    """A short name of a reason, which may be long and hold what no address and no form can carry."""
    return hashlib.sha256(reason.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def reason_of(index: Index, digest: str) -> str | None:
    """The reason that has this name, of those for which documents are failed now; None when none has."""
    documents = schema.documents
    query = sa.select(documents.c.reason).where(
        documents.c.state == "failed", documents.c.reason.is_not(None)
    )
    with transactions.reading(index.engine) as connection:
        reasons = connection.scalars(query.distinct()).all()
    return next((reason for reason in reasons if reason and reason_digest(reason) == digest), None)


def _matching(wanted: Wanted, live_space: tuple[int, Space], current: Current) -> sa.Select[tuple[Any, ...]]:
    documents = schema.documents
    query = _of_state(wanted.state, live_space, current)
    for name in ("source", "stage", "kind", "reason"):
        if value := getattr(wanted, name):
            query = query.where(documents.c[name] == value)
    for word in wanted.words[:MOST_WORDS].split():
        query = query.where(_holds(documents.c.path, word))
    return query


def _holds(column: sa.ColumnElement[str], word: str) -> sa.ColumnElement[bool]:
    """Whether a column holds a word, in any case. SQL's own way knows ASCII alone, and is ten times as fast."""
    if word.isascii():
        return column.icontains(word, autoescape=True)
    folded: sa.ColumnElement[str] = getattr(sa.func, ANY_CASE)(column)
    return folded.contains(any_case(word), autoescape=True)


def _of_state(
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
        _place_keys(wanted.state)
        if wanted.order == "path"
        else [columns[wanted.order], documents.c.document_id]
    )


def _place_keys(state: str | None) -> list[sa.ColumnElement[Any]]:
    """The order of a listing: source, then path; by an index, unless few of its rows may be of the state."""
    documents = schema.documents
    source = documents.c.source + "" if state == "stale" else documents.c.source
    return [source, documents.c.path, documents.c.document_id]


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


def _rows_in_order(
    connection: sa.Connection, query: sa.Select[tuple[Any, ...]], limit: int
) -> list[sa.Row[Any]]:
    """The first rows of `documents` of an ordered query; whole rows are read of these alone, not sorted."""
    documents = schema.documents
    ids = connection.scalars(query.with_only_columns(documents.c.document_id).limit(limit)).all()
    found = connection.execute(sa.select(documents).where(documents.c.document_id.in_(ids)))
    rows = {row.document_id: row for row in found}
    return [rows[one] for one in ids]


def _live(space_id: int) -> sa.ColumnElement[bool]:
    revisions = schema.revisions
    return sa.and_(
        revisions.c.document_id == schema.documents.c.document_id,
        revisions.c.ended_version.is_(None),
        revisions.c.space_id == space_id,
    )
