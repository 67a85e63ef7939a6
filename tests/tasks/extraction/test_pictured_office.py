"""Scans that were pasted into Word or PowerPoint are read by OCR; illustrations of a text are not."""

import io
from pathlib import Path

import docx
import pptx
import pytest
from PIL import Image, ImageDraw, ImageFont
from pptx.util import Inches

from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from tests.tasks.extracted import codes, places


@pytest.fixture(scope="module")
def scan() -> bytes:
    image = Image.new("L", (1100, 420), 255)
    drawing = ImageDraw.Draw(image)
    for number, line in enumerate(
        ("Delivery note 4471", "The seal of the pump was replaced", "on the fifth of March.")
    ):
        drawing.text((60, 60 + 100 * number), line, 0, ImageFont.load_default(52))
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def test_a_scan_in_a_document_is_read(scan: bytes, tmp_path: Path) -> None:
    document = docx.Document()
    document.add_picture(io.BytesIO(scan))
    document.save(str(tmp_path / "a.docx"))
    extraction = extract(tmp_path / "a.docx", Settings(), lambda page: None)
    assert "Delivery note 4471" in extraction.text
    assert "seal of the pump" in places(extraction)["image1.png"]
    assert extraction.words
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Note"
    slide.shapes.add_picture(io.BytesIO(scan), Inches(1), Inches(1))
    deck.save(str(tmp_path / "a.pptx"))
    slides = extract(tmp_path / "a.pptx", Settings(), lambda page: None)
    assert slides.text.startswith("## Note\n\n") and "Delivery note 4471" in slides.text


def test_a_picture_beside_a_text_is_named(scan: bytes, tmp_path: Path) -> None:
    document = docx.Document()
    document.add_paragraph("The pump stands in the cellar of the house and runs at night. " * 12)
    document.add_picture(io.BytesIO(scan))
    document.save(str(tmp_path / "a.docx"))
    extraction = extract(tmp_path / "a.docx", Settings(), lambda page: None)
    assert "4471" not in extraction.text and "embedded-image" in codes(extraction)
