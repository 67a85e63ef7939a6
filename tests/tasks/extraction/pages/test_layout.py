"""Reading order of word boxes: columns by gutters, and only by gutters."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.tasks.extraction.pages.layout import WordBox, reading_order

WORDS = [
    "harbour",
    "board",
    "ferry",
    "winter",
    "signal",
    "the",
    "of",
    "and",
    "pier",
    "company",
    "report",
    "clerk",
]


def column(x0: float, width: float, top: float, lines: int, tag: str, size: float = 10.0) -> list[WordBox]:
    """Running text; words carry the tag and their number, so that their order is known."""
    chance = random.Random(tag)
    boxes: list[WordBox] = []
    for line in range(lines):
        x, y = x0, top + line * size * 1.2
        while True:
            text = f"{chance.choice(WORDS)}{tag}{len(boxes)}"
            end = x + len(text) * size / 2
            if end > x0 + width:
                break
            boxes.append(WordBox(text, x, y, end, y + size))
            x = end + 0.3 * size
    return boxes


def order(words: list[WordBox], seed: int = 0) -> list[WordBox]:
    shuffled = list(words)
    random.Random(seed).shuffle(shuffled)
    return [word for block in reading_order(shuffled, 612, 792) for line in block for word in line]


@pytest.mark.parametrize("gutter", [8.0, 12.0, 30.0])
@pytest.mark.parametrize("count", [2, 3])
def test_columns_are_read_one_after_the_other(count: int, gutter: float) -> None:
    width = (500 - (count - 1) * gutter) / count
    words = [
        word
        for index in range(count)
        for word in column(
            50 + index * (width + gutter), width, 100, 40 - 9 * (index == count - 1), "abc"[index]
        )
    ]
    assert order(words) == words


def test_a_heading_across_the_columns_is_read_before_them_and_a_foot_after() -> None:
    head = column(50, 500, 40, 1, "head", 20)
    left, right = column(50, 240, 100, 30, "left"), column(310, 240, 100, 30, "right")
    foot = column(50, 500, 480, 2, "foot")
    assert order([*head, *left, *right, *foot]) == [*head, *left, *right, *foot]


def test_a_heading_between_columns_parts_them() -> None:
    parts = []
    for top, tag in ((60, "u"), (400, "d")):
        parts += column(50, 500, top, 1, f"h{tag}", 16)
        parts += column(50, 240, top + 30, 20, f"l{tag}") + column(310, 240, top + 30, 20, f"r{tag}")
    assert order(parts) == parts


def test_columns_whose_lines_do_not_align_are_parted() -> None:
    words = column(50, 240, 100, 40, "a") + column(310, 240, 103.7, 44, "b", 9)
    assert order(words) == words


def test_a_side_bar_is_read_after_the_text_beside_it() -> None:
    words = column(50, 360, 100, 40, "text") + column(430, 110, 100, 20, "bar", 8)
    assert order(words) == words


def test_three_columns_of_which_two_have_a_common_heading() -> None:
    words = column(50, 325, 60, 1, "head", 16) + column(50, 155, 100, 30, "a")
    words += column(220, 155, 100, 30, "b") + column(390, 155, 60, 34, "c")
    assert order(words) == words


def test_labels_and_values_are_read_line_by_line() -> None:
    words = []
    for row, label in enumerate(("Name", "Street", "Town", "Country", "Telephone", "Remarks")):
        words.append(WordBox(label, 50, 100 + row * 14, 50 + 6 * len(label), 110 + row * 14))
        words.append(WordBox(f"value{row}", 300, 100 + row * 14, 340, 110 + row * 14))
    assert order(words) == words


def test_rows_of_a_table_are_not_taken_for_columns() -> None:
    words = []
    for row in range(12):
        for index, x in enumerate((50, 200, 330, 460)):
            text = f"Town {row}" if index == 0 else f"{row * index},{index}00"
            words.append(WordBox(text.replace(" ", ""), x, 100 + row * 14, x + 6 * len(text), 110 + row * 14))
    assert order(words) == words


def test_one_column_stays_as_it_is() -> None:
    words = column(50, 500, 60, 50, "only")
    assert order(words) == words


def test_right_to_left_columns_start_at_the_right() -> None:
    hebrew = ["נמל", "ועדה", "מעבורת", "חורף"]

    def lines(x0: float, tag: int) -> list[WordBox]:
        boxes = []
        for line in range(12):
            x = x0 + 240
            for place in range(7):
                text = hebrew[(line + place + tag) % 4]
                boxes.append(WordBox(text, x - 30, 100 + 12 * line, x, 110 + 12 * line))
                x -= 34
        return boxes

    right, left = lines(310, 0), lines(50, 1)
    assert order([*left, *right]) == [*right, *left]


def test_paragraphs_part_at_gaps_and_at_larger_type() -> None:
    head = [WordBox("Heading", 50, 60, 150, 80)]
    one = column(50, 300, 90, 3, "one")
    two = column(50, 300, 90 + 3 * 12 + 10, 3, "two")
    blocks = reading_order([*head, *one, *two], 612, 792)
    assert [[word for line in block for word in line] for block in blocks] == [head, one, two]


@given(
    st.lists(
        st.tuples(
            st.floats(0, 600), st.floats(0, 780), st.floats(0, 200), st.floats(0, 60), st.text(max_size=4)
        ),
        max_size=60,
    )
)
def test_every_word_is_read_exactly_once(boxes: list[tuple[float, float, float, float, str]]) -> None:
    words = [WordBox(text, x, y, x + width, y + height) for x, y, width, height, text in boxes]
    key = [id(word) for block in reading_order(words, 612, 792) for line in block for word in line]
    assert sorted(key) == sorted(map(id, words))
