"""What `pincite inspect` shows is what extraction and chunking did, and stands where the page has it."""

import io
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import lxml.html
import numpy as np
import pikepdf
import pytest
from PIL import Image, ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from pincite.encoders.models import name_of, resolve_model
from pincite.encoders.wordpieces import WordPieces
from pincite.schemas.records import Word
from pincite.schemas.settings import Limits, Settings
from pincite.tasks.chunking.chunk import chunk
from pincite.tasks.extraction.extract import extract
from pincite.tasks.extraction.pdf.page_record import IMAGE_PIXELS, Corners, Sheet, Sketch
from pincite.tasks.inspection.inspect import (
    SHOWN_CHARACTERS,
    Inspection,
    InspectionOrder,
    inspect,
    leaves_of,
    line_confidences,
    other_pages,
    summary_of,
)
from pincite.tasks.inspection.page import page_of
from tests.tasks.pdf_files import MINUTES, PAGE, drawn, scan_image

SAMPLES = Path(__file__).resolve().parents[3] / "samples" / "documents"
HOSTILE = (
    '</title></style></script><script>alert(1)</script><img src="//evil.example/x" onerror=alert(2)>"\'&amp;'
)


def seen(path: Path, first: int = 1, last: int = 30, settings: Settings | None = None) -> Inspection:
    settings = settings or Settings()
    return inspect(
        InspectionOrder(path, settings, name_of(resolve_model(settings.model)), first, last), nowhere
    )


def nowhere(_stage: str, _page: int | None) -> None:
    return


def quietly(_page: int) -> None:
    return


def words_of(page: str) -> str:
    """The canonical text as the page shows it: the words of all blocks without the names of chunks."""
    tree = cast(Any, lxml.html.document_fromstring(page))
    for tag in tree.xpath('//*[contains(@class, "tag")]'):
        tag.drop_tree()
    return "\n".join(part.text_content() for part in tree.xpath('//div[@class="words"]'))


def ink_of(sheet: Sheet) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.asarray(Image.open(io.BytesIO(sheet.image)).convert("L")) < 128


