"""Discovery into the ledger: which documents are new, changed, renamed, gone, or to be tried again."""

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import sqlalchemy as sa

from schemas.records import Policy, Registered, SourceFile
from storage import ledger
from storage.commit import new_version
from storage.index import Index
from storage.runs import Run

Row = Mapping[str, Any]


def known_files(index: Index, source: str) -> dict[str, SourceFile]:
    """The files of a source as the ledger last saw them, by path."""
    documents = ledger.documents
    query = sa.select(documents).where(documents.c.source == source, documents.c.state != "deleted")
    with ledger.reading(index.engine) as connection:
        return {
            row.path: SourceFile(row.path, "", row.size_bytes, row.mtime_ns, row.ctime_ns, row.sha256)
            for row in connection.execute(query)
        }


def is_idle(index: Index, source: str, files: Sequence[SourceFile], policy: Policy) -> bool:
    """Whether a run over `files` would change nothing in the ledger but its list of runs."""
    known = known_files(index, source)
    seen = {file.path: file for file in files}
    if known.keys() != seen.keys() or any(_moved(known[path], seen[path]) for path in seen):
        return False
    with ledger.reading(index.engine) as connection:
        rows = _rows(connection, source)
    return all(_standing(row, seen[path], policy) in ("unchanged", "failed") for path, row in rows.items())


def _moved(known: SourceFile, seen: SourceFile) -> bool:
    return (known.size_bytes, known.mtime_ns, known.ctime_ns, known.sha256) != (
        seen.size_bytes,
        seen.mtime_ns,
        seen.ctime_ns,
        seen.sha256,
    )


def register(run: Run, files: Sequence[SourceFile], policy: Policy) -> Registered:
    """Writes every file and every loss of the source into the ledger, in one transaction.

    A document whose file is gone leaves the search with it. A file under a new path with the bytes of a
    vanished one is that document renamed, unless its name was part of what was indexed (a title made from
    the name, another kind of file): then it is a new one.
    """
    with ledger.writing(run.index.engine) as connection:
        changes = _Changes(run, policy, connection)
        rows = _rows(connection, run.source)
        seen = {file.path: file for file in files}
        gone = {path: row for path, row in rows.items() if path not in seen}
        fresh = []
        for path in sorted(seen):
            if path in rows:
                changes.keep(rows[path], seen[path])
            elif (former := _former_path(seen[path], gone)) is not None:
                changes.rename(gone.pop(former), seen[path])
            else:
                fresh.append(seen[path])
        for path in sorted(gone):
            changes.delete(gone[path])
        for file in fresh:
            changes.add(file)
        return changes.write()


def _rows(connection: sa.Connection, source: str) -> dict[str, Row]:
    """The documents of a source with the recipe and title of their live revision, by path."""
    documents, revisions = ledger.documents, ledger.revisions
    live = sa.and_(revisions.c.document_id == documents.c.document_id, revisions.c.ended_version.is_(None))
    query = (
        sa.select(
            documents,
            revisions.c.recipe.label("live_recipe"),
            revisions.c.source_sha256.label("live_sha256"),
            revisions.c.title_from_name,
        )
        .outerjoin(revisions, live)
        .where(documents.c.source == source, documents.c.state != "deleted")
    )
    return {row["path"]: dict(row) for row in connection.execute(query).mappings()}


def _former_path(file: SourceFile, gone: Mapping[str, Row]) -> str | None:
    if not file.sha256:
        return None
    for path, row in sorted(gone.items()):
        same_kind = PurePosixPath(path).suffix == PurePosixPath(file.path).suffix
        whole = row["state"] == "indexed" and row["title_from_name"] is False
        if row["sha256"] == row["live_sha256"] == file.sha256 and same_kind and whole:
            return path
    return None


def _standing(row: Row, file: SourceFile, policy: Policy) -> str:
    """What is to be done with a document that stays: unchanged, failed, or why it is taken up again."""
    if file.unreadable:
        return "failed"
    if file.sha256 != row["sha256"]:
        return "changed"
    if row["state"] == "indexed":
        return "unchanged" if row["live_recipe"] == policy.recipe else "stale"
    if row["state"] != "failed":
        return "retried"  # left over by a run that was killed
    asked = policy.retry is not None and (not policy.retry or row["path"] in policy.retry)
    other_settings = (row["recipe"], row["limits"]) != (policy.recipe, policy.limits)
    worth_it = bool(row["transient"]) and row["attempts"] < policy.attempts
    return "retried" if asked or other_settings or worth_it else "failed"


