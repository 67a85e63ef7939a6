"""Strategies in pairs: who found what the other did not, whether that can be chance, and whether a stage pays."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Literal

from pincite.evaluation.metrics import CUTS, success_at
from pincite.evaluation.passages import NEEDLE, Truth, ground_truth
from pincite.evaluation.statistics import ALPHA, holm, resolvable, sign_test
from pincite.schemas.counting import decimal
from pincite.schemas.evaluation import Judge, Pair, Question, QuestionOutcome, StageFinding, StrategyScores

DESTROYED = "destroyed"
METRICS = (*(f"recall@{k}" for k in CUTS), DESTROYED)
Pays = Literal["yes", "no", "not resolved"]


@dataclass(frozen=True, slots=True)
class Stage:
    """Two strategies that differ in one stage: `second` has it."""

    name: str
    first: str
    second: str


def stages_of(main: str, chunker: str, names: Iterable[str]) -> list[Stage]:
    """The comparisons that are worth making among the strategies of these names."""
    known = set(names)
    planned = [
        Stage("boundaries", "A", "C"),
        Stage("overlap", "A", "B"),
        Stage("overlap", "C", "D"),
        Stage("overlap", "E", "F"),
        Stage("header", "C", "E"),
        Stage("boundaries and header", "A", "E"),
        Stage("default chunker", "E", "structural"),
        Stage("default chunker", "A", "structural"),
        Stage("dense instead of BM25", f"{chunker}/bm25", f"{chunker}/dense"),
        Stage("fusion", f"{chunker}/bm25", chunker),
        Stage("fusion", f"{chunker}/dense", chunker),
        Stage("reranking", chunker, f"{chunker}/hybrid+rerank"),
        *(Stage("embedding model", main, name) for name in sorted(known) if "@" in name),
    ]
    return [stage for stage in planned if stage.first in known and stage.second in known]


def compare(
    stages: Sequence[Stage], scores: Mapping[str, StrategyScores], questions: Sequence[Question]
) -> list[Pair]:
    """Every stage on every metric; Holm's correction runs over the stages of one metric."""
    truths = {question.id: ground_truth(question) for question in questions if question.answerable}
    return corrected(
        [
            pair
            for stage in stages
            for pair in pairs_of(stage, scores[stage.first].outcomes, scores[stage.second].outcomes, truths)
        ]
    )


def pairs_of(
    stage: Stage,
    first: Sequence[QuestionOutcome],
    second: Sequence[QuestionOutcome],
    truths: Mapping[str, Truth],
) -> list[Pair]:
    """One pair a metric, on the questions that both were judged by; not yet corrected.

    `truths` say by question id what it is judged by. A needle that is asked about twice is destroyed once.
    """
    others = {outcome.id: outcome for outcome in second}
    both = [(one, others[one.id]) for one in first if one.id in others]
    by_truth: dict[Truth, tuple[QuestionOutcome, QuestionOutcome]] = {}
    for one, other in both:
        by_truth.setdefault(truths[one.id], (one, other))
    needles = [pair for truth, pair in by_truth.items() if truth[0] == NEEDLE]
    return [
        *(_recall_pair(stage, k, both, len(by_truth)) for k in CUTS),
        _pair(
            stage,
            DESTROYED,
            [(one.id, float(not one.destroyed), float(not other.destroyed)) for one, other in needles],
            len(needles),
        ),
    ]


def _recall_pair(
    stage: Stage, k: int, both: Sequence[tuple[QuestionOutcome, QuestionOutcome]], needles: int
) -> Pair:
    found = [(one.id, success_at(k, one.rank), success_at(k, other.rank)) for one, other in both]
    return _pair(stage, f"recall@{k}", found, needles)


def _pair(stage: Stage, metric: str, found: Sequence[tuple[str, float, float]], needles: int) -> Pair:
    won = tuple(one for one, first, second in found if second > first)
    lost = tuple(one for one, first, second in found if first > second)
    return Pair(
        stage.name,
        stage.first,
        stage.second,
        metric,
        of=len(found),
        needles=needles,
        won=won,
        lost=lost,
        p=sign_test(len(won), len(lost)),
        p_holm=None,
        resolvable=resolvable(len(won), len(lost)),
    )


