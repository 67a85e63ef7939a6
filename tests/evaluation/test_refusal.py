"""The sweep of thresholds against plain loops over what a search would hand over."""

from hypothesis import given
from hypothesis import strategies as st

from pincite.evaluation.refusal import (
    REMOVED,
    Distances,
    right_between,
    sweep,
    threshold_answering,
    thresholds_for,
)
from pincite.retrieval.threshold import MOST_PASSAGES, under_cut

_DISTANCES = st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])


@given(
    st.lists(st.tuples(_DISTANCES, st.booleans()), max_size=12),
    st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.61, 2.0]),
)
def test_a_threshold_is_right_where_the_cut_hands_over_a_correct_passage(
    ranked: list[tuple[float, bool]], threshold: float
) -> None:
    distances, correct = [one for one, _ in ranked], [one for _, one in ranked]
    handed = under_cut(distances, threshold, MOST_PASSAGES)
    found = any(low < threshold <= high for low, high in right_between(distances, correct))
    assert found == any(correct[place] for place in handed)


def of(
    identifier: str,
    nearest: float | None,
    other: float | None = None,
    right: float | None = None,
    kind: str = "",
) -> Distances:
    """An answerable question when `right` is given: the distance of its only correct passage, which is first."""
    between = ((right, float("inf")),) if right is not None else ()
    hidden = other if right is not None else nearest
    return Distances(identifier, kind, right is not None, nearest, hidden, between)


QUESTIONS = (
    of("found", 0.3, other=0.5, right=0.3),
    of("wrongly", 0.4, other=0.4, right=0.7),
    of("far", 0.8, other=0.9, right=0.8),
    of("near miss", 0.45, kind="near-miss"),
    of("off topic", 0.85, kind="off-topic"),
    of("nothing there", None, kind="off-topic"),
)


def test_a_point_counts_answered_refused_and_bluffs_by_kind() -> None:
    (point,) = sweep(QUESTIONS, [0.6])
    assert (point.right, point.wrong, point.refused) == (1, 1, 1)
    assert [(one.kind, one.answered, one.of) for one in point.bluffs] == [
        ("near-miss", 1, 1),
        ("off-topic", 0, 2),
    ]
    assert (point.removed.kind, point.removed.answered, point.removed.of) == (REMOVED, 2, 3)


def test_no_threshold_answers_at_its_own_distance() -> None:
    (at,) = sweep(QUESTIONS, [0.3])
    assert at.right == 0


def test_with_the_evidence_hidden_an_answer_is_a_bluff_only_by_what_is_left() -> None:
    low, high = sweep(QUESTIONS[:1], [0.4, 0.6])
    assert (low.right, low.removed.answered) == (1, 0)
    assert (high.right, high.removed.answered) == (1, 1)


def test_thresholds_cover_all_distances_and_name_those_asked_for() -> None:
    thresholds = thresholds_for(QUESTIONS, [0.675])
    assert thresholds == sorted(set(thresholds)) and 0.675 in thresholds
    assert thresholds[0] <= 0.3 and thresholds[-1] > 0.9
    assert len(thresholds) < 50
    points = sweep(QUESTIONS, thresholds)
    assert points[0].refused == 3 and points[-1].refused == 0
    assert thresholds_for([], [0.5]) == [0.5]


def test_a_threshold_for_as_many_answers_as_another_index_gave() -> None:
    answerable = [one for one in QUESTIONS if one.answerable]
    for count in range(4):
        threshold = threshold_answering(count, answerable)
        assert sum(one.answered(threshold) for one in answerable) == count
    assert threshold_answering(9, answerable) > 0.8
