"""Intervals and tests against published figures, those of the founding measurement among them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.evaluation.statistics import LEAST_DISCORDANT, clustered_mean, holm, resolvable, share, sign_test


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(38, 64, 0.471, 0.705), (53, 64, 0.718, 0.901)],  # R@20 of A and E, founding measurement
)
def test_wilson_intervals_are_those_of_the_founding_measurement(
    count: int, of: int, low: float, high: float
) -> None:
    found = share(count, of)
    assert found.value == count / of
    assert (round(found.low or 0, 3), round(found.high or 0, 3)) == (low, high)


@pytest.mark.parametrize(("count", "of"), [(0, 10), (10, 10), (1, 1), (7, 30), (0, 1)])
def test_wilson_interval_is_the_closed_formula(count: int, of: int) -> None:
    z, p = 1.959963984540054, count / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    found = share(count, of)
    assert found.low == pytest.approx(max(0.0, middle - half), abs=1e-12)
    assert found.high == pytest.approx(min(1.0, middle + half), abs=1e-12)


def test_a_share_of_nothing_has_no_value() -> None:
    nothing = share(0, 0)
    assert (nothing.value, nothing.low, nothing.high) == (None, None, None)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(18, 3, 0.0015), (12, 2, 0.0129), (10, 3, 0.09), (10, 6, 0.45), (8, 6, 0.79), (9, 7, 0.80)],
)
def test_sign_tests_are_those_of_the_founding_measurement(wins: int, losses: int, p: float) -> None:
    digits = len(str(p)) - 2
    assert round(sign_test(wins, losses) or 0, digits) == p
    assert sign_test(wins, losses) == sign_test(losses, wins)


def test_without_discordant_pairs_there_is_no_p() -> None:
    assert sign_test(0, 0) is None


def test_fewer_than_six_discordant_pairs_can_never_be_significant() -> None:
    assert (sign_test(5, 0) or 0) > 0.05 and not resolvable(5, 0)
    assert (sign_test(LEAST_DISCORDANT, 0) or 1) < 0.05 and resolvable(3, 3)


def test_holm_corrects_as_in_a_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_what_could_not_be_tested_is_no_comparison_to_correct_for() -> None:
    assert holm([None, 0.04, None]) == [None, 0.04, None]


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12))
def test_holm_keeps_the_order_of_p_and_never_helps(values: list[float | None]) -> None:
    corrected = holm(values)
    known = [(p, q) for p, q in zip(values, corrected, strict=True) if p is not None and q is not None]
    assert len(known) == sum(p is not None for p in values)
    assert all(p <= q <= 1 for p, q in known)
    ordered = [q for _, q in sorted(known)]
    assert ordered == sorted(ordered)
    if known:
        smallest = min(p for p, _ in known)
        assert min(q for _, q in known) == pytest.approx(min(1.0, smallest * len(known)))


def test_a_mean_is_drawn_by_clusters_and_the_same_every_time() -> None:
    values = [1.0, 1.0, 0.0, 0.0] * 10
    twice = [place // 2 for place in range(40)]
    apart = list(range(40))
    together, alone = clustered_mean(values, twice), clustered_mean(values, apart)
    assert together == clustered_mean(values, twice)
    assert together.value == alone.value == 0.5
    width = [(one.high or 0) - (one.low or 0) for one in (together, alone)]
    assert width[0] > 1.2 * width[1]  # phrasings that agree are half as many observations


def test_a_mean_of_one_cluster_or_of_nothing_has_no_interval() -> None:
    assert clustered_mean([], []).value is None
    one = clustered_mean([0.5, 1.0], [0, 0])
    assert (one.value, one.low, one.high) == (0.75, None, None)
