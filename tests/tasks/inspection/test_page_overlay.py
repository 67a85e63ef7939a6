"""Areas on one page of a PDF, found without reading the others."""

from collections.abc import Callable
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from pincite.tasks.extraction.pdf.page_record import Corners, Sketch
from pincite.tasks.inspection.page_overlay import OverlayOrder, overlay
from tests.tasks.pdf_files import drawn

SETTINGS = Settings()


def report(pages: int) -> Callable[[Canvas], None]:
    """Each page with a running header, a heading and two paragraphs of its own."""

    def draw(canvas: Canvas) -> None:
        for number in range(1, pages + 1):
            canvas.setFont("Helvetica", 9)
            canvas.drawString(72, 800, "Report of the ferry company")
            for place, words in enumerate(("first", "second")):
                for line in range(3):
                    canvas.setFont("Helvetica", 12)
                    text = f"Line {line} of the {words} paragraph of sheet {number} of the minutes."
                    canvas.drawString(72, 700 - 120 * place - 16 * line, text)
            if number < pages:
                canvas.showPage()

    return draw


def covers(outer: Corners, inner: Corners) -> bool:
    """Whether a box holds another, give or take 3 points."""
    (x0, top), _, (x1, bottom), _ = outer
    return all(x0 - 3 <= x <= x1 + 3 and top - 3 <= y <= bottom + 3 for x, y in inner)


def test_blocks_stand_where_extraction_found_them(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.pdf", report(6))
    sketch = Sketch(4, 4)
    extraction = extract(path, SETTINGS, lambda page: None, sketch)
    page = extraction.pages[3]
    blocks = tuple((n, one) for n, one in enumerate(extraction.blocks) if page.start <= one.start < page.end)
    order = OverlayOrder(path, SETTINGS, page, extraction.text[page.start : page.end], blocks, ())
    read: list[int | None] = []
    found, there = overlay(order, lambda stage, number: read.append(number)), sketch.sheets[4]
    assert found and found.image == there.image and read == [4]
    assert [one.block for one in found.blocks] == [one.block for one in there.blocks] and len(blocks) > 1
    for mine, theirs in zip(found.blocks, there.blocks, strict=True):
        assert covers(mine.corners, theirs.corners) and covers(theirs.corners, mine.corners)
    left = " ".join(one.text for one in there.left_out)
    assert " ".join(one.text for one in found.left_out) == left and "Report of the ferry company" in left


@pytest.mark.parametrize("number", [7, 99])
def test_a_page_that_the_file_does_not_have_is_none(tmp_path: Path, number: int) -> None:
    path = drawn(tmp_path / "a.pdf", report(2))
    page = extract(path, SETTINGS, lambda page: None).pages[0]
    beyond = type(page)(**{name: getattr(page, name) for name in page.__slots__} | {"number": number})
    assert overlay(OverlayOrder(path, SETTINGS, beyond, "", (), ()), lambda stage, page: None) is None
