"""What a page shows and plain text can't, the same in every format: raised, lowered, struck, readings, formulas."""

from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import parse_xml
from odf.opendocument import OpenDocumentSpreadsheet
from odf.style import Style, TextProperties
from odf.table import Table, TableCell, TableRow
from odf.text import P, Span
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font
from pptx.util import Inches

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from tests.tasks.extracted import codes, message

WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
LINE = "4.2 x 10^6 in 20 m² of H₂O for ~~4,100 euro~~ 5,300 euro"
RUNS = (
    ("4.2 x 10", ""),
    ("6", "raised"),
    (" in 20 m", ""),
    ("2", "raised"),
    (" of H", ""),
    ("2", "lowered"),
    ("O for ", ""),
    ("4,100 euro", "struck"),
    (" 5,300 euro", ""),
)


def write_docx(path: Path) -> None:
    document = docx.Document()
    paragraph = document.add_paragraph()
    for words, way in RUNS:
        font = paragraph.add_run(words).font
        font.superscript, font.subscript, font.strike = way == "raised", way == "lowered", way == "struck"
    document.save(str(path))


def write_pptx(path: Path) -> None:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    box = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(6), Inches(1))
    for words, way in RUNS:
        run = box.text_frame.paragraphs[0].add_run()
        run.text = words
        if way == "struck":
            run.font._element.set("strike", "sngStrike")
        elif way:
            run.font._element.set("baseline", "30000" if way == "raised" else "-25000")
    deck.save(str(path))


def write_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    ways = {
        "raised": {"vertAlign": "superscript"},
        "lowered": {"vertAlign": "subscript"},
        "struck": {"strike": True},
    }
    book.active["A1"] = CellRichText(
        *(TextBlock(InlineFont(**ways[way]), words) if way else words for words, way in RUNS)
    )
    book.save(path)


def write_ods(path: Path) -> None:
    book = OpenDocumentSpreadsheet()
    ways = {"raised": {"textposition": "super 58%"}, "lowered": {"textposition": "-33% 58%"},
            "struck": {"textlinethroughstyle": "solid"}}  # fmt: skip
    for way, properties in ways.items():
        style = Style(name=way, family="text")
        style.addElement(TextProperties(**properties))
        book.automaticstyles.addElement(style)
    sheet, row, cell, line = Table(name="S"), TableRow(), TableCell(valuetype="string"), P()
    for words, way in RUNS:
        line.addElement(Span(stylename=way, text=words)) if way else line.addText(words)
    cell.addElement(line)
    row.addElement(cell)
    sheet.addElement(row)
    book.spreadsheet.addElement(sheet)
    book.save(str(path))


def write_html(path: Path) -> None:
    ways = {"": "{}", "raised": "<sup>{}</sup>", "lowered": '<span style="vertical-align: sub">{}</span>',
            "struck": "<s>{}</s>"}  # fmt: skip
    path.write_text("<p>" + "".join(ways[way].format(words) for words, way in RUNS) + "</p>")


def write_markdown(path: Path) -> None:
    ways = {"": "{}", "raised": "<sup>{}</sup>", "lowered": "<sub>{}</sub>", "struck": "<del>{}</del>"}
    path.write_text("".join(ways[way].format(words) for words, way in RUNS))


def read(path: Path) -> Extraction:
    return extract(path, Settings(), lambda page: None)


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.docx", write_docx), ("a.pptx", write_pptx), ("a.xlsx", write_xlsx), ("a.ods", write_ods),
     ("a.html", write_html), ("a.md", write_markdown)],
)  # fmt: skip
def test_signs_are_written_alike_in_every_format(
    name: str, write: Callable[[Path], None], tmp_path: Path
) -> None:
    write(tmp_path / name)
    extraction = read(tmp_path / name)
    assert LINE in extraction.text
    if name != "a.md":
        assert message(extraction, "struck-text").endswith(": 4,100 euro")


def test_a_style_draws_as_its_runs_do(tmp_path: Path) -> None:
    document = docx.Document()
    style = document.styles.add_style("Old", docx.enum.style.WD_STYLE_TYPE.CHARACTER)
    style.font.strike = True
    document.add_paragraph("Now 5, ").add_run("then 4", style="Old")
    document.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").text == "Now 5, ~~then 4~~"
    (tmp_path / "a.html").write_text(
        "<style>.old{text-decoration:line-through}</style><p>Now 5, <b class=old>then 4</b>"
    )
    assert read(tmp_path / "a.html").text == "Now 5, ~~then 4~~"
    book = openpyxl.Workbook()
    book.active.append(["then 4", "now 5"])
    book.active["A1"].font = Font(strike=True)
    book.save(tmp_path / "a.xlsx")
    assert "| ~~then 4~~ | now 5 |" in read(tmp_path / "a.xlsx").text
    assert "struck-text" in codes(read(tmp_path / "a.xlsx"))


