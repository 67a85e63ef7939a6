"""One index against a question set: what is ranked, how far the answer is down, how far away it is.

Nothing is generated and nothing is written. Rankings are made by the functions that `Searcher.search` uses, on one
version, with all queries embedded at once; `tests/evaluation/test_scoring.py` holds them against `search` itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from pincite.evaluation.metrics import CUTS, DEPTH, reciprocal_rank, success_at
from pincite.evaluation.passages import Ground
from pincite.evaluation.refusal import Distances, right_between
from pincite.evaluation.statistics import clustered_mean, share
from pincite.retrieval import dense
from pincite.retrieval.evidence_score import LEAST_CHUNKS, score_of_ranked
from pincite.retrieval.loaded_version import Corpus
from pincite.retrieval.near_duplicates import Likeness
from pincite.retrieval.ranking import (
    LEG_DEPTH,
    Mode,
    Ranked,
    apart_from_better,
    bm25_ranking,
    dense_ranking,
    hybrid_ranking,
    ranked_by_windows,
    rrf_ranking,
)
from pincite.retrieval.rerank import RERANK_DEPTH, Reranker, reordered, score
from pincite.retrieval.threshold import MOST_PASSAGES
from pincite.retrieval.widening import query_words
from pincite.retrieval.windows import LOOKED_AT, Windows
from pincite.schemas.evaluation import Cost, Question, QuestionOutcome, Strategy, StrategyScores

MODES: tuple[Mode, ...] = ("hybrid", "dense", "bm25")


@dataclass(frozen=True, slots=True)
class QuestionRanking:
    """One question's ranking: `ranked` as the legs bring it, `kept` the first 20 with near-duplicates folded."""

    ranked: list[Ranked]
    kept: list[Ranked]

    @property
    def rows(self) -> list[int]:
        return [one.row for one in self.kept]


_DEPTH = 3 * DEPTH
"""How deep a list is asked for at first: nearly always enough to keep 20."""
_BEYOND = LEG_DEPTH + 1


def _leg(mode: Mode, fused: Sequence[Ranked]) -> list[Ranked]:
    """The first rows of one leg of a fused list, in the order of that leg."""
    rank = attrgetter("dense_rank" if mode == "dense" else "bm25_rank")
    found = (one._replace(window=None) for one in fused if (rank(one) or _BEYOND) <= _DEPTH)
    return sorted(found, key=rank)