def mask_of(sheet: Sheet, areas: Sequence[Corners], grow: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The pixels of the page image that lie in one of the areas, each widened by `grow` points."""
    image = Image.open(io.BytesIO(sheet.image))
    scale = image.width / sheet.width
    mask = Image.new("1", image.size)
    for corners in areas:
        points = [(x * scale, y * scale) for x, y in corners]
        ImageDraw.Draw(mask).polygon(points, fill=1, outline=1, width=max(1, round(2 * grow * scale)))
    return np.asarray(mask)


def assert_areas_hold_the_ink(sheet: Sheet, areas: Sequence[Corners], share: float = 0.99) -> None:
    ink, mask = ink_of(sheet), mask_of(sheet, areas, 3.0)
    assert ink.any()
    assert (ink & mask).sum() > share * ink.sum()
    assert mask.mean() < 0.3, "areas that cover the page hold any ink"


def write_minutes(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 12)
    for number, line in enumerate(MINUTES * 2):
        canvas.drawString(60, 760 - 16 * number, line)


def turned_pdf(folder: Path, turn: int) -> Path:
    """A page of text that is shown turned by `turn` degrees."""
    source = drawn(folder / "upright.pdf", write_minutes)
    with pikepdf.open(source) as pdf:
        pdf.pages[0].Rotate = turn
        pdf.save(folder / "turned.pdf")
    return folder / "turned.pdf"


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_blocks_of_a_turned_page_stand_on_their_ink(tmp_path: Path, turn: int) -> None:
    (sheet,) = seen(turned_pdf(tmp_path, turn)).sheets
    assert (sheet.width, sheet.height) == (PAGE if turn % 180 == 0 else PAGE[::-1])
    assert_areas_hold_the_ink(sheet, [area.corners for area in sheet.blocks])


def test_text_that_runs_up_the_page_has_its_reading_start_at_its_lower_end(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        write_minutes(canvas)
        canvas.translate(550, 100)
        canvas.rotate(90)
        canvas.drawString(0, 0, "Printed along the margin of this page")

    inspection = seen(drawn(tmp_path / "margin.pdf", draw))
    (sheet,) = inspection.sheets
    assert_areas_hold_the_ink(sheet, [area.corners for area in sheet.blocks])
    (x, y), (_, end), *_ = sheet.blocks[-1].corners
    assert x == pytest.approx(540, abs=5) and y == pytest.approx(PAGE[1] - 100, abs=2) and end < y - 150


@pytest.mark.parametrize(("quarter", "skew"), [(0, 0.0), (0, 4.0), (180, -2.0), (270, 4.0)])
def test_blocks_and_words_of_a_turned_and_skewed_scan_stand_on_their_ink(
    tmp_path: Path, quarter: int, skew: float
) -> None:
    level = Image.open(scan_image(tmp_path / "scan.png"))
    skewed = level.rotate(skew, Image.Resampling.BICUBIC, fillcolor=255)
    skewed.rotate(quarter, expand=True).save(tmp_path / "turned.png", dpi=(200, 200))
    (sheet,) = seen(tmp_path / "turned.png").sheets
    assert_areas_hold_the_ink(sheet, [area.corners for area in sheet.blocks])
    assert_areas_hold_the_ink(sheet, [word.corners for word in sheet.words], 0.97)
    assert [word.text for word in sheet.words][:3] == ["The", "harbour", "board"]


def test_a_turned_picture_beside_text_has_its_words_where_it_has_them(tmp_path: Path) -> None:
    scan = Image.open(scan_image(tmp_path / "scan.png", size=(1400, 800)))
    side = scan.rotate(90, expand=True)

    def draw(canvas: Canvas) -> None:
        write_minutes(canvas)
        canvas.drawImage(ImageReader(side), 250, 100, 280, 490)

    inspection = seen(drawn(tmp_path / "mixed.pdf", draw))
    (sheet,) = inspection.sheets
    assert {area.block for area in sheet.blocks} == set(range(len(inspection.extraction.blocks)))  # type: ignore[union-attr]
    assert len(sheet.words) > 40
    assert_areas_hold_the_ink(sheet, [area.corners for area in sheet.blocks])
    assert_areas_hold_the_ink(sheet, [sheet.blocks[0].corners, *(word.corners for word in sheet.words)])


def test_a_paragraph_that_goes_on_in_the_next_column_has_an_area_in_each() -> None:
    inspection = seen(SAMPLES / "service-bulletin-31.pdf")
    (sheet,) = inspection.sheets
    assert inspection.extraction is not None
    (parted,) = {a.block for a in sheet.blocks if sum(b.block == a.block for b in sheet.blocks) == 2}
    block = inspection.extraction.blocks[parted]
    assert "The flow then falls by a tenth" in inspection.extraction.text[block.start : block.end]
    left, right = (area.corners for area in sheet.blocks if area.block == parted)
    assert left[1][0] < right[0][0] and right[2][1] < left[0][1]
    assert_areas_hold_the_ink(sheet, [area.corners for area in sheet.blocks])


def test_running_lines_are_marked_where_they_were_left_out() -> None:
    sheets = seen(SAMPLES / "spare-parts-catalogue.pdf").sheets
    header = "Tarnholm Pump Works - Spare parts catalogue 2023"
    assert [[line.text for line in sheet.left_out] for sheet in sheets] == [
        ["Page 1"],  # the first header of a short document stays
        [header, "Page 2"],
        [header, "Page 3"],
    ]
    for sheet in sheets:
        assert [line.corners[0][1] > sheet.height / 2 for line in sheet.left_out][-2:] in (
            [False, True],
            [True],
        )
        shown = [area.corners for area in sheet.blocks] + [line.corners for line in sheet.left_out]
        ink, mask = ink_of(sheet), mask_of(sheet, shown, 3.0)
        assert (ink & mask).sum() > 0.99 * ink.sum()


@pytest.mark.parametrize("name", ["spare-parts-catalogue.pdf", "service-file-34-0933.pdf"])
def test_a_sketch_changes_nothing_of_what_is_read(name: str) -> None:
    path, settings = SAMPLES / name, Settings()
    plain = extract(path, settings, quietly)
    sketch = Sketch(2, 2)
    assert extract(path, settings, quietly, sketch) == plain
    assert list(sketch.sheets) == [2] and sketch.sheets[2].blocks


@pytest.mark.parametrize("name", ["spare-parts-catalogue.pdf", "error-codes.html", "operator-handbook.md"])
@pytest.mark.parametrize("chunker", ["structural", "A"])
def test_every_character_is_shown_once_and_every_chunk_named_once(name: str, chunker: str) -> None:
    inspection = seen(SAMPLES / name, settings=Settings(chunker=chunker))
    text = inspection.extraction.text if inspection.extraction else ""
    runs = [run for leaf in leaves_of(inspection) for part in leaf.parts for run in part.runs]
    assert all(before.end <= run.start for before, run in pairwise(runs))
    shown = "".join(text[run.start : run.end] for run in runs)
    assert text and len(inspection.chunks) > 2
    assert "".join(shown.split()) == "".join(text.split())
    named = [run.chunk for run in runs if run.begins]
    assert list(dict.fromkeys(named)) == [one.ordinal for one in inspection.chunks]
    for run in runs:
        if run.chunk is not None:
            one = inspection.chunks[run.chunk]
            assert one.start <= run.start < run.end <= one.end
    page = page_of(inspection)
    for one in inspection.chunks:
        assert page.count(f"#char={one.start},{one.end}</code> {one.tokens} word-pieces") == 1
    assert "".join(words_of(page).split()) == "".join(text.split())


def test_chunks_are_those_of_the_chunker() -> None:
    settings = Settings()
    inspection = seen(SAMPLES / "operator-handbook.md")
    assert inspection.extraction is not None
    model = resolve_model(settings.model)
    count = WordPieces(model).count_many
    assert inspection.chunks == chunk(
        inspection.extraction, inspection.title, settings.chunker, count, model.window
    )
    assert all(one.tokens <= model.window for one in inspection.chunks)


def test_the_figures_are_counted_from_what_was_read() -> None:
    inspection = seen(SAMPLES / "service-file-34-0933.pdf")
    summary = summary_of(inspection)
    assert summary is not None and inspection.extraction is not None
    assert (summary.pages, summary.ocr_pages, summary.chunks) == (3, 1, len(inspection.chunks))
    scanned = inspection.extraction.pages[1]
    lettered = [sum(map(str.isalnum, text)) for text in _pages(inspection)]
    assert summary.ocr_share == pytest.approx(lettered[1] / sum(lettered), abs=0.01)
    assert summary.ocr_confidence == scanned.ocr_confidence
    assert [bool(sheet.words) for sheet in inspection.sheets] == [False, True, False]


def _pages(inspection: Inspection) -> list[str]:
    assert inspection.extraction is not None
    return [inspection.extraction.text[page.start : page.end] for page in inspection.extraction.pages]


def test_pages_outside_of_the_range_are_read_and_named_but_not_shown() -> None:
    part = seen(SAMPLES / "spare-parts-catalogue.pdf", 2, 2)
    assert part.extraction == seen(SAMPLES / "spare-parts-catalogue.pdf").extraction
    assert [sheet.number for sheet in part.sheets] == [2]
    assert [leaf.page.number for leaf in leaves_of(part) if leaf.page] == [2]
    assert other_pages(part) == (2, "3-3")
    assert "2 of 3 pages were read as well and not shown" in page_of(part)
    assert other_pages(seen(SAMPLES / "spare-parts-catalogue.pdf", 7, 9)) == (3, "1-3")
    assert other_pages(seen(SAMPLES / "spare-parts-catalogue.pdf", 3, 9)) == (2, "1-2")


def test_a_long_text_without_pages_is_cut_and_the_page_says_how_much_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("\n\n".join(f"Paragraph {number} of a long report." for number in range(9_000)))
    inspection = seen(path)
    page = page_of(inspection)
    assert inspection.extraction is not None
    length = len(inspection.extraction.text)
    (leaf,) = leaves_of(inspection)
    end = leaf.parts[-1].runs[-1].end
    assert SHOWN_CHARACTERS / 2 < end <= SHOWN_CHARACTERS < length
    assert f"{length - end:,} of {length:,} characters not shown" in page


def test_a_page_image_stays_small_whatever_the_size_of_the_page(tmp_path: Path) -> None:
    huge = drawn(tmp_path / "huge.pdf", write_minutes, (14_000.0, 9_000.0))
    (sheet,) = seen(huge).sheets
    image = Image.open(io.BytesIO(sheet.image))
    assert image.width * image.height <= IMAGE_PIXELS * 1.01
    small = Settings(limits=replace(Limits(), pixels=50_000))
    (sheet,) = seen(drawn(tmp_path / "page.pdf", write_minutes), settings=small).sheets
    image = Image.open(io.BytesIO(sheet.image))
    assert image.width * image.height <= 50_000 * 1.01


def test_a_picture_over_the_pixel_limit_is_not_drawn_and_the_page_says_why(tmp_path: Path) -> None:
    picture = Image.new("L", (900, 900), 200)

    def draw(canvas: Canvas) -> None:
        write_minutes(canvas)
        canvas.drawImage(ImageReader(picture), 250, 300, 20, 20)

    settings = Settings(limits=replace(Limits(), pixels=200_000))
    inspection = seen(drawn(tmp_path / "picture.pdf", draw), settings=settings)
    (sheet,) = inspection.sheets
    assert not sheet.image and "limits.pixels" in sheet.missing and sheet.blocks
    assert "No page image: page 1 holds an image of 810,000 pixels" in page_of(inspection)


def test_a_document_that_fails_shows_its_reason_and_the_pages_seen_until_then(tmp_path: Path) -> None:
    empty = drawn(tmp_path / "line.pdf", lambda canvas: canvas.rect(100, 300, 300, 200, fill=1))
    inspection = seen(empty)
    assert inspection.failure is not None and inspection.failure.kind == "unreadable"
    assert inspection.extraction is None and len(inspection.sheets) == 1 and inspection.sheets[0].image
    page = page_of(inspection)
    assert "Failed in extract" in page and "no text" in page and 'alt="Page 1"' in page
    locked = seen(SAMPLES / "purchase-contract-encrypted.pdf")
    assert locked.failure is not None and locked.failure.kind == "encrypted" and not locked.sheets
    assert "--decrypt" in page_of(locked)


def write_pdf(path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setTitle(HOSTILE)
        canvas.setFont("Helvetica", 8)
        canvas.drawString(30, 760, HOSTILE)
        for row in range(4):
            for column in range(3):
                canvas.rect(30 + 180 * column, 700 - 20 * row, 180, 20)
                canvas.drawString(34 + 180 * column, 706 - 20 * row, f"<svg onload=alert({row}{column})>")

    drawn(path, draw)


def write_text(content: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(content, encoding="utf-8")

    return write


DOCUMENTS: dict[str, Callable[[Path], None]] = {
    "a.pdf": write_pdf,
    "b.md": write_text(
        f"# {HOSTILE}\n\n{HOSTILE}\n\n```\n{HOSTILE}\n```\n\n| {HOSTILE} | b |\n| --- | --- |\n| 1 | 2 |\n"
    ),
    "c.csv": write_text(
        f'name,{HOSTILE.replace(",", "").replace(chr(34), "")}\n"<script>x</script>",javascript:alert(1)\n'
    ),
    "d.html": write_text(
        f"<title>{HOSTILE.replace('<', '&lt;')}</title><h1>{HOSTILE.replace('<', '&lt;')}</h1>"
        "<p>\u202eRight to left override \x01 &lt;iframe src=javascript:alert(3)&gt;</p>"
    ),
    "e.json": write_text(
        '{"<script>": "</div><script>alert(4)</script>", "\\u0000": "\\u202e <b onclick=x>"}'
    ),
    'f"><script>alert(5)<!--.txt': write_text("plain \x1b text --> ]]> <![CDATA[ <!-- <style>*{color:red}\n"),
}
ALLOWED = {
    "a",
    "b",
    "bdi",
    "body",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "g",
    "h1",
    "h2",
    "head",
    "header",
}
ALLOWED |= {
    "html",
    "i",
    "img",
    "input",
    "label",
    "li",
    "main",
    "meta",
    "nav",
    "p",
    "polygon",
    "rect",
    "section",
    "small",
    "span",
}
ALLOWED |= {"style", "svg", "text", "title", "ul"}


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_nothing_of_a_hostile_document_becomes_markup(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.replace("/", "")
    DOCUMENTS[name](path)
    inspection = seen(path)
    assert inspection.extraction is not None, inspection.failure
    page = page_of(inspection)
    tree = cast(Any, lxml.html.document_fromstring(page))
    for element in tree.iter():
        assert isinstance(element.tag, str) and element.tag in ALLOWED, element.tag
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on")
            if attribute in ("href", "src"):
                assert re.match(r"#[pxb]\d+$|data:image/webp;base64,[A-Za-z0-9+/=]+$", value), value[:80]
    assert len(tree.xpath("//style")) == len(tree.xpath("//head/title")) == 1
    assert not re.search(r"url\(|@import|https?:", tree.xpath("//style")[0].text)
    assert "default-src 'none'" in page.split("<title>")[0]
    shown = "".join(words_of(page).split())
    text = "".join(inspection.extraction.text.split())
    assert shown == text.replace("\x01", "\u2401").replace("\x1b", "\u241b")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page)


def test_the_confidence_of_a_line_is_the_mean_over_its_characters() -> None:
    words = (
        Word(0, 4, 90, line_start=True),
        Word(5, 7, 60),
        Word(8, 10, 40, line_start=True),
    )
    assert line_confidences(words) == [80.0, 40.0]
    assert line_confidences(()) == []


def test_each_line_of_a_scan_has_a_confidence() -> None:
    scan = Path(__file__).parents[3] / "samples" / "documents" / "inspection-report-scan.pdf"
    extraction = extract(scan, Settings(), lambda _page: None)
    lines = line_confidences(extraction.words)
    assert 8 <= len(lines) < len(extraction.words) / 2
    assert all(50 < confidence <= 100 for confidence in lines)
