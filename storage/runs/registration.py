"""Discovery into the ledger: which documents are new, changed, renamed, gone, or to be tried again."""

import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import sqlalchemy as sa

from pincite.schemas.counting import counted
from pincite.schemas.errors import UnconfirmedLoss
from pincite.schemas.records import Collection, Policy, Registered, SourceFile
from pincite.schemas.retrying import LOST, outlook_of
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import new_version
from pincite.storage.runs.commit import CLEARED
from pincite.storage.runs.reconcile import Row, match, standing_of
from pincite.storage.runs.replicas import unblock
from pincite.storage.runs.runs import Recovery, Run, begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import name_hash, remembered


def known_files(index: Index, source: str) -> dict[str, SourceFile]:
    """The files of a source as the ledger last saw them, by path."""
    documents = schema.documents
    query = sa.select(documents).where(documents.c.source == source, documents.c.state != "deleted")
    with transactions.reading(index.engine) as connection:
        return {
            row.path: SourceFile(
                row.path, "", row.size_bytes, row.mtime_ns, row.ctime_ns, row.sha256, etag=row.etag
            )
            for row in connection.execute(query)
        }


def is_idle(index: Index, source: str, files: Sequence[SourceFile], policy: Policy) -> bool:
    """Whether `register` would find no document to hand out; it may find deleted and renamed ones."""
    with transactions.reading(index.engine) as connection:
        rows = _rows(connection, source)
        matches = match(rows, remembered(connection, source, rows, files))
    known = (*matches.kept, *matches.renamed)
    due = any(standing_of(row, file, policy).due for row, file in known)
    return not due and all(file.unreadable for file in matches.fresh)


def register(run: Run, files: Sequence[SourceFile], policy: Policy) -> Registered:
    """Writes every file and every loss of the source into the ledger, in one transaction.

    A document whose file is gone leaves the search with it. A renamed one keeps what is stored of it, unless
    its name was part of that (a title made from the name, another kind of file): then it is a new one.
    """
    with transactions.writing(run.index.engine) as connection:
        changes = _Changes(run, policy, connection)
        rows = _rows(connection, run.source)
        matches = match(rows, remembered(connection, run.source, rows, files))
        for row in matches.gone:
            changes.delete(row)
        for row, file in matches.renamed:
            changes.rename(row, file)
        for row, file in matches.kept:
            changes.keep(row, file)
        for file in matches.fresh:
            changes.add(file)
        return changes.write()


def drop_collection(
    index: Index, collection: Collection, confirmed: int | None, recovery: Sequence[Recovery] = ()
) -> int:
    """Takes a collection and all its documents out of the index, and returns how many there were.

    Raises `UsageError`, which names their number, unless that is `confirmed` or nothing would be lost.
    """
    with begin_run(index, "drop", collection.source, recovery) as run:
        documents = len(known_files(index, collection.source))
        if documents and documents != confirmed:
            raise UnconfirmedLoss(
                f"{counted(documents, 'document')} of {collection.source} would be deleted. Nothing was changed "
                "in the index",
                documents,
                confirmed,
            )
        collections = schema.collections
        with transactions.writing(index.engine) as connection:
            changes = _Changes(run, Policy("", "", 1), connection)
            for row in _rows(connection, run.source).values():
                changes.delete(row)
            connection.execute(collections.delete().where(collections.c.source == run.source))
            changes.write()
        return finish_run(run).deleted


def _rows(connection: sa.Connection, source: str) -> dict[str, Row]:
    """The documents of a source with the recipe and title of their live revision, by path."""
    documents, revisions = schema.documents, schema.revisions
    live_id, _ = schema.live_space(connection, schema.current_version(connection))
    live = sa.and_(
        revisions.c.document_id == documents.c.document_id,
        revisions.c.space_id == live_id,
        revisions.c.ended_version.is_(None),
    )
    query = (
        sa.select(
            documents,
            revisions.c.recipe.label("live_recipe"),
            revisions.c.source_sha256.label("live_sha256"),
            revisions.c.extractor.label("live_extractor"),
            revisions.c.extractor_version.label("live_extractor_version"),
            revisions.c.title_from_name,
        )
        .outerjoin(revisions, live)
        .where(documents.c.source == source, documents.c.state != "deleted")
    )
    return {row["path"]: dict(row) for row in connection.execute(query).mappings()}


