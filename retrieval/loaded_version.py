"""What one version of an index holds, over the packs that have its chunks.

A row is a place in the packs laid one behind the other. Packs keep rows that are not live at the version; a mask
leaves them out of everything, statistics included.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pincite.encoders.scripts import plain_spellings
from pincite.retrieval import bm25, dense
from pincite.retrieval.filters import Filters, document_filter
from pincite.retrieval.spread import MOST_SAMPLED, Spread, sampled, spread_of
from pincite.retrieval.tie_order import Floats, Mask, Rows
from pincite.schemas.counting import counted
from pincite.schemas.errors import IndexBroken, VersionGone
from pincite.schemas.tables import chunk_id
from pincite.storage.ledger.versions import GONE_MEANWHILE
from pincite.storage.search_cache.cache import open_cover
from pincite.storage.search_cache.packs import SHOWN, Pack
from pincite.storage.snapshots.snapshot import (
    LiveDocument,
    LiveKeys,
    Snapshot,
    document_name,
    document_numbers,
)


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """What a hit shows of its chunk."""

    chunk_id: str
    document_id: str
    header: str
    section: str
    content: str
    start: int
    end: int
    locator: str
    ocr_confidence: float | None


@dataclass(frozen=True, slots=True)
class ChunkText:
    """Where a chunk stands in the stored text, and what it says."""

    start: int
    end: int
    content: str


_MOST_AHEAD = 500
"""New documents that are read before a hit asks for them."""

_MOST_READ = 4_000
"""Single documents kept, those that were read last: each new version looks through them under the searcher's lock."""

_MOST_KEPT = 8_000_000
"""Postings of asked terms kept in memory where the mapped ones can't be used as they are: 64 MB."""


