"""Forget: documents leave the index, with every version, and a scan proves it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from pincite.schemas.counting import counted
from pincite.storage.erasure.erase import Erased, drop_prefect, finish_erasures
from pincite.storage.erasure.fingerprints import SHORTEST
from pincite.storage.erasure.proof import Proof, prove
from pincite.storage.erasure.recovery import RECOVERY
from pincite.storage.erasure.traces import Said, read_traces, recall, traces_of, words_of
from pincite.storage.ledger import schema, transactions
from pincite.storage.locks.reader_leases import living
from pincite.storage.objects.disk_errors import writable
from pincite.storage.runs.runs import begin_run, finish_run
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import ForgetRequest, ask, mark_proven, unfinished

QUOTED = "removed: it quoted a document that was forgotten"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was done and what the scan says. Forgotten is a document only when `proof.found` is empty."""

    document_ids: tuple[str, ...]
    erased: Erased
    proof: Proof
    copies: tuple[str, ...]  # documents whose file has the same bytes
    readers: tuple[str, ...]  # processes that may have it in memory until they end or search again


def forget(index: Index, asked: Sequence[ForgetRequest]) -> Forgotten:
    """Erases documents from every version and scans the folder. Raises `IndexBusy`.

    Killed half way, the next run of any kind finishes it, and `verify_forgotten` makes the proof.
    """
    with begin_run(index, "forget", "", RECOVERY) as run:
        said = recall(index, asked)
        traces = traces_of(said)
        copies = _copies(index, asked)
        # First, since only who knows what it said can: a kill behind it leaves nothing of these.
        _drop_quotes(index, said)
        ask(index, asked, {one.document_id: traces.as_json(one.document_id) for one in asked})
        erased = finish_erasures(index, run.run_id)
        finish_run(run)
        assert erased is not None  # it was asked above
        proof = prove(index, traces)
        if not erased.clean:
            left = "the ledger's log could not be emptied, since a reader uses it: the next run tries again"
            proof = replace(proof, found=(*proof.found, left))
        if not proof.found:
            mark_proven(index, traces.document_ids)
    return Forgotten(traces.document_ids, erased, proof, copies, _readers(index))


@dataclass(frozen=True, slots=True)
class Verified:
    """A scan for all documents that were ever forgotten. Of those proven before, only rows under their ids."""

    document_ids: tuple[str, ...]
    proof: Proof


def verify_forgotten(index: Index) -> Verified:
    """Finishes what is not erased to the end, and makes the proofs that a kill or a find left open."""
    with begin_run(index, "forget", "", RECOVERY) as run:
        finish_run(run)
        with writable(index.path):
            drop_prefect(index)
        traces = read_traces(index)
        proof = prove(index, traces)
        with transactions.reading(index.engine) as connection:
            left = unfinished(connection)
        if left:
            proof = replace(
                proof,
                found=(
                    *proof.found,
                    f"{counted(len(left), 'document is', 'documents are')} not erased to the end: run it again",
                ),
            )
        if not proof.found:
            mark_proven(index, traces.document_ids)
    return Verified(traces.document_ids, proof)


def _copies(index: Index, asked: Sequence[ForgetRequest]) -> tuple[str, ...]:
    """Names of other documents, living or in an older version, that have or had the bytes which these have."""
    documents, revisions = schema.documents, schema.revisions
    ids = [one.document_id for one in asked]
    digests = sa.select(documents.c.sha256).where(documents.c.document_id.in_(ids), documents.c.sha256 != "")
    had = sa.exists().where(
        revisions.c.document_id == documents.c.document_id, revisions.c.source_sha256.in_(digests)
    )
    has = sa.and_(documents.c.sha256.in_(digests), documents.c.state != "deleted")
    query = sa.select(documents.c.path).where(sa.or_(has, had), documents.c.document_id.not_in(ids))
    with transactions.reading(index.engine) as connection:
        return tuple(connection.scalars(query.order_by(documents.c.path)))


def _drop_quotes(index: Index, said: Mapping[str, Said]) -> None:
    """What runs, calibrations and gates say that names the document or quotes it."""
    strings = [string for one in said.values() for string in (*one.names, *one.stretches)]
    long = [string for string in strings if len(string.encode("utf-8", "surrogatepass")) >= SHORTEST]
    short = frozenset(path for one in said.values() for path in one.paths if path not in long)
    columns: tuple[sa.Column[Any], ...] = (
        schema.runs.c.message,
        schema.calibrations.c.report,
        schema.migrations.c.gate,
    )
    with transactions.writing(index.engine) as connection:
        for column in columns:
            (key,) = column.table.primary_key
            for row_key, told in connection.execute(sa.select(key, column)).all():
                left = _unquoted(told, long, short)
                if left != told:
                    here = sa.update(column.table).where(key == row_key)
                    connection.execute(here.values({column.name: left}))


def _unquoted(told: Any, strings: Sequence[str], words: frozenset[str]) -> Any:
    """A text, or what JSON can hold, with `QUOTED` in place of each text that has one of the strings or words."""
    if isinstance(told, str):
        quotes = any(string in told for string in strings) or not words.isdisjoint(words_of(told))
        return QUOTED if quotes else told
    if isinstance(told, list):
        return [_unquoted(one, strings, words) for one in told]
    if isinstance(told, dict):
        return {name: _unquoted(one, strings, words) for name, one in told.items()}
    return told


def _readers(index: Index) -> tuple[str, ...]:
    with transactions.reading(index.engine) as connection:
        return tuple(dict.fromkeys(f"process {row.pid} on {row.host}" for row in living(connection)))