@dataclass
class _Changes:
    """Collects the rows to write, so that thousands of documents are few statements."""

    run: Run
    policy: Policy
    connection: sa.Connection
    counts: Counter[str] = field(default_factory=Counter)
    pending: list[tuple[str, str]] = field(default_factory=list)  # path and document id
    alone: list[tuple[str, str]] = field(default_factory=list)  # those that may have ended a run
    updates: list[dict[str, object]] = field(default_factory=list)
    moves: list[dict[str, object]] = field(default_factory=list)
    inserts: list[dict[str, object]] = field(default_factory=list)

    def keep(self, row: Row, file: SourceFile) -> None:
        standing = standing_of(row, file, self.policy)
        self.counts[standing.word] += 1
        values: dict[str, object] = {"last_outcome": None if standing.due else standing.word}
        if file.unreadable:  # its size and times stay those of the bytes that were hashed
            values |= _unreadable_values(file)
        else:
            moved_on = file.sha256 != row["sha256"]
            values |= _file_values(file) | {"source_version": row["source_version"] + moved_on}
        if standing.due:
            values |= {"state": "pending"} | (CLEARED | {"attempts": 0} if standing.anew else {})
            suspect = row["kind"] == LOST and not standing.anew
            (self.alone if suspect else self.pending).append((file.path, row["document_id"]))
        elif standing.word == "failed" and row["state"] == "pending":
            values |= _set_aside(row)
        elif standing.word == "unchanged" and row["state"] != "indexed":
            values |= {"state": "indexed", "attempts": 0} | CLEARED
        self._update(row, values)

    def rename(self, row: Row, file: SourceFile) -> None:
        self.counts["renamed"] += 1
        live = self._end_revision(row)
        began = {"path": file.path, "began_version": self.version, "ended_version": None}
        self.connection.execute(schema.revisions.insert(), [one | began for one in live])
        # Over a name that no file can have: two documents may have swapped theirs.
        former = [*row["former_names"], name_hash(row["source"], row["path"])]
        self._update(row, {"path": f"//{row['document_id']}", "former_names": former})
        self.moves.append({"key": row["document_id"], "path": file.path})
        self.keep(row, file)

    def delete(self, row: Row) -> None:
        self.counts["deleted"] += 1
        self._end_revision(row)
        unblock(self.connection, row["document_id"])
        self._update(row, {"state": "deleted", "last_outcome": "deleted"})

    def add(self, file: SourceFile) -> None:
        document_id = self._new_id(file.path)
        values: dict[str, object] = {
            "document_id": document_id,
            "source": self.run.source,
            "path": file.path,
            "state": "pending",
            "last_run": self.run.run_id,
            "last_outcome": None,
            "updated_at": time.time(),
        }
        if file.unreadable:
            self.counts["failed"] += 1
            values |= _unreadable_values(file)
        else:
            self.counts["new"] += 1
            self.pending.append((file.path, document_id))
        self.inserts.append(values | _file_values(file))

    def write(self) -> Registered:
        documents = schema.documents
        by_key = documents.update().where(documents.c.document_id == sa.bindparam("key"))
        for group in (*_by_columns(self.updates), self.moves):
            if group:
                self.connection.execute(by_key, group)
        for group in _by_columns(self.inserts):
            self.connection.execute(documents.insert(), group)
        alone = tuple(key for _, key in sorted(self.alone))
        rest = tuple(key for _, key in sorted(self.pending))
        return Registered(pending=alone + rest, alone=len(alone), **self.counts)

    def _update(self, row: Row, values: dict[str, object]) -> None:
        self.updates.append(
            {"key": row["document_id"], "last_run": self.run.run_id, "updated_at": time.time()} | values
        )

    @cached_property
    def version(self) -> int:
        """The version that all changes of this registration belong to, begun when the first one needs it."""
        return new_version(self.connection, self.run.run_id)

    def _end_revision(self, row: Row) -> list[dict[str, object]]:
        """The rows of what was live of a document, which now end; in several spaces several.

        A space beside the live one may have a document that the live one has not.
        """
        revisions = schema.revisions
        live = sa.and_(revisions.c.document_id == row["document_id"], revisions.c.ended_version.is_(None))
        rows = [dict(one) for one in self.connection.execute(sa.select(revisions).where(live)).mappings()]
        if rows:
            self.connection.execute(revisions.update().where(live).values(ended_version=self.version))
        return rows

    @cached_property
    def _taken_ids(self) -> frozenset[str]:
        return frozenset(self.connection.scalars(sa.select(schema.documents.c.document_id)))

    def _new_id(self, path: str) -> str:
        """The first id of this path that no document, living or deleted, ever had."""
        nth = 0
        while (document_id := _document_id(self.run.source, path, nth)) in self._taken_ids:
            nth += 1
        return document_id


def _document_id(source: str, path: str, nth: int) -> str:
    return hashlib.sha256(f"{source}\0{path}\0{nth}".encode()).hexdigest()[:16]


def _by_columns(rows: Sequence[dict[str, object]]) -> list[list[dict[str, object]]]:
    """The rows in groups that set the same columns, as one statement needs them."""
    groups: dict[tuple[str, ...], list[dict[str, object]]] = {}
    for values in rows:
        groups.setdefault(tuple(sorted(values)), []).append(values)
    return [groups[names] for names in sorted(groups)]


def _file_values(file: SourceFile) -> dict[str, object]:
    return {
        "size_bytes": file.size_bytes,
        "mtime_ns": file.mtime_ns,
        "ctime_ns": file.ctime_ns,
        "sha256": file.sha256,
        "etag": file.etag,
    }


def _set_aside(row: Row) -> dict[str, object]:
    """A document whose runs ended while it was worked on, the last time alone. Others may have ended them all."""
    return {
        "state": "failed",
        "transient": outlook_of(LOST).transient,
        "reason": f"{row['reason']}, {counted(row['attempts'], 'time')} in a row",
    }


def _unreadable_values(file: SourceFile) -> dict[str, object]:
    return {
        "state": "failed",
        "stage": "discover",
        "kind": file.kind,
        "reason": file.unreadable,
        "page": None,
        "transient": outlook_of(file.kind).transient,
        "last_outcome": "failed",
    }