class Corpus:
    """The chunks of one version. What costs something is made when it is first asked for, and kept."""

    def __init__(self, snapshot: Snapshot, earlier: "Corpus | None" = None) -> None:
        """What an `earlier` corpus of the index has read is used again, so that a new version costs what is new."""
        changed = snapshot.follow(earlier.snapshot) if earlier is not None else None
        self.version = snapshot.version
        self.space = snapshot.space
        self.snapshot: Snapshot = snapshot
        cover = open_cover(snapshot, () if earlier is None else earlier.packs)
        self.packs: tuple[Pack, ...] = cover.packs
        self._bases = np.cumsum([0, *(len(pack) for pack in self.packs)])
        self._runs = [_live_runs(*one, snapshot.keys) for one in zip(self.packs, cover.serves, strict=True)]
        self.live: Mask = self._by_row(runs >= 0 for runs in self._runs)
        self._count = int(self.live.sum())
        self._postings: dict[str, bm25.TermPostings] = {}
        self._kept = 0
        self._read: Mapping[str, LiveDocument] = {}  # replaced, never changed: other threads go through it
        self._begun: tuple[str, ...] = ()
        if earlier is not None and changed is not None:
            self._read = _unchanged(earlier._read, changed.ended)
            self._begun = tuple(map(document_name, changed.begun[:_MOST_AHEAD].tolist()))

    def __len__(self) -> int:
        """How many chunks are live."""
        return self._count

    @property
    def every_row_lives(self) -> bool:
        return self._count == len(self.live)

    def order(self, rows: Rows) -> Rows:
        """int64[rows], of each of these rows its place among them in chunk-id order."""
        if len(self.packs) < 2:
            return rows
        documents, revisions, ordinals = self._keys(rows)
        places = np.empty(len(rows), dtype=np.int64)
        places[np.lexsort((ordinals, revisions, documents))] = np.arange(len(rows))
        return places

    @cached_property
    def lengths(self) -> Floats:
        """float64[rows], the length of each chunk in terms, repeats counted."""
        return np.concatenate([np.empty(0), *(pack.lengths for pack in self.packs)]).astype(np.float64)

    @cached_property
    def statistics(self) -> bm25.Statistics:
        """What BM25 knows: of live chunks alone."""
        return bm25.statistics(self.lengths, None if self.every_row_lives else self.live)

    def lexical(
        self, terms: Sequence[str], among: Mask | None = None, halved: Set[str] = frozenset()
    ) -> bm25.BM25Scores:
        """The BM25 scores for the terms of a query, of which those `halved` count half.

        Raises `IndexBroken` for a posting without its chunk.
        """
        postings = {term: self._postings_of(term) for term in dict.fromkeys(terms)}
        return bm25.BM25Scores(terms, postings, self.statistics, self.order, among, halved)

    def postings_of(self, terms: Sequence[str]) -> dict[str, bm25.TermPostings]:
        """The live postings of each term; without rows for a term of no chunk."""
        return {term: self._postings_of(term) for term in dict.fromkeys(terms)}

    def rows_of(self, term: str) -> bm25.Counts:
        """The live rows that have a term."""
        return self._postings_of(term).rows

    def spelled_alike(self, word: str) -> tuple[str, ...]:
        """Terms of the index that differ from a word in accents, or in ae for ä, alone; sorted."""
        if word.isascii():
            found: Set[str] = self._by_plain_spelling.get(word, frozenset())
        else:
            plain = plain_spellings(word)
            known = {one for one in plain if len(self._postings_of(one).rows)}
            found = known.union(*(self._by_plain_spelling.get(one, frozenset()) for one in plain))
        return tuple(sorted(one for one in found if one != word and len(self._postings_of(one).rows)))

    @cached_property
    def _by_plain_spelling(self) -> Mapping[str, frozenset[str]]:
        """The terms with accents by what they are without: some 3 µs a term of an alphabet with accents."""
        found: dict[str, set[str]] = {}
        for pack in self.packs:
            words = pack.terms.cast(pa.large_string())
            for word in words.filter(pc.invert(pc.string_is_ascii(words))).to_pylist():
                for plain in plain_spellings(word):
                    found.setdefault(plain, set()).add(word)
        return {plain: frozenset(words) for plain, words in found.items()}

    @cached_property
    def vectors(self) -> dense.Vectors:
        """The vectors, where they are mapped. Raises `IndexBroken` when one is not of unit length."""
        for name, what in (
            ("misshapen", f"not of {self.space.dimension} dimensions"),
            ("unscaled", "not of unit length"),
        ):
            faulty = [base + getattr(pack, name) for base, pack in zip(self._bases, self.packs, strict=False)]
            self._refuse(np.concatenate([np.empty(0, np.int64), *faulty]).astype(np.int64), what)
        return dense.Vectors([pack.codes for pack in self.packs], self.order)

    def spread(self, query: dense.Vector, among: Mask | None = None) -> Spread:
        """How the cosines of a query spread over the live chunks that the model can read; with `among` over those."""
        return spread_of(query, self._sample if among is None else self._sample_of(among))

    @cached_property
    def _sample(self) -> dense.Matrix:
        return self._sample_of(self.live)

    def _sample_of(self, among: Mask) -> dense.Matrix:
        """float32[rows, dimension], the vectors of some of these rows; cached for all rows: at most 6 MB."""
        rows = np.flatnonzero(among if self.unread is None else among & ~self.unread)
        return self.vectors.of(rows[sampled(self._keys(rows), MOST_SAMPLED)])

    def sampled_rows(self, most: int) -> Rows:
        """At most `most` live rows: the same chunks, in whatever packs they lie."""
        rows = np.flatnonzero(self.live)
        return rows[sampled(self._keys(rows), most)]

    @cached_property
    def documents(self) -> Mapping[str, LiveDocument]:
        """All documents by id: some 15 µs each when first asked for."""
        return {document.document_id: document for document in self.snapshot.documents()}

    def documents_of(self, document_ids: Sequence[str]) -> Mapping[str, LiveDocument]:
        """Single documents by id. Raises `VersionGone` when one was forgotten since the version was taken up."""
        known = self.documents if "documents" in self.__dict__ else self._read
        missing = [one for one in document_ids if one not in known]
        found = self.snapshot.documents_of(missing) if missing else {}
        if any(one not in found for one in missing):
            raise VersionGone(GONE_MEANWHILE)
        if found:
            self._read = _last({**self._read, **found}, _MOST_READ)
        return {one: found[one] if one in found else known[one] for one in document_ids}

    def read_ahead(self) -> None:
        """Reads what the first searches of a version would: its statistics, and the documents that are new in it.

        Raises `VersionGone` as `documents_of` does.
        """
        _ = self.statistics, self.document_numbers
        self.documents_of(self._begun)

    @cached_property
    def document_numbers(self) -> Rows:
        """int64[rows], a number for the document of each row."""
        return self._by_row(runs.astype(np.int64) for runs in self._runs)

    @cached_property
    def unread(self) -> Mask | None:
        """bool[rows], whose document the embedding model can't read, as was found at indexing; None for none."""
        fit = self.snapshot.keys.encoder_fit
        return None if fit.all() else self._mask_of(~fit)

    def among(
        self, filters: Filters, dated: frozenset[str] | None, sources: frozenset[str] | None = None
    ) -> Mask:
        """bool[rows], what passes the filters.

        `dated` are the documents within its dates, `sources` those of its collections; None is all.
        """
        passes = document_filter(filters, sources)
        kept = {one for one, document in self.documents.items() if passes(document)}
        mask = self._mask_of(self._are(kept if dated is None else kept & dated))
        if filters.min_ocr_confidence is None:
            return mask
        batches = [batch["ocr_confidence"] for pack in self.packs for batch in pack.shown]
        read = [one.to_numpy(zero_copy_only=False) for one in batches]  # NaN where no OCR read
        return mask & ~(np.concatenate([np.empty(0), *read]) < filters.min_ocr_confidence)

    def contents(self, rows: Sequence[int]) -> list[str]:
        """The content of each row, in the order asked."""
        return [content for (content,) in self._shown(rows, ("content",))]

    def chunk_text(self, row: int) -> ChunkText:
        """Where the chunk of a row stands, and what it says."""
        ((start, end, content),) = self._shown([row], ("start", "end", "content"))
        return ChunkText(start, end, content)

    def ocr_confidences(self, rows: Sequence[int]) -> list[float]:
        """Those of the chunks that OCR read."""
        return [read for (read,) in self._shown(rows, ("ocr_confidence",)) if read is not None]

    def run_of(self, row: int) -> tuple[int, int]:
        """(first, last + 1): the rows of the same revision of a document, which stand in the order of its text."""
        number = bisect_right(self._base_list, row) - 1
        pack, base = self.packs[number], self._base_list[number]
        run = int(np.searchsorted(pack.first, row - base, side="right")) - 1
        return base + int(pack.first[run]), base + int(pack.first[run + 1])

    @cached_property
    def _base_list(self) -> list[int]:
        bases: list[int] = self._bases.tolist()
        return bases

    def passages(self, rows: Sequence[int]) -> list[StoredPassage]:
        """The passage of each row, in the order asked."""
        keys = zip(*(key.tolist() for key in self._keys(np.array(rows, dtype=np.int64))), strict=True)
        passages = []
        for (document, revision, ordinal), values in zip(keys, self._shown(rows, SHOWN), strict=True):
            name = document_name(document)
            shown = dict(zip(SHOWN, values, strict=True))
            passages.append(StoredPassage(chunk_id(name, revision, ordinal), name, **shown))
        return passages

    def _postings_of(self, term: str) -> bm25.TermPostings:
        """The live postings of a term: mapped, where one pack has them all and every row lives."""
        known = self._postings.get(term)
        if known:
            return known
        self._require_found(term)
        found = [(base, pack, pack.find(term)) for base, pack in zip(self._bases, self.packs, strict=False)]
        parts = [(base, pack.rows[at], pack.tf[at]) for base, pack, at in found if at.start < at.stop]
        if len(parts) == 1 and parts[0][0] == 0 and self.every_row_lives:
            mapped = self._postings[term] = _term_postings(parts[0][1], parts[0][2])
            return mapped
        empty = np.empty(0, dtype=np.int32)
        rows = np.concatenate([empty, *(rows + np.int32(base) for base, rows, _ in parts)])
        tf = np.concatenate([empty, *(tf for _, _, tf in parts)])
        live = self.live[rows]
        postings = _term_postings(rows[live], tf[live])
        self._keep(term, postings)
        return postings

    def _keep(self, term: str, postings: bm25.TermPostings) -> None:
        self._kept += len(postings.rows)
        if self._kept > _MOST_KEPT:
            self._postings, self._kept = {}, len(postings.rows)
        self._postings[term] = postings

    def _require_found(self, term: str) -> None:
        """Raises `IndexBroken` for a live posting of the term without its chunk."""
        for one in (lost for pack in self.packs for lost in pack.lost):
            if one.term == term and document_name(one.document) in self._live_names(one.revision):
                raise IndexBroken(
                    f"version {self.version} has a posting of document {document_name(one.document)}, ordinal "
                    f"{one.ordinal}, but no such chunk: run `pincite verify`"
                )

    def _live_names(self, revision: int) -> Set[str]:
        keys = self.snapshot.keys
        return set(map(document_name, keys.documents[keys.revisions == revision].tolist()))

    def _are(self, document_ids: Set[str]) -> Mask:
        """bool[live documents], which are these."""
        return np.isin(self.snapshot.keys.documents, document_numbers(sorted(document_ids)))

    def _mask_of(self, chosen: Mask) -> Mask:
        """bool[rows], the live rows of some of the live documents."""
        padded = np.append(chosen, False)  # a run that is not live is numbered -1
        return self._by_row(padded[runs] for runs in self._runs)

    def _by_row(self, values: Iterable[np.ndarray]) -> np.ndarray:
        """Values of the runs of each pack, for each row."""
        each = [np.repeat(v, np.diff(pack.first)) for v, pack in zip(values, self.packs, strict=True)]
        return np.concatenate(each) if each else np.empty(0, dtype=bool)

    def _split(self, rows: Rows) -> list[tuple[Pack, Rows, Rows]]:
        """(pack, places among `rows`, rows within the pack), for the packs that have any."""
        pack_of = np.searchsorted(self._bases, rows, side="right") - 1
        split = []
        for number in np.unique(pack_of).tolist():
            here = np.flatnonzero(pack_of == number)
            split.append((self.packs[number], here, rows[here] - self._bases[number]))
        return split

    def _keys(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(documents as numbers, revisions, ordinals) of these rows: what chunk ids are made of."""
        documents, revisions, ordinals = (np.empty(len(rows), t) for t in (np.uint64, np.int64, np.int64))
        for pack, here, within in self._split(rows):
            run = np.searchsorted(pack.first, within, side="right") - 1
            documents[here], revisions[here] = pack.documents[run], pack.revisions[run]
            ordinals[here] = pack.ordinals[within]
        return documents, revisions, ordinals

    def _shown(self, rows: Sequence[int], columns: Sequence[str]) -> list[list[Any]]:
        """What hits show of these rows, by column."""
        packs = np.searchsorted(self._bases, np.array(rows, dtype=np.int64), side="right") - 1
        return [
            self.packs[number].show(row - int(self._bases[number]), columns)
            for row, number in zip(rows, packs.tolist(), strict=True)
        ]

    def _refuse(self, faulty: Rows, what: str) -> None:
        faulty = faulty[self.live[faulty]]
        if len(faulty):
            (first,) = self.passages(faulty[np.argsort(self.order(faulty))][:1].tolist())
            many = counted(len(faulty), "stored vector is", "stored vectors are")
            raise IndexBroken(
                f"{many} {what}, first of chunk {first.chunk_id}: run `pincite verify`, "
                "then restore the index folder from a copy or index again into a new folder"
            )


def _last(documents: Mapping[str, LiveDocument], most: int) -> Mapping[str, LiveDocument]:
    """At most so many of these, the last ones."""
    return dict(islice(documents.items(), max(0, len(documents) - most), None))


def _unchanged(documents: Mapping[str, LiveDocument], changed: np.ndarray) -> dict[str, LiveDocument]:
    """A name is no part of a revision: one that was renamed is read again."""
    among = np.isin(document_numbers(list(documents)), changed).tolist()
    return {name: one for (name, one), gone in zip(documents.items(), among, strict=True) if not gone}


def _live_runs(pack: Pack, serves: frozenset[str], keys: LiveKeys) -> Rows:
    """int64[revisions of the pack], the place of each among the live keys; -1 when it is not live there."""
    if not len(keys.documents):
        return np.full(len(pack.documents), -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(keys.documents, pack.documents), len(keys.documents) - 1)
    served = np.array([unit in serves for unit in pack.units], dtype=bool)[pack.unit_of]
    live = (keys.documents[place] == pack.documents) & (keys.revisions[place] == pack.revisions) & served
    return np.where(live, place, -1)


def _term_postings(rows: bm25.Counts, tf: bm25.Counts) -> bm25.TermPostings:
    return bm25.TermPostings(rows, tf, int(tf.max()) if len(tf) else 0)
