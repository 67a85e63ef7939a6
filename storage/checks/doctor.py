"""Doctor: how an index is, from its ledger and its folder. Nothing is changed, no segment is read.

`pincite.storage.checks.verify` reads everything; this looks at what can be seen in a moment.
"""

import shutil
from collections import Counter
from collections.abc import Iterator

import sqlalchemy as sa

from pincite.schemas.counting import counted
from pincite.schemas.errors import PinciteError
from pincite.schemas.health import Finding
from pincite.schemas.retrying import remedy_of
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.versions import local, oldest_version
from pincite.storage.locks.process_identity import has_died
from pincite.storage.locks.reader_leases import living
from pincite.storage.maintenance.compaction import MOST_UNITS
from pincite.storage.maintenance.vacuum import freeable
from pincite.storage.queries.index_report import document_reports
from pincite.storage.queries.staleness import OTHER_RECIPE, Current
from pincite.storage.search_cache.array_file import Damaged, map_file
from pincite.storage.search_cache.packs import units_in
from pincite.storage.segments.segment import REMEDY, unclaimed
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import unfinished, unproven

LEAST_FREE_BYTES = 1 << 30
_WHERE = "`pincite documents --state failed` lists them, `pincite retry` tries them again"
RUN_AGAIN = "run `pincite index` over its folder again"


def examine(index: Index, current: Current) -> tuple[Finding, ...]:
    """The findings, area by area. A ledger that is damaged is the only one then.

    `current` is what documents would be made with now: what differs from it is stale.
    """
    damage = list(_ledger(index))
    if any(finding.level == "wrong" for finding in damage):
        return tuple(damage)
    looks = (_documents(index, current), _runs(index), _segments(index), _cache(index), _disk(index))
    return (*damage, *(finding for look in looks for finding in look), *_versions(index))


def _ledger(index: Index) -> Iterator[Finding]:
    try:
        with transactions.reading(index.engine) as connection:
            faults = transactions.damage(index.engine, connection, quick=True)
            version = schema.current_version(connection)
    except PinciteError as error:
        yield Finding("ledger", "wrong", str(error), "restore the index folder from a copy")
        return
    if faults:
        yield Finding(
            "ledger",
            "wrong",
            f"the ledger is damaged: {'; '.join(faults)}",
            "restore the index folder from a copy, or index again into a new folder",
        )
        return
    yield Finding("ledger", "ok", f"whole, schema {schema.SCHEMA_VERSION}, version {version}")


def _documents(index: Index, current: Current) -> Iterator[Finding]:
    reports = document_reports(index, current)
    failed = Counter(report.kind or "error" for report in reports if report.state == "failed")
    stale = Counter(report.stale_reason for report in reports if report.stale_reason)
    for kind, count in sorted(failed.items()):
        yield Finding(
            "documents",
            "wrong",
            f"{count} failed: {kind}",
            f"{remedy_of(kind)} {_WHERE}",
        )
    for reason, count in sorted(stale.items()):
        yield Finding("documents", "note", f"{count} stale: {reason}", _remedy_of_stale(reason))
    if not failed and not stale:
        yield Finding("documents", "ok", f"{len(reports)}, none failed or stale")


def _remedy_of_stale(reason: str) -> str:
    if "failed: " in reason:
        return "see `pincite documents --state failed`, then `pincite retry`"
    moved, made = "pincite migrate" in reason, OTHER_RECIPE in reason or "extractor" in reason
    return " and ".join(
        [*(["`pincite migrate`"] if moved else []), *([RUN_AGAIN] if made or not moved else [])]
    )


