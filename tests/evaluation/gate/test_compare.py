"""The gate opens for as good, and names what is worse, lost or bluffed."""

from dataclasses import replace

import pytest

from pincite.evaluation.gate.compare import gate
from pincite.schemas.errors import UsageError
from pincite.schemas.evaluation import Judged, Result
from tests.storage.building import SPACE


def answerable(number: int, rank: int | None, destroyed: bool = False, digest: str = "") -> Judged:
    return Judged(
        "structural",
        f"q{number}",
        "",
        digest or f"words of {number}",
        f"needle:{number}",
        "answerable",
        rank=rank,
        destroyed=destroyed,
        answered=True,
    )


def negative(number: int, answered: bool) -> Judged:
    return Judged(
        "structural", f"n{number}", "off-topic", f"no {number}", "", "unanswerable", answered=answered
    )


def result(name: str, *rows: Judged, version: int = 1) -> Result:
    return Result(name, "set", "0" * 64, "content", version, SPACE, 3, 0.675, 4, "structural", rows)


GOOD = result("good", *(answerable(n, 1) for n in range(20)), *(negative(n, False) for n in range(5)))


def test_an_index_that_is_as_good_passes() -> None:
    verdict = gate(replace(GOOD, name="new", version=2), GOOD)
    assert verdict.ok and not verdict.reasons and not verdict.notes
    assert "good" in verdict.baseline and "new" in verdict.candidate


def test_a_significant_loss_of_recall_closes_it_and_names_the_questions() -> None:
    worse = replace(GOOD, rows=(*(answerable(n, 6 if n < 6 else 1) for n in range(20)), *GOOD.rows[20:]))
    verdict = gate(worse, GOOD)
    assert not verdict.ok
    assert [reason.split(" ")[0] for reason in verdict.reasons] == ["recall@1", "recall@4"]
    assert "q0, q1, q2, q3, q4, q5" in verdict.reasons[0] and "p = 0.0312" in verdict.reasons[0]


def test_five_lost_questions_are_not_yet_significant() -> None:
    worse = replace(GOOD, rows=(*(answerable(n, 6 if n < 5 else 1) for n in range(20)), *GOOD.rows[20:]))
    verdict = gate(worse, GOOD)
    assert verdict.ok
    recall = next(pair for pair in verdict.pairs if pair.metric == "recall@4")
    assert len(recall.lost) == 5 and not recall.resolvable


def test_one_destroyed_answer_closes_it() -> None:
    rows = (answerable(0, None, destroyed=True), *GOOD.rows[1:])
    verdict = gate(replace(GOOD, rows=rows), GOOD)
    assert not verdict.ok and verdict.destroyed == ("q0",)
    assert verdict.reasons == ("lacks 1 answer that the baseline had: q0",)


@pytest.mark.parametrize("code", ["not-in-text", "no-document"])
def test_an_answer_that_is_no_longer_extracted_closes_it_too(code: str) -> None:
    lost = replace(answerable(0, None), role="left out", rank=None, destroyed=None, fault=code)
    verdict = gate(replace(GOOD, rows=(lost, *GOOD.rows[1:])), GOOD)
    assert not verdict.ok and verdict.destroyed == ("q0",)


def test_a_needle_that_now_stands_twice_is_noted_and_not_counted() -> None:
    twice = replace(answerable(0, None), role="left out", rank=None, destroyed=None, fault="repeated")
    verdict = gate(replace(GOOD, rows=(twice, *GOOD.rows[1:])), GOOD)
    assert verdict.ok and verdict.notes == ("not compared, since their ground truth no longer holds: q0",)
    assert verdict.pairs[0].of == 19


def test_an_answer_that_was_destroyed_before_is_no_new_loss() -> None:
    rows = (answerable(0, None, destroyed=True), *GOOD.rows[1:])
    assert gate(replace(GOOD, rows=rows), replace(GOOD, rows=rows)).ok


def test_more_bluffs_close_it_and_other_bluffs_do_not() -> None:
    one = replace(GOOD, rows=(*GOOD.rows[:20], negative(0, True), *GOOD.rows[21:]))
    other = replace(GOOD, rows=(*GOOD.rows[:21], negative(1, True), *GOOD.rows[22:]))
    verdict = gate(one, GOOD)
    assert not verdict.ok and verdict.bluffed == ("n0",)
    assert verdict.reasons == ("1 wrong answer more to questions without one: n0",)
    swapped = gate(other, one)
    assert swapped.ok and swapped.bluffed == ("n1",)


def test_questions_are_matched_by_what_they_ask_and_told_by_their_new_ids() -> None:
    renamed = replace(answerable(0, None, destroyed=True), question_id="first")
    verdict = gate(replace(GOOD, rows=(renamed, *GOOD.rows[1:])), GOOD)
    assert verdict.destroyed == ("first",)


def test_questions_of_one_side_alone_are_noted() -> None:
    more = replace(GOOD, rows=(*GOOD.rows, answerable(99, None)))
    assert gate(more, GOOD).notes == ("only the candidate was asked: q99",)
    assert gate(GOOD, more).notes == ("only the baseline was asked: q99",)


def test_what_has_nothing_in_common_can_not_be_compared() -> None:
    with pytest.raises(UsageError, match="no question in common"):
        gate(GOOD, result("else", answerable(77, 1)))
    with pytest.raises(UsageError, match="judge by different texts"):
        gate(GOOD, replace(GOOD, judge="text"))
