"""Forget: documents leave the index, with every version, and a scan proves it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from storage import ledger, transactions
from storage.erasing import Erased, finish_erasures
from storage.evaluations import drop_reports
from storage.forgotten import Asked, ask
from storage.index import Index
from storage.proof import Proof, Traces, gather, prove
from storage.readers import living
from storage.runs import begin_run, finish_run

QUOTED = "removed: it quoted a document that was forgotten"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was done and what the scan says. Forgotten is a document only when `proof.found` is empty."""

    document_ids: tuple[str, ...]
    erased: Erased
    proof: Proof
    copies: tuple[str, ...]  # documents whose file has the same bytes
    readers: tuple[str, ...]  # processes that may have it in memory until they end or search again


def forget(index: Index, asked: Sequence[Asked]) -> Forgotten:
    """Erases documents from every version and scans the folder. Raises `IndexBusy`.

    Killed half way, the next run of any kind finishes it.
    """
    with begin_run(index, "forget", "") as run:
        traces = gather(index, asked)
        copies = _copies(index, asked)
        _drop_quotes(
            index, traces
        )  # first, since only who has the traces can: a kill behind it leaves nothing of these
        ask(index, asked)
        erased = finish_erasures(index, run.run_id)
        finish_run(run)
        proof = prove(index, traces)
    assert erased is not None  # it was asked above
    if not erased.clean:
        left = "the ledger's log could not be emptied, since a reader uses it: the next run tries again"
        proof = replace(proof, found=(*proof.found, left))
    return Forgotten(traces.document_ids, erased, proof, copies, _readers(index))


def _copies(index: Index, asked: Sequence[Asked]) -> tuple[str, ...]:
    documents = ledger.documents
    ids = [one.document_id for one in asked]
    digests = sa.select(documents.c.sha256).where(documents.c.document_id.in_(ids), documents.c.sha256 != "")
    query = sa.select(documents.c.path).where(
        documents.c.sha256.in_(digests), documents.c.document_id.not_in(ids), documents.c.state != "deleted"
    )
    with transactions.reading(index.engine) as connection:
        return tuple(connection.scalars(query.order_by(documents.c.path)))


def _drop_quotes(index: Index, traces: Traces) -> None:
    """What runs, calibrations, gates and reports of evaluations say that names the document or quotes it."""
    drop_reports(index.path)
    strings = [*traces.names, *traces.stretches]
    columns: tuple[sa.Column[Any], ...] = (
        ledger.runs.c.message,
        ledger.calibrations.c.report,
        ledger.migrations.c.gate,
    )
    with transactions.writing(index.engine) as connection:
        for column in columns:
            (key,) = column.table.primary_key
            for row_key, said in connection.execute(sa.select(key, column)).all():
                left = _unquoted(said, strings)
                if left != said:
                    here = sa.update(column.table).where(key == row_key)
                    connection.execute(here.values({column.name: left}))


def _unquoted(said: Any, strings: Sequence[str]) -> Any:
    """A text, or what JSON can hold, with `QUOTED` in place of each text that has one of the strings."""
    if isinstance(said, str):
        return QUOTED if any(string in said for string in strings) else said
    if isinstance(said, list):
        return [_unquoted(one, strings) for one in said]
    if isinstance(said, dict):
        return {name: _unquoted(one, strings) for name, one in said.items()}
    return said


def _readers(index: Index) -> tuple[str, ...]:
    with transactions.reading(index.engine) as connection:
        return tuple(f"process {row.pid} on {row.host}" for row in living(connection))
