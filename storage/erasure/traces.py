"""Traces: what would betray a document, gathered before it is erased and kept, unreadable, until the proof."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sqlalchemy as sa

from pincite.storage.erasure.fingerprints import SHORTEST, Fingerprint, digest_of, fingerprint
from pincite.storage.ledger import schema, transactions
from pincite.storage.segments.segment import read_segment
from pincite.storage.snapshots.index import Index
from pincite.storage.tombstones import ForgetRequest

STRETCH = 40  # characters of a text that are looked for as one
MOST_STRETCHES = 48  # of one text
MOST_VECTORS = 16  # of one document
_WORD = re.compile(r"[^\s'\"`,:;()\[\]{}<>]+")


@dataclass(frozen=True, slots=True)
class Trace:
    """A string as it is or as JSON escapes it, or a vector in float32 or float16."""

    document_id: str
    sought: Fingerprint
    guard: str
    """The digest of the string, or of the vector's chunk: where other documents have that too, nothing follows."""
    is_string: bool = True


@dataclass(frozen=True, slots=True)
class Short:
    """A name of fewer than SHORTEST bytes, which is looked for only where values can be told apart."""

    document_id: str
    size: int  # bytes
    digest: str
    is_path: bool  # else a title, which may be any word


@dataclass(frozen=True)
class Traces:
    """What is looked for of some documents; nothing of it can be read."""

    document_ids: tuple[str, ...]
    long: tuple[Trace, ...] = ()
    short: tuple[Short, ...] = ()

    @property
    def strings(self) -> int:
        return len({one.guard for one in self.long if one.is_string}) + len(self.short)

    @property
    def vectors(self) -> int:
        return sum(not one.is_string for one in self.long) // 2

    def sought(self) -> Iterator[tuple[str, Fingerprint]]:
        return ((one.document_id, one.sought) for one in self.long)

    def of(self, found: Set[tuple[str, Fingerprint]], shared: Set[str]) -> list[Trace]:
        """The traces that these finds are, without those that other documents share."""
        traces = (trace for one in found for trace in self._by_sought[one])
        return sorted(
            (trace for trace in traces if trace.guard not in shared),
            key=lambda one: (one.document_id, one.guard, one.sought.digest),
        )

    @cached_property
    def _by_sought(self) -> Mapping[tuple[str, Fingerprint], list[Trace]]:
        traces: dict[tuple[str, Fingerprint], list[Trace]] = defaultdict(list)
        for one in self.long:
            traces[one.document_id, one.sought].append(one)
        return traces

    def as_json(self, document_id: str) -> dict[str, Any]:
        """Those of one document, for the ledger."""
        return {
            "long": [
                [one.sought.size, one.sought.start, one.sought.digest, one.guard, one.is_string]
                for one in self.long
                if one.document_id == document_id
            ],
            "short": [
                [one.size, one.digest, one.is_path] for one in self.short if one.document_id == document_id
            ],
        }


def read_traces(index: Index) -> Traces:
    """Those of every forgotten document whose proof was not made yet; of the others the ids alone."""
    forgotten = schema.forgotten
    query = sa.select(forgotten.c.document_id, forgotten.c.traces).order_by(forgotten.c.document_id)
    with transactions.reading(index.engine) as connection:
        rows = connection.execute(query).all()
    return Traces(
        tuple(row.document_id for row in rows),
        tuple(
            Trace(row.document_id, Fingerprint(size, start, digest), guard, is_string)
            for row in rows
            for size, start, digest, guard, is_string in (row.traces or {}).get("long", ())
        ),
        tuple(
            Short(row.document_id, size, digest, is_path)
            for row in rows
            for size, digest, is_path in (row.traces or {}).get("short", ())
        ),
    )


@dataclass(frozen=True, slots=True)
class Said:
    """What one document said, readable; it never leaves memory."""

    paths: tuple[str, ...]
    titles: tuple[str, ...]
    texts: tuple[str, ...]
    vectors: tuple[tuple[str, np.ndarray], ...]  # content of the chunk, float32[dimension]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.paths, *self.titles} - {""}))

    @property
    def stretches(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(stretch for text in self.texts for stretch in _stretches(text)))


