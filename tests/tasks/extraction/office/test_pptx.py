"""Presentations written by python-pptx, with the parts that it can't write put into the XML."""

import io
from pathlib import Path

import pptx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml import parse_xml
from pptx.presentation import Presentation
from pptx.slide import Slide
from pptx.util import Inches

from pincite.schemas.errors import Unreadable
from pincite.schemas.locators import place_fragment
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.office.pptx import extract_pptx
from tests.tasks.extracted import check_offsets, codes, message, places, rewrite_part

BOX = (Inches(1), Inches(1), Inches(3), Inches(1))
NAMESPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)


def read(presentation: Presentation, folder: Path, settings: Settings | None = None) -> Extraction:
    path = folder / "a.pptx"
    presentation.save(str(path))
    extraction = extract_pptx(path, settings or Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def add_slide(presentation: Presentation, title: str, *points: str) -> Slide:
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = title
    slide.placeholders[1].text = "\n".join(points)
    return slide


def add_box(slide: Slide, words: str) -> None:
    slide.shapes.add_textbox(*BOX).text_frame.text = words


def test_each_slide_is_a_section_and_a_place(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    add_slide(presentation, "Goals", "grow", "learn")
    add_slide(presentation, "Plan", "Everything starts in May.")
    extraction = read(presentation, tmp_path)
    assert extraction.text == "## Goals\n\n- grow\n- learn\n\n## Plan\n\nEverything starts in May."
    assert places(extraction) == {
        "1": "## Goals\n\n- grow\n- learn",
        "2": "## Plan\n\nEverything starts in May.",
    }
    assert place_fragment(extraction.places[1:]) == "#slide=2"
    assert extraction.title == ""


def test_a_title_slide_names_the_document(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    add_slide(presentation, "Agenda", "x")
    presentation.slides.add_slide(presentation.slide_layouts[0]).shapes.title.text = "Year in review"
    assert read(presentation, tmp_path).title == "Year in review"
    presentation.core_properties.title = "Review 2024"
    assert read(presentation, tmp_path).title == "Review 2024"


@pytest.mark.parametrize("kind", ["slideshow", "template"])
def test_slide_shows_and_templates_are_read(tmp_path: Path, kind: str) -> None:
    presentation = pptx.Presentation()
    add_slide(presentation, "T", "point")
    presentation.save(str(tmp_path / "a.pptx"))
    rewrite_part(
        tmp_path / "a.pptx",
        "[Content_Types].xml",
        lambda xml: xml.replace("presentation.main", f"{kind}.main"),
    )
    assert "point" in extract_pptx(tmp_path / "a.pptx", Settings(), lambda page: None).text


def test_a_slide_without_a_title_is_headed_by_its_number(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    add_slide(presentation, "First", "x")
    add_box(presentation.slides.add_slide(presentation.slide_layouts[6]), "Alone.")
    assert read(presentation, tmp_path).text.endswith("## Slide 2\n\nAlone.")


def test_levels_and_numbers_of_points_are_kept(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = add_slide(presentation, "T", "one", "deeper", "two")
    frame = slide.placeholders[1].text_frame
    frame.paragraphs[1].level = 1
    for index in (0, 2):
        frame.paragraphs[index]._p.get_or_add_pPr().append(
            parse_xml(f'<a:buAutoNum {NAMESPACES} type="alphaLcParenR"/>')
        )
    assert read(presentation, tmp_path).text == "## T\n\na) one\n  - deeper\nb) two"


def test_tables_notes_and_groups_are_read(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = add_slide(presentation, "T", "point")
    table = slide.shapes.add_table(3, 2, *BOX).table
    for index, word in enumerate(("part", "stock", "A|1", "0", "B", "7")):
        table.cell(index // 2, index % 2).text = word
    group = slide.shapes.add_group_shape().shapes.add_group_shape()
    group.shapes.add_textbox(*BOX).text_frame.text = "deep in a group"
    slide.notes_slide.notes_text_frame.text = "Say this slowly."
    text = read(presentation, tmp_path).text
    assert "| part | stock |\n| --- | --- |\n| A\\|1 | 0 |\n| B | 7 |" in text
    assert "deep in a group" in text
    assert text.endswith("Notes: Say this slowly.")


def test_merged_cells_of_a_table_keep_their_place(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    table = add_slide(presentation, "T", "p").shapes.add_table(3, 3, *BOX).table
    for index in range(9):
        table.cell(index // 3, index % 3).text = f"c{index}"
    table.cell(1, 0).merge(table.cell(2, 0))
    assert read(presentation, tmp_path).text.endswith("| c3 c6 | c4 | c5 |\n|  | c7 | c8 |")


def test_hidden_slides_are_read_and_named(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    add_slide(presentation, "Shown", "x")
    add_slide(presentation, "Backup", "the real numbers")._element.set("show", "0")
    extraction = read(presentation, tmp_path)
    assert "the real numbers" in extraction.text
    assert message(extraction, "hidden-slide").endswith(": 2 Backup")


def test_hidden_shapes_are_left_out_and_named_unless_asked_for(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = add_slide(presentation, "T", "seen")
    add_box(slide, "unseen")
    slide.shapes[-1]._element.nvSpPr.cNvPr.set("hidden", "1")
    extraction = read(presentation, tmp_path)
    assert "unseen" not in extraction.text
    assert message(extraction, "hidden-text").endswith(": unseen")
    assert "unseen" in read(presentation, tmp_path, Settings(include_hidden_text=True)).text


def test_footers_are_left_out_and_named(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = add_slide(presentation, "T", "point")
    slide.shapes._spTree.append(
        parse_xml(
            f'<p:sp {NAMESPACES}><p:nvSpPr><p:cNvPr id="9" name="f"/><p:cNvSpPr/><p:nvPr><p:ph type="ftr" idx="11"/>'
            "</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>"
            "<a:p><a:r><a:t>ACME 2024</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    )
    extraction = read(presentation, tmp_path)
    assert extraction.text == "## T\n\npoint"
    assert message(extraction, "running-text").endswith(": ACME 2024")


def test_shapes_that_the_file_holds_twice_are_read_once(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide = add_slide(presentation, "T", "point")
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="9" name="f"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        "<p:txBody><a:bodyPr/><a:p><a:r><a:t>E = mc²</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    slide.shapes._spTree.append(
        parse_xml(
            f'<mc:AlternateContent {NAMESPACES}><mc:Choice Requires="a14">{shape}</mc:Choice>'
            f"<mc:Fallback>{shape}</mc:Fallback></mc:AlternateContent>"
        )
    )
    assert read(presentation, tmp_path).text.count("E = mc²") == 1


def test_a_chart_is_the_table_of_its_figures(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    data = CategoryChartData(number_format="0%")
    data.categories = ["North", "South"]
    data.add_series("2023", (0.25, 0.75))
    data.add_series("2024", (0, 1))
    slide = add_slide(presentation, "T", "point")
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, data)
    assert read(presentation, tmp_path).text.endswith(
        "|  | 2023 | 2024 |\n| --- | --- | --- |\n| North | 25% | 0% |\n| South | 75% | 100% |"
    )


def test_pictures_are_named_and_a_deck_of_pictures_is_unreadable(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    png = io.BytesIO()
    Image.new("RGB", (8, 8)).save(png, "PNG")
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    slide.shapes.add_picture(png, 0, 0)
    with pytest.raises(Unreadable, match="on slide 1"):
        read(presentation, tmp_path)
    add_box(slide, "Words.")
    assert "embedded-image" in codes(read(presentation, tmp_path))


def test_a_presentation_without_slides_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no text"):
        read(pptx.Presentation(), tmp_path)


WORD = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=12)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORD, st.lists(WORD, min_size=1, max_size=4), WORD, WORD)
def test_every_visible_string_is_on_its_slide(
    tmp_path: Path, title: str, points: list[str], box: str, notes: str
) -> None:
    presentation = pptx.Presentation()
    add_slide(presentation, "First", "x")
    slide = add_slide(presentation, title, *points)
    add_box(slide, box)
    slide.notes_slide.notes_text_frame.text = notes
    found = places(read(presentation, tmp_path))
    for word in (title, *points, box, notes):
        assert word in found["2"]