def _runs(index: Index) -> Iterator[Finding]:
    documents, runs = schema.documents, schema.runs
    with transactions.reading(index.engine) as connection:
        rows = connection.execute(sa.select(runs).where(runs.c.state == "running")).all()
        alive = {row.run_id: row for row in rows if not has_died(row.host, row.pid, row.process)}
        open_documents = connection.execute(
            sa.select(documents.c.state, documents.c.lease_owner).where(
                documents.c.state.in_(("running", "pending"))
            )
        ).all()
        to_forget, to_prove = len(unfinished(connection)), len(unproven(connection))
        readers = living(connection)
    stuck = sum(row.state == "running" and row.lease_owner not in alive for row in open_documents)
    if stuck:
        yield Finding("documents", "wrong", f"{stuck} stuck: the run that held them is gone", RUN_AGAIN)
    waiting = sum(row.state == "pending" for row in open_documents)
    if waiting and not alive:
        yield Finding(
            "documents", "wrong", f"{counted(waiting, 'waits', 'wait')} and no run is at work", RUN_AGAIN
        )
    if to_forget:
        yield Finding(
            "documents",
            "wrong",
            f"{counted(to_forget, 'is', 'are')} not forgotten to the end",
            "any run finishes it; `pincite forget --verify` also makes the proof",
        )
    if to_prove:
        yield Finding(
            "documents",
            "wrong",
            f"{counted(to_prove, 'is', 'are')} erased, which is not proven: a kill or something found kept the "
            "scan from it",
            "pincite forget --verify",
        )
    for row in alive.values():
        yield Finding(
            "runs",
            "note",
            f"{row.kind} is running: process {row.pid} on {row.host} since {local(row.started_at)}",
            "wait until it ends; what it had finished stays if it is interrupted",
        )
    for reader in readers:
        yield Finding(
            "readers",
            "note",
            f"process {reader.pid} on {reader.host} reads version {reader.version}",
            "end it if a vacuum is to take that version away; its lease ends with it",
        )


def _segments(index: Index) -> Iterator[Finding]:
    with transactions.reading(index.engine) as connection:
        rows = connection.execute(sa.select(schema.segments)).all()
    lost, damaged = [], []
    for row in rows:
        size = index.places.objects.size_bytes(row.file)
        if size is None:
            lost.append(row.file)
        elif size != row.size_bytes:
            damaged.append(row.file)
    for files, what in ((lost, "missing"), (damaged, "not of the size that was written")):
        if files:
            yield Finding("segments", "wrong", f"{len(files)} {what}, first {files[0]}", REMEDY)
    if not lost and not damaged:
        live = sum(row.ended_version is None for row in rows)
        yield Finding(
            "segments",
            "ok",
            f"{counted(len(rows), 'is', 'are')} there; `pincite verify` also reads {live:,} of them",
        )
    if orphans := unclaimed(index.places.objects, {row.file for row in rows}):
        yield Finding(
            "segments",
            "note",
            f"{counted(len(orphans), 'file')} that no transaction claimed, of a run that was killed or is at work",
            "the next run removes them",
        )
    units = Counter((row.space_id, row.began_version) for row in rows if row.ended_version is None)
    per_space = Counter(space for space, _ in units)
    if (most := max(per_space.values(), default=0)) > MOST_UNITS:
        yield Finding("segments", "note", f"{most:,} small units make searches slow", "pincite compact")


def _cache(index: Index) -> Iterator[Finding]:
    with index.snapshot() as snapshot:
        wanted = {unit.key for unit in snapshot.units}
    offered: set[str] = set()
    size = 0
    for path in sorted(index.places.cache.glob("*.pack")):
        try:
            offered.update(units_in(map_file(path)))
            size += path.stat().st_size
        except (OSError, Damaged) as error:
            yield Finding(
                "cache", "note", f"{path.name} can't be used: {error}", "the next search makes it again"
            )
    missing = len(wanted - offered)
    if missing:
        yield Finding(
            "cache",
            "note",
            f"not in it: {missing:,} of {counted(len(wanted), 'unit')}",
            "the next search makes them",
        )
    else:
        yield Finding("cache", "ok", f"complete, {counted(size, 'byte')}")


def _disk(index: Index) -> Iterator[Finding]:
    free = shutil.disk_usage(index.path).free
    segments = schema.segments
    with transactions.reading(index.engine) as connection:
        query = sa.select(sa.func.sum(segments.c.size_bytes)).where(segments.c.ended_version.is_(None))
        live = connection.scalar(query) or 0
    if free < max(LEAST_FREE_BYTES, live):
        yield Finding(
            "disk",
            "wrong",
            f"{counted(free, 'byte is', 'bytes are')} free; a compaction may need {live:,} more beside what is there",
            "free some: `pincite vacuum` removes what only old versions have",
        )
    else:
        yield Finding("disk", "ok", f"{counted(free, 'byte is', 'bytes are')} free")


def _versions(index: Index) -> Iterator[Finding]:
    files, size = freeable(index)
    with transactions.reading(index.engine) as connection:
        oldest, newest = oldest_version(connection), schema.current_version(connection)
    if files:
        yield Finding(
            "versions",
            "note",
            f"vacuum could free {counted(files, 'file')}, {counted(size, 'byte')}, of old versions",
            "pincite vacuum",
        )
    yield Finding("versions", "ok", f"{oldest} to {newest} can be read")
