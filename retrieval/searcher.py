"""Search over an index: query → legs (dense, BM25) → fusion → refusal → hits.

with open_index(Path("pincite-index")) as searcher:
    results = searcher.search("how is the threshold chosen?", threshold=0.675)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, get_args

import numpy as np

from pincite.encoders.models import Model, resolve_model
from pincite.encoders.terms import TOKENIZER
from pincite.retrieval import bm25, dense
from pincite.retrieval.evidence import Evidence
from pincite.retrieval.evidence_score import LEAST_CHUNKS, LOOKED_AT, score_of_ranked, shipped
from pincite.retrieval.filters import NO_FILTERS, Filters, check_filters, nanoseconds
from pincite.retrieval.hits import Texts, hits_of
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.near_duplicates import FOLD_WINDOW, Likeness, fold
from pincite.retrieval.ranking import (
    Mode,
    Ranked,
    apart_from_better,
    bm25_ranking,
    dense_ranking,
    hybrid_ranking,
    ranked_by_windows,
    rrf_ranking,
)
from pincite.retrieval.rerank import RERANK_DEPTH, Reranker, reordered, resolve_reranker, score
from pincite.retrieval.threshold import MOST_PASSAGES, Threshold, threshold_of, under_cut
from pincite.retrieval.tie_order import Mask
from pincite.retrieval.version_holder import Versions
from pincite.retrieval.widening import QueryWords, query_words
from pincite.retrieval.windows import LOOKED_AT as GROWN
from pincite.retrieval.windows import Windows
from pincite.schemas.errors import ModelUnavailable, PinciteError, SpaceMismatch, UsageError
from pincite.schemas.records import Hit
from pincite.schemas.settings import Settings
from pincite.storage.documents.texts import StoredText, read_texts
from pincite.storage.runs.collections import read_collections, require_known
from pincite.storage.snapshots.index import Index
from pincite.storage.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from pincite.encoders.embedding import Embedder

_DEFAULTS = Settings()
Ranking = Callable[[int], list[Ranked]]
"""The best rows to a depth; one to a greater depth begins with the same."""

_encoding = threading.Lock()  # fast tokenizers raise "Already borrowed" when threads share one


@dataclass(frozen=True, slots=True)
class Results:
    """What one search found on one version.

    `refused`: a threshold was given and no passage lay under it. `searched`: chunks that passed the filters.
    `shares`: of each hit, where they were asked for, the terms of which its BM25 score is the sum. `widened`: words
    of the query that few passages or none have, with the words of the index that were searched beside them.
    `absent`: codes of the query that stand nowhere. `offered`: words that stand nowhere, with those that may have
    been meant. `most_of_words`: what no BM25 score of this query can reach. `evidence`: how likely it is, from 0 to
    1, that the first passages answer (`pincite.retrieval.evidence_score`); None where there are no windows to look
    at, or fewer than 100 chunks to weigh words by. `proved`: a hit has a rare code of the question.
    """

    hits: tuple[Hit, ...]
    refused: bool
    version: int
    searched: int
    shares: tuple[tuple[bm25.TermShare, ...], ...] = ()
    widened: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    most_of_words: float = 0.0
    evidence: float | None = None
    proved: bool = False


def open_index(path: Path, settings: Settings = _DEFAULTS, version: int | None = None) -> Searcher:
    """A searcher on the index at `path`; use it as a context manager or close it.

    With `version` every search sees that one, else the newest at its time. Raises `UsageError` when there is no
    index or no such version and `IndexBroken` when it can't be read. No weights are loaded before a search needs
    them.
    """
    index = Index.open(path)
    try:
        return Searcher(index, settings, version)
    except PinciteError:
        index.close()
        raise


@dataclass(frozen=True, slots=True)
class _Beside:
    """What is kept of a corpus beside it, as long as it is searched."""

    corpus: Corpus
    likeness: Likeness
    windows: Windows
    texts: Texts

    def apart(self, kept: list[Ranked]) -> list[Ranked]:
        return apart_from_better(kept, self.windows, self.corpus.document_numbers)


class Searcher:
    """Searches one index. Each search sees one version, whole; threads may share a searcher.

    What was read of a version is kept until a search sees another (`pincite.retrieval.version_holder`).
    """

    def __init__(self, index: Index, settings: Settings, version: int | None = None) -> None:
        self._index = index
        self._settings = settings
        self._pinned = version
        self._versions = Versions(index, version)
        self._models: dict[int, Model] = {}  # by the key of the space that is searched
        self._resolving = threading.Lock()
        self._beside: _Beside | None = None

    def __enter__(self) -> Searcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._versions.close()
        self._index.close()

    def texts(self, document_ids: Sequence[str], version: int | None = None) -> dict[str, StoredText]:
        """The stored texts of documents by id, at the version of a result or the newest."""
        return read_texts(self._index, document_ids, version)

    def threshold(self) -> Threshold:
        """The one calibrated on this index, or the default one; with a warning where it is doubtful.

        Of a searcher of one version the one that was known at it.
        """
        return threshold_of(self._index, self._pinned)

    def embed_queries(self, queries: Sequence[str]) -> dense.Matrix:
        """float32[queries, dimension], unit rows: what `search` takes as `vector`, many for the price of few.

        Raises `SpaceMismatch` and `ModelUnavailable` as `search` does.
        """
        model = self._versions.ask(lambda corpus: self._require_model(corpus.snapshot))
        with _encoding:
            vectors = np.asarray(_embedder(model).embed_queries(queries), dtype=np.float32)
        return _checked(vectors.reshape(len(queries), -1), model)

    def search(
        self,
        query: str,
        mode: Mode = "hybrid",
        k: int = 10,
        threshold: float | None = None,
        *,
        vector: dense.Vector | None = None,
        filters: Filters = NO_FILTERS,
        rerank: bool = False,
        fold_duplicates: bool = True,
        explain: bool = False,
    ) -> Results:
        """The best `k` passages; with a threshold at most four, and only those under it in cosine distance.

        A hit's score goes by mode: BM25 by the most that the query's words can reach, + .05 z(cosine) (hybrid), the
        RRF score, the cosine or the BM25 score; hits are ordered by score, then chunk id. In hybrid mode the first 50
        are ranked, and shown, as windows (`pincite.retrieval.windows`), unless the setting `windows` is off.
        In BM25 mode chunks without a term of the query are no hits, and no model is touched.
        `filters` are applied before anything is scored; the statistics of BM25 stay those of the whole index.
        Near-duplicates of one document become one hit unless `fold_duplicates` is off. `rerank` reorders the
        first 25 that the threshold and folding leave by a cross-encoder, whose score the hits carry; it refuses
        nothing. The order of steps: filter, rank, cut, fold, rerank. `vector` spares the embedding of a query
        that `embed_queries` embedded, or is a vector of the caller's own. `explain` adds the share of each term in
        the BM25 scores.
        Raises `UsageError` for a query without a letter or digit, `k` below 1, an unknown mode, a wrong filter,
        and a threshold that is no cosine distance or meets BM25 mode, which measures none; `SpaceMismatch`
        when the settings' model is not the index's; `ModelUnavailable` when a model is not on this machine.
        """
        _check(query, mode, k, threshold)
        check_filters(filters)
        reranker = resolve_reranker(self._settings.reranker) if rerank else None
        self._versions.asked()
        most = k if threshold is None else min(k, MOST_PASSAGES)

        def found(corpus: Corpus) -> Results:
            among = self._among(corpus, filters)
            words = query_words(query, corpus) if _tokenized(corpus) else QueryWords(query, {}, {})
            ranking, lexical = self._ranking(corpus, words, mode, among, vector)
            beside = self._beside_of(corpus)
            best = partial(
                _best,
                _remembered(ranking),
                likeness=beside.likeness if fold_duplicates else None,
                apart=beside.apart if self._grows(mode) else None,
            )
            evidence = words.evidence(corpus)
            uncut = best(max(most, LOOKED_AT), None, evidence) if self._grows(mode) else []
            scored = score_of_ranked(corpus, words.weights(corpus), uncut, beside.windows)
            if threshold is not None and scored is not None and scored >= shipped().cut:
                evidence = evidence.with_unread(one.row for one in uncut[:MOST_PASSAGES])
            wanted = max(most, RERANK_DEPTH) if reranker else most
            kept = (
                uncut[:most]
                if uncut and threshold is None and not reranker
                else best(wanted, threshold, evidence)
            )
            if reranker:
                kept = _reranked(corpus, query, kept, reranker)
            hits = hits_of(corpus, self._index, beside.texts, kept[:most])
            return Results(
                hits,
                refused=threshold is not None and not hits,
                version=corpus.version,
                searched=len(corpus) if among is None else int(among.sum()),
                shares=_shares(lexical, kept[:most]) if explain and lexical else (),
                widened={} if mode == "dense" else words.widened,
                absent=words.absent if words.words else (),
                offered={} if mode == "dense" else words.offered,
                most_of_words=lexical.most if lexical else 0.0,
                evidence=scored if len(corpus) >= LEAST_CHUNKS else None,
                proved=any(one.proved for one in kept[:most]),
            )

        return self._versions.ask(found)

    def _beside_of(self, corpus: Corpus) -> _Beside:
        beside = self._beside
        if beside is None or beside.corpus is not corpus:
            likeness = Likeness(corpus.document_numbers, corpus.lengths, corpus.contents)
            beside = _Beside(corpus, likeness, Windows(corpus), Texts(self._index, corpus.version))
            self._beside = beside
        return beside

    def _grows(self, mode: Mode) -> bool:
        return mode == "hybrid" and self._settings.windows

    def _among(self, corpus: Corpus, filters: Filters) -> Mask | None:
        if filters == NO_FILTERS:
            return None
        dated = None
        if filters.dated:
            since, before = nanoseconds(filters.modified_since), nanoseconds(filters.modified_before)
            dated = self._index.modified_between(since, before)
        return corpus.among(filters, dated, self._sources_of(filters.collections))

    def _sources_of(self, collections: Sequence[str]) -> frozenset[str] | None:
        """Raises `UsageError` for a name that no collection has."""
        if not collections:
            return None
        for name in collections:
            require_known(self._index, name)
        return frozenset(one.source for one in read_collections(self._index) if one.name in collections)

    def _ranking(
        self,
        corpus: Corpus,
        words: QueryWords,
        mode: Mode,
        among: Mask | None,
        known: dense.Vector | None,
    ) -> tuple[Ranking, bm25.BM25Scores | None]:
        """(what ranks the rows, to any depth; its BM25 scores, if it has any); the query is embedded once."""
        if mode == "bm25":
            lexical = self._lexical(words, corpus, among)
            return lambda depth: bm25_ranking(lexical, depth), lexical
        model = self._require_model(corpus.snapshot)
        if known is not None:
            known = _given_vector(known, model)
        if not len(corpus):
            return lambda _depth: [], None
        looked_at = corpus.live if among is None and not corpus.every_row_lives else among
        if mode == "dense":
            vector = _query_vector(words.query, model) if known is None else known
            return lambda depth: dense_ranking(vector, corpus.vectors, depth, looked_at), None
        # BM25 first: it may refuse, and costs less than loading a model
        lexical = self._lexical(words, corpus, among)
        vector = _query_vector(words.query, model) if known is None else known
        if mode == "rrf":
            ranks = partial(rrf_ranking, vector, corpus.vectors, lexical)
            return lambda depth: ranks(depth, looked_at, corpus.unread), lexical
        spread = corpus.spread(vector, among)
        hybrid = partial(hybrid_ranking, vector, corpus.vectors, lexical)
        if not self._grows(mode):
            return lambda depth: hybrid(depth, spread, looked_at, corpus.unread), lexical
        windows = self._beside_of(corpus).windows
        return lambda depth: ranked_by_windows(
            hybrid(max(depth, GROWN), spread, looked_at, corpus.unread), lexical, windows, among
        ), lexical

    def _lexical(self, words: QueryWords, corpus: Corpus, among: Mask | None) -> bm25.BM25Scores:
        if not _tokenized(corpus):
            raise SpaceMismatch(
                f"the index at {self._index.path} is of the model version {corpus.space}; this Pincite cuts "
                f"queries into terms with {TOKENIZER}, which would miss what is stored: search with mode "
                "dense, or run `pincite migrate`"
            )
        return words.lexical(corpus, among)

    def _require_model(self, snapshot: Snapshot) -> Model:
        """The settings' model, or the index's where they name none, found but not loaded.

        Raises `SpaceMismatch` unless the index is of it.
        """
        space, own = snapshot.space, snapshot.model_setting
        with self._resolving:
            if snapshot.space_id not in self._models:
                self._models = {snapshot.space_id: resolve_model(self._settings.model or own)}
            model = self._models[snapshot.space_id]
        if (model.name, model.fingerprint, model.dimension) != (
            space.model,
            space.fingerprint,
            space.dimension,
        ):
            raise SpaceMismatch(
                f"the index at {self._index.path} is of the model version {space}; the settings ask for the model "
                f"{model.name} (weights {model.fingerprint[:12]}, {model.dimension} dimensions). Vectors of "
                f'two models can\'t be compared: set model = "{own}" or leave it out of the settings, search with '
                "mode bm25, or bring the index to the other model with `pincite migrate`"
            )
        return model


@lru_cache(maxsize=2)
def _embedder(model: Model) -> Embedder:
    """The loaded model, shared by all searchers of this process."""
    from pincite.encoders.embedding import load_embedder  # brings torch: some seconds

    # One query gains nothing by a second thread: 12 ms either way, for 12 or 24 ms CPU; and on a busy machine
    # two that wait for each other took 400 ms.
    return load_embedder(model, threads=1)


def _query_vector(query: str, model: Model) -> dense.Vector:
    with _encoding:
        vector = np.asarray(_embedder(model).embed_query(query), dtype=np.float32)
    row: dense.Vector = _checked(vector.reshape(1, -1), model)[0]
    return row


def _given_vector(vector: dense.Vector, model: Model) -> dense.Vector:
    """A query's vector of the caller's own. Raises `UsageError` for one that no search could compare."""
    try:
        given = np.asarray(vector, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the vector of the query is no array of numbers: {error}") from error
    length = float(np.linalg.norm(given))
    if given.shape != (model.dimension,) or not abs(length - 1.0) <= 1e-4:  # also true for NaN
        raise UsageError(
            f"the vector of the query has the shape {given.shape} and the length {length:.4g}: the model "
            f"{model.name} compares vectors of {model.dimension} numbers and unit length, as embed_queries gives them"
        )
    return given


def _checked(vectors: dense.Matrix, model: Model) -> dense.Matrix:
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if vectors.shape[1:] != (model.dimension,) or not (np.abs(squares - 1.0) <= 1e-4).all():
        raise ModelUnavailable(
            f"the model {model.name} at {model.folder} gave a query no vector of {model.dimension} "
            "dimensions and unit length: its files are damaged, install it again"
        )
    return vectors


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


def _tokenized(corpus: Corpus) -> bool:
    return corpus.space.tokenizer == TOKENIZER


def _remembered(ranking: Ranking) -> Ranking:
    """A ranking that is asked again only where it must go deeper."""
    known: list[Ranked] = []
    deepest = 0

    def ranked(depth: int) -> list[Ranked]:
        nonlocal known, deepest
        if depth > deepest and len(known) >= deepest:
            known, deepest = ranking(depth), depth
        return known

    return ranked


def _best(
    ranking: Ranking,
    wanted: int,
    threshold: float | None,
    evidence: Evidence,
    *,
    likeness: Likeness | None,
    apart: Callable[[list[Ranked]], list[Ranked]] | None,
) -> list[Ranked]:
    """The first `wanted` rows under the threshold, near-duplicates folded, windows without what better ones show.

    The ranking is asked for as deep as that needs.
    """
    first = 2 * wanted if apart else wanted  # some stand in better windows
    depth = first + (FOLD_WINDOW if likeness else 0)
    while True:
        ranked = evidence.marked(ranking(depth))
        # Where the dense leg reached the threshold, it has brought all that lies under it.
        reached = threshold is not None and any(_is_over(one, threshold) for one in ranked)
        whole = reached or len(ranked) < depth
        passed = ranked if reached else ranked[:depth]
        if threshold is not None:
            cut = under_cut((one.cut_distance for one in passed), threshold, len(passed))
            passed = [passed[place] for place in cut]
        kept, settled = fold(passed, first, likeness) if likeness else (passed[:first], len(passed) >= first)
        shown = apart(kept) if apart else kept
        if not (settled or whole):
            depth *= 2
        elif len(shown) >= wanted or len(kept) < first:
            return shown[:wanted]
        else:  # too many stood in better windows
            first, depth = 2 * first, depth + first


def _shares(lexical: bm25.BM25Scores, kept: Sequence[Ranked]) -> tuple[tuple[bm25.TermShare, ...], ...]:
    found: list[tuple[bm25.TermShare, ...]] = []
    for one in kept:
        found += lexical.shares(np.array([one.row], dtype=np.int64), [one.grown] if one.grown else ())
    return tuple(found)


def _is_over(one: Ranked, threshold: float) -> bool:
    return one.dense_rank is not None and not (one.cosine_distance or 0.0) < threshold


def _reranked(corpus: Corpus, query: str, kept: Sequence[Ranked], reranker: Reranker) -> list[Ranked]:
    """The cross-encoder reads what the embedding model read: the passage under its header."""
    passages = corpus.passages([one.row for one in kept[:RERANK_DEPTH]])
    texts = [f"[{one.header}]\n{one.content}" if one.header else one.content for one in passages]
    return reordered(kept, score(query, texts, reranker), corpus.order)
