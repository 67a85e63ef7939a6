"""One index against a question set: what is ranked, how far the answer is down, how far away it is.

Nothing is generated and nothing is written. Rankings are made by the functions that `Searcher.search` uses, on one
version, with all queries embedded at once; `tests/evaluation/test_scoring.py` holds them against `search` itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from encoders.terms import terms
from evaluation.metrics import CUTS, DEPTH, first_rank, reciprocal_rank, success_at
from evaluation.passages import Ground
from evaluation.refusal import Distances, right_between
from evaluation.statistics import clustered_mean, share
from retrieval import dense
from retrieval.corpus import Corpus
from retrieval.folding import FOLD_WINDOW, Likeness, fold
from retrieval.ranking import Mode, Ranked, bm25_ranking, dense_ranking, hybrid_ranking
from retrieval.rerank import RERANK_DEPTH, Reranker, reordered, score
from schemas.evaluation import Cost, Outcome, Question, Scores, Strategy

MODES: tuple[Mode, ...] = ("hybrid", "dense", "bm25")


@dataclass(frozen=True, slots=True)
class Listed:
    """One question's ranking: `ranked` as the legs bring it, `kept` the first 20 with near-duplicates folded."""

    ranked: list[Ranked]
    kept: list[Ranked]

    @property
    def rows(self) -> list[int]:
        return [one.row for one in self.kept]


class Ranker:
    """Ranks the chunks of one version for many questions; what one question reads is kept for the next."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._likeness = Likeness(corpus.document_numbers, corpus.lengths, corpus.contents)

    def rank(self, query: str, vector: dense.Vector, modes: Sequence[Mode] = MODES) -> dict[Mode, Listed]:
        """The lists of a query by mode; BM25 is scored once."""
        corpus = self._corpus
        if not len(corpus):
            return {mode: Listed([], []) for mode in modes}
        lexical = corpus.lexical(terms(query))
        live = None if corpus.every_row_lives else corpus.live

        def ranking(mode: Mode, depth: int) -> list[Ranked]:
            if mode == "bm25":
                return bm25_ranking(lexical, depth)
            if mode == "dense":
                return dense_ranking(vector, corpus.vectors, depth, live)
            return hybrid_ranking(vector, corpus.vectors, lexical, depth, live, corpus.unread)

        found: dict[Mode, Listed] = {}
        for mode in modes:
            depth = DEPTH + FOLD_WINDOW
            while True:
                ranked = ranking(mode, depth)
                kept, settled = fold(ranked, DEPTH, self._likeness)
                if settled or len(ranked) < depth:
                    break
                depth *= 2
            found[mode] = Listed(ranked, kept)
        return found

    def rerank(self, query: str, listed: Listed, reranker: Reranker) -> list[int]:
        """The rows of the first 20 after the cross-encoder, which reads the first 25, as a search would."""
        kept, _ = fold(listed.ranked, RERANK_DEPTH, self._likeness)
        passages = self._corpus.passages([one.row for one in kept])
        texts = [f"[{one.header}]\n{one.content}" if one.header else one.content for one in passages]
        return [one.row for one in reordered(kept, score(query, texts, reranker))[:DEPTH]]


def scores_of(
    strategy: Strategy,
    grounds: Sequence[Ground],
    unjudged: Sequence[str],
    lists: Sequence[Sequence[int]],
    cost: Cost,
) -> Scores:
    """What a strategy reached; `lists` are rows, a list for each of `grounds`."""
    ranks = [first_rank(rows, ground.evidence) for ground, rows in zip(grounds, lists, strict=True)]
    recall = {k: share(int(sum(success_at(k, rank) for rank in ranks)), len(ranks)) for k in CUTS}
    mrr = clustered_mean(
        [reciprocal_rank(rank, DEPTH) for rank in ranks], [ground.needle for ground in grounds]
    )
    needles = {ground.needle: ground for ground in grounds if ground.question.needle}.values()
    return Scores(
        strategy=strategy,
        recall=recall,
        mrr=mrr,
        destroyed=share(sum(one.destroyed for one in needles), len(needles)),
        destroyed_in_text=share(sum(one.destroyed_in_text for one in needles), len(needles)),
        unjudged=tuple(unjudged),
        cost=cost,
        outcomes=tuple(
            Outcome(ground.question.id, rank, bool(ground.question.needle) and not ground.evidence)
            for ground, rank in zip(grounds, ranks, strict=True)
        ),
    )


def distances_of(question: Question, listed: Listed, evidence: frozenset[int] = frozenset()) -> Distances:
    """How far a question is from what it finds, folded as far as it was, in the order of the ranking."""
    hidden = {row for one in listed.kept for row in (one.row, *one.folded)}
    ordered = [*listed.kept, *(one for one in listed.ranked if one.row not in hidden)]
    near = [_far(one.cosine_distance) for one in ordered]
    all_near = [_far(one.cosine_distance) for one in listed.ranked]
    others = [_far(one.cosine_distance) for one in listed.ranked if one.row not in evidence]
    return Distances(
        question.id,
        question.kind,
        question.answerable,
        nearest=min(all_near, default=None),
        nearest_other=min(others, default=None),
        right=right_between(near, [one.row in evidence for one in ordered]) if evidence else (),
    )


def _far(distance: float | None) -> float:
    return float("inf") if distance is None else distance
