"""Tables of PDF pages: ruled and unruled, as rows of Markdown."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

import pytest
from reportlab.pdfgen.canvas import Canvas

from benchmarks.extraction import markdown_rows, table_f1
from benchmarks.pdf_files import KINDS, make
from pincite.schemas.records import Extraction
from tests.tasks.pdf_files import drawn, kinds, read

TABLE_KINDS = [k for k in KINDS if "table" in k or "ruled" in k or "cells" in k]


def tables(extraction: Extraction) -> list[list[list[str]]]:
    return [markdown_rows(text) for text in kinds(extraction, "table")]


def test_tables_of_all_kinds_are_found_with_an_f1_of_at_least_080(tmp_path: Path) -> None:
    scores = {}
    for kind in TABLE_KINDS:
        truth = make(tmp_path / "a.pdf", 11, KINDS[kind])
        scores[kind] = table_f1(tables(read(tmp_path / "a.pdf")), truth)
    assert mean(scores.values()) >= 0.9, scores
    assert min(scores.values()) >= 0.8, scores


def test_merged_and_empty_cells_have_their_place_and_a_zero_stays(tmp_path: Path) -> None:
    truth = make(tmp_path / "a.pdf", 1, KINDS["merged cells"])
    assert tables(read(tmp_path / "a.pdf")) == truth.tables


def test_two_tables_on_a_page_stay_two(tmp_path: Path) -> None:
    for kind in ("two ruled tables", "two unruled tables"):
        make(tmp_path / "a.pdf", 2, KINDS[kind])
        assert len(kinds(read(tmp_path / "a.pdf"), "table")) == 2


def test_a_table_over_pages_keeps_its_header_and_adds_no_words(tmp_path: Path) -> None:
    truth = make(tmp_path / "a.pdf", 4, KINDS["table over pages"])
    extraction = read(tmp_path / "a.pdf")
    first, second = (block for block in extraction.blocks if block.kind == "table")
    header = "| " + " | ".join(truth.tables[0][0]) + " |"
    assert (first.repeat, second.repeat) == (header, header)
    assert extraction.text[first.start : first.end].startswith(header)
    assert header not in extraction.text[second.start : second.end]
    assert [row for table in tables(extraction) for row in table] == truth.tables[0]


def grid(rows: Sequence[Sequence[str]], x: Sequence[float], rules: Callable[[Canvas], None] | None = None,
         step: float = 16.0) -> Callable[[Canvas], None]:  # fmt: skip
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number, row in enumerate(rows):
            for cell, left in zip(row, x, strict=True):
                canvas.drawString(left, 700 - number * step, cell)
        if rules:
            rules(canvas)

    return draw


NAMES = [
    ["Name", "Home town", "Occupation"],
    ["Maria Olsson", "Gothenburg", "Ship owner"],
    ["Peter Anders", "Malmo", "Clerk of the board"],
    ["Ingrid Falk", "Lund", "Teacher"],
    ["Nils Berg", "Kiruna", "Miner"],
]


def test_a_table_of_words_without_rules_keeps_its_rows(tmp_path: Path) -> None:
    extraction = read(drawn(tmp_path / "a.pdf", grid(NAMES, (72, 220, 360))))
    assert tables(extraction) == [NAMES]
    assert next(b.repeat for b in extraction.blocks) == "| Name | Home town | Occupation |"


def test_bars_in_cells_are_escaped(tmp_path: Path) -> None:
    rows = [["Key", "Sign", "Use"], ["pipe", "a|b", "or"], ["slash", "a/b", "either"], ["dash", "a-b", "to"]]
    extraction = read(drawn(tmp_path / "a.pdf", grid(rows, (72, 220, 360))))
    assert r"| pipe | a\|b | or |" in extraction.text


def test_a_cell_of_several_lines_is_one_cell(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        cells = {
            (0, 0): ["Part"], (0, 1): ["Use"], (0, 2): ["Price"],
            (1, 0): ["Wear ring"], (1, 1): ["Keeps the water in", "the pump, not beside", "it"], (1, 2): ["12.80"],
            (2, 0): ["Shaft"], (2, 1): ["Turns the wheel"], (2, 2): ["0"],
        }  # fmt: skip
        xs, ys = (70, 200, 340, 420), (700, 680, 630, 600)
        for (row, column), lines in cells.items():
            for number, line in enumerate(lines):
                canvas.drawString(xs[column] + 4, ys[row] - 12 - 12 * number, line)
        for y in ys:
            canvas.line(xs[0], y, xs[-1], y)
        for x in xs:
            canvas.line(x, ys[0], x, ys[-1])

    assert tables(read(drawn(tmp_path / "a.pdf", draw))) == [
        [
            ["Part", "Use", "Price"],
            ["Wear ring", "Keeps the water in the pump, not beside it", "12.80"],
            ["Shaft", "Turns the wheel", "0"],
        ]
    ]


def test_wrapped_cells_and_a_title_over_columns_without_rules(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for x, y, text in (
            (300, 732, "In euros without tax"),
            (72, 718, "Part"), (160, 718, "Description"), (330, 718, "Price"), (400, 718, "Stock"),
            (72, 704, "RNG-1"), (160, 704, "Wear ring of bronze for"), (330, 704, "12.80"), (400, 704, "7"),
            (160, 692, "the pump, delivered with"),
            (160, 680, "its screws"),
            (72, 666, "SHF-2"), (160, 666, "Shaft"), (330, 666, "133.00"), (400, 666, "0"),
            (72, 652, "IMP-9"), (160, 652, "Impeller"), (330, 652, "710.00"), (400, 652, "12"),
        ):  # fmt: skip
            canvas.drawString(x, y, text)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    (table,) = tables(extraction)
    assert table[1:] == [
        ["Part", "Description", "Price", "Stock"],
        ["RNG-1", "Wear ring of bronze for the pump, delivered with its screws", "12.80", "7"],
        ["SHF-2", "Shaft", "133.00", "0"],
        ["IMP-9", "Impeller", "710.00", "12"],
    ]
    assert sorted(table[0]) == ["", "", "", "In euros without tax"]
    assert next(b.repeat for b in extraction.blocks) == "| Part | Description | Price | Stock |"


def test_cells_with_filled_grounds_and_no_lines_are_a_table(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for row in range(3):
            for column in range(3):
                canvas.setFillGray(0.8 if (row + column) % 2 else 0.9)
                canvas.rect(72 + column * 100, 700 - row * 20, 100, 20, stroke=0, fill=1)
                canvas.setFillGray(0)
                canvas.drawString(76 + column * 100, 706 - row * 20, f"r{row} c{column}")

    assert tables(read(drawn(tmp_path / "a.pdf", draw))) == [
        [[f"r{row} c{column}" for column in range(3)] for row in range(3)]
    ]


def test_a_table_in_one_of_two_columns_stays_there(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 9)
        sentence = "the board heard the report of its clerk about the"
        for number in range(40):
            canvas.drawString(60, 760 - 12 * number, sentence)
        for number in range(40):
            if not 10 <= number < 16:
                canvas.drawString(310, 760 - 12 * number, sentence)
        for number in range(10, 16):
            for column, cell in enumerate((f"Item {number}", str(number * 7), str(number * 3))):
                canvas.drawString(310 + column * 70, 760 - 12 * number, cell)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert tables(extraction) == [[[f"Item {n}", str(n * 7), str(n * 3)] for n in range(10, 16)]]
    before = extraction.text[: extraction.text.index("| Item 10")]
    assert before.count("the board heard") == 50


@pytest.mark.parametrize(
    "lines",
    [
        ["1.   The board met in the hall.", "2.   The ferry runs in winter too.", "3.   Nobody spoke."],
        ["A line of plain text that runs on,", "and a second line that ends it, and", "a third one at last."],
    ],
)  # fmt: skip
def test_lists_and_prose_are_no_tables(tmp_path: Path, lines: list[str]) -> None:
    def draw(canvas: Canvas) -> None:
        for number, line in enumerate(lines):
            canvas.drawString(72, 700 - 14 * number, line)

    assert kinds(read(drawn(tmp_path / "a.pdf", draw)), "table") == []


def test_a_box_around_prose_is_no_table(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.rect(60, 600, 400, 120)
        for number in range(6):
            canvas.drawString(72, 700 - 14 * number, "The board met on Tuesday in the old hall of the pier.")

    assert kinds(read(drawn(tmp_path / "a.pdf", draw)), "table") == []