def test_signs_in_code_stay_code(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("`x<sup>2</sup>` is x<sup>2</sup>\n\n```\ny<sub>1</sub>\n```\n")
    assert read(tmp_path / "a.md").text == "`x<sup>2</sup>` is x²\n\n```\ny<sub>1</sub>\n```\n"
    (tmp_path / "a.html").write_text("<pre>x<sup>2</sup> <del>y</del></pre>")
    assert read(tmp_path / "a.html").text == "x2 y"


def test_a_reading_stands_in_brackets_after_its_characters(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        "<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>の<ruby>読<rt>よ</rt></ruby>み方", "utf-8"
    )
    assert read(tmp_path / "a.html").text == "漢字(かんじ)の読(よ)み方"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<msup><mi>v</mi><mn>2</mn></msup>", "v^2"),
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "1/2"),
        ("<mn>3</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>", "3 1/2"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac>", "(a+b)/c"),
        ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√(x+1)"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "√[3](x)"),
        ("<msub><mi>x</mi><mi>i</mi></msub>", "x_i"),
        ("<msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mi>n</mi><mo>-</mo><mn>1</mn></mrow></msup>",
         "(a+b)^(n-1)"),
        ("<mi>s</mi><mo>=</mo><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>"
         "<msub><mi>x</mi><mi>i</mi></msub>", "s=∑_(i=1)^n x_i"),
        ("<munder><mi>lim</mi><mrow><mi>x</mi><mo>→</mo><mn>0</mn></mrow></munder><mi>f</mi>", "lim_(x→0) f"),
        ("<mo>[</mo><mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mi>c</mi></mtd><mtd>"
         "<mi>d</mi></mtd></mtr></mtable><mo>]</mo>", "[a, b; c, d]"),
        ("<semantics><mi>x</mi><annotation>not read</annotation></semantics>", "x"),
        ("<mi>sin</mi><mo>\u2061</mo><mi>x</mi>", "sin x"),
        ("<msup><mi>x</mi><mo>′</mo></msup>", "x′"),
    ],
)  # fmt: skip
def test_mathml_is_written_on_one_line(markup: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(f"<p>so <math>{markup}</math> holds", "utf-8")
    assert read(tmp_path / "a.html").text == f"so {text} holds"


def run(words: str) -> str:
    return f"<m:r><m:t>{words}</m:t></m:r>"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (f"{run('s=')}<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{run('i=1')}</m:sub><m:sup>{run('n')}"
         f"</m:sup><m:e><m:sSub><m:e>{run('x')}</m:e><m:sub>{run('i')}</m:sub></m:sSub></m:e></m:nary>",
         "s=∑_(i=1)^n x_i"),
        (f"<m:f><m:num>{run('a+b')}</m:num><m:den>{run('c')}</m:den></m:f>", "(a+b)/c"),
        (f"<m:sSup><m:e>{run('v')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>", "v^2"),
        (f"<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/><m:e>{run('x')}</m:e></m:rad>", "√(x)"),
        (f"<m:rad><m:deg>{run('3')}</m:deg><m:e>{run('x')}</m:e></m:rad>", "√[3](x)"),
        (f"<m:func><m:fName><m:limLow><m:e>{run('lim')}</m:e><m:lim>{run('x→0')}</m:lim></m:limLow></m:fName>"
         f"<m:e>{run('f')}</m:e></m:func>", "lim_(x→0) f"),
        (f"<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e><m:m><m:mr><m:e>{run('a')}</m:e><m:e>"
         f"{run('b')}</m:e></m:mr><m:mr><m:e>{run('c')}</m:e><m:e>{run('d')}</m:e></m:mr></m:m></m:e></m:d>",
         "[a, b; c, d]"),
        (f"<m:d><m:e>{run('a+b')}</m:e></m:d>", "(a+b)"),
        (f"<m:nary><m:sub>{run('0')}</m:sub><m:sup>{run('1')}</m:sup><m:e>{run('xdx')}</m:e></m:nary>", "∫_0^1 xdx"),
    ],
)  # fmt: skip
def test_a_formula_of_word_is_written_on_one_line(markup: str, text: str, tmp_path: Path) -> None:
    document = docx.Document()
    paragraph = f"<w:p {WORD} {MATH}><w:r><w:t>so </w:t></w:r><m:oMath>{markup}</m:oMath></w:p>"
    document.element.body.insert_element_before(parse_xml(paragraph), "w:sectPr")
    document.save(str(tmp_path / "a.docx"))
    assert read(tmp_path / "a.docx").text == f"so {text}"
