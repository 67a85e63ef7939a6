"""Search over an index: query → legs (dense, BM25) → fusion → refusal → hits.

with open_index(Path("pincite-index")) as searcher:
    results = searcher.search("how is the threshold chosen?", threshold=0.675)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, get_args

import numpy as np

from encoders.models import Model, resolve_model
from encoders.terms import TOKENIZER, terms
from retrieval import bm25, dense
from retrieval.corpus import Corpus
from retrieval.ranking import Mode, Ranked, bm25_ranking, dense_ranking, hybrid_ranking
from retrieval.refusal import MOST_PASSAGES, under_cut
from schemas.errors import ModelUnavailable, SpaceMismatch, UsageError
from schemas.records import Hit, Space
from schemas.settings import Settings
from storage.index import Index
from storage.snapshot import LiveDocument, Snapshot
from storage.texts import StoredText, read_texts

if TYPE_CHECKING:
    from encoders.embedding import Embedder

_DEFAULTS = Settings()
_encoding = threading.Lock()  # fast tokenizers raise "Already borrowed" when threads share one


@dataclass(frozen=True, slots=True)
class Results:
    """What one search found on one version. `refused`: a threshold was given and no passage lay under it."""

    hits: tuple[Hit, ...]
    refused: bool
    version: int


def open_index(path: Path, settings: Settings = _DEFAULTS) -> Searcher:
    """A searcher on the index at `path`; use it as a context manager or close it.

    Raises `UsageError` when there is no index and `IndexBroken` when it can't be read. No weights are loaded
    before a search needs them.
    """
    return Searcher(Index.open(path), settings)


class Searcher:
    """Searches one index. Each search sees the newest version, whole; threads may share a searcher."""

    def __init__(self, index: Index, settings: Settings) -> None:
        self._index = index
        self._settings = settings
        self._lock = threading.Lock()  # held while what is kept below is made
        self._corpus: Corpus | None = None
        self._model: Model | None = None

    def __enter__(self) -> Searcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._index.close()

    def texts(self, document_ids: Sequence[str], version: int | None = None) -> dict[str, StoredText]:
        """The stored texts of documents by id, at the version of a result or the newest."""
        return read_texts(self._index, document_ids, version)

    def search(
        self, query: str, mode: Mode = "hybrid", k: int = 10, threshold: float | None = None
    ) -> Results:
        """The best `k` passages; with a threshold at most four, and only those under it in cosine distance.

        A hit's score is the RRF score, the cosine or the BM25 score, by mode; hits are ordered by score, then
        chunk id. In BM25 mode chunks without a term of the query are no hits, and no model is touched.
        Raises `UsageError` for a query without a letter or digit, `k` below 1, an unknown mode, and a
        threshold that is no cosine distance or meets BM25 mode, which measures none; `SpaceMismatch` when the
        settings' model is not the index's.
        """
        _check(query, mode, k, threshold)
        with self._index.snapshot() as snapshot:
            corpus = self._corpus_of(snapshot)
            ranked = self._rank(corpus, query, mode, k)
            if threshold is None:
                kept = ranked[:k]
            else:
                passed = under_cut((one.cosine_distance for one in ranked), threshold, min(k, MOST_PASSAGES))
                kept = [ranked[place] for place in passed]
            hits = tuple(_hits(corpus, kept, snapshot.documents()))
        return Results(hits, refused=threshold is not None and not hits, version=corpus.version)

    def _rank(self, corpus: Corpus, query: str, mode: Mode, k: int) -> list[Ranked]:
        if mode == "bm25":
            return bm25_ranking(self._bm25_scores(query, corpus), k)
        model = self._require_model(corpus.space)
        if not len(corpus):
            return []
        if mode == "dense":
            return dense_ranking(_query_vector(query, model), corpus.matrix, k)
        scores = self._bm25_scores(query, corpus)  # first: it may refuse, and costs less than loading a model
        return hybrid_ranking(_query_vector(query, model), corpus.matrix, scores, k)

    def _bm25_scores(self, query: str, corpus: Corpus) -> bm25.Floats:
        if corpus.space.tokenizer != TOKENIZER:
            raise SpaceMismatch(
                f"the index at {self._index.path} is of the space {corpus.space}; this Pincite cuts "
                f"queries into terms with {TOKENIZER}, which would miss what is stored: search with mode "
                "dense, or index again"
            )
        return corpus.bm25_scores(terms(query))

    def _corpus_of(self, snapshot: Snapshot) -> Corpus:
        with self._lock:
            if self._corpus is None or self._corpus.version != snapshot.version:
                self._corpus = Corpus(snapshot)
            return self._corpus

    def _require_model(self, space: Space) -> Model:
        """The settings' model, found but not loaded. Raises `SpaceMismatch` unless the index is of it."""
        with self._lock:
            if self._model is None:
                self._model = resolve_model(self._settings.model)
        model = self._model
        if (model.name, model.fingerprint, model.dimension) != (
            space.model,
            space.fingerprint,
            space.dimension,
        ):
            raise SpaceMismatch(
                f"the index at {self._index.path} is of the space {space}; the settings ask for the model "
                f"{model.name} (weights {model.fingerprint[:12]}, {model.dimension} dimensions). Vectors of "
                f"two models can't be compared: set the model to {space.model}, or search with mode bm25"
            )
        return model


