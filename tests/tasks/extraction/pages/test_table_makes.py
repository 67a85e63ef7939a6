"""Tables are found whatever is drawn of them: rules and shades are evidence of cells, not the cells."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from benchmarks.extraction import markdown_rows, table_f1
from benchmarks.pdf_files import make
from benchmarks.table_files import TABLE_KINDS
from tests.tasks.pdf_files import drawn, kinds, read


@pytest.mark.parametrize("kind", TABLE_KINDS)
def test_a_table_is_whole_whatever_is_drawn_of_it(tmp_path: Path, kind: str) -> None:
    truth = make(tmp_path / "a.pdf", 5, TABLE_KINDS[kind])
    found = [markdown_rows(text) for text in kinds(read(tmp_path / "a.pdf"), "table")]
    assert table_f1(found, truth) >= 0.95, found


def test_figures_of_full_columns_that_touch_are_two_words(tmp_path: Path) -> None:
    rows = [(f"{15 + 10 * n}-{24 + 10 * n}", f"({49 + n}.1-{51 + n}.9)", f"{663 + n},601") for n in range(7)]
    rows.append(("85-94", "(101.1-103.9)", "811,965"))

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number, row in enumerate(rows):
            for x, cell in zip((72, 208, 267), row, strict=True):
                canvas.drawString(x, 700 - 14 * number, cell)

    (table,) = kinds(read(drawn(tmp_path / "a.pdf", draw)), "table")
    assert markdown_rows(table) == [list(row) for row in rows]


def test_the_grid_of_a_chart_is_no_table(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number in range(9):
            canvas.line(100, 500 + 20 * number, 400, 500 + 20 * number)
        for number in range(11):
            canvas.line(100 + 30 * number, 500, 100 + 30 * number, 660)
        for number in range(5):
            canvas.rect(110 + 60 * number, 500, 20, 30 + 25 * number, fill=1)
            canvas.drawString(108 + 60 * number, 488, str(2001 + number))
        canvas.drawString(105, 640, "Pumps a year")

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert kinds(extraction, "table") == []
    assert "Pumps a year" in extraction.text


def boxes(canvas: Canvas, texts: Sequence[tuple[str, str]], places: Sequence[tuple[int, int]]) -> None:
    canvas.setFont("Helvetica", 10)
    for (first, second), (x, y) in zip(texts, places, strict=True):
        canvas.rect(x, y - 30, 230, 60)
        canvas.drawString(x + 8, y + 8, first)
        canvas.drawString(x + 8, y - 6, second)


STEPS = [
    ("First open the valve of the tank slowly", "until the pipe is full of water."),
    ("Then watch the gauge, which must not rise", "above four bar in the first minute."),
    ("Close the bypass when the flow is steady", "and both lamps on the panel are green."),
    ("Write the reading down in the book that", "lies in the drawer below the window."),
]


@pytest.mark.parametrize("rows", [1, 2])
def test_touching_boxes_of_prose_are_read_as_columns(tmp_path: Path, rows: int) -> None:
    places = [(x, 690 - 80 * row) for x in (72, 302) for row in range(rows)]
    extraction = read(drawn(tmp_path / "a.pdf", lambda canvas: boxes(canvas, STEPS[: 2 * rows], places)))
    assert kinds(extraction, "table") == []
    assert extraction.text == "\n\n".join(" ".join(step) for step in STEPS[: 2 * rows])


def test_a_header_of_two_rows_names_each_column_in_the_chunks_of_the_table(tmp_path: Path) -> None:
    make(tmp_path / "a.pdf", 5, TABLE_KINDS["two header rows, ruled"])
    extraction = read(tmp_path / "a.pdf")
    (block,) = (block for block in extraction.blocks if block.kind == "table")
    titles, heads = markdown_rows(extraction.text[block.start : block.end])[:2]
    said = [
        heads[0],
        *(f"{titles[column]} {heads[index]}" for index, column in ((1, 1), (2, 1), (3, 3), (4, 3))),
    ]
    assert block.repeat == "| " + " | ".join(said) + " |"
