import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.evaluation.calibration import Costs, calibrate, split
from pincite.evaluation.distances import Grouped
from pincite.evaluation.refusal import REMOVED, Distances
from pincite.schemas.errors import UsageError


def answerable(number: int, nearest: float, other: float = 1.0, group: str = "") -> Grouped:
    one = Distances(f"a{number}", "course", True, nearest, other, ((nearest, math.inf),))
    return Grouped(one, group or f"needle {number}")


def negative(number: int, nearest: float, kind: str = "off-topic") -> Grouped:
    return Grouped(Distances(f"n{kind}{number}", kind, False, nearest, nearest, ()), f"n{kind}{number}")


CLEAR = [answerable(n, 0.3 + n / 100) for n in range(10)] + [negative(n, 0.8 + n / 100) for n in range(10)]


def test_where_a_threshold_parts_them_it_lies_between_and_costs_nothing() -> None:
    found = calibrate(CLEAR, Costs(), default=0.675)
    assert 0.39 < found.threshold < 0.8
    assert found.held_out.cost == 0
    assert (found.held_out.answered.count, found.held_out.refused.count) == (5, 0)
    assert found.held_out.bluffs == {
        "off-topic": found.held_out.bluffs["off-topic"],
        REMOVED: found.held_out.bluffs[REMOVED],
    }
    assert found.held_out.bluffs["off-topic"].of == 5 and found.held_out.bluffs[REMOVED].of == 5


def overlapping() -> list[Grouped]:
    """Answers from .30 to .78, negatives from .50 to .98: no threshold is right for all."""
    return [answerable(n, 0.30 + n / 50) for n in range(25)] + [negative(n, 0.50 + n / 50) for n in range(25)]


def test_dearer_bluffs_make_the_threshold_stricter() -> None:
    lax = calibrate(overlapping(), Costs(bluff=0.2), default=0.675)
    strict = calibrate(overlapping(), Costs(bluff=5.0), default=0.675)
    assert strict.threshold < lax.threshold
    assert strict.held_out.bluffs["off-topic"].count < lax.held_out.bluffs["off-topic"].count
    assert strict.held_out.refused.count > lax.held_out.refused.count


def test_the_choice_does_not_see_the_half_that_it_is_reported_on() -> None:
    questions = overlapping()
    _, held_out = split(questions)
    ids = {one.id for one in held_out}
    spoiled = [
        Grouped(Distances(d.id, d.kind, d.answerable, 1.9, 1.9, ()), one.group) if d.id in ids else one
        for one in questions
        for d in [one.distances]
    ]
    before, after = (calibrate(set_, Costs(), default=0.675) for set_ in (questions, spoiled))
    assert before.threshold == after.threshold
    assert after.held_out.refused.value == 1.0


def test_a_control_that_is_answered_without_its_evidence_counts_as_a_bluff() -> None:
    questions = [answerable(n, 0.3, other=0.31) for n in range(8)] + [negative(n, 0.9) for n in range(8)]
    measured = calibrate(questions, Costs(), default=0.675).default
    assert measured.bluffs[REMOVED].value == 1.0 and measured.bluffs["off-topic"].value == 0.0


def test_kinds_count_alike_however_many_questions_they_have() -> None:
    few = [answerable(n, 0.3) for n in range(8)] + [negative(n, 0.5, "near-miss") for n in range(4)]
    many = few + [negative(n, 0.9, "off-topic") for n in range(100)]
    bluffs = calibrate(many, Costs(), default=0.675).default
    assert bluffs.bluffs["near-miss"].value == 1.0
    assert bluffs.cost == pytest.approx(1 / 3)  # of near-miss, off-topic and the control


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), min_size=1), st.randoms())
def test_phrasings_of_one_needle_stay_in_one_half_and_no_question_is_lost(
    groups: Sequence[str], random: Random
) -> None:
    questions = [answerable(n, 0.3, group=group) for n, group in enumerate(groups)]
    shuffled = list(questions)
    random.shuffle(shuffled)
    halves = split(questions)
    assert split(shuffled) == halves
    ids = [[one.id for one in half] for half in halves]
    assert sorted(ids[0] + ids[1]) == sorted(one.distances.id for one in questions)
    sides = [{one.group for one in questions if one.distances.id in half} for half in ids]
    assert not sides[0] & sides[1]
    assert 0 <= len(sides[0]) - len(sides[1]) <= 1


@pytest.mark.parametrize(
    ("questions", "costs", "says"),
    [
        ([answerable(n, 0.3) for n in range(9)], Costs(), "0 different questions must be refused"),
        ([negative(n, 0.3) for n in range(9)], Costs(), "0 different questions have an answer"),
        (CLEAR, Costs(bluff=math.nan), "cost of a bluff is nan"),
        (CLEAR, Costs(refusal=-1), "cost of a refusal is -1"),
        (CLEAR, Costs(0, 0), "both costs are 0"),
    ],
)
def test_what_can_not_decide_is_refused(questions: list[Grouped], costs: Costs, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        calibrate(questions, costs, default=0.675)


def weighed(evidence: float, other: float, one: Grouped) -> Grouped:
    return Grouped(replace(one.distances, evidence=evidence, evidence_other=other), one.group)


def test_an_evidence_score_is_set_beside_the_threshold_where_it_parts_what_the_distance_does_not() -> None:
    questions = [weighed(0.6 + n / 100, 0.1, answerable(n, 0.4, 0.41)) for n in range(10)]
    questions += [weighed(0.1 + n / 100, 0.1 + n / 100, negative(n, 0.4)) for n in range(10)]
    found = calibrate(questions, Costs(), default=0.675)
    assert 0.15 < found.evidence < 0.6 and found.with_evidence is not None
    assert found.with_evidence.cost == 0 < found.held_out.cost
    assert found.with_evidence.right.count == found.with_evidence.right.of


def test_no_evidence_score_is_set_where_it_does_not_pay_on_the_other_half() -> None:
    assert calibrate(CLEAR, Costs(), default=0.675).evidence == 0, "there is nothing left to gain"
    questions = [weighed(0.5, 0.5, answerable(n, 0.4, 0.41)) for n in range(10)]
    questions += [weighed(0.5, 0.5, negative(n, 0.4)) for n in range(10)]
    found = calibrate(questions, Costs(), default=0.675)
    assert found.evidence == 0 and found.with_evidence is None
