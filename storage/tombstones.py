"""Forgotten documents: what was asked to be forgotten, and what therefore is not indexed again.

Of a forgotten document the ledger keeps its id, the hashes of all its names and of its files' bytes: enough to know
it when it comes back, and nothing that can be read; until a scan found nothing of it, digests of what to look for.
"""

import hashlib
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from pincite.schemas.errors import NotFound, UsageError
from pincite.schemas.records import SourceFile
from pincite.storage.ledger import schema, transactions
from pincite.storage.snapshots.index import Index

BLANK = "//forgotten/"
"""Before its id, the name that the row of a forgotten document bears: no file can have it."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A document that is to be forgotten."""

    document_id: str
    source: str
    paths: tuple[str, ...]  # all that it ever had, the one that it has or had last at the end


def find(index: Index, name: str) -> tuple[ForgetRequest, ...]:
    """The documents, living or not, that have or ever had this path, or have this id. Raises `NotFound`.

    Raises `UsageError` when documents of several sources have this path.
    """
    documents, revisions = schema.documents, schema.revisions
    had = sa.exists().where(revisions.c.document_id == documents.c.document_id, revisions.c.path == name)
    query = sa.select(documents).where(
        sa.or_(documents.c.path == name, documents.c.document_id == name, had),
        documents.c.document_id.not_in(sa.select(schema.forgotten.c.document_id)),
    )
    with transactions.reading(index.engine) as connection:
        rows = connection.execute(query.order_by(documents.c.document_id)).all()
        if not rows:
            raise NotFound(_why_none(connection, name))
        if len({row.source for row in rows}) > 1:
            ids = ", ".join(f"{row.document_id} ({row.source})" for row in rows)
            raise UsageError(f"documents of several sources are named {name!r}: say which by its id, {ids}")
        return tuple(ForgetRequest(row.document_id, row.source, _paths(connection, row)) for row in rows)


def _why_none(connection: sa.Connection, name: str) -> str:
    if _of_name(connection, name):
        return (
            f"{name!r} is forgotten already: `pincite forget --verify` scans for what may be left of it, "
            "`--allow-again` lets it be indexed again"
        )
    return f"the index has no document {name!r}: `pincite documents` lists them"


def _of_name(connection: sa.Connection, name: str) -> tuple[str, ...]:
    """Ids of forgotten documents that had this name in any source, or have this id."""
    sources = connection.scalars(sa.select(schema.documents.c.source).distinct()).all()
    hashes = {name_hash(source, name) for source in sources}
    rows = connection.execute(sa.select(schema.forgotten).order_by(schema.forgotten.c.document_id)).all()
    return tuple(
        row.document_id for row in rows if row.document_id == name or not hashes.isdisjoint(row.names)
    )


def _paths(connection: sa.Connection, row: sa.Row[Any]) -> tuple[str, ...]:
    revisions = schema.revisions
    of_it = sa.select(revisions.c.path).where(revisions.c.document_id == row.document_id)
    return (*sorted({*connection.scalars(of_it)} - {row.path}), row.path)


