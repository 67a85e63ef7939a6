"""Raised, lowered and struck words: one way to write them in every format."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.schemas.marks import MarkCounts, count_marks
from pincite.tasks.extraction.base.marks import DrawnRun, Position, written


def _line(*runs: str | tuple[str, Position]) -> str:
    return written(DrawnRun(run) if isinstance(run, str) else DrawnRun(*run) for run in runs)


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        (("4.2 x 10", ("6", "raised"), " per litre"), "4.2 x 10^6 per litre"),
        (("10", ("-6", "raised")), "10^-6"),
        (("10", ("−", "raised"), ("6", "raised")), "10^-6"),
        (("10 ", ("6", "raised")), "10 ^6"),
        (("20 m", ("2", "raised"), "."), "20 m²."),
        (("5 mol", ("-1", "raised")), "5 mol⁻¹"),
        (("Ca", ("2+", "raised")), "Ca²⁺"),
        (("SO", ("4", "lowered"), ("2-", "raised")), "SO₄²⁻"),
        (("H", ("2", "lowered"), "O"), "H₂O"),
        (("log", ("10", "lowered"), " x"), "log₁₀ x"),
        (("101", ("2", "lowered")), "101_2"),
        (("x", ("i", "lowered"), " and V", ("max", "lowered")), "x_i and V_max"),
        (("e", ("x+1", "raised")), "e^(x+1)"),
        (("(a+b)", ("2", "raised")), "(a+b)²"),
        (("the pump", ("1", "raised"), " stops"), "the pump^1 stops"),
        (("12.5", ("a", "raised")), "12.5^a"),
        (("the 1", ("st", "raised"), " of May"), "the 1st of May"),
        (("XX", ("e", "raised"), " siècle"), "XXe siècle"),
        (("M", ("lle", "raised"), " Durand"), "Mlle Durand"),
        (("Widget", ("TM", "raised")), "Widget™"),
        (("seen", ("[12]", "raised")), "seen[12]"),
        (("total", ("*", "raised")), "total*"),
        ((("1", "raised"), " See page 4."), "1 See page 4."),
        (("of ", ("14", "raised"), "C"), "of 14C"),
        (("small", ("a whole sentence that is only printed above the line", "raised")),
         "small a whole sentence that is only printed above the line"),
    ],
)  # fmt: skip
def test_a_sign_is_written_so_that_its_meaning_stays(
    runs: tuple[str | tuple[str, Position], ...], expected: str
) -> None:
    assert _line(*runs) == expected


def test_struck_words_are_marked_without_the_white_space_around_them() -> None:
    runs = [
        DrawnRun("The price is "),
        DrawnRun("4,100", struck=True),
        DrawnRun(" euro ", struck=True),
        DrawnRun("5,300 euro."),
    ]
    assert written(runs) == "The price is ~~4,100 euro~~ 5,300 euro."
    assert written([DrawnRun("one\ntwo", struck=True)]) == "~~one~~\n~~two~~"
    assert written([DrawnRun("10", struck=True), DrawnRun("6", "raised", struck=True)]) == "~~10^6~~"


def test_marks_are_counted() -> None:
    text = "10^6 and m² and H₂O, x_i, not max_retry_count; ~~old price~~ new; 1 ~~ 2"
    assert count_marks(text) == MarkCounts(raised=2, lowered=2, struck=1)


@given(
    st.lists(
        st.tuples(
            st.text("ab1 2(+-~\n^éН\u0301漢", max_size=6),
            st.sampled_from(["", "raised", "lowered"]),
            st.booleans(),
        )
    )
)
def test_no_word_is_lost(runs: list[tuple[str, Position, bool]]) -> None:
    text = written(DrawnRun(*run) for run in runs)
    plain = text.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", "0123456789" * 2))
    kept = [letter for letter in plain if letter.isascii() and letter.isalnum()]
    assert kept == [letter for run in runs for letter in run[0] if letter.isascii() and letter.isalnum()]
