"""Many needles at once find what one search each finds."""

from hypothesis import given
from hypothesis import strategies as st

from pincite.evaluation import occurrences
from pincite.evaluation.occurrences import Needles


def plainly(needles: set[str], text: str) -> list[tuple[str, int]]:
    starts = range(len(text))
    return sorted((needle, start) for needle in needles for start in starts if text.startswith(needle, start))


@given(st.text(alphabet="ab\n ", max_size=200), st.sets(st.text(alphabet="ab\n ", min_size=1, max_size=12)))
def test_they_find_what_plain_searches_find(text: str, needles: set[str]) -> None:
    assert sorted(Needles(needles).places(text)) == plainly(needles, text)


@given(st.text(max_size=80), st.integers(0, 60), st.integers(1, 30))
def test_any_piece_of_any_text_is_found(text: str, start: int, length: int) -> None:
    if needle := text[start : start + length]:
        assert (needle, start) in set(Needles([needle]).places(text))


def test_a_needle_over_the_border_of_two_stretches_is_found() -> None:
    border = occurrences._AT_ONCE
    for before in (0, 1, 7, 8, 11):
        text = "x" * (border - before) + "needle number" + "x" * 20
        assert list(Needles(["needle number"]).places(text)) == [("needle number", border - before)]


def test_no_needles_and_no_text_find_nothing() -> None:
    assert not list(Needles([]).places("text")) and not list(Needles(["long enough needle"]).places(""))
