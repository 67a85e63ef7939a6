"""The words of a passage on the images of its pages."""

from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from pincite.schemas.errors import DocumentError
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from pincite.tasks.inspection.passage_pages import PassageOrder, PassagePage, see
from tests.tasks.pdf_files import MINUTES, PAGE, drawn, scan_image

SETTINGS = Settings()


def opened(path: Path, words: str) -> tuple[tuple[PassagePage, ...], Extraction]:
    """The pages on which `words` stand, and the extraction."""
    extraction = extract(path, SETTINGS, lambda page: None)
    start = extraction.text.index(words)
    end = start + len(words)
    pages = tuple(page for page in extraction.pages if page.start < end and page.end > start)
    order = PassageOrder(
        path,
        extraction.media_type,
        SETTINGS,
        pages,
        extraction.text[pages[0].start : pages[-1].end],
        pages[0].start,
        start,
        end,
    )
    return see(order, lambda stage, page: None), extraction


def boxes(page: PassagePage) -> list[tuple[float, float]]:
    """The upper left corner of the text in each marked box, rounded to points."""
    return sorted((round(corners[0][0]), round(corners[0][1])) for corners in page.marked)


def lines(*texts: str, x: float = 72, y: float = 700) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 12)
        for number, text in enumerate(texts):
            canvas.drawString(x, y - 16 * number, text)

    return draw


def test_only_the_words_of_the_passage_are_marked(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.pdf", lines(*MINUTES))
    (page,), _ = opened(path, "the ferry would run")
    assert (page.number, page.width, page.height, page.missing) == (1, *PAGE, "")
    assert len(page.marked) == 4 and page.image
    tops = {round(corners[0][1]) for corners in page.marked}
    assert all(abs(top - (842 - 684 - 10)) < 4 for top in tops)


def test_repeated_words_are_marked_only_where_the_passage_stands(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.pdf", lines("wait wait wait stop", "wait wait wait go", "wait wait wait end"))
    (page,), extraction = opened(path, "wait go")
    assert len(page.marked) == 2 and len({corners[0][1] for corners in page.marked}) == 1
    assert extraction.text.count("wait") == 9


def test_a_word_parted_at_the_end_of_a_line_is_marked_whole(tmp_path: Path) -> None:
    path = drawn(
        tmp_path / "a.pdf",
        lines(
            "The board of the harbour spoke about the inter-",
            "national ferry and about its fares in the winter",
            "months and then it went home after midnight.",
        ),
    )
    (page,), extraction = opened(path, "the international ferry")
    assert "international" in extraction.text and len(page.marked) == 4


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_page_that_is_turned_is_marked_as_it_is_shown(tmp_path: Path, rotation: int) -> None:
    path = drawn(tmp_path / "a.pdf", lines(*MINUTES))
    with pikepdf.open(path, allow_overwriting_input=True) as pdf:
        pdf.pages[0].Rotate = rotation
        pdf.save(path)
    (page,), _ = opened(path, "Nobody spoke against")
    assert (page.width, page.height) == (PAGE if rotation % 180 == 0 else PAGE[::-1])
    assert len(page.marked) == 3
    x, y = page.marked[0][0]
    assert 0 <= x <= page.width and 0 <= y <= page.height
    expected = {0: (72, 163), 90: (679, 72), 180: (523, 679), 270: (163, 523)}[rotation]
    assert abs(x - expected[0]) < 6 and abs(y - expected[1]) < 6


def test_columns_are_marked_in_their_own_column(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        for x, word in ((72, "left"), (330, "right")):
            lines(*(f"the {word} column has its line {n} here and" for n in range(20)), x=x)(canvas)

    (page,), _ = opened(drawn(tmp_path / "a.pdf", draw), "the right column has its line 7 here and")
    assert len(page.marked) == 9 and all(corners[0][0] > 300 for corners in page.marked)


def test_a_passage_over_two_pages_is_marked_on_both(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"), pagesize=PAGE, invariant=True)
    for number in (1, 2):
        lines(f"Page {number} begins here.", f"Page {number} ends here.")(canvas)
        canvas.showPage()
    canvas.save()
    extraction = extract(tmp_path / "a.pdf", SETTINGS, lambda page: None)
    first, last = extraction.text.index("Page 1 ends"), extraction.text.index("Page 2 begins")
    pages, _ = opened(tmp_path / "a.pdf", extraction.text[first : last + len("Page 2 begins")])
    assert [(page.number, len(page.marked)) for page in pages] == [(1, 4), (2, 3)]


@pytest.mark.parametrize("turn", [0, 90])
def test_the_words_of_a_scan_are_marked(tmp_path: Path, turn: int) -> None:
    path = scan_image(tmp_path / "a.png")
    with Image.open(path) as image:
        image.rotate(turn, expand=True).save(path, dpi=(200, 200))
    (page,), _ = opened(path, "Nobody spoke against the motion")
    assert 4 <= len(page.marked) <= 6
    assert page.image and (page.width > page.height) == (turn == 90)


def test_a_file_that_is_damaged_is_a_document_error(tmp_path: Path) -> None:
    path = drawn(tmp_path / "a.pdf", lines(*MINUTES))
    extraction = extract(path, SETTINGS, lambda page: None)
    path.write_bytes(b"%PDF-1.7\n")
    order = PassageOrder(path, extraction.media_type, SETTINGS, extraction.pages, extraction.text, 0, 0, 5)
    with pytest.raises(DocumentError):
        see(order, lambda stage, page: None)
