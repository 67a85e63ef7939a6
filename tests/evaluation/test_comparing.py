"""Pairs of strategies and the words that answer whether a stage pays."""

from collections.abc import Sequence

from pincite.evaluation.comparing import compare, findings_of, stages_of
from pincite.evaluation.metrics import CUTS, success_at
from pincite.evaluation.statistics import clustered_mean, share
from pincite.schemas.evaluation import Cost, Question, QuestionOutcome, StageFinding, Strategy, StrategyScores

COST = Cost(10, 1_000, 100, 0, 0.1, 0, 0)


def questions(count: int) -> list[Question]:
    return [Question(f"q{n}", "?", f"needle {n}") for n in range(count)]


def scores(
    name: str, ranks: Sequence[int | None], destroyed: Sequence[int] = (), cost: Cost = COST
) -> StrategyScores:
    lost = share(len(destroyed), len(ranks))
    return StrategyScores(
        Strategy(name, "structural", "model", "hybrid"),
        {k: share(sum(int(success_at(k, rank)) for rank in ranks), len(ranks)) for k in CUTS},
        clustered_mean([1.0 / rank if rank else 0.0 for rank in ranks], list(range(len(ranks)))),
        lost,
        lost,
        (),
        cost,
        tuple(QuestionOutcome(f"q{n}", rank, n in destroyed) for n, rank in enumerate(ranks)),
    )


def findings(first: StrategyScores, second: StrategyScores) -> list[StageFinding]:
    by_name = {one.strategy.name: one for one in (first, second)}
    asked = questions(len(first.outcomes))
    pairs = compare(stages_of("structural", "structural", by_name), by_name, asked)
    return findings_of(pairs, by_name, "content")


def test_a_stage_that_pays_is_told_with_its_numbers() -> None:
    dear = Cost(10, 1_200, 300, 0, 0.25, 2, 30)
    (found,) = findings(scores("C", [None] * 10), scores("E", [1] * 8 + [None] * 2, cost=dear))
    assert found.pays == "yes"
    assert "recall@1 0.000 → 0.800 (+8/−0, p = 0.008, Holm = 0.008)" in found.words
    assert "1,000 → 1,200 (+20%), 25% of them header; chunks over the window: 0 → 2" in found.words


def test_a_stage_that_harms_is_told_so() -> None:
    (found,) = findings(scores("structural/bm25", [1] * 10), scores("structural", [9] * 8 + [1] * 2))
    assert found.pays == "no"
    assert found.words.startswith(
        "No, fusion (structural/bm25 → structural) does not pay: significantly worse"
    )


def test_under_six_discordant_questions_nothing_can_be_resolved() -> None:
    (found,) = findings(scores("C", [None] * 10), scores("E", [1] * 5 + [None] * 5))
    assert found.pays == "not resolved"
    assert "Nothing can be resolved" in found.words and "can't be resolved" in found.words


def test_a_difference_that_can_be_chance_is_not_shown_to_pay() -> None:
    (found,) = findings(scores("C", [1] * 6 + [None] * 10), scores("E", [None] * 6 + [1] * 10))
    assert found.pays == "no" and "not shown to pay" in found.words


def test_what_only_the_raw_p_calls_significant_is_told_as_that() -> None:
    first = {name: scores(name, [None] * 10) for name in "ACE"}
    better = {"B": scores("B", [1] * 6 + [None] * 4), "F": scores("F", [None] * 10)}
    by_name = {**first, **better, "D": scores("D", [1] * 6 + [None] * 4)}
    pairs = compare(stages_of("structural", "structural", by_name), by_name, questions(10))
    found = [one for one in findings_of(pairs, by_name, "content") if "A → B" in one.words]
    assert found[0].pays == "no" and "before Holm's correction, not after" in found[0].words


def test_a_destroyed_needle_counts_once_however_often_it_is_asked() -> None:
    asked = [Question("q0", "?", "one needle"), Question("q1", "again?", "one needle")]
    first, second = scores("C", [1, 1]), scores("E", [None, None], destroyed=(0, 1))
    by_name = {"C": first, "E": second}
    pairs = compare(stages_of("structural", "structural", by_name), by_name, asked)
    destroyed = next(pair for pair in pairs if pair.metric == "destroyed")
    assert (destroyed.of, destroyed.lost, destroyed.needles) == (1, ("q0",), 1)
    recall = next(pair for pair in pairs if pair.metric == "recall@4")
    assert (recall.of, recall.needles) == (2, 1)
