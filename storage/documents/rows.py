"""The stored rows of single documents, read segment by segment in the order in which they lie."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pincite.schemas.tables import SEGMENT_SCHEMAS
from pincite.storage.segments.segment import Segment
from pincite.storage.snapshots.snapshot import Snapshot


class StoredRows:
    """Live rows of one kind by document. One segment at a time is kept in memory: ask in the order of `ordered`."""

    def __init__(
        self, snapshot: Snapshot, kind: str, among: Collection[str], without: Collection[str] = ()
    ) -> None:
        self._snapshot = snapshot
        self._schema = pa.schema([field for field in SEGMENT_SCHEMAS[kind] if field.name not in without])
        self._segments = snapshot.of_kind(kind)
        self._where = self._located(among)
        self._kept: tuple[int, pa.Table, Mapping[str, tuple[int, int]]] | None = None

    def _located(self, among: Collection[str]) -> dict[str, list[int]]:
        wanted = frozenset(among)
        where: dict[str, list[int]] = {}
        for number, segment in enumerate(self._segments):
            for document_id in self._ids(self._snapshot.rows(segment, ["document_id"])):
                if document_id in wanted:
                    where.setdefault(document_id, []).append(number)
        return where

    @staticmethod
    def _ids(table: pa.Table) -> Iterable[str]:
        ids: list[str] = pc.unique(table["document_id"]).to_pylist()
        return ids

    def ordered(self, document_ids: Iterable[str]) -> list[str]:
        """The ids in the order in which they lie; those without rows come last."""
        end = [len(self._segments)]
        return sorted(document_ids, key=lambda one: (self._where.get(one, end), one))

    def of(self, document_id: str) -> pa.Table:
        """The rows of one document, by ordinal where they have one."""
        tables = [self._within(number, document_id) for number in self._where.get(document_id, ())]
        return pa.concat_tables([self._schema.empty_table(), *tables])

    def _within(self, number: int, document_id: str) -> pa.Table:
        if self._kept is None or self._kept[0] != number:
            table = self._read(self._segments[number])
            self._kept = (number, table, _stretches(table["document_id"].combine_chunks()))
        start, count = self._kept[2][document_id]
        return self._kept[1].slice(start, count)

    def _read(self, segment: Segment) -> pa.Table:
        names: Sequence[str] = self._schema.names
        table: pa.Table = self._snapshot.rows(segment, names).cast(self._schema)
        return table.combine_chunks()


def _stretches(ids: pa.Array) -> dict[str, tuple[int, int]]:
    """Where the rows of each document stand: segments are sorted by document first."""
    found: dict[str, tuple[int, int]] = {}
    start = 0
    for item in pc.value_counts(ids).to_pylist():  # in the order of first occurrence
        found[item["values"]] = (start, item["counts"])
        start += item["counts"]
    return found