@lru_cache(maxsize=2)
def _embedder(model: Model) -> Embedder:
    """The loaded model, shared by all searchers of this process."""
    from encoders.embedding import load_embedder  # brings torch: some seconds

    # One query gains nothing by a second thread: 12 ms either way, for 12 or 24 ms CPU; and on a busy machine
    # two that wait for each other took 400 ms.
    return load_embedder(model, threads=1)


def _query_vector(query: str, model: Model) -> dense.Vector:
    with _encoding:
        vector = np.asarray(_embedder(model).embed_query(query), dtype=np.float32)
    if vector.shape != (model.dimension,) or not abs(float(vector @ vector) - 1.0) <= 1e-4:
        raise ModelUnavailable(
            f"the model {model.name} at {model.folder} gave the query no vector of {model.dimension} "
            "dimensions and unit length: its files are damaged, install it again"
        )
    return vector


def _check(query: str, mode: str, k: int, threshold: float | None) -> None:
    if mode not in get_args(Mode):
        raise UsageError(f"unknown mode {mode!r}: use one of {', '.join(get_args(Mode))}")
    if not any(character.isalnum() for character in query):
        raise UsageError(f"the query {query!r} has no letter or digit: nothing to search for")
    if any("\ud800" <= character <= "\udfff" for character in query):
        raise UsageError(
            f"the query {query!r} is not valid text: it holds half a character; send it as UTF-8"
        )
    if k < 1:
        raise UsageError(f"k is {k}: ask for at least one passage")
    if threshold is None:
        return
    if not 0.0 <= threshold <= 2.0:  # also true for NaN
        raise UsageError(f"the threshold is {threshold}: a cosine distance lies between 0 and 2")
    if mode == "bm25":
        raise UsageError(
            "a threshold cuts by cosine distance, which mode bm25 does not measure: leave the threshold out, "
            "or use mode hybrid or dense"
        )


def _hits(corpus: Corpus, ranked: Sequence[Ranked], documents: Sequence[LiveDocument]) -> Iterator[Hit]:
    by_id = {document.document_id: document for document in documents}
    for rank, (one, passage) in enumerate(
        zip(ranked, corpus.passages([one.row for one in ranked]), strict=True), start=1
    ):
        document = by_id[passage.document_id]
        yield Hit(
            rank=rank,
            chunk_id=passage.chunk_id,
            document=document.path,
            title=document.title,
            section=passage.section,
            content=passage.content,
            start=passage.start,
            end=passage.end,
            locator=passage.locator,
            score=one.score,
            cosine_distance=one.cosine_distance,
            bm25=one.bm25,
            dense_rank=one.dense_rank,
            bm25_rank=one.bm25_rank,
            ocr_confidence=passage.ocr_confidence,
            stale=bool(document.stale_reason),
        )
