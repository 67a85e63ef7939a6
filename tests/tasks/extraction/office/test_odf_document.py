"""OpenDocument texts and presentations written by odfpy."""

from pathlib import Path

from odf import draw, office, style, table, text
from odf.namespaces import PRESENTATIONNS
from odf.opendocument import OpenDocument, OpenDocumentPresentation, OpenDocumentText

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from tests.tasks.extracted import check_offsets, codes, message, places


def read(document: OpenDocument, folder: Path, name: str) -> Extraction:
    document.save(str(folder / name))
    extraction = extract(folder / name, Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def item(words: str, *inner: text.List) -> text.ListItem:
    entry = text.ListItem()
    entry.addElement(text.P(text=words))
    for each in inner:
        entry.addElement(each)
    return entry


def test_a_text_is_read_with_its_structure(tmp_path: Path) -> None:
    document = OpenDocumentText()
    body = document.text
    body.addElement(text.H(outlinelevel=1, text="Pump manual"))
    line = text.P(text="Drain first.")
    note = text.Note(noteclass="footnote", id="n1")
    note.addElement(text.NoteCitation(text="1"))
    inside = text.NoteBody()
    inside.addElement(text.P(text="Wear gloves."))
    note.addElement(inside)
    line.addElement(note)
    body.addElement(line)
    deeper = text.List()
    deeper.addElement(item("grease"))
    steps = text.List()
    steps.addElement(item("drain"))
    steps.addElement(item("replace", deeper))
    body.addElement(steps)
    grid = table.Table(name="T")
    for cells in (("Part", "Torque"), ("Seal", "45 Nm")):
        row = table.TableRow()
        for words in cells:
            cell = table.TableCell()
            cell.addElement(text.P(text=words))
            row.addElement(cell)
        grid.addElement(row)
    body.addElement(grid)
    extraction = read(document, tmp_path, "a.odt")
    assert extraction.text == (
        "# Pump manual\n\nDrain first.[^1]\n\n[^1]: Wear gloves.\n\n- drain\n- replace\n  - grease\n\n"
        "| Part | Torque |\n| --- | --- |\n| Seal | 45 Nm |"
    )
    assert extraction.extractor == "odt"


def test_hidden_struck_and_commented_words_are_told(tmp_path: Path) -> None:
    document = OpenDocumentText()
    for name, properties in (("H", {"display": "none"}), ("S", {"textlinethroughstyle": "solid"})):
        made = style.Style(name=name, family="text")
        made.addElement(style.TextProperties(**properties))
        document.automaticstyles.addElement(made)
    line = text.P(text="Pay ")
    line.addElement(text.Span(stylename="S", text="4,100 euro"))
    line.addText(" 5,300 euro")
    line.addElement(text.Span(stylename="H", text="secret"))
    comment = office.Annotation()
    comment.addElement(text.P(text="Check this."))
    line.addElement(comment)
    document.text.addElement(line)
    extraction = read(document, tmp_path, "a.odt")
    assert extraction.text == "Pay ~~4,100 euro~~ 5,300 euro\n\nComment: Check this."
    assert message(extraction, "hidden-text").endswith(": secret")
    assert "struck-text" in codes(extraction)


def test_each_slide_is_a_section_and_a_place(tmp_path: Path) -> None:
    document = OpenDocumentPresentation()
    layout = style.PageLayout(name="L")
    document.automaticstyles.addElement(layout)
    master = style.MasterPage(name="M", pagelayoutname=layout)
    document.masterstyles.addElement(master)
    for title, words in (("Goals", "grow"), ("", "learn")):
        page = draw.Page(masterpagename=master)
        for kind, each in (("title", title), ("outline", words)):
            if each:
                frame = draw.Frame(width="10cm", height="2cm", x="1cm", y="1cm")
                frame.setAttrNS(PRESENTATIONNS, "class", kind)
                box = draw.TextBox()
                box.addElement(text.P(text=each))
                frame.addElement(box)
                page.addElement(frame)
        document.presentation.addElement(page)
    extraction = read(document, tmp_path, "a.odp")
    assert extraction.text == "## Goals\n\ngrow\n\n## Slide 2\n\nlearn"
    assert places(extraction)["2"] == "## Slide 2\n\nlearn"
