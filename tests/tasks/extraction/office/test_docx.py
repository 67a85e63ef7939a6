"""Word documents written by python-docx, with the parts that it can't write put into the XML."""

import io
import zipfile
from pathlib import Path

import docx
import pytest
from docx.document import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from pincite.schemas.errors import Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.office.docx import extract_docx
from tests.tasks.extracted import check_offsets, codes, message, rewrite_part

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def read(document: Document, folder: Path, settings: Settings | None = None) -> Extraction:
    path = folder / "a.docx"
    document.save(str(path))
    extraction = extract_docx(path, settings or Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def add(document: Document, xml: str) -> None:
    """Appends a paragraph written as XML."""
    document.element.body.insert_element_before(parse_xml(xml), "w:sectPr")


def test_headings_keep_their_levels_and_the_title_names_the_document(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Pump manual", 0)
    document.add_heading("Safety", 1)
    document.add_heading("Electrical", 2)
    document.add_paragraph("Disconnect the mains first.")
    extraction = read(document, tmp_path)
    assert extraction.title == "Pump manual"
    headings = [(block.level, block.title) for block in extraction.blocks if block.kind == "heading"]
    assert headings == [(1, "Pump manual"), (1, "Safety"), (2, "Electrical")]
    assert "## Electrical\n\nDisconnect the mains first." in extraction.text


def test_a_file_without_a_title_has_none(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("Body.")
    assert read(document, tmp_path).title == ""
    document.core_properties.title = "From the properties"
    assert read(document, tmp_path).title == "From the properties"


def test_lists_are_one_block_with_bullets_or_counted_numbers(tmp_path: Path) -> None:
    document = docx.Document()
    for word in ("alpha", "beta"):
        document.add_paragraph(word, style="List Bullet")
    document.add_paragraph("Between.")
    for word in ("first", "second", "third"):
        document.add_paragraph(word, style="List Number")
    extraction = read(document, tmp_path)
    assert extraction.text == "- alpha\n- beta\n\nBetween.\n\n1. first\n2. second\n3. third"
    assert [block.kind for block in extraction.blocks] == ["list", "paragraph", "list"]


def test_multi_level_numbers_are_those_that_word_shows(tmp_path: Path) -> None:
    document = docx.Document()
    numbering = document.part.numbering_part.element
    levels = "".join(
        f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{style}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for level, style, text in (
            (0, "decimal", "%1."),
            (1, "lowerLetter", "%1.%2)"),
            (2, "lowerRoman", "(%3)"),
        )
    )
    numbering.insert(0, parse_xml(f'<w:abstractNum {W} w:abstractNumId="99">{levels}</w:abstractNum>'))
    numbering.append(parse_xml(f'<w:num {W} w:numId="99"><w:abstractNumId w:val="99"/></w:num>'))
    for level, word in ((0, "A"), (1, "B"), (1, "C"), (2, "D"), (0, "E"), (1, "F")):
        add(
            document,
            f'<w:p {W}><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="99"/></w:numPr></w:pPr>'
            f"<w:r><w:t>{word}</w:t></w:r></w:p>",
        )
    assert read(document, tmp_path).text == "1. A\n  1.a) B\n  1.b) C\n    (i) D\n2. E\n  2.a) F"


def test_merged_cells_keep_their_column_and_a_zero_stays(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=4, cols=3)
    for row, words in enumerate(
        (("Region", "Sales", "Returns"), ("North", "10", "0"), ("", "20", ""), ("South", "30", "3"))
    ):
        for column, word in enumerate(words):
            table.cell(row, column).text = word
    table.cell(1, 0).merge(table.cell(2, 0))
    table.cell(3, 1).merge(table.cell(3, 2))
    extraction = read(document, tmp_path)
    assert extraction.text.splitlines() == [
        "| Region | Sales | Returns |",
        "| --- | --- | --- |",
        "| North | 10 | 0 |",
        "|  | 20 |  |",
        "| South | 30 3 |  |",
    ]
    assert extraction.blocks[0].repeat == "| Region | Sales | Returns |"


def test_a_bar_or_a_line_end_in_a_cell_does_not_break_the_row(tmp_path: Path) -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "a|b", "two\nlines"
    table.cell(1, 0).text, table.cell(1, 1).text = "c", "d"
    assert read(document, tmp_path).text.splitlines()[0] == "| a\\|b | two lines |"


def test_a_table_in_a_cell_is_kept_in_its_cell(tmp_path: Path) -> None:
    document = docx.Document()
    outer = document.add_table(rows=2, cols=2)
    outer.cell(0, 0).text, outer.cell(1, 0).text = "head", "outer"
    inner = outer.cell(1, 1).add_table(rows=2, cols=2)
    for index, word in enumerate(("i1", "i2", "i3", "i4")):
        inner.cell(index // 2, index % 2).text = word
    assert "| outer | i1, i2; i3, i4 |" in read(document, tmp_path).text


def test_a_table_around_tables_is_a_layout_and_they_keep_their_rows(tmp_path: Path) -> None:
    document = docx.Document()
    outer = document.add_table(rows=1, cols=2)
    outer.cell(0, 0).text = "left"
    inner = outer.cell(0, 1).add_table(rows=2, cols=2)
    for index, word in enumerate(("i1", "i2", "i3", "i4")):
        inner.cell(index // 2, index % 2).text = word
    assert read(document, tmp_path).text == "left\n\n| i1 | i2 |\n| --- | --- |\n| i3 | i4 |"


def test_a_table_of_one_cell_is_a_frame_around_blocks(tmp_path: Path) -> None:
    document = docx.Document()
    cell = document.add_table(rows=1, cols=1).cell(0, 0)
    cell.text = "First."
    cell.add_paragraph("Second.")
    assert read(document, tmp_path).text == "First.\n\nSecond."


def test_headers_and_footers_are_left_out_and_named(tmp_path: Path) -> None:
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "ACME confidential"
    document.sections[0].footer.paragraphs[0].text = "Page footer"
    document.add_paragraph("Body text.")
    extraction = read(document, tmp_path)
    assert extraction.text == "Body text."
    assert "ACME confidential, Page footer" in message(extraction, "running-text")


def test_comments_follow_the_paragraph_on_which_they_hang(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("The limit is 40 bar.")
    document.add_comment(paragraph.runs, text="Checked against the norm?", author="Ines")
    document.add_paragraph("Next.")
    assert read(document, tmp_path).text == (
        "The limit is 40 bar.\n\nComment by Ines: Checked against the norm?\n\nNext."
    )


def test_footnotes_follow_their_paragraph_under_the_mark_in_it(tmp_path: Path) -> None:
    document = docx.Document()
    add(
        document,
        f'<w:p {W}><w:r><w:t xml:space="preserve">Costs rose</w:t></w:r><w:r><w:footnoteReference w:id="7"/></w:r>'
        "<w:r><w:t> by 5 %.</w:t></w:r></w:p>",
    )
    document.save(str(tmp_path / "a.docx"))
    notes = (
        f'<w:footnotes {W}><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>'
        '<w:footnote w:id="7"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t>Without tax.</w:t></w:r></w:p></w:footnote>'
        "</w:footnotes>"
    )
    add_part(tmp_path / "a.docx", "footnotes", notes)
    extraction = extract_docx(tmp_path / "a.docx", Settings(), lambda page: None)
    assert extraction.text == "Costs rose[^1] by 5 %.\n\n[^1]: Without tax."


def add_part(path: Path, name: str, xml: str) -> None:
    base = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    relation = f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{name}"
    rewrite_part(path, f"word/{name}.xml", lambda old: xml)
    rewrite_part(
        path,
        "word/_rels/document.xml.rels",
        lambda old: old.replace(
            "</Relationships>",
            f'<Relationship Id="rX" Type="{relation}" Target="{name}.xml"/></Relationships>',
        ),
    )
    rewrite_part(
        path,
        "[Content_Types].xml",
        lambda old: old.replace(
            "</Types>", f'<Override PartName="/word/{name}.xml" ContentType="{base}.{name}+xml"/></Types>'
        ),
    )


def test_text_boxes_are_read_once_though_the_file_holds_them_twice(tmp_path: Path) -> None:
    document = docx.Document()
    box = "<w:txbxContent><w:p><w:r><w:t>In the box.</w:t></w:r></w:p></w:txbxContent>"
    add(
        document,
        f'<w:p {W} xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
        'xmlns:v="urn:schemas-microsoft-com:vml" '
        'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape">'
        "<w:r><w:t>Before.</w:t></w:r><w:r><mc:AlternateContent>"
        f'<mc:Choice Requires="wps"><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>'
        f"<mc:Fallback><w:pict><v:shape><v:textbox>{box}</v:textbox></v:shape></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>",
    )
    assert read(document, tmp_path).text == "Before.\n\nIn the box."


def test_a_space_between_runs_stays(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("bold")
    for word in (" ", "and", " ", "plain"):
        paragraph.add_run(word).bold = word == "and"
    assert read(document, tmp_path).text == "bold and plain"


def test_images_are_named(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("See the drawing.")
    png = io.BytesIO()
    Image.new("RGB", (8, 8)).save(png, "PNG")
    document.add_picture(png)
    assert "Picture 1" in message(read(document, tmp_path), "embedded-image")


def test_tracked_changes_show_what_was_inserted_and_name_what_was_deleted(tmp_path: Path) -> None:
    document = docx.Document()
    add(
        document,
        f'<w:p {W}><w:r><w:t xml:space="preserve">Pay </w:t></w:r>'
        '<w:del w:id="1" w:author="x"><w:r><w:delText>ten</w:delText></w:r></w:del>'
        '<w:ins w:id="2" w:author="x"><w:r><w:t>twelve</w:t></w:r></w:ins>'
        '<w:r><w:t xml:space="preserve"> euro.</w:t></w:r></w:p>',
    )
    extraction = read(document, tmp_path)
    assert extraction.text == "Pay twelve euro."
    assert message(extraction, "tracked-deletion").endswith(": ten")


def test_hidden_text_is_left_out_and_named_unless_asked_for(tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("Seen. ")
    paragraph.add_run("Unseen.").font.hidden = True
    extraction = read(document, tmp_path)
    assert extraction.text == "Seen."
    assert "Unseen." in message(extraction, "hidden-text")
    shown = read(document, tmp_path, Settings(include_hidden_text=True))
    assert shown.text == "Seen. Unseen."
    assert "hidden-text" not in codes(shown)


def test_fields_links_controls_and_formulas_show_what_the_page_shows(tmp_path: Path) -> None:
    document = docx.Document()
    add(
        document,
        f'<w:p {W} xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">'
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGEREF x</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>page 4</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
        '<w:hyperlink><w:r><w:t xml:space="preserve"> link</w:t></w:r></w:hyperlink>'
        '<w:sdt><w:sdtContent><w:r><w:t xml:space="preserve"> control </w:t></w:r></w:sdtContent></w:sdt>'
        "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:r><m:t>c</m:t></m:r></m:den></m:f></m:oMath>"
        "</w:p>",
    )
    assert read(document, tmp_path).text == "page 4 link control (a+b)/c"


def test_a_document_of_images_only_is_unreadable_and_names_them(tmp_path: Path) -> None:
    document = docx.Document()
    png = io.BytesIO()
    Image.new("RGB", (8, 8)).save(png, "PNG")
    document.add_picture(png)
    with pytest.raises(Unreadable, match="Picture 1"):
        read(document, tmp_path)


def test_a_document_without_its_main_part_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    with pytest.raises(Unreadable, match="damaged"):
        extract_docx(path, Settings(), lambda page: None)


WORDS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(WORDS, min_size=1, max_size=4),
    st.lists(WORDS, min_size=1, max_size=4),
    st.lists(st.lists(WORDS, min_size=3, max_size=3), min_size=1, max_size=3),
)
def test_every_visible_string_is_in_the_text(
    tmp_path: Path, paragraphs: list[str], items: list[str], rows: list[list[str]]
) -> None:
    document = docx.Document()
    document.add_heading("Heading", 1)
    for word in paragraphs:
        document.add_paragraph(word)
    for word in items:
        document.add_paragraph(word, style="List Bullet")
    table = document.add_table(rows=len(rows), cols=3)
    for row, words in enumerate(rows):
        for column, word in enumerate(words):
            table.cell(row, column).text = word
    text = read(document, tmp_path).text
    for word in (*paragraphs, *items):
        assert word in text
    for words in rows:
        assert "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |" in text


@pytest.mark.parametrize(
    "kind",
    ["openxmlformats-officedocument.wordprocessingml.template", "ms-word.document.macroEnabled"],
)
def test_templates_and_files_with_macros_are_read(tmp_path: Path, kind: str) -> None:
    document = docx.Document()
    document.add_paragraph("Words.")
    document.save(str(tmp_path / "a.docx"))
    plain = "openxmlformats-officedocument.wordprocessingml.document"
    rewrite_part(
        tmp_path / "a.docx", "[Content_Types].xml", lambda xml: xml.replace(f"{plain}.main", f"{kind}.main")
    )
    assert extract_docx(tmp_path / "a.docx", Settings(), lambda page: None).text == "Words."


def test_a_chart_is_the_table_of_its_figures(tmp_path: Path) -> None:
    document = docx.Document()
    drawing = (
        "<w:r><w:t>Sales:</w:t></w:r><w:r><w:drawing>"
        '<c:chart xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:id="rX"/></w:drawing></w:r>'
    )
    add(document, f"<w:p {W}>{drawing}</w:p>")
    document.save(str(tmp_path / "a.docx"))
    series = (
        "<c:ser><c:tx><c:v>2024</c:v></c:tx><c:cat><c:strLit><c:pt idx='0'><c:v>North</c:v></c:pt></c:strLit></c:cat>"
        "<c:val><c:numLit><c:formatCode>0%</c:formatCode>"
        "<c:pt idx='0'><c:v>0.25</c:v></c:pt></c:numLit></c:val></c:ser>"
    )
    chart = f'<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart">{series}</c:chartSpace>'
    add_part(tmp_path / "a.docx", "chart", chart)
    extraction = extract_docx(tmp_path / "a.docx", Settings(), lambda page: None)
    assert extraction.text.startswith("Sales:\n\n|  | 2024 |")
    assert "| North | 25% |" in extraction.text


def test_the_namespace_helper_of_python_docx_matches_ours() -> None:
    assert nsdecls("w") == W


def test_what_a_header_identifies_stays_and_page_numbers_go(tmp_path: Path) -> None:
    document = docx.Document()
    section = document.sections[0]
    section.header.paragraphs[0].text = "ACME Pumps, Invoice 4711"
    field = "".join(
        f"<w:r>{part}</w:r>"
        for part in (
            "<w:t>Page </w:t>",
            '<w:fldChar w:fldCharType="begin"/>',
            "<w:instrText> PAGE </w:instrText>",
            '<w:fldChar w:fldCharType="separate"/>',
            "<w:t>1234</w:t>",
            '<w:fldChar w:fldCharType="end"/>',
        )
    )
    section.footer._element.append(parse_xml(f"<w:p {W}>{field}</w:p>"))
    document.add_paragraph("Pay within 30 days.")
    extraction = read(document, tmp_path)
    assert extraction.text == "ACME Pumps, Invoice 4711\n\nPay within 30 days."
    assert message(extraction, "running-text").endswith("left out: Page")
