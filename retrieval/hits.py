"""Ranked rows as hits: each with what it shows, where that stands, and what is known of its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pincite.retrieval.loaded_version import Corpus, StoredPassage
from pincite.retrieval.ranking import Ranked
from pincite.schemas.errors import VersionGone
from pincite.schemas.locators import char_fragment, overlapping, place_fragment
from pincite.schemas.records import Hit, HitChunk
from pincite.storage.documents.texts import StoredText, read_texts
from pincite.storage.ledger.versions import GONE_MEANWHILE
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import LiveDocument

_MOST_KEPT = 4_000_000  # characters of stored texts in memory, beside those of the last search


class Texts:
    """The stored texts of one version that were read last: a window is a slice of one."""

    def __init__(self, index: Index, version: int) -> None:
        self._index = index
        self._version = version
        self._kept: dict[str, StoredText] = {}

    def of(self, document_ids: Sequence[str]) -> Mapping[str, StoredText]:
        """Raises `VersionGone` when one was forgotten meanwhile."""
        kept = self._kept
        missing = [one for one in document_ids if one not in kept]
        found = read_texts(self._index, missing, self._version) if missing else {}
        if len(found) < len(missing):
            raise VersionGone(GONE_MEANWHILE)
        both = {**kept, **found}
        if missing:
            fits = sum(len(one.text) for one in both.values()) <= _MOST_KEPT
            self._kept = both if fits else found
        return both


def hits_of(corpus: Corpus, index: Index, texts: Texts, kept: Sequence[Ranked]) -> tuple[Hit, ...]:
    """The hits of these rows, ranked as they stand. Raises `IndexBroken` when a document has no text."""
    passages = corpus.passages([one.row for one in kept])
    ids = list(dict.fromkeys(passage.document_id for passage in passages))
    stale = index.stale_reasons(corpus.snapshot, ids)
    documents = corpus.documents_of(ids)
    grown = [
        passage.document_id for one, passage in zip(kept, passages, strict=True) if one.window is not None
    ]
    stored = texts.of(list(dict.fromkeys(grown)))
    found = []
    for rank, (one, passage) in enumerate(zip(kept, passages, strict=True), start=1):
        name = passage.document_id
        shown = _shown(corpus, one, passage, stored.get(name))
        found.append(_hit(corpus, rank, one, passage, shown, documents[name], stale[name]))
    return tuple(found)


class _Shown(NamedTuple):
    """What a hit shows, and where it stands."""

    content: str
    start: int
    end: int
    locator: str
    ocr_confidence: float | None


def _shown(corpus: Corpus, one: Ranked, passage: StoredPassage, stored: StoredText | None) -> _Shown:
    """The window of a row, the white space at its ends left out, or else its chunk."""
    window = one.window
    whole = (passage.start, passage.end)
    if (
        window is None
        or stored is None
        or whole == (window.start, window.end)
        or stored.text[passage.start : passage.end] != passage.content  # a citation of it will say so
    ):
        return _Shown(passage.content, *whole, passage.locator, passage.ocr_confidence)
    content = stored.text[window.start : window.end]
    start = window.start + len(content) - len(content.lstrip())
    content = content.strip()
    end = start + len(content)
    places = overlapping(stored.places, start, end)
    locator = place_fragment(places) or char_fragment(start, end)
    first, last = window.rows
    read = corpus.ocr_confidences(range(first, last + 1))
    return _Shown(content, start, end, locator, min(read, default=None))


def _hit(
    corpus: Corpus,
    rank: int,
    one: Ranked,
    passage: StoredPassage,
    shown: _Shown,
    document: LiveDocument,
    stale: str,
) -> Hit:
    same = corpus.passages(one.folded)
    elsewhere = [other for other in same if other.document_id != passage.document_id]
    paths = corpus.documents_of(list(dict.fromkeys(other.document_id for other in elsewhere)))
    return Hit(
        rank=rank,
        chunk_id=passage.chunk_id,
        document=document.path,
        title=document.title,
        section=passage.section,
        content=shown.content,
        start=shown.start,
        end=shown.end,
        locator=shown.locator,
        score=one.score,
        cosine_distance=one.cosine_distance,
        bm25=one.bm25,
        dense_rank=one.dense_rank,
        bm25_rank=one.bm25_rank,
        ocr_confidence=shown.ocr_confidence,
        stale=bool(stale),
        stale_reason=stale,
        rerank_score=one.rerank_score,
        rank_before=one.rank_before,
        folded=tuple(other.locator for other in same if other.document_id == passage.document_id),
        copies=tuple(sorted(f"{paths[other.document_id].path}{other.locator}" for other in elsewhere)),
        source=document.source,
        encoder_fit=document.encoder_fit,
        chunk=HitChunk(passage.content, passage.start, passage.end, passage.locator),
    )
