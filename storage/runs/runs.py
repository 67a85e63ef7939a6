"""Runs: begun under the lock of the index, ended with counts that account for every document."""

import os
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBroken, PinciteError
from pincite.schemas.records import Counts
from pincite.schemas.retrying import LOST, outlook_of
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.process_identity import this_process
from pincite.storage.objects.disk_errors import writable
from pincite.storage.objects.download_cache import drop_fetched
from pincite.storage.segments.arrow_rows import storable_text
from pincite.storage.segments.segment import REMEDY, unclaimed
from pincite.storage.snapshots.index import NEW_LEDGER, Index

_HALF_MADE_S = 3_600.0  # no process takes so long to make an empty ledger
DIED = "its process ended before the run did"


@dataclass(frozen=True, slots=True)
class Run:
    """A run that holds the index."""

    index: Index
    run_id: str
    source: str


Recovery = Callable[[Index, str], None]
"""Finishes something that an earlier run left unfinished, under the id of the run that begins."""


@contextmanager
def begin_run(index: Index, kind: str, source: str, recovery: Sequence[Recovery] = ()) -> Iterator[Run]:
    """A run for the block. What an earlier one left behind by being killed is taken over first, then each step of
    `recovery` is done.

    A block that ends by an exception ends the run as broken, with the exception's words; documents that it
    had not finished stay pending for the next run.
    """
    with index.lock.exclusive():
        _take_over(index)
        run = Run(index, f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:8]}", source)
        with transactions.writing(index.engine) as connection:
            connection.execute(
                schema.runs.insert().values(
                    run_id=run.run_id,
                    kind=kind,
                    source=source,
                    state="running",
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    process=this_process(),
                    started_at=time.time(),
                )
            )
        try:
            for step in recovery:
                step(index, run.run_id)
            yield run
        except BaseException as error:
            with suppress(PinciteError):  # a ledger that can't be written now; the next run marks this one
                _break_off(run, error)
            raise
        finally:
            drop_fetched(index.path)


def _take_over(index: Index) -> None:
    """Frees the leases of dead runs and removes files that no transaction claimed.

    We hold the lock, so no other run is alive, whatever host name it had (each container has its own).
    """
    runs = schema.runs
    with transactions.writing(index.engine) as connection:
        _count_lost(connection)
        connection.execute(
            runs.update()
            .where(runs.c.state == "running")
            .values(state="broken", ended_at=time.time(), message=DIED)
        )
        claimed = set(connection.scalars(sa.select(schema.segments.c.file)))
    if lost := sorted(file for file in claimed if index.places.objects.size_bytes(file) is None):
        raise IndexBroken(f"{lost[0]} is missing, and {counted(len(lost) - 1, 'segment')} more: {REMEDY}")
    sweep(index, claimed)


def sweep(index: Index, claimed: set[str]) -> int:
    """Removes what writers that were killed left behind, and returns how many files. Only under the lock.

    That are files of segments that no transaction claimed, fetched objects, and half-made ledgers. What lies in other
    folders (the Prefect server's, side files of searches) is their owners'.
    """
    files = unclaimed(index.places.objects, claimed)
    drop_fetched(index.path)
    for name in files:
        index.places.objects.delete(name)
    with writable(index.path):
        for folder in index.path.glob(f"{NEW_LEDGER}*"):
            if folder.stat().st_mtime < time.time() - _HALF_MADE_S:
                shutil.rmtree(folder)
    return len(files)


_FREE = {"state": "pending", "lease_owner": None, "lease_until": None}
_LOST = {"stage": "run", "kind": LOST, "reason": "its run ended while it was worked on", "page": None}


def _count_lost(connection: sa.Connection) -> None:
    """Documents of a dead run become pending again, and this attempt counts: one of them may have been the cause."""
    documents = schema.documents
    rows = connection.execute(sa.select(documents).where(documents.c.state == "running")).all()
    if not rows:
        return
    connection.execute(
        schema.attempts.insert(),
        [
            {"document_id": row.document_id, "run_id": row.lease_owner, "attempt": row.attempts}
            | {"ended_at": time.time(), "outcome": "lost"}
            | _LOST
            for row in rows
        ],
    )
    transient = outlook_of(LOST).transient
    connection.execute(
        documents.update()
        .where(documents.c.state == "running")
        .values(**_FREE, **_LOST, transient=transient, not_before=None)
    )


def _free(connection: sa.Connection, run: Run) -> None:
    """Documents that a run gives back become pending again, as if it had not begun with them."""
    documents = schema.documents
    connection.execute(
        documents.update()
        .where(documents.c.state == "running", documents.c.lease_owner == run.run_id)
        .values(**_FREE, attempts=documents.c.attempts - 1)
    )


def finish_run(run: Run) -> Counts:
    """Counts of the run, read from the ledger. Raises `IndexBroken` unless they account for every document."""
    documents = schema.documents
    with transactions.reading(run.index.engine) as connection:
        rows = connection.execute(
            sa.select(documents.c.last_outcome, sa.func.count())
            .where(documents.c.last_run == run.run_id)
            .group_by(documents.c.last_outcome)
        ).all()
    by_outcome = {outcome: count for outcome, count in rows}
    open_documents = by_outcome.pop(None, 0)
    if open_documents:
        raise IndexBroken(
            f"{counted(open_documents, 'document has', 'documents have')} no outcome in run {run.run_id}: run again"
        )
    counts = Counts(discovered=sum(by_outcome.values()), **by_outcome)
    with transactions.writing(run.index.engine) as connection:
        _end(connection, run, "completed", **asdict(counts))
    return counts


def _break_off(run: Run, error: BaseException) -> None:
    with transactions.writing(run.index.engine) as connection:
        _free(connection, run)
        _end(connection, run, "broken", message=_words(error))


def _words(error: BaseException) -> str:
    if not isinstance(error, Exception):  # Ctrl-C, or what Prefect makes of SIGTERM
        return "interrupted, as by a cancel: what it had finished stays, the next run takes up the rest"
    return storable_text(f"{type(error).__name__}: {error}".removesuffix(": "))


def _end(connection: sa.Connection, run: Run, state: str, **values: object) -> None:
    connection.execute(
        schema.runs.update()
        .where(schema.runs.c.run_id == run.run_id)
        .values(state=state, ended_at=time.time(), **values)
    )
