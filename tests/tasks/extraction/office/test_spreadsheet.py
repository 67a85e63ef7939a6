"""Workbooks written by openpyxl and odfpy, and hostile ones."""

import datetime as dt
import io
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from odf import office, table, text
from odf.opendocument import OpenDocumentSpreadsheet
from odf.style import Style, TableProperties
from openpyxl.chart import BarChart
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image as SheetImage
from PIL import Image

from pincite.schemas.errors import Encrypted, LimitExceeded, Unreadable
from pincite.schemas.locators import place_fragment
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Limits, Settings
from pincite.tasks.extraction.office.spreadsheet import extract_ods, extract_xlsx
from tests.tasks.extracted import check_offsets, codes, message, places, rewrite_part


def read(workbook: openpyxl.Workbook, folder: Path) -> Extraction:
    path = folder / "a.xlsx"
    workbook.save(path)
    return read_file(path)


def read_file(path: Path) -> Extraction:
    extraction = extract_xlsx(path, Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def workbook_of(rows: list[list[object]], name: str = "Data") -> openpyxl.Workbook:
    workbook = openpyxl.Workbook()
    workbook.active.title = name
    for row in rows:
        workbook.active.append(row)
    return workbook


def test_rows_stand_on_their_cells_under_the_name_of_the_sheet(tmp_path: Path) -> None:
    extraction = read(workbook_of([["part", "stock"], ["A-1", 0], ["B-2", 14]], "Sto!ck 1"), tmp_path)
    assert extraction.text == "## Sto!ck 1\n\n| part | stock |\n| --- | --- |\n| A-1 | 0 |\n| B-2 | 14 |"
    assert places(extraction)["Sto!ck 1!A2:B2"] == "| A-1 | 0 |"
    assert place_fragment(extraction.places[1:]) == "#sheet=Sto%21ck%201&range=A2:B3"
    assert extraction.blocks[1].repeat == "| part | stock |"


def test_values_are_written_as_shown(tmp_path: Path) -> None:
    workbook = workbook_of([["what", "value"]])
    sheet = workbook.active
    for value, code in (
        (dt.datetime(2024, 3, 5), "dd/mm/yyyy"),
        (0.125, "0.0%"),
        (1234.5, "#,##0.00"),
        (dt.time(9, 30), "h:mm"),
        (True, "General"),
        (0, "General"),
    ):
        sheet.append(["x", value])
        sheet.cell(sheet.max_row, 2).number_format = code
    values = [line.split(" | ")[1].rstrip(" |") for line in read(workbook, tmp_path).text.splitlines()[4:]]
    assert values == ["05/03/2024", "12.5%", "1,234.50", "9:30", "TRUE", "0"]


def test_empty_rows_are_skipped_and_a_title_stands_above_its_table(tmp_path: Path) -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet["B2"] = "Prices 2024"
    for row, words in (
        (4, ("part", "price")),
        (5, ("A-1", 2)),
        (8, ("B-2", 3)),
        (10, ("town", "size")),
        (11, ("Bo", 7)),
    ):
        for column, word in enumerate(words, start=2):
            sheet.cell(row, column, word)
    extraction = read(workbook, tmp_path)
    assert [(block.kind, block.repeat) for block in extraction.blocks] == [
        ("heading", ""),
        ("paragraph", ""),
        ("table", "| part | price |"),
        ("table", "| town | size |"),
    ]
    assert list(places(extraction)) == [
        "Sheet!B2", "Sheet!B4:C4", "Sheet!B5:C5", "Sheet!B8:C8", "Sheet!B10:C10", "Sheet!B11:C11"
    ]  # fmt: skip


def test_hidden_sheets_rows_and_columns_are_read_and_named(tmp_path: Path) -> None:
    workbook = workbook_of([["a", "b", "c"], [1, 2, 3], [4, 5, 6], [7, 8, 9]])
    sheet = workbook.active
    sheet.row_dimensions[3].hidden = sheet.row_dimensions[4].hidden = True
    sheet.row_dimensions[900].hidden = True
    sheet.column_dimensions["B"].hidden = True
    secret = workbook.create_sheet("Secret")
    secret["A1"] = "margin"
    secret.sheet_state = "veryHidden"
    extraction = read(workbook, tmp_path)
    assert "| 7 | 8 | 9 |" in extraction.text
    assert "margin" in extraction.text
    assert message(extraction, "hidden-sheet").endswith(": Secret")
    assert message(extraction, "hidden-rows").endswith(": Data!3:4")
    assert message(extraction, "hidden-columns").endswith(": Data!B:B")


def test_a_formula_without_a_stored_value_is_shown_and_named(tmp_path: Path) -> None:
    extraction = read(workbook_of([["a", "sum"], [1, "=SUM(A2:A9)"]]), tmp_path)
    assert "| 1 | =SUM(A2:A9) |" in extraction.text
    assert message(extraction, "formula-without-value").endswith(": Data!B2")


def test_a_formula_with_a_stored_value_shows_the_value(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook_of([["a", "sum"], [1, "=SUM(A2:A9)"]]).save(path)
    rewrite_part(
        path,
        "xl/worksheets/sheet1.xml",
        lambda xml: (
            xml.replace("<v></v>", "<v>42</v>").replace("<v />", "<v>42</v>").replace("<v/>", "<v>42</v>")
        ),
    )
    extraction = read_file(path)
    assert "| 1 | 42 |" in extraction.text
    assert "formula-without-value" not in codes(extraction)


def test_merged_cells_show_their_text_once(tmp_path: Path) -> None:
    workbook = workbook_of([["Sales", None, None], ["region", "q1", "q2"], ["North", 1, 2], [None, 3, 4]])
    workbook.active.merge_cells("A1:C1")
    workbook.active.merge_cells("A3:A4")
    extraction = read(workbook, tmp_path)
    assert extraction.text.count("Sales") == 1
    assert extraction.text.endswith("| North | 1 | 2 |\n|  | 3 | 4 |")


def test_comments_and_pictures_are_not_lost(tmp_path: Path) -> None:
    workbook = workbook_of([["a", "b"], ["c", "d"]])
    workbook.active["B2"].comment = Comment("Ask Ines", "Bo")
    png = io.BytesIO()
    Image.new("RGB", (8, 8)).save(png, "PNG")
    workbook.active.add_image(SheetImage(png), "D4")
    extraction = read(workbook, tmp_path)
    assert places(extraction)["Data!B2"].endswith("Ask Ines")
    assert "embedded-image" in codes(extraction)


def test_the_title_comes_from_the_properties(tmp_path: Path) -> None:
    workbook = workbook_of([["a", "b"]])
    assert read(workbook, tmp_path).title == ""
    workbook.properties.title = "Stock list"
    assert read(workbook, tmp_path).title == "Stock list"


def test_a_wrong_stored_size_costs_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook_of([["a", "b"], [1, 2], [3, 4]]).save(path)
    rewrite_part(path, "xl/worksheets/sheet1.xml", lambda xml: xml.replace('ref="A1:B3"', 'ref="A1:A2"'))
    assert read_file(path).text.endswith("| 3 | 4 |")


def test_a_cell_in_the_last_column_does_not_widen_the_table(tmp_path: Path) -> None:
    workbook = workbook_of([["a", "b"], [1, 2]])
    workbook.active["XFD2"] = "far"
    extraction = read(workbook, tmp_path)
    assert "| 1 | 2 | far |" in extraction.text
    assert "Data!A2:XFD2" in places(extraction)


def test_a_row_beyond_the_last_of_a_sheet_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    workbook_of([["a", "b"], [1, 2]]).save(path)
    rewrite_part(
        path, "xl/worksheets/sheet1.xml", lambda xml: xml.replace('<row r="2"', '<row r="2000000000"')
    )
    with pytest.raises(Unreadable, match="no sheet has more"):
        read_file(path)


def test_an_empty_workbook_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no text"):
        read(openpyxl.Workbook(), tmp_path)


# OpenDocument


def ods_of(*rows: table.TableRow, name: str = "Data") -> OpenDocumentSpreadsheet:
    document = OpenDocumentSpreadsheet()
    sheet = table.Table(name=name)
    for row in rows:
        sheet.addElement(row)
    document.spreadsheet.addElement(sheet)
    return document


def ods_row(*words: str, **attributes: str) -> table.TableRow:
    row = table.TableRow(**attributes)
    for word in words:
        row.addElement(ods_cell(word))
    return row


def ods_cell(word: str, **attributes: str) -> table.TableCell:
    cell = table.TableCell(**attributes)
    if word:
        cell.addElement(text.P(text=word))
    return cell


def read_ods(document: OpenDocumentSpreadsheet, folder: Path, limits: Limits | None = None) -> Extraction:
    path = folder / "a.ods"
    document.save(str(path))
    extraction = extract_ods(path, Settings(limits=limits or Limits()), lambda page: None)
    check_offsets(extraction)
    return extraction


def test_an_ods_shows_what_its_program_stored_as_shown(tmp_path: Path) -> None:
    row = table.TableRow()
    row.addElement(ods_cell("5 Mar 2024", valuetype="date", datevalue="2024-03-05"))
    row.addElement(ods_cell("12,5 %", valuetype="percentage", value="0.125"))
    row.addElement(ods_cell("0", valuetype="float", value="0"))
    extraction = read_ods(ods_of(ods_row("day", "share", "left"), row), tmp_path)
    assert extraction.text.endswith("| 5 Mar 2024 | 12,5 % | 0 |")
    assert places(extraction)["Data!A2:C2"] == "| 5 Mar 2024 | 12,5 % | 0 |"


def test_an_ods_value_stored_without_text_is_not_lost(tmp_path: Path) -> None:
    row = table.TableRow()
    row.addElement(table.TableCell(valuetype="percentage", value="0.125"))
    row.addElement(table.TableCell(valuetype="float", value="7"))
    row.addElement(table.TableCell(formula="of:=SUM([.A1:.B1])"))
    extraction = read_ods(ods_of(ods_row("a", "b", "c"), row), tmp_path)
    assert "| 12.5% | 7 | =SUM([.A1:.B1]) |" in extraction.text
    assert message(extraction, "formula-without-value").endswith(": Data!C2")


def test_ods_repeats_are_expanded_where_they_hold_text(tmp_path: Path) -> None:
    gap = ods_row("", numberrowsrepeated="1000000")
    wide = table.TableRow()
    wide.addElement(ods_cell("same", numbercolumnsrepeated="3"))
    wide.addElement(table.TableCell(numbercolumnsrepeated="16000"))
    extraction = read_ods(
        ods_of(ods_row("a", "b", "c"), ods_row("1", "2", "3", numberrowsrepeated="2"), gap, wide), tmp_path
    )
    assert list(places(extraction)) == ["Data!A1:C1", "Data!A2:C2", "Data!A3:C3", "Data!A1000004:C1000004"]
    assert extraction.text.endswith("| same | same | same |")


def test_ods_repeats_stay_inside_the_limit(tmp_path: Path) -> None:
    document = ods_of(ods_row("bomb" * 100, "x", numberrowsrepeated="1000000"))
    with pytest.raises(LimitExceeded, match="inflated_bytes"):
        read_ods(document, tmp_path, Limits(inflated_bytes=1 << 20))


def test_ods_merged_hidden_and_annotated_cells(tmp_path: Path) -> None:
    merged = table.TableRow()
    merged.addElement(ods_cell("North", numberrowsspanned="2"))
    note = office.Annotation()
    note.addElement(text.P(text="Ask Ines"))
    value = ods_cell("5")
    value.addElement(note)
    merged.addElement(value)
    covered = table.TableRow(visibility="collapse")
    covered.addElement(table.CoveredTableCell())
    covered.addElement(ods_cell("6"))
    document = ods_of(ods_row("region", "sum"), merged, covered)
    style = Style(name="gone", family="table")
    style.addElement(TableProperties(display="false"))
    document.automaticstyles.addElement(style)
    secret = table.Table(name="Secret", stylename=style)
    secret.addElement(ods_row("margin", "x"))
    document.spreadsheet.addElement(secret)
    extraction = read_ods(document, tmp_path)
    assert "| North | 5 |\n|  | 6 |" in extraction.text
    assert "Comment on B2: Ask Ines" in extraction.text
    assert message(extraction, "hidden-rows").endswith(": Data!3:3")
    assert message(extraction, "hidden-sheet").endswith(": Secret")


def test_an_ods_with_a_password_is_encrypted(tmp_path: Path) -> None:
    path = tmp_path / "a.ods"
    ods_of(ods_row("a", "b")).save(str(path))
    rewrite_part(
        path,
        "META-INF/manifest.xml",
        lambda xml: xml.replace("</manifest:manifest>", "<manifest:encryption-data/></manifest:manifest>"),
    )
    with pytest.raises(Encrypted, match="password"):
        extract_ods(path, Settings(), lambda page: None)


WORD = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=10).filter(
    lambda word: not word.startswith("=")
)
GRID = st.lists(st.lists(WORD, min_size=3, max_size=3), min_size=1, max_size=5)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(GRID)
def test_every_cell_of_a_workbook_is_in_its_row(tmp_path: Path, rows: list[list[str]]) -> None:
    check_grid(read(workbook_of([list(row) for row in rows]), tmp_path), rows)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(GRID)
def test_every_cell_of_an_ods_is_in_its_row(tmp_path: Path, rows: list[list[str]]) -> None:
    check_grid(read_ods(ods_of(*(ods_row(*row) for row in rows)), tmp_path), rows)


def check_grid(extraction: Extraction, rows: list[list[str]]) -> None:
    found = places(extraction)
    for number, row in enumerate(rows, start=1):
        expected = "| " + " | ".join(word.replace("|", "\\|") for word in row) + " |"
        assert found[f"Data!A{number}:C{number}"] == expected


def test_a_sheet_that_is_a_chart_is_named(tmp_path: Path) -> None:
    workbook = workbook_of([["a", "b"], [1, 2]])
    workbook.create_chartsheet("Trend").add_chart(BarChart())
    assert message(read(workbook, tmp_path), "other-sheet").endswith(": Trend (chartsheet)")


def dated(path: Path) -> None:
    workbook = workbook_of([["day", "n"], [dt.datetime(2024, 3, 5), 1]])
    workbook.active["A2"].number_format = "d mmm yyyy"
    workbook.save(path)


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("xl/styles.xml", "<fill><patternFill/></fill>", "<fill/>"),
        ("xl/styles.xml", '<sz val="11"/>', '<sz val="big"/>'),
        (
            "xl/worksheets/sheet1.xml",
            "</sheetData>",
            '</sheetData><dataValidations count="1"><dataValidation type="magic" sqref="A1"/></dataValidations>',
        ),
    ],
)
def test_malformed_looks_cost_no_values_and_no_date_formats(
    tmp_path: Path, part: str, old: str, new: str
) -> None:
    path = tmp_path / "a.xlsx"
    dated(path)

    def change(xml: str) -> str:
        assert old in xml
        return xml.replace(old, new)

    rewrite_part(path, part, change)
    extraction = read_file(path)
    assert "| 5 Mar 2024 | 1 |" in extraction.text
    assert "repaired" in codes(extraction)


def test_a_single_cell_is_a_paragraph(tmp_path: Path) -> None:
    assert read(workbook_of([["Just this."]]), tmp_path).text == "## Data\n\nJust this."
