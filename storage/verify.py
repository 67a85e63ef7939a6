"""Verify: every invariant of the spec, counted on what is stored."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa

from schemas.errors import IndexBroken
from schemas.records import Block, Check, Page
from schemas.settings import DEFAULT_CHUNKER
from schemas.tables import SEGMENT_SCHEMAS, chunk_id
from storage import ledger
from storage.index import Index
from storage.invariants import coverage_problems, slice_problems, vector_problems
from storage.segments import Segment, read_segment, sha256_of
from storage.snapshot import LiveDocument, Snapshot

SHOWN_PROBLEMS = 20


class _Tally:
    """Counts what was looked at and keeps the first problems, by check, in the order in which checks came."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._problems: dict[str, list[str]] = {}

    def add(self, name: str, count: int, problems: Sequence[str] = ()) -> None:
        self._counts[name] += count
        self._problems.setdefault(name, []).extend(problems)

    def checks(self) -> tuple[Check, ...]:
        return tuple(
            Check(name, not problems, self._counts[name], tuple(problems[:SHOWN_PROBLEMS]))
            for name, problems in self._problems.items()
        )


@dataclass(frozen=True, slots=True)
class _StoredChunk:
    ordinal: int
    content: str
    start: int
    end: int


def verify(index: Index) -> tuple[Check, ...]:
    """All checks on the newest version. Nothing is repaired; a check that found problems is not `ok`."""
    tally = _Tally()
    _verify_ledger(index, tally)
    with index.snapshot() as snapshot:
        whole = _verify_segments(index, snapshot, tally)
        if whole:  # rows of a damaged file say nothing
            _verify_rows(snapshot, tally)
    return tally.checks()


