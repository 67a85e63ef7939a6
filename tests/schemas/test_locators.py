"""Locators of passages over one place and over many."""

import pytest

from pincite.schemas.locators import (
    cell_range,
    char_fragment,
    column_letters,
    column_number,
    overlapping,
    parse_passage,
    place_fragment,
)
from pincite.schemas.records import Place, PlaceKind


def places(kind: PlaceKind, *labels: str) -> list[Place]:
    return [Place(kind, 10 * number, 10 * number + 9, label) for number, label in enumerate(labels)]


@pytest.mark.parametrize(
    ("kind", "labels", "fragment"),
    [
        ("page", ("12",), "#page=12"),
        ("page", ("3", "4", "5"), "#page=3"),
        ("slide", ("2", "3"), "#slide=2"),
        ("time", ("132.4,158.9",), "#t=132.4,158.9"),
        ("time", ("1,60", "2,3"), "#t=1,60"),
        ("time", ("9.5,12", "100,130"), "#t=9.5,130"),
        ("cells", ("Stock!B7",), "#sheet=Stock&range=B7"),
        ("cells", ("Stock!A2:C2", "Stock!A3:D3", "Stock!A10:C10"), "#sheet=Stock&range=A2:D10"),
        ("cells", ("A & B!A1:B1", "Other!A9:B9"), "#sheet=A%20%26%20B&range=A1:B1"),
        ("entry", ("chapter 1.xhtml",), "#entry=chapter%201.xhtml"),
        ("entry", ("/pumps/0/name", "/pumps/0/head"), "#entry=/pumps/0"),
        ("entry", ("/a", "/b"), "#entry=/"),
    ],
)
def test_a_fragment_names_the_place(kind: PlaceKind, labels: tuple[str, ...], fragment: str) -> None:
    assert place_fragment(places(kind, *labels)) == fragment


def test_a_source_without_places_has_no_fragment() -> None:
    assert place_fragment([]) == ""
    assert char_fragment(25873, 26272) == "#char=25873,26272"


def test_overlapping_takes_what_shares_a_character() -> None:
    pages = places("page", "1", "2", "3")
    assert [place.label for place in overlapping(pages, 9, 10)] == []
    assert [place.label for place in overlapping(pages, 8, 11)] == ["1", "2"]
    assert [place.label for place in overlapping(pages, 0, 100)] == ["1", "2", "3"]


@pytest.mark.parametrize(("letters", "number"), [("A", 1), ("Z", 26), ("AA", 27), ("AZ", 52), ("XFD", 16384)])
def test_columns_count_in_letters(letters: str, number: int) -> None:
    assert (column_number(letters), column_letters(number)) == (number, letters)


def test_a_label_that_is_no_range_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a cell range"):
        cell_range(["A1"])


@pytest.mark.parametrize(
    ("passage", "parts"),
    [
        ("a.pdf#char=0,12", ("a.pdf", 0, 12)),
        ("a#1.pdf#char=5,9#char=0,12", ("a#1.pdf#char=5,9", 0, 12)),
        ("dir/a b.txt#char=7,7", ("dir/a b.txt", 7, 7)),
        ("a.pdf", None),
        ("a.pdf#char=0", None),
        ("a.pdf#char=0,-1", None),
        ("a.pdf#page=3", None),
        ("#char=0,1", None),
        ("a.pdf#char=0,12345678901", None),
    ],
)
def test_a_passage_is_read_back_from_its_name(passage: str, parts: tuple[str, int, int] | None) -> None:
    assert parse_passage(passage) == parts
    if parts:
        assert parts[0] + char_fragment(parts[1], parts[2]) == passage