def corrected(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs in their order, with Holm's p over all pairs of the same metric."""
    p_holm: dict[int, float | None] = {}
    for metric in METRICS:
        places = [place for place, pair in enumerate(pairs) if pair.metric == metric]
        values = holm([pairs[place].p for place in places])
        p_holm |= dict(zip(places, values, strict=True))
    return [replace(pair, p_holm=p_holm[place]) for place, pair in enumerate(pairs)]


def findings_of(
    pairs: Sequence[Pair], scores: Mapping[str, StrategyScores], judge: Judge
) -> list[StageFinding]:
    """Whether each stage pays, one answer for each comparison, in the order of the pairs."""
    return [
        _finding(list(group), scores, judge)
        for _, group in groupby(pairs, key=attrgetter("stage", "first", "second"))
    ]


def _finding(pairs: Sequence[Pair], scores: Mapping[str, StrategyScores], judge: Judge) -> StageFinding:
    significant = [pair for pair in pairs if _under(pair.p_holm)]
    better = [pair for pair in significant if len(pair.won) > len(pair.lost)]
    worse = [pair for pair in significant if len(pair.won) < len(pair.lost)]
    pays: Pays = "no"
    if better and not worse:
        pays = "yes"
    elif not any(pair.resolvable for pair in pairs):
        pays = "not resolved"
    one = pairs[0]
    only_raw = [pair.metric for pair in pairs if _under(pair.p)] if not significant else []
    sentences = [
        _opening(pays, better, worse, one),
        f"On {' and '.join(only_raw)} it is before Holm's correction, not after." if only_raw else "",
        f"{'; '.join(_numbers(pair, scores, judge) for pair in pairs if pair.of)}.",
        _as_embedded(scores[one.first], scores[one.second], judge),
        _price(scores[one.first], scores[one.second]),
    ]
    return StageFinding(one.stage, pays, " ".join(filter(None, sentences)))


def _under(p: float | None) -> bool:
    return p is not None and p < ALPHA


def _opening(pays: Pays, better: Sequence[Pair], worse: Sequence[Pair], one: Pair) -> str:
    """The answer as a sentence."""
    change = f"{one.stage} ({one.first} → {one.second})"
    gains, harms = (" and ".join(pair.metric for pair in some) for some in (better, worse))
    if pays == "yes":
        return f"Yes, {change} pays: significantly better on {gains}."
    if better:
        return f"No, {change} does not pay on the whole: better on {gains}, significantly worse on {harms}."
    if worse:
        return f"No, {change} does not pay: significantly worse on {harms}."
    if pays == "not resolved":
        return f"Nothing can be resolved about {change}: fewer than six questions tell the two apart on any metric."
    return f"No, {change} is not shown to pay: no difference on any metric is significant."


def _numbers(pair: Pair, scores: Mapping[str, StrategyScores], judge: Judge) -> str:
    """ "recall@4 .500 → .625 (+12/−2, p = 0.013, Holm = 0.052)"."""
    values = " → ".join(_value(scores[name], pair.metric, judge) for name in (pair.first, pair.second))
    tests = "" if pair.p is None else f", p {_p(pair.p)}, Holm {_p(pair.p_holm)}"
    doubt = "" if pair.resolvable else ", can't be resolved"
    return f"{pair.metric} {values} (+{len(pair.won)}/−{len(pair.lost)}{tests}{doubt})"


def _p(value: float | None) -> str:
    return "< 0.001" if value is not None and value < 0.0005 else f"= {decimal(value)}"


def _value(scores: StrategyScores, metric: str, judge: Judge) -> str:
    if metric == DESTROYED:
        return str((scores.destroyed if judge == "content" else scores.destroyed_in_text).count)
    return decimal(scores.recall[int(metric.removeprefix("recall@"))].value)


def _as_embedded(first: StrategyScores, second: StrategyScores, judge: Judge) -> str:
    """What overlap and header save in the embedded text, which is not what is quoted."""
    counts = (first.destroyed_in_text.count, second.destroyed_in_text.count)
    if judge == "text" or counts == (first.destroyed.count, second.destroyed.count):
        return ""
    return f"Judged by the embedded text, which is never quoted, {counts[0]} → {counts[1]} are destroyed."


def _price(first: StrategyScores, second: StrategyScores) -> str:
    """What the stage costs in word-pieces, where it changes the index."""
    before, after = first.cost, second.cost
    if before == after or not before.tokens or first.strategy.model != second.strategy.model:
        return ""
    change = (after.tokens - before.tokens) / before.tokens
    share = after.header_tokens / after.tokens if after.tokens else 0.0
    return (
        f"Word-pieces in the index: {before.tokens:,} → {after.tokens:,} ({change:+.0%}), {share:.0%} of them "
        f"header; chunks over the window: {before.over_window} → {after.over_window}."
    )
