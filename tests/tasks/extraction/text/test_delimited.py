"""CSV and TSV files as programs write them, and broken ones."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.text.delimited import extract_delimited, sniff_delimiter
from tests.tasks.extracted import check_offsets, codes, message, places


def read(folder: Path, data: str | bytes, name: str = "stock.csv") -> Extraction:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    extraction = extract_delimited(path, Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def test_rows_are_a_markdown_table_with_a_place_for_each(tmp_path: Path) -> None:
    extraction = read(tmp_path, "part,price,stock\nA-1,2.50,0\nB-2,3.00,14\n")
    assert extraction.text == (
        "| part | price | stock |\n| --- | --- | --- |\n| A-1 | 2.50 | 0 |\n| B-2 | 3.00 | 14 |"
    )
    assert places(extraction) == {
        "stock!A1:C1": "| part | price | stock |",
        "stock!A2:C2": "| A-1 | 2.50 | 0 |",
        "stock!A3:C3": "| B-2 | 3.00 | 14 |",
    }
    (block,) = extraction.blocks
    assert (block.kind, block.repeat) == ("table", "| part | price | stock |")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str) -> None:
    rows = [["name", "note", "sum"], ["Ann", 'a, b; c "d"', "1,5"], ["Bo", "x\ny", "2,5"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    assert sniff_delimiter(out.getvalue()) == delimiter


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("1,5;2,5\n3,5;4,5\n", ";"),
        ("name;price\n" + "pump;1,5\n" * 8 + "seal;2,5;late\n" * 2, ";"),
        ("a,b\n1,2\n", ","),
        ("first, last\nSee Ann, Bo\n", ","),
        ("one column\nof words\n", ","),
        ("a\tb, c\nd\te, f\n", "\t"),
    ],
)
def test_commas_in_numbers_and_prose_do_not_win(text: str, delimiter: str) -> None:
    assert sniff_delimiter(text) == delimiter


def test_line_ends_in_quotes_stay_in_their_row(tmp_path: Path) -> None:
    extraction = read(tmp_path, 'id,text\r\n1,"first\r\nsecond"\r\n2,third\r\n')
    assert places(extraction)["stock!A2:B2"] == "| 1 | first second |"
    assert places(extraction)["stock!A3:B3"] == "| 2 | third |"


@pytest.mark.parametrize(
    "rows", ['1,"open\n2,b\n3,c\n', '1,"open\n2,b\n3,"open\n4,d\n', '1,"a" b\n2,"open\n3,c\n']
)
def test_a_stray_quote_swallows_no_rows(tmp_path: Path, rows: str) -> None:
    extraction = read(tmp_path, "id,text\n" + rows)
    assert len(places(extraction)) == len(rows.splitlines()) + 1
    assert "unbalanced-quotes" in codes(extraction)


def test_a_quoted_line_end_survives_a_stray_quote_elsewhere(tmp_path: Path) -> None:
    extraction = read(tmp_path, 'id,text\n1,"two\nlines"\n2,"open\n3,c\n')
    assert places(extraction)["stock!A2:B2"] == "| 1 | two lines |"
    assert places(extraction)["stock!A3:B3"] == '| 2 | "open |'


def test_empty_rows_are_skipped_and_numbers_of_rows_hold(tmp_path: Path) -> None:
    extraction = read(tmp_path, "a,b\n\n1,2\n,\n3,4\n")
    assert list(places(extraction)) == ["stock!A1:B1", "stock!A3:B3", "stock!A5:B5"]
    assert len(extraction.blocks) == 1


def test_the_line_of_excel_that_names_the_delimiter_is_not_a_row(tmp_path: Path) -> None:
    extraction = read(tmp_path, "sep=;\na;b\n1,5;2\n")
    assert places(extraction) == {"stock!A2:B2": "| a | b |", "stock!A3:B3": "| 1,5 | 2 |"}


def test_rows_of_another_width_are_kept_and_named(tmp_path: Path) -> None:
    extraction = read(tmp_path, "a,b\n1,2\n3,4,5\n")
    assert places(extraction)["stock!A3:C3"] == "| 3 | 4 | 5 |"
    assert message(extraction, "uneven-rows").endswith(": 3")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_any_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    text = "Straße;Größe\nMüllerstraße 5, Köln;groß\nÄußere Allee 7, Düsseldorf;mäßig\n"
    assert "| Müllerstraße 5, Köln | groß |" in read(tmp_path, text.encode(encoding)).text


def test_numbers_alone_are_not_repeated_as_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, "1,2\n3,4\n").blocks[0].repeat == ""


def test_a_single_column_is_a_table(tmp_path: Path) -> None:
    assert read(tmp_path, "name\nAnn\nBo\n").text == "| name |\n| --- |\n| Ann |\n| Bo |"


def test_a_field_longer_than_the_limit_of_the_csv_module_is_read(tmp_path: Path) -> None:
    assert "y" * 200_000 in read(tmp_path, f"a,b\nx,{'y' * 200_000}\n").text


def test_a_file_of_delimiters_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no text"):
        read(tmp_path, ",,\n,,\n")


CELL = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=10)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=6))
def test_every_cell_is_in_the_text_of_its_row(tmp_path: Path, rows: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out).writerows([["first", "second", "third"], *rows])
    extraction = read(tmp_path, out.getvalue())
    found = places(extraction)
    for number, row in enumerate(rows, start=2):
        texts = [
            text for label, text in found.items() if label.endswith(str(number)) and f"A{number}" in label
        ]
        for cell in row:
            if cell.strip():
                assert " ".join(cell.split()).replace("|", "\\|") in "".join(texts)


def test_an_empty_row_between_rows_of_words_does_not_make_one_of_them_a_header(tmp_path: Path) -> None:
    extraction = read(tmp_path, "name,town\nAnn,Oslo\n\nBo,Lund\nCy,Riga\n")
    assert [block.repeat for block in extraction.blocks] == ["| name | town |"]


def test_a_header_with_one_name_is_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, "name,\nAnn,5\nBo,6\n").text.startswith("| name |  |\n| --- | --- |\n| Ann | 5 |")


def test_a_title_right_above_a_header_is_a_title(tmp_path: Path) -> None:
    extraction = read(tmp_path, "Staff 2024,,\nname,town,age\nAnn,Oslo,5\n")
    assert [block.kind for block in extraction.blocks] == ["paragraph", "table"]
