"""Initials, numbers of lines, formulas and vertical writing are read as people read them."""

from pathlib import Path

import pytest
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from tests.tasks.extracted import codes
from tests.tasks.pdf_files import drawn, kinds, read

TALE = [
    "nce upon a time there was a pump in the cellar",
    "of the house, and it ran every night until dawn.",
]


@pytest.mark.parametrize("size", [24, 38])
def test_an_initial_begins_its_word(tmp_path: Path, size: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Times-Roman", size)
        canvas.drawString(72, 735, "O")
        canvas.setFont("Helvetica", 11)
        for number, line in enumerate(TALE):
            canvas.drawString(72 + 0.72 * size + 4, 748 - 13 * number, line)
        canvas.drawString(72, 722, "The people of the house slept well.")

    text = read(drawn(tmp_path / "a.pdf", draw)).text
    assert (
        text
        == "Once upon a time there was a pump in the cellar "
        + TALE[1]
        + " The people of the house slept well."
    )


CLAUSE = [
    "The seller warrants that the pump is free of",
    "defects in material for the term of two years",
    "from the date of delivery to the buyer, unless",
    "the buyer has opened the casing without the",
    "written consent of the seller or has used the",
    "pump with liquids that are not named in it.",
]


@pytest.mark.parametrize(("x", "step"), [(50, 1), (400, 1), (50, 5)])
def test_numbers_of_lines_are_left_out_and_told(tmp_path: Path, x: int, step: int) -> None:
    lines = CLAUSE * (4 if step > 1 else 1)

    def draw(canvas: Canvas) -> None:
        for number, line in enumerate(lines, 1):
            canvas.setFont("Helvetica", 11)
            canvas.drawString(80, 760 - 20 * number, line)
            if number % step == 0:
                canvas.setFont("Helvetica", 9)
                canvas.drawRightString(x + 12, 760 - 20 * number, str(number))

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert extraction.text == " ".join(lines)
    assert codes(extraction) == ["line-numbers"]


def test_a_numbered_list_and_a_table_of_numbered_rows_keep_their_numbers(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 11)
        for number, name in enumerate(("Open the valve of the tank", "Watch the gauge on it", "Close the bypass line",
                                       "Write the reading down", "Lock the door of the hut"), 1):  # fmt: skip
            canvas.drawString(50, 760 - 20 * number, str(number))
            canvas.drawString(80, 760 - 20 * number, name)
            canvas.drawString(330, 760 - 20 * number, f"{number * 7}.50")

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert len(kinds(extraction, "table")) == 1
    assert "| 4 | Write the reading down | 28.50 |" in extraction.text


def test_a_fraction_is_read_in_the_order_of_its_drawing(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        for x, y, text, size in (
            (72, 700, "The share of the tank that is full is given by", 10), (72, 670, "f =", 10), (95, 677, "v", 8),
            (95, 663, "w", 8), (108, 670, ", where v is the volume of the water", 10),
            (72, 646, "and w that of the tank; both are measured in litres.", 10),
        ):  # fmt: skip
            canvas.setFont("Helvetica", size)
            canvas.drawString(x, y, text)

    assert "f = v w , where v is" in read(drawn(tmp_path / "a.pdf", draw)).text


def test_lists_in_columns_are_read_column_by_column(tmp_path: Path) -> None:
    names = [
        f"{letter}{end}, {number}"
        for number, letter in enumerate("ABCDEFGHIK", 3)
        for end in ("nchor", "elt")
    ]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number, name in enumerate(names):
            canvas.drawString(72 if number < 10 else 300, 740 - 13 * (number % 10), name)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert kinds(extraction, "table") == []
    assert extraction.text.split() == " ".join(names).split()


def test_vertical_writing_is_read_by_columns_from_the_right(tmp_path: Path) -> None:
    columns = ("始動前に圧力を確認してください。", "異常があれば停止すること。", "点検は毎日行う。")

    def draw(canvas: Canvas) -> None:
        pdfmetrics.registerFont(UnicodeCIDFont("HeiseiMin-W3", isVertical=True))
        canvas.setFont("HeiseiMin-W3", 12)
        for number, column in enumerate(columns):
            canvas.drawString(500 - 20 * number, 760, column)

    assert read(drawn(tmp_path / "a.pdf", draw)).text == "".join(columns)
