"""The builder of canonical texts: offsets, places and warnings for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.tasks.extraction.base.text_builder import TextBuilder
from tests.tasks.extracted import check_offsets, message, places


def built(builder: TextBuilder) -> Extraction:
    extraction = builder.extraction("", "text/plain")
    check_offsets(extraction)
    return extraction


ANY = st.text(max_size=30)  # lone surrogates, controls and all line ends included


@given(
    st.lists(st.tuples(st.sampled_from(["heading", "paragraph", "code", "list", "table", "run"]), ANY, ANY))
)
def test_offsets_hold_for_any_text(parts: list[tuple[str, str, str]]) -> None:
    builder = TextBuilder()
    builder.paragraph("word")
    for kind, first, second in parts:
        with builder.place("entry", "somewhere"):
            match kind:
                case "heading":
                    builder.heading(first + second, 2)
                case "table":
                    builder.table([[first, second], [second, first]])
                case "run":
                    builder.run([(first, "a"), (second, "b")], "list", "entry", "\n")
                case "code":
                    builder.paragraph(first + second, "code")
                case _:
                    builder.paragraph(first + second)
    text = built(builder).text
    assert text.encode()
    assert "\r" not in text
    assert "\0" not in text


def test_blank_lines_part_paragraphs_and_not_code() -> None:
    builder = TextBuilder()
    builder.paragraph("a\r\n \r\nb\n\n\nc")
    builder.paragraph("  x\n\n  y\n", "code")
    extraction = builder.extraction("", "")
    assert extraction.text == "a\n\nb\n\nc\n\n  x\n\n  y"
    assert [block.kind for block in extraction.blocks] == ["paragraph"] * 3 + ["code"]


def test_rows_are_filled_up_and_escaped_and_stand_on_their_places() -> None:
    builder = TextBuilder()
    builder.table([["a|b", "c\nd"], ["0"]], ["S!A1:B1", "S!A2:B2"])
    extraction = built(builder)
    assert extraction.text == "| a\\|b | c d |\n| --- | --- |\n| 0 |  |"
    assert places(extraction) == {"S!A1:B1": "| a\\|b | c d |", "S!A2:B2": "| 0 |  |"}


def test_below_a_title_over_the_whole_table_the_second_row_is_repeated() -> None:
    builder = TextBuilder()
    builder.table([["Sales", "", ""], ["region", "q1", "q2"], ["North", "1", "2"]])
    assert built(builder).blocks[0].repeat == "| region | q1 | q2 |"


def test_a_stand_in_heading_is_written_only_above_text() -> None:
    builder = TextBuilder()
    with builder.place("slide", "1"):
        builder.stand_in("Slide 1", 2)
    with builder.place("slide", "2"):
        builder.stand_in("Slide 2", 2)
        builder.paragraph("Words.")
    extraction = built(builder)
    assert extraction.text == "## Slide 2\n\nWords."
    assert places(extraction) == {"2": "## Slide 2\n\nWords."}


def test_things_of_one_kind_are_one_warning_that_names_the_first_dozen() -> None:
    builder = TextBuilder()
    builder.paragraph("Words.")
    for number in range(20):
        builder.name("embedded-image", "not read", f"p{number}")
    assert message(built(builder), "embedded-image") == (
        "not read: p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11 and 8 more"
    )


@pytest.mark.parametrize("text", ["", " \n\t", "...", "---\n\n***"])
def test_a_text_without_a_letter_or_digit_is_unreadable_and_says_what_was_given_up(text: str) -> None:
    builder = TextBuilder()
    builder.paragraph(text)
    builder.name("embedded-image", "embedded images are not read", "p1")
    with pytest.raises(Unreadable, match=r"no text .embedded images are not read: p1"):
        builder.extraction("", "")