class Ranker:
    """Ranks the chunks of one version for many questions; what one question reads is kept for the next."""

    def __init__(self, corpus: Corpus, windows: Windows | None) -> None:
        """Without `windows` hybrid lists have chunks."""
        self._corpus = corpus
        self._windows = windows
        self._likeness = Likeness(corpus.document_numbers, corpus.lengths, corpus.contents)
        self._documents: list[int] = corpus.document_numbers.tolist()

    def rank(
        self, query: str, vector: dense.Vector, modes: Sequence[Mode] = MODES
    ) -> dict[Mode, QuestionRanking]:
        """The lists of a query by mode; BM25 is scored once.

        After hybrid the lists of the other modes are read off its legs, which bring 200 rows each: no second
        look at the vectors. Only their order counts then; their scores stay those of the fusion.
        """
        corpus = self._corpus
        if not len(corpus):
            return {mode: QuestionRanking([], []) for mode in modes}
        words = query_words(query, corpus)
        lexical, evidence = words.lexical(corpus), words.evidence(corpus)
        live = None if corpus.every_row_lives else corpus.live
        spread = corpus.spread(vector)

        def ranking(mode: Mode, depth: int) -> list[Ranked]:
            match mode:
                case "bm25":
                    return bm25_ranking(lexical, depth)
                case "dense":
                    found = dense_ranking(vector, corpus.vectors, depth, live)
                case "rrf":
                    found = rrf_ranking(vector, corpus.vectors, lexical, depth, live, corpus.unread)
                case "hybrid":
                    deep = max(depth, LOOKED_AT)
                    found = hybrid_ranking(vector, corpus.vectors, lexical, deep, spread, live, corpus.unread)
                    if self._windows:
                        found = ranked_by_windows(found, lexical, self._windows)
            return evidence.marked(found)

        found: dict[Mode, QuestionRanking] = {}
        for mode in modes:
            fused = found.get("hybrid")
            legs = mode in ("dense", "bm25") and corpus.unread is None
            known = _leg(mode, fused.ranked) if fused and legs else []
            found[mode] = self._listed(partial(ranking, mode), known, grown=mode == "hybrid")
        return found

    def _listed(
        self, ranking: Callable[[int], list[Ranked]], known: list[Ranked], *, grown: bool
    ) -> QuestionRanking:
        """The first 20 of a ranking, folded, apart from each other where they are windows; `known` is tried first."""
        depth, wanted, ranked = _DEPTH, DEPTH, known
        while True:
            folded = kept = self._fold(ranked, wanted)
            if grown and self._windows:
                kept = apart_from_better(folded, self._windows, self._corpus.document_numbers)
            if len(kept) >= DEPTH or (ranked is not known and len(ranked) < depth and len(folded) < wanted):
                return QuestionRanking(ranked, kept[:DEPTH])
            if len(folded) == wanted:
                wanted *= 2
            else:
                depth = depth if ranked is known else 2 * depth
                ranked = ranking(depth)

    def _fold(self, ranked: Sequence[Ranked], wanted: int) -> list[Ranked]:
        """As `near_duplicates.fold`, which looks from each row ahead: here each row looks back at those kept.

        So it costs a comparison or two a row. What stands behind the last kept row is not folded into any.
        """
        kept: dict[int, Ranked] = {}
        same: dict[int, list[int]] = {}
        of_document: dict[int, list[int]] = {}
        by_content: dict[str, int] = {}
        for one in ranked:
            if len(kept) == wanted:
                break
            near = of_document.setdefault(self._documents[one.row], [])
            content = self._likeness.content(one.row)
            twin = by_content.get(content)
            if twin is None:
                twin = next((row for row in near if self._likeness.same(row, one.row)), None)
            if twin is None:
                kept[one.row] = one
                by_content[content] = one.row
                near.append(one.row)
            else:
                same.setdefault(twin, []).append(one.row)
        return [one._replace(folded=tuple(same[row])) if row in same else one for row, one in kept.items()]

    def evidence(
        self, query: str, listed: QuestionRanking, without: frozenset[int] = frozenset()
    ) -> float | None:
        """The evidence score of what a question finds; None without windows. A rare code is evidence enough."""
        found = [one for one in listed.kept if one.row not in without]
        if self._windows is None or len(self._corpus) < LEAST_CHUNKS:
            return None
        if any(one.proved for one in found[:MOST_PASSAGES]):
            return 1.0
        weights = query_words(query, self._corpus).weights(self._corpus)
        return score_of_ranked(self._corpus, weights, found, self._windows)

    def rerank(self, query: str, listed: QuestionRanking, reranker: Reranker) -> list[int]:
        """The rows of the first 20 after the cross-encoder, which reads the first 25, as a search would."""
        kept = self._fold(listed.ranked, RERANK_DEPTH)
        passages = self._corpus.passages([one.row for one in kept])
        texts = [f"[{one.header}]\n{one.content}" if one.header else one.content for one in passages]
        scores = score(query, texts, reranker)
        return [one.row for one in reordered(kept, scores, self._corpus.order)[:DEPTH]]


def scores_of(
    strategy: Strategy,
    grounds: Sequence[Ground],
    unjudged: Sequence[str],
    ranks: Sequence[int | None],
    cost: Cost,
    *,
    windows: bool = False,
) -> StrategyScores:
    """What a strategy reached; `ranks` are those of the first right passage, one for each of `grounds`.

    `windows`: its passages are windows, which may hold a needle that no chunk does.
    """
    recall = {k: share(int(sum(success_at(k, rank) for rank in ranks)), len(ranks)) for k in CUTS}
    mrr = clustered_mean(
        [reciprocal_rank(rank, DEPTH) for rank in ranks], [ground.needle for ground in grounds]
    )
    needles = {ground.needle: ground for ground in grounds if ground.question.needle}.values()
    return StrategyScores(
        strategy=strategy,
        recall=recall,
        mrr=mrr,
        destroyed=share(sum(one.is_destroyed(windows) for one in needles), len(needles)),
        destroyed_in_text=share(sum(one.destroyed_in_text for one in needles), len(needles)),
        unjudged=tuple(unjudged),
        cost=cost,
        outcomes=tuple(
            QuestionOutcome(
                ground.question.id, rank, bool(ground.question.needle) and not ground.rows(windows)
            )
            for ground, rank in zip(grounds, ranks, strict=True)
        ),
    )


def distances_of(
    question: Question, listed: QuestionRanking, evidence: frozenset[int] = frozenset()
) -> Distances:
    """How far a question is from what it finds, folded as far as it was, in the order of the ranking."""
    distances = {one.row: far for one in listed.ranked if (far := one.cut_distance) is not None}
    others = [far for row, far in distances.items() if row not in evidence]
    hidden = {row for one in listed.kept for row in one.folded}
    ordered = [*listed.rows, *(row for row in distances if row not in hidden)]
    ordered = list(dict.fromkeys(row for row in ordered if row in distances))
    last = max((place for place, row in enumerate(ordered, start=1) if row in evidence), default=0)
    return Distances(
        question.id,
        question.kind,
        question.answerable,
        nearest=min(distances.values(), default=None),
        nearest_other=min(others, default=None),
        right=right_between(
            [distances[row] for row in ordered[:last]], [row in evidence for row in ordered[:last]]
        ),
    )
