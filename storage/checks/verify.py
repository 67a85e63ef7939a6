"""Verify: every invariant of the spec, counted on what is stored."""

from collections import Counter
from collections.abc import Iterator, Sequence

import sqlalchemy as sa

from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBroken
from pincite.schemas.records import Check
from pincite.storage.checks.check_counts import Tally
from pincite.storage.checks.verify_documents import verify_documents
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import oldest_time
from pincite.storage.locks.process_identity import has_died
from pincite.storage.locks.reader_leases import holding
from pincite.storage.segments.segment import Segment, read_segment, require_whole
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot
from pincite.storage.snapshots.spaces import kept_spaces


def verify(index: Index) -> tuple[Check, ...]:
    """All checks on the newest version, also of spaces that are kept beside the one that is searched.

    Nothing is repaired; a check that found problems is not `ok`. Checks that can't be made, since what they would
    read is damaged, are left out after the one that failed.
    """
    tally = Tally()
    damage = tuple(_ledger_damage(index))
    tally.add("ledger is intact", 1, damage)
    if damage:
        return tally.checks()
    with transactions.reading(index.engine) as connection:
        snapshot = index.snapshot_within(connection)
        snapshots = [
            snapshot
            if kept.live
            else Snapshot.read(connection, index.places, snapshot.version, kept.space_id)
            for kept in kept_spaces(connection)
        ]
        _verify_states(connection, snapshot.space_id, tally)
        _verify_runs(connection, tally)
    with holding(index.engine, snapshot.version):
        if _verify_segments(index, list(dict.fromkeys(s for one in snapshots for s in one.segments)), tally):
            for one in snapshots:
                verify_documents(one, tally)
    return tally.checks()


def _ledger_damage(index: Index) -> Iterator[str]:
    try:
        with transactions.reading(index.engine) as connection:
            damage = transactions.damage(index.engine, connection)
    except IndexBroken as error:
        damage = [str(error)]
    yield from damage


def _verify_states(connection: sa.Connection, live_id: int, tally: Tally) -> None:
    documents, revisions, runs = schema.documents, schema.revisions, schema.runs
    count = connection.scalar(sa.select(sa.func.count()).select_from(documents)) or 0
    found = sa.exists().where(
        revisions.c.document_id == documents.c.document_id, revisions.c.ended_version.is_(None)
    )
    live = found.where(revisions.c.space_id == live_id)
    wrong = {
        "is indexed and has no live revision": sa.and_(documents.c.state == "indexed", ~live),
        "is deleted and can still be found": sa.and_(documents.c.state == "deleted", found),
        "failed without a reason": sa.and_(
            documents.c.state == "failed", sa.func.coalesce(documents.c.reason, "") == ""
        ),
    }
    paths = sa.select(documents.c.path).order_by(documents.c.path)
    tally.add(
        "states agree with what is live",
        count,
        (f"{path} {what}" for what, rule in wrong.items() for path in connection.scalars(paths.where(rule))),
    )
    running = connection.execute(sa.select(runs).where(runs.c.state == "running")).all()
    alive = [row.run_id for row in running if not has_died(row.host, row.pid, row.process)]
    left = sa.and_(documents.c.state == "running", documents.c.lease_owner.not_in(alive))
    tally.add(
        "no document is held by a run that ended",
        count,
        (f"{path} is running: run `pincite index` again" for path in connection.scalars(paths.where(left))),
    )


def _verify_runs(connection: sa.Connection, tally: Tally) -> None:
    runs = schema.runs
    rows = connection.execute(sa.select(runs).order_by(runs.c.started_at, runs.c.run_id)).mappings().all()
    completed = [row for row in rows if row["state"] == "completed"]
    tally.add(
        "counts of each run add up", len(completed), (p for row in completed for p in _sum_problems(row))
    )
    newest = {row["source"]: row for row in rows}
    problems = [*_attempt_problems(connection, completed)]
    for row in newest.values():
        problems += _outcome_problems(connection, row) if row["state"] == "completed" else ()
    tally.add("counts of each run are those of its documents", len(completed), problems)


_OUTCOMES = ("indexed", "failed", "unchanged", "deleted")


def _sum_problems(run: sa.RowMapping) -> Iterator[str]:
    parts = [run[name] for name in _OUTCOMES]
    if None in parts or run["discovered"] != sum(int(str(part)) for part in parts):
        yield f"run {run['run_id']} discovered {run['discovered']} and accounts for {parts}"


def _attempt_problems(connection: sa.Connection, completed: Sequence[sa.RowMapping]) -> Iterator[str]:
    """Of the runs whose attempts no vacuum took away."""
    attempts = schema.attempts
    query = sa.select(attempts.c.run_id, sa.func.count()).where(attempts.c.outcome == "indexed")
    indexed = {run_id: count for run_id, count in connection.execute(query.group_by(attempts.c.run_id))}
    since = oldest_time(connection)
    for run in completed:
        if run["started_at"] >= since and run["indexed"] != indexed.get(run["run_id"], 0):
            yield f"run {run['run_id']} says {run['indexed']} indexed, its attempts {indexed.get(run['run_id'], 0)}"


def _outcome_problems(connection: sa.Connection, run: sa.RowMapping) -> Iterator[str]:
    """Of the newest run of a source, which saw all its documents."""
    documents = schema.documents
    query = sa.select(documents.c.last_outcome, sa.func.count()).where(documents.c.last_run == run["run_id"])
    rows = connection.execute(query.group_by(documents.c.last_outcome))
    by_outcome = Counter({outcome: count for outcome, count in rows})
    for name in _OUTCOMES:
        if by_outcome[name] != run[name]:
            yield f"run {run['run_id']} says {run[name]} {name}, its documents {by_outcome[name]}"


def _verify_segments(index: Index, segments: Sequence[Segment], tally: Tally) -> bool:
    """Whether all are whole: rows of a damaged file say nothing."""
    problems = [p for segment in segments for p in _segment_problems(index, segment)]
    tally.add("segments are there, unchanged and complete", len(segments), problems)
    return not problems


def _segment_problems(index: Index, segment: Segment) -> Iterator[str]:
    try:
        require_whole(index.places, segment)
        rows = read_segment(index.places, segment.file, ["document_id"]).num_rows
    except IndexBroken as error:
        yield str(error)
        return
    if rows != segment.rows:
        yield f"{segment.file} has {counted(rows, 'row')}, the ledger says {segment.rows}"