@dataclass
class _Changes:
    """Collects the rows to write, so that thousands of documents are few statements."""

    run: Run
    policy: Policy
    connection: sa.Connection
    counts: Counter[str] = field(default_factory=Counter)
    pending: list[tuple[str, str]] = field(default_factory=list)
    updates: list[dict[str, object]] = field(default_factory=list)
    inserts: list[dict[str, object]] = field(default_factory=list)
    version: int | None = None

    def keep(self, row: Row, file: SourceFile) -> None:
        standing = _standing(row, file, self.policy)
        self.counts[standing] += 1
        values = _file_values(file)
        if file.unreadable:
            values |= _unreadable_values(file) | {"sha256": row["sha256"]}
        elif standing in ("changed", "stale", "retried"):
            newer = standing == "changed"
            explicit = self.policy.retry is not None
            values |= {
                "state": "pending",
                "source_version": row["source_version"] + newer,
                "attempts": 0 if newer or explicit or standing == "stale" else row["attempts"],
                "last_outcome": None,
            }
            self.pending.append((file.path, row["document_id"]))
        else:
            values["last_outcome"] = standing
        self._update(row, values)

    def rename(self, row: Row, file: SourceFile) -> None:
        self.counts["renamed"] += 1
        self.counts["unchanged"] += 1
        live = self._end_revision(row)
        self.connection.execute(
            ledger.revisions.insert(),
            [
                {**one, "path": file.path, "began_version": self._version(), "ended_version": None}
                for one in live
            ],
        )
        self._update(row, _file_values(file) | {"path": file.path, "last_outcome": "unchanged"})

    def delete(self, row: Row) -> None:
        self.counts["deleted"] += 1
        self._end_revision(row)
        self._update(row, {"state": "deleted", "last_outcome": "deleted", "lease_owner": None})

    def add(self, file: SourceFile) -> None:
        document_id = self._new_id(file.path)
        values = {
            "document_id": document_id,
            "source": self.run.source,
            "path": file.path,
            "state": "pending",
            "last_run": self.run.run_id,
            "updated_at": time.time(),
            "last_outcome": None,
        } | _file_values(file)
        if file.unreadable:
            values |= _unreadable_values(file)
            self.counts["failed"] += 1
        else:
            self.counts["new"] += 1
            self.pending.append((file.path, document_id))
        self.inserts.append(values)

    def write(self) -> Registered:
        documents = ledger.documents
        for group in _by_columns(self.updates):
            self.connection.execute(
                documents.update().where(documents.c.document_id == sa.bindparam("key")), group
            )
        for group in _by_columns(self.inserts):
            self.connection.execute(documents.insert(), group)
        return Registered(pending=tuple(key for _, key in sorted(self.pending)), **self.counts)

    def _update(self, row: Row, values: dict[str, object]) -> None:
        self.updates.append(
            {"key": row["document_id"], "last_run": self.run.run_id, "updated_at": time.time()} | values
        )

    def _version(self) -> int:
        if self.version is None:
            self.version = new_version(self.connection, self.run.run_id)
        return self.version

    def _end_revision(self, row: Row) -> list[dict[str, object]]:
        revisions = ledger.revisions
        live = sa.and_(revisions.c.document_id == row["document_id"], revisions.c.ended_version.is_(None))
        rows = [dict(one) for one in self.connection.execute(sa.select(revisions).where(live)).mappings()]
        if rows:
            self.connection.execute(revisions.update().where(live).values(ended_version=self._version()))
        return rows

    def _new_id(self, path: str) -> str:
        """The first id of this path that no document, living or deleted, ever had."""
        taken = sa.select(ledger.documents.c.document_id)
        for nth in range(1_000_000):
            name = f"{self.run.source}\0{path}\0{nth}"
            document_id = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:16]
            known = self.connection.scalar(taken.where(ledger.documents.c.document_id == document_id))
            if known is None:
                return document_id
        raise AssertionError("a path can't have had a million documents")


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
    }


def _unreadable_values(file: SourceFile) -> dict[str, object]:
    return {
        "state": "failed",
        "stage": "discover",
        "kind": "unreadable",
        "reason": file.unreadable,
        "transient": True,
        "last_outcome": "failed",
    }
