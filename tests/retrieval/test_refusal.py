import math

import pytest

from retrieval.refusal import DEFAULT_THRESHOLD, no_answer, under_cut


def test_distance_05_passes_and_85_is_refused_at_the_founding_threshold() -> None:
    assert DEFAULT_THRESHOLD == 0.675
    assert under_cut([0.05], 0.675) == [0]
    assert under_cut([0.85], 0.675) == []


def test_the_cut_itself_is_not_under_the_cut() -> None:
    assert under_cut([0.675, math.nextafter(0.675, 0)], 0.675) == [1]


def test_at_most_four_pass_in_the_order_given() -> None:
    assert under_cut([0.5, 0.9, 0.1, 0.2, 0.3, 0.05], 0.675) == [0, 2, 3, 4]


@pytest.mark.parametrize("distance", [math.nan, None, math.inf])
def test_a_distance_that_is_no_number_is_refused(distance: float | None) -> None:
    assert under_cut([distance], 0.675) == []
    assert under_cut([distance, 0.1], 0.675) == [1]


def test_a_threshold_that_is_no_number_lets_nothing_pass() -> None:
    assert under_cut([0.0, 0.1], math.nan) == []


def test_nothing_passes_from_nothing() -> None:
    assert under_cut([], 0.675) == []


def test_the_refusal_names_cut_and_question() -> None:
    expected = 'NO ANSWER: nothing under cosine distance 0.675 for "паелья?"'
    assert no_answer("паелья?", 0.675) == expected