def recall(index: Index, asked: Iterable[ForgetRequest]) -> dict[str, Said]:
    """What documents said in all versions, by id, as far as it is still there."""
    paths = {one.document_id: one.paths for one in asked}
    revisions = schema.revisions
    wanted: list[tuple[str, str, object]] = [("document_id", "in", sorted(paths))]
    with transactions.reading(index.engine) as connection:
        files = connection.execute(sa.select(schema.segments.c.kind, schema.segments.c.file)).all()
        query = sa.select(revisions.c.document_id, revisions.c.title)
        titled = connection.execute(query.where(revisions.c.document_id.in_(paths))).all()
    titles: dict[str, set[str]] = defaultdict(set)
    texts: dict[str, list[str]] = defaultdict(list)
    vectors: dict[str, list[tuple[str, np.ndarray]]] = defaultdict(list)
    for document_id, title in titled:
        titles[document_id].add(title)
    for kind, file in files:
        if kind == "texts":
            for row in read_segment(index.places, file, ["document_id", "text"], wanted).to_pylist():
                texts[row["document_id"]].append(row["text"])
        elif kind == "chunks":
            columns = ["document_id", "content", "embedding"]
            for row in read_segment(index.places, file, columns, wanted).to_pylist():
                if len(vectors[row["document_id"]]) < MOST_VECTORS:
                    vector = np.array(row["embedding"], dtype=np.float32)
                    vectors[row["document_id"]].append((row["content"], vector))
    return {
        one: Said(paths[one], tuple(sorted(titles[one])), tuple(texts[one]), tuple(vectors[one]))
        for one in sorted(paths)
    }


def traces_of(said: Mapping[str, Said]) -> Traces:
    """The traces of what documents said."""
    return Traces(
        tuple(said),
        tuple(trace for key, one in said.items() for trace in _long(key, one)),
        tuple(short for key, one in said.items() for short in _short(key, one)),
    )


def _long(document_id: str, said: Said) -> Iterator[Trace]:
    for string in dict.fromkeys([*said.names, *said.stretches]):
        yield from _of_string(document_id, string)
    for content, vector in said.vectors:
        if len(content.encode()) < SHORTEST:
            continue  # a vector of so few words may be another document's
        guard = digest_of(content.encode(), document_id)
        yield from _of_string(document_id, content)
        for stored in (vector, vector.astype(np.float16)):
            yield Trace(document_id, fingerprint(stored.tobytes(), document_id), guard, is_string=False)


def _of_string(document_id: str, string: str) -> Iterator[Trace]:
    plain = string.encode("utf-8", "surrogatepass")
    if len(plain) >= SHORTEST:
        guard = digest_of(plain, document_id)
        for form in dict.fromkeys([plain, json.dumps(string)[1:-1].encode()]):
            yield Trace(document_id, fingerprint(form, document_id), guard)


def _short(document_id: str, said: Said) -> Iterator[Short]:
    for name in said.names:
        plain = name.encode("utf-8", "surrogatepass")
        if len(plain) < SHORTEST:
            yield Short(document_id, len(plain), digest_of(plain, document_id), name in said.paths)


def words_of(text: str) -> frozenset[str]:
    """The words of a message as a path stands in one: without quotes and brackets around, or a full stop behind."""
    words = _WORD.findall(text)
    return frozenset([*words, *(word.rstrip(".") for word in words)])


def _stretches(text: str) -> list[str]:
    """Evenly spread stretches of single lines; of a short text the text itself."""
    pieces = [
        line[at : at + STRETCH].strip()
        for line in text.splitlines()
        for at in range(0, max(len(line) - STRETCH // 2, 1), STRETCH)
    ]
    long = [piece for piece in pieces if len(piece.encode()) >= SHORTEST]
    step = max(len(long) // MOST_STRETCHES, 1)
    return long[::step][:MOST_STRETCHES]
