"""Erasing: all that an index holds of a document goes, from every version.

Segments that have rows of it are written again without them and replaced in their place, so that older versions
read on for the other documents. Every step can be done again: what a kill leaves is finished by the next run.
"""

import fcntl
import logging
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from pincite.schemas.errors import PinciteError
from pincite.storage.kept_evaluations import drop_reports
from pincite.storage.ledger import schema, transactions
from pincite.storage.ledger.transactions import write_anew
from pincite.storage.ledger.versions import TOLD_SINCE, new_version, remember
from pincite.storage.objects.disk_errors import writable
from pincite.storage.search_cache.array_file import Damaged, map_file
from pincite.storage.search_cache.packs import parse_pack
from pincite.storage.segments.segment import Segment, read_segment, write_segment
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import document_numbers
from pincite.storage.tombstones import BLANK, unfinished

PREFECT = "prefect"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Erased:
    """What was taken away of some documents."""

    segments: int  # files that were written again, or removed
    rows: int
    revisions: int
    side_files: int  # packs of the search cache, reports, databases and logs of the embedded Prefect server
    clean: bool  # the ledger's file has no traces left in free pages or its log


def finish_erasures(index: Index, run_id: str) -> Erased | None:
    """Erases what was asked to be forgotten and is not yet to the end; None when there is nothing. Under the lock."""
    with transactions.reading(index.engine) as connection:
        document_ids = unfinished(connection)
    return erase(index, run_id, document_ids) if document_ids else None


def finish_quietly(index: Index, run_id: str) -> None:
    """As `finish_erasures`, for the start of another run, which does not fail by it: the next one tries again."""
    try:
        erased = finish_erasures(index, run_id)
    except PinciteError as error:
        _logger.warning("documents that were to be forgotten are not yet: %s", error)
        return
    if erased:
        _logger.warning(
            "documents are forgotten whose erasure was broken off; that nothing is left is not proven yet: run "
            "`pincite forget --verify`"
        )


def erase(index: Index, run_id: str, document_ids: Sequence[str]) -> Erased:
    """Takes away all of these documents. Only under the lock, and after it was written down."""
    changed = _rewrite(index, document_ids)
    with transactions.writing(index.engine) as connection:
        rows = _replace(connection, changed)
        revisions = _blank(connection, document_ids)
        if changed or revisions:
            version = new_version(connection, run_id)  # readers that keep a version in memory look again
            remember(connection, TOLD_SINCE, str(version))
    transactions.make_durable(index.engine)
    for old, _ in changed.values():
        index.places.objects.delete(old.file)
    with writable(index.path):
        side_files = _drop_derived(index, document_ids) + drop_prefect(index)
    clean = write_anew(index.engine)
    if clean:
        _mark_done(index, document_ids)
    return Erased(len(changed), rows, revisions, side_files, clean)


_Change = tuple[Segment, Segment | None]  # a segment, and what it becomes; None: it had no other rows


def _rewrite(index: Index, document_ids: Sequence[str]) -> dict[int, _Change]:
    """By segment id, of every version and space."""
    with transactions.reading(index.engine) as connection:
        rows = connection.execute(sa.select(schema.segments).order_by(schema.segments.c.segment_id)).all()
    changed: dict[int, _Change] = {}
    for row in rows:
        keys = read_segment(index.places, row.file, ["document_id"])["document_id"]
        if not pc.any(pc.is_in(keys, pa.array(document_ids, pa.string()))).as_py():
            continue
        table = read_segment(index.places, row.file)
        held = pc.is_in(table["document_id"], pa.array(document_ids, pa.string()))
        left = table.filter(pc.invert(held))
        old = Segment(row.kind, row.file, row.rows, row.size_bytes, row.sha256)
        suffix = f"-f{row.segment_id}"  # the same rows may stand in another segment, a copy in a space is -s
        changed[row.segment_id] = (
            old,
            (write_segment(index.places, row.kind, left, suffix) if left.num_rows else None),
        )
    return changed


def _replace(connection: sa.Connection, changed: dict[int, _Change]) -> int:
    segments = schema.segments
    rows = 0
    for segment_id, (old, new) in changed.items():
        rows += old.rows - (new.rows if new else 0)
        here = segments.c.segment_id == segment_id
        if new is None:
            connection.execute(segments.delete().where(here))
        else:
            connection.execute(segments.update().where(here).values(**asdict(new)))
    return rows


_BLANK_VALUES: dict[str, object] = {
    "state": "deleted", "stage": None, "kind": None, "reason": None, "page": None, "transient": False,
    "lease_owner": None, "lease_until": None, "size_bytes": 0, "mtime_ns": 0, "ctime_ns": 0, "sha256": "",
    "etag": "", "former_names": [],
}  # fmt: skip


def _blank(connection: sa.Connection, document_ids: Sequence[str]) -> int:
    """Empties what the ledger says of the documents. Returns how many revisions went.

    The rows of documents and of attempts that succeeded stay, for the counts of the runs that they belong to.
    """
    documents, attempts, revisions = schema.documents, schema.attempts, schema.revisions
    blocked = schema.blockers.c.document_id.in_(document_ids)
    connection.execute(schema.blockers.delete().where(blocked))
    gone = connection.execute(revisions.delete().where(revisions.c.document_id.in_(document_ids)))
    failed = sa.and_(attempts.c.document_id.in_(document_ids), attempts.c.outcome == "failed")
    connection.execute(attempts.delete().where(failed))
    connection.execute(
        documents.update()
        .where(documents.c.document_id.in_(document_ids))
        .values(**_BLANK_VALUES, path=BLANK + documents.c.document_id, updated_at=time.time())
    )
    return gone.rowcount


def _drop_derived(index: Index, document_ids: Sequence[str]) -> int:
    """Deletes all reports, and the packs of the search cache that hold one of the documents, or can't be read.

    Nobody writes one meanwhile; those that write one later know of the documents by now.
    """
    numbers = document_numbers(sorted(document_ids))
    with index.places.quotes.alone():
        dropped = drop_reports(index.places.objects)
        for path in sorted(index.places.cache.glob("*")):
            if path.is_file() and _holds(path, numbers):
                path.unlink(missing_ok=True)
                dropped += 1
    return dropped


def _holds(path: Path, numbers: np.ndarray) -> bool:
    try:
        return bool(np.isin(numbers, parse_pack(map_file(path), path).documents).any())
    except FileNotFoundError:
        return False  # joined with others by a search, before we were alone
    except Damaged:
        return True


def drop_prefect(index: Index) -> int:
    """Empties the homes of embedded Prefect servers that none uses now: their logs may name documents."""
    dropped = 0
    for slot in sorted((index.path / PREFECT).glob("slot-*")):
        with (slot / "lock").open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # a server works there; the scan looks into its files
            for path in sorted(slot.iterdir()):
                if path.name != "lock":
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                    dropped += 1
    return dropped


def _mark_done(index: Index, document_ids: Sequence[str]) -> None:
    forgotten = schema.forgotten
    with transactions.writing(index.engine) as connection:
        connection.execute(
            forgotten.update().where(forgotten.c.document_id.in_(document_ids)).values(done_at=time.time())
        )
