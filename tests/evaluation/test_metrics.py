"""The measures against ir_measures on random runs, and where they are not defined."""

import random

import ir_measures
import pytest
from ir_measures import RR, Qrel, R, ScoredDoc, Success

from pincite.evaluation.metrics import CUTS, first_rank, mean, reciprocal_rank, success_at


@pytest.mark.parametrize("seed", range(20))
def test_measures_equal_those_of_ir_measures_on_random_runs(seed: int) -> None:
    chance = random.Random(seed)
    documents = [f"d{number}" for number in range(chance.randint(1, 60))]
    runs = {f"q{number}": chance.sample(documents, chance.randint(0, len(documents))) for number in range(15)}
    relevant = {query: set(chance.sample(documents, chance.randint(1, len(documents)))) for query in runs}
    qrels = [Qrel(query, one, 1) for query, some in relevant.items() for one in sorted(some)]
    scored = [
        ScoredDoc(query, one, float(len(run) - place))
        for query, run in runs.items()
        for place, one in enumerate(run)
    ]
    measures = [measure @ k for k in CUTS for measure in (Success, RR)] + [RR]
    theirs = {
        (metric.measure, metric.query_id): metric.value
        for metric in ir_measures.iter_calc(measures, qrels, scored)
    }
    for query, run in runs.items():
        rank = first_rank(run, relevant[query])
        assert reciprocal_rank(rank) == pytest.approx(theirs[(RR, query)], abs=1e-12)
        for k in CUTS:
            assert success_at(k, rank) == pytest.approx(theirs[(Success @ k, query)], abs=1e-12)
            assert reciprocal_rank(rank, k) == pytest.approx(theirs[(RR @ k, query)], abs=1e-12)


def test_with_one_relevant_passage_success_is_recall() -> None:
    run = {"q": ["c", "a", "b"]}
    scored = [ScoredDoc("q", one, -float(place)) for place, one in enumerate(run["q"])]
    found = ir_measures.iter_calc([R @ k for k in CUTS], [Qrel("q", "a", 1)], scored)
    assert {metric.measure: metric.value for metric in found} == {
        R @ k: success_at(k, first_rank(run["q"], {"a"})) for k in CUTS
    }


def test_what_is_not_defined_is_none_and_not_zero() -> None:
    assert mean([]) is None
    assert first_rank(["a", "b"], {"c"}) is None
    assert reciprocal_rank(None) == 0.0
