"""Overview: counts of the whole index by SQL, all of one moment; no document is read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from pincite.schemas.errors import UsageError
from pincite.schemas.records import Space
from pincite.schemas.retrying import remedy_of
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.process_identity import has_died
from pincite.storage.queries.staleness import Current, live_groups, stale_counts
from pincite.storage.runs.collections import collection_names
from pincite.storage.runs.runs import DIED
from pincite.storage.snapshots.index import Index

MOST_GROUPS = 50  # reasons of failures, the most frequent first


@dataclass(frozen=True, slots=True)
class SourceCounts:
    """The documents of one source by state."""

    collection: str
    source: str
    states: Mapping[str, int]

    @property
    def documents(self) -> int:
        return sum(self.states.values())


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failed documents with one reason."""

    stage: str
    kind: str
    reason: str
    count: int

    @property
    def remedy(self) -> str:
        return remedy_of(self.kind)


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as it is: one that was killed is broken, though it could not write so."""

    run_id: str
    kind: str
    source: str
    state: str  # running, completed, broken
    host: str
    pid: int
    started_at: float  # seconds since the epoch
    ended_at: float | None
    discovered: int | None
    indexed: int | None
    failed: int | None
    unchanged: int | None
    deleted: int | None
    message: str | None

    @property
    def seconds(self) -> float | None:
        return None if self.ended_at is None else self.ended_at - self.started_at


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs, newest first; `more` of them are older than these."""

    runs: tuple[RunRow, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class Overview:
    version: int
    committed_at: float | None  # of the version, seconds since the epoch
    space: Space
    sources: tuple[SourceCounts, ...]
    stale: Mapping[str, int]  # documents that can be found and are not current, by what made them so
    failures: tuple[FailureGroup, ...]
    failures_left_out: int  # failed documents of rarer reasons
    chunks: int
    over_window: int
    pages: int
    ocr_pages: int
    warned: int  # documents with warnings
    unread: int  # documents that the embedding model can't read
    runs: tuple[RunRow, ...]  # newest first

    @property
    def states(self) -> dict[str, int]:
        """Documents by state, over all sources; their sum is every document of the ledger."""
        counts: dict[str, int] = {}
        for one in self.sources:
            for state, count in one.states.items():
                counts[state] = counts.get(state, 0) + count
        return counts

    @property
    def documents(self) -> int:
        return sum(self.states.values())


class Overviews:
    """The overviews of one index, counted anew only when the ledger was written. Threads share it."""

    def __init__(self, index: Index) -> None:
        self._watch = transactions.Watch(index.engine)
        self._counted: tuple[object, Current, Overview] | None = None

    def now(self, current: Current, runs: int = 30) -> Overview:
        """Counts, reasons and the newest `runs` runs, all of one moment."""
        with self._watch.reading() as (connection, moment):
            known = self._counted
            if known is None or moment is None or known[:2] != (moment, current):
                known = self._counted = moment, current, _counted(connection, current)
            # A run that was killed wrote nothing: whether it goes on is looked up each time.
            return replace(known[2], runs=_runs(connection, runs))

    def close(self) -> None:
        self._watch.close()


def _counted(connection: sa.Connection, current: Current) -> Overview:
    version = schema.current_version(connection)
    live_space = schema.live_space(connection, version)
    failures, left_out = _failures(connection)
    groups = live_groups(connection, live_space[0])
    committed_at = sa.select(schema.versions.c.committed_at).where(schema.versions.c.version == version)
    return Overview(
        version=version,
        committed_at=connection.scalar(committed_at),
        space=live_space[1],
        sources=_sources(connection),
        stale=stale_counts(connection, live_space, current, groups),
        failures=failures,
        failures_left_out=left_out,
        chunks=sum(one.chunks for one in groups),
        over_window=sum(one.over_window for one in groups),
        pages=sum(one.pages for one in groups),
        ocr_pages=sum(one.ocr_pages for one in groups),
        warned=_warned(connection, live_space[0]),
        unread=sum(one.unread for one in groups),
        runs=(),
    )


def runs_of(index: Index, limit: int) -> tuple[RunRow, ...]:
    """The newest runs, newest first."""
    with transactions.reading(index.engine) as connection:
        return _runs(connection, limit)


def run_of(index: Index, run_id: str) -> RunRow | None:
    with transactions.reading(index.engine) as connection:
        row = (
            connection.execute(sa.select(schema.runs).where(schema.runs.c.run_id == run_id))
            .mappings()
            .first()
        )
    return None if row is None else run_row(dict(row))


def outcomes_of(index: Index, source: str, run_id: str) -> Mapping[str, int]:
    """Documents of a running run: by outcome where they have one in it, else by state."""
    documents = schema.documents
    done = sa.and_(documents.c.last_run == run_id, documents.c.last_outcome.is_not(None))
    word = sa.case((done, documents.c.last_outcome), else_=documents.c.state)
    query = sa.select(word, sa.func.count()).where(
        documents.c.source == source, documents.c.last_run == run_id
    )
    with transactions.reading(index.engine) as connection:
        return {state: count for state, count in connection.execute(query.group_by(word).order_by(word))}


def _sources(connection: sa.Connection) -> tuple[SourceCounts, ...]:
    documents = schema.documents
    query = (
        sa.select(documents.c.source, documents.c.state, sa.func.count())
        .where(documents.c.state != "deleted")
        .group_by(documents.c.source, documents.c.state)
    )
    by_source: dict[str, dict[str, int]] = {}
    for source, state, count in connection.execute(query):
        by_source.setdefault(source, {})[state] = count
    for source in connection.scalars(sa.select(schema.collections.c.source)):
        by_source.setdefault(source, {})
    names = collection_names(connection, by_source)
    found = [SourceCounts(names[source], source, states) for source, states in by_source.items()]
    return tuple(sorted(found, key=lambda one: (one.collection, one.source)))


def _failures(connection: sa.Connection) -> tuple[tuple[FailureGroup, ...], int]:
    documents = schema.documents
    count = sa.func.count().label("count")
    columns = documents.c.stage, documents.c.kind, documents.c.reason
    query = (
        sa.select(*columns, count)
        .where(documents.c.state == "failed")
        .group_by(*columns)
        .order_by(count.desc(), *columns)
    )
    groups = [
        FailureGroup(stage or "", kind or "", reason or "", n)
        for stage, kind, reason, n in connection.execute(query)
    ]
    return tuple(groups[:MOST_GROUPS]), sum(one.count for one in groups[MOST_GROUPS:])


def _warned(connection: sa.Connection, space_id: int) -> int:
    revisions = schema.revisions
    query = sa.select(sa.func.count()).where(
        revisions.c.space_id == space_id, revisions.c.ended_version.is_(None), sa.text("warnings <> '[]'")
    )
    return connection.scalar(query) or 0


def _runs(connection: sa.Connection, limit: int) -> tuple[RunRow, ...]:
    runs = schema.runs
    query = sa.select(runs).order_by(runs.c.started_at.desc(), runs.c.run_id.desc()).limit(limit)
    return tuple(run_row(dict(row)) for row in connection.execute(query).mappings())


def run_row(row: Mapping[str, Any]) -> RunRow:
    """Of a row of `runs`."""
    run = {name: row[name] for name in RunRow.__dataclass_fields__}
    if run["state"] == "running" and has_died(row["host"], row["pid"], row["process"]):
        run |= {"state": "broken", "message": DIED}
    return RunRow(**run)


def list_runs(index: Index, after: str = "", limit: int = 50) -> RunPage:
    """At most `limit` runs that began before the run `after`. Raises `UsageError` when there is no such run."""
    runs = schema.runs
    keys = runs.c.started_at, runs.c.run_id
    query = sa.select(runs).order_by(*(key.desc() for key in keys)).limit(limit + 1)
    with transactions.reading(index.engine) as connection:
        if after:
            last = connection.execute(sa.select(*keys).where(runs.c.run_id == after)).first()
            if last is None:
                raise UsageError(f"no run has the id {after!r}: begin the listing without it")
            query = query.where(sa.tuple_(*keys) < sa.tuple_(*(sa.literal(value) for value in last)))
        rows = connection.execute(query).mappings().all()
    return RunPage(tuple(run_row(dict(row)) for row in rows[:limit]), len(rows) > limit)