def _verify_ledger(index: Index, tally: _Tally) -> None:
    documents, revisions, runs = ledger.documents, ledger.revisions, ledger.runs
    with ledger.reading(index.engine) as connection:
        damage = [row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check") if row[0] != "ok"]
        tally.add("ledger is intact", 1, damage)
        live = set(
            connection.scalars(sa.select(revisions.c.document_id).where(revisions.c.ended_version.is_(None)))
        )
        rows = connection.execute(sa.select(documents)).all()
        ended = connection.execute(sa.select(runs).where(runs.c.state == "completed")).all()
        running = set(connection.scalars(sa.select(runs.c.run_id).where(runs.c.state == "running")))
    tally.add(
        "states agree with what is live", len(rows), [p for row in rows if (p := _state_problem(row, live))]
    )
    tally.add(
        "no document is held by a run that ended",
        len(rows),
        [
            f"{row.path} is running"
            for row in rows
            if row.state == "running" and row.lease_owner not in running
        ],
    )
    tally.add("counts of each run add up", len(ended), [p for row in ended if (p := _run_problem(row))])


def _state_problem(row: sa.Row[tuple[object, ...]], live: set[str]) -> str:
    if row.state == "indexed" and row.document_id not in live:
        return f"{row.path} is indexed and has no live revision"
    if row.state == "deleted" and row.document_id in live:
        return f"{row.path} is deleted and can still be found"
    if row.state == "failed" and not row.reason:
        return f"{row.path} failed without a reason"
    return ""


def _run_problem(row: sa.Row[tuple[object, ...]]) -> str:
    total = row.indexed + row.failed + row.unchanged + row.deleted
    return (
        ""
        if row.discovered == total
        else f"run {row.run_id} discovered {row.discovered} and accounts for {total}"
    )


def _verify_segments(index: Index, snapshot: Snapshot, tally: _Tally) -> bool:
    problems = [p for segment in snapshot.segments if (p := _segment_problem(index, segment))]
    tally.add("segments are there, unchanged and complete", len(snapshot.segments), problems)
    return not problems


def _segment_problem(index: Index, segment: Segment) -> str:
    path = index.path / segment.file
    if not path.is_file():
        return f"{segment.file} is missing"
    if sha256_of(path) != segment.sha256:
        return f"{segment.file} is not what was written"
    try:
        rows = read_segment(index.path, segment.file, ["document_id"]).num_rows
    except IndexBroken as error:
        return str(error)
    return "" if rows == segment.rows else f"{segment.file} has {rows} rows, the ledger says {segment.rows}"


def _verify_rows(snapshot: Snapshot, tally: _Tally) -> None:
    documents = {document.document_id: document for document in snapshot.documents()}
    chunks = {row.document_id: row for table in snapshot.tables("chunks") for row in _by_document(table)}
    texts = {name: 0 for name in documents}
    for table in snapshot.tables("texts", ["document_id", "text", "blocks", "pages", "source_sha256"]):
        for row in table.to_pylist():
            texts[row["document_id"]] += 1
            _verify_document(documents[row["document_id"]], row, chunks, snapshot, tally)
    tally.add(
        "each document has one text",
        len(documents),
        [f"{documents[key].path} has {count} texts" for key, count in texts.items() if count != 1],
    )
    _verify_counts(snapshot, documents, chunks, tally)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The chunk rows of one document, by ordinal."""

    document_id: str
    table: pa.Table


def _by_document(table: pa.Table) -> Iterator[_Rows]:
    for key in pc.unique(table["document_id"]).to_pylist():
        rows = table.filter(pc.equal(table["document_id"], key)).sort_by("ordinal")
        yield _Rows(key, rows)


def _verify_document(
    document: LiveDocument,
    text_row: Mapping[str, object],
    chunks: Mapping[str, _Rows],
    snapshot: Snapshot,
    tally: _Tally,
) -> None:
    rows = chunks.get(document.document_id)
    tally.add("no document is without chunks", 1, [] if rows else [f"{document.path} has no chunks"])
    if rows is None:
        return

    def add(name: str, count: int, problems: Sequence[str]) -> None:
        tally.add(name, count, [f"{document.path}: {problem}" for problem in problems])

    stored = [
        _StoredChunk(row["ordinal"], row["content"], row["start"], row["end"])
        for row in rows.table.select(["ordinal", "content", "start", "end"]).to_pylist()
    ]
    text = str(text_row["text"])
    add("each chunk is a slice of its text", len(stored), slice_problems(text, stored))
    add("chunks are numbered without a gap", len(stored), _numbering_problems(document, rows.table))
    add(
        "vectors are finite and of unit length",
        len(stored),
        _vector_problems(rows.table, snapshot.space.dimension),
    )
    add("pages of chunks are right", len(stored), _page_problems(rows.table, text_row))
    add("stamps are those of the space", len(stored), _stamp_problems(document, rows.table, snapshot))
    if snapshot.space.chunker == DEFAULT_CHUNKER:
        blocks = [Block(**block) for block in _list(text_row["blocks"])]  # type: ignore[arg-type]  # as stored
        add("all text lies in a chunk", len(text), coverage_problems(text, blocks, stored))
        over = rows.table.filter(pc.greater(rows.table["tokens"], snapshot.space.window))[
            "ordinal"
        ].to_pylist()
        add("no chunk is over the window", len(stored), [f"chunk {ordinal}" for ordinal in over])


def _list(value: object) -> list[Mapping[str, object]]:
    assert isinstance(value, list)
    return value


def _numbering_problems(document: LiveDocument, table: pa.Table) -> list[str]:
    wanted = [chunk_id(document.document_id, document.revision, ordinal) for ordinal in range(table.num_rows)]
    return [] if table["chunk_id"].to_pylist() == wanted else ["chunk ids are doubled or missing"]


def _vector_problems(table: pa.Table, dimension: int) -> list[str]:
    embedding = table["embedding"].combine_chunks()
    flat = embedding.flatten().to_numpy(zero_copy_only=False)
    if set(pc.list_value_length(embedding).to_pylist()) - {dimension}:
        return [f"a vector has not {dimension} dimensions"]
    return vector_problems(flat.reshape(-1, dimension).astype(np.float32), table.num_rows, dimension)


def _page_problems(table: pa.Table, text_row: Mapping[str, object]) -> list[str]:
    pages = [Page(**page) for page in _list(text_row["pages"])]  # type: ignore[arg-type]  # as stored
    problems = []
    for row in table.select(["ordinal", "start", "end", "page_first", "page_last"]).to_pylist():
        on = [page.number for page in pages if page.start < row["end"] and page.end > row["start"]]
        if (row["page_first"], row["page_last"]) != ((on[0], on[-1]) if on else (None, None)):
            problems.append(f"chunk {row['ordinal']} stands on the pages {on}")
    return problems


def _stamp_problems(document: LiveDocument, table: pa.Table, snapshot: Snapshot) -> list[str]:
    space = snapshot.space
    wanted = {
        name: getattr(space, name)
        for name in ("model", "fingerprint", "dimension", "chunker", "tokenizer", "pipeline")
    }
    wanted |= {"extractor": document.extractor, "extractor_version": document.extractor_version}
    return [
        f"{name} is not {value!r}"
        for name, value in wanted.items()
        if set(pc.unique(table[name]).to_pylist()) != {value}
    ]


def _verify_counts(
    snapshot: Snapshot, documents: Mapping[str, LiveDocument], chunks: Mapping[str, _Rows], tally: _Tally
) -> None:
    tally.add(
        "chunk counts equal the rows",
        sum(document.chunks for document in documents.values()),
        [
            f"{document.path} has {rows} chunks, the ledger says {document.chunks}"
            for key, document in documents.items()
            if (rows := chunks[key].table.num_rows if key in chunks else 0) != document.chunks
        ],
    )
    postings: Counter[str] = Counter()
    frequencies: Counter[str] = Counter()
    for table in snapshot.tables("postings", SEGMENT_SCHEMAS["postings"].names):
        sums = table.group_by("document_id").aggregate([("tf", "sum"), ("tf", "count")])
        for row in sums.to_pylist():
            postings[row["document_id"]] += row["tf_count"]
            frequencies[row["document_id"]] += row["tf_sum"]
    tally.add(
        "posting counts equal the rows",
        sum(document.postings for document in documents.values()),
        [
            f"{document.path} has {postings[key]} postings, the ledger says {document.postings}"
            for key, document in documents.items()
            if postings[key] != document.postings
        ],
    )
    tally.add(
        "postings account for every term",
        sum(frequencies.values()),
        [
            f"{documents[key].path}: the postings have {frequencies[key]} terms, its chunks {total}"
            for key, rows in chunks.items()
            if (total := pc.sum(rows.table["terms"]).as_py()) != frequencies[key]
        ],
    )