def ask(index: Index, asked: Sequence[ForgetRequest], traces: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes down what is to be forgotten: from here on every run finishes what is not done of it.

    `traces` by document, as the ledger keeps them for the proof.
    """
    with transactions.writing(index.engine) as connection:
        for one in asked:
            connection.execute(
                schema.forgotten.insert().values(
                    document_id=one.document_id,
                    names=_names(connection, one),
                    contents=_contents(connection, one.document_id),
                    asked_at=time.time(),
                    traces=traces[one.document_id],
                )
            )


def _names(connection: sa.Connection, one: ForgetRequest) -> list[str]:
    """Hashes of all names: those that a kept version tells, and those that only a rename that is long ago knew."""
    documents = schema.documents
    former = sa.select(documents.c.former_names).where(documents.c.document_id == one.document_id)
    return sorted({*(name_hash(one.source, path) for path in one.paths), *(connection.scalar(former) or ())})


def _contents(connection: sa.Connection, document_id: str) -> list[str]:
    documents, revisions = schema.documents, schema.revisions
    of_rows = sa.select(revisions.c.source_sha256).where(revisions.c.document_id == document_id)
    now = sa.select(documents.c.sha256).where(documents.c.document_id == document_id)
    return sorted({*connection.scalars(of_rows), *connection.scalars(now)} - {""})


def name_hash(source: str, path: str) -> str:
    return hashlib.sha256(f"{source}\0{path}".encode("utf-8", "surrogatepass")).hexdigest()


def remembered(
    connection: sa.Connection, source: str, known: Container[str], files: Sequence[SourceFile]
) -> tuple[SourceFile, ...]:
    """The files without those of forgotten documents: of the same name, or with the same bytes.

    Files of `known` paths, those of living documents, stay: a copy is forgotten only when that is asked.
    """
    rows = connection.execute(sa.select(schema.forgotten)).all()
    if not rows:
        return tuple(files)
    names = {name for row in rows for name in row.names}
    contents = {digest for row in rows for digest in row.contents}
    return tuple(
        file
        for file in files
        if file.path in known or (file.sha256 not in contents and name_hash(source, file.path) not in names)
    )


def not_named(
    index: Index, source: str, known: Container[str], files: Sequence[SourceFile]
) -> tuple[SourceFile, ...]:
    """As `remembered`, before the bytes were read: without the files of forgotten names."""
    with transactions.reading(index.engine) as connection:
        rows = connection.scalars(sa.select(schema.forgotten.c.names)).all()
    names = {name for row in rows for name in row}
    return tuple(one for one in files if one.path in known or name_hash(source, one.path) not in names)


def forgotten_ids(index: Index) -> frozenset[str]:
    """Ids of all documents that were ever to be forgotten, and were not allowed again."""
    with transactions.reading(index.engine) as connection:
        return frozenset(connection.scalars(sa.select(schema.forgotten.c.document_id)))


def forgotten_contents(index: Index) -> frozenset[str]:
    """The sha256 of every file from which a forgotten document was made."""
    with transactions.reading(index.engine) as connection:
        rows = connection.scalars(sa.select(schema.forgotten.c.contents)).all()
    return frozenset(digest for row in rows for digest in row)


def allow_again(index: Index, name: str) -> int:
    """Lets a forgotten document be indexed again, by the path or id that it had. Raises `NotFound`."""
    forgotten = schema.forgotten
    with transactions.writing(index.engine) as connection:
        named = forgotten.c.document_id.in_(_of_name(connection, name))
        dropped = connection.execute(forgotten.delete().where(named, forgotten.c.done_at.is_not(None)))
    if not dropped.rowcount:
        raise NotFound(f"no forgotten document was named {name!r}, or it is not yet forgotten to the end")
    return dropped.rowcount


def mark_proven(index: Index, document_ids: Sequence[str]) -> None:
    """Writes down that a scan found nothing, which ends the need for the traces."""
    forgotten = schema.forgotten
    with transactions.writing(index.engine) as connection:
        connection.execute(
            forgotten.update()
            .where(forgotten.c.document_id.in_(document_ids), forgotten.c.done_at.is_not(None))
            .values(traces=sa.null(), proven_at=time.time())
        )


def unproven(connection: sa.Connection) -> tuple[str, ...]:
    """Ids of documents that are erased, of which no scan has found nothing yet."""
    forgotten = schema.forgotten
    query = sa.select(forgotten.c.document_id).where(
        forgotten.c.done_at.is_not(None), forgotten.c.proven_at.is_(None)
    )
    return tuple(connection.scalars(query.order_by(forgotten.c.document_id)))


def unfinished(connection: sa.Connection) -> tuple[str, ...]:
    """Ids of documents that were asked to be forgotten and are not to the end."""
    forgotten = schema.forgotten
    query = sa.select(forgotten.c.document_id).where(forgotten.c.done_at.is_(None))
    return tuple(connection.scalars(query.order_by(forgotten.c.document_id)))
