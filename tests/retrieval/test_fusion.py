from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.retrieval.fusion import reciprocal_rank_fusion

LEGS = st.lists(st.lists(st.sampled_from("abcdefghij"), unique=True), max_size=4)


def exact(lists: list[list[str]], k: int = 60) -> list[str]:
    shares: dict[str, Fraction] = {}
    for ids in lists:
        for rank, identifier in enumerate(ids, start=1):
            shares[identifier] = shares.get(identifier, Fraction(0)) + Fraction(1, k + rank)
    return sorted(shares, key=lambda identifier: (-shares[identifier], identifier))


def test_two_legs_by_hand() -> None:
    fused = reciprocal_rank_fusion([["a", "b"], ["b", "c"]])
    assert [identifier for identifier, _ in fused] == ["b", "a", "c"]
    assert [score for _, score in fused] == pytest.approx([1 / 61 + 1 / 62, 1 / 61, 1 / 62], abs=1e-15)


def test_a_chunk_found_by_both_legs_comes_once_with_both_contributions() -> None:
    assert reciprocal_rank_fusion([["x"], ["x"]]) == [("x", pytest.approx(2 / 61))]


def test_a_chunk_that_a_leg_repeats_contributes_once_to_it() -> None:
    assert reciprocal_rank_fusion([["x", "x", "y"], ["y"]]) == reciprocal_rank_fusion([["x", "y"], ["y"]])


def test_ties_go_by_chunk_id() -> None:
    fused = reciprocal_rank_fusion([["z", "a"], ["a", "z"]])
    assert [identifier for identifier, _ in fused] == ["a", "z"]
    assert fused[0][1] == fused[1][1]


def test_k_weighs_the_top() -> None:
    # Two middling places against one first: the constant decides.
    legs = [["a", "b"], ["c", "d", "b"]]
    assert reciprocal_rank_fusion(legs, k=60)[0][0] == "b"
    assert reciprocal_rank_fusion(legs, k=0)[0][0] == "a"


def test_no_lists_and_empty_lists_fuse_to_nothing() -> None:
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_rank_fusion([[], []]) == []


def test_one_leg_keeps_its_order() -> None:
    assert [identifier for identifier, _ in reciprocal_rank_fusion([["c", "a", "b"], []])] == ["c", "a", "b"]


@given(LEGS)
def test_order_equals_exact_fractions(lists: list[list[str]]) -> None:
    # Shares of different ranks can sum to values that differ by less than a float's last bit only when they
    # are equal, at these sizes.
    assert [identifier for identifier, _ in reciprocal_rank_fusion(lists)] == exact(lists)


@given(LEGS)
def test_every_id_comes_once_best_first(lists: list[list[str]]) -> None:
    fused = reciprocal_rank_fusion(lists)
    ids, scores = [identifier for identifier, _ in fused], [score for _, score in fused]
    assert sorted(ids) == sorted({identifier for one in lists for identifier in one})
    assert scores == sorted(scores, reverse=True)


@given(LEGS, st.randoms())
def test_the_order_of_the_legs_does_not_matter(lists: list[list[str]], draw: object) -> None:
    shuffled = list(lists)
    draw.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' random.Random
    assert reciprocal_rank_fusion(shuffled) == reciprocal_rank_fusion(lists)


@given(st.lists(st.sampled_from("abcdefghij"), unique=True, min_size=1), LEGS)
def test_a_better_rank_never_lowers_a_score(leg: list[str], others: list[list[str]]) -> None:
    raised = [leg[-1], *leg[:-1]]
    before, after = (dict(reciprocal_rank_fusion([one, *others])) for one in (leg, raised))
    assert after[leg[-1]] >= before[leg[-1]]
