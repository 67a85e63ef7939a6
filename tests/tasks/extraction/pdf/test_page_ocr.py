"""Pages of a PDF whose text can't be used as it is: scans, garbled fonts, hidden layers, pictures with text."""

import re
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfgen.canvas import Canvas

from pincite.schemas.errors import LimitExceeded, Unreadable
from pincite.schemas.settings import Limits, Ocr, Settings
from tests.tasks.extracted import codes, message, places
from tests.tasks.pdf_files import FONTS, MINUTES, PAGE, drawn, read, scan_image, unicode_font

READ = " ".join(MINUTES * 3)


def put(canvas: Canvas, image: Path) -> None:
    canvas.drawImage(str(image), 0, 0, *PAGE)


def test_a_scan_is_read_with_the_confidence_of_each_word(tmp_path: Path) -> None:
    image = scan_image(tmp_path / "a.png")
    extraction = read(drawn(tmp_path / "a.pdf", lambda canvas: put(canvas, image)))
    assert extraction.text == READ
    assert [extraction.text[w.start : w.end] for w in extraction.words] == READ.split()
    (page,) = extraction.pages
    assert page.ocr
    assert page.ocr_confidence is not None
    assert page.ocr_confidence > 85


def test_each_page_of_a_mixed_file_gives_its_text_once(tmp_path: Path) -> None:
    image = scan_image(tmp_path / "a.png")
    Image.open(image).crop((100, 150, 1500, 800)).save(tmp_path / "clip.png")

    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "A digital page comes first.")
        canvas.showPage()
        put(canvas, image)
        canvas.drawString(72, 820, "Stamped 17 March")
        canvas.showPage()
        canvas.drawString(72, 800, "Digital text above a clipping.")
        canvas.drawImage(str(tmp_path / "clip.png"), 72, 500, 450, 209)
        canvas.drawString(72, 450, "Digital text below the clipping.")

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert [page.ocr for page in extraction.pages] == [False, True, True]
    on = {label: re.sub(r"\s+", " ", text) for label, text in places(extraction).items()}
    assert on["1"] == "A digital page comes first."
    assert on["2"] == f"Stamped 17 March {READ}"
    assert on["3"] == f"Digital text above a clipping. {READ} Digital text below the clipping."


def test_a_hidden_layer_under_a_scan_is_not_believed(tmp_path: Path) -> None:
    image = scan_image(tmp_path / "a.png")

    def draw(canvas: Canvas) -> None:
        text = canvas.beginText(72, 720)
        text.setTextRenderMode(3)
        text.textOut("Wrong layer of an older reading")
        canvas.drawText(text)
        put(canvas, image)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert extraction.text == READ
    assert "Wrong layer" in message(extraction, "hidden-text")


def garbled(path: Path, shown: str) -> Path:
    """A file whose font says that its signs are private-use characters."""

    def draw(canvas: Canvas) -> None:
        unicode_font(canvas, 14)
        canvas.drawString(72, 700, shown)

    with pikepdf.open(drawn(path, draw)) as pdf:
        for item in pdf.objects:
            if isinstance(item, pikepdf.Dictionary) and "/ToUnicode" in item:
                table = item.ToUnicode.read_bytes()
                item.ToUnicode.write(re.sub(rb"<00(..)>(?=\s*$)", rb"<E0\1>", table, flags=re.MULTILINE))
        pdf.save(path.with_suffix(".garbled.pdf"))
    return path.with_suffix(".garbled.pdf")


def test_private_use_characters_send_the_page_to_ocr(tmp_path: Path) -> None:
    extraction = read(garbled(tmp_path / "a.pdf", MINUTES[0]))
    assert extraction.text == MINUTES[0]
    assert "garbled" in codes(extraction)


def test_garbled_text_of_which_ocr_reads_nothing_fails_with_that_reason(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="garbled"):
        read(garbled(tmp_path / "a.pdf", " ."))


def test_a_page_with_much_ink_and_no_words_is_a_warning(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "The map follows.")
        canvas.showPage()
        canvas.circle(300, 400, 150, fill=1)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert extraction.text == "The map follows."
    assert [w.page for w in extraction.warnings if w.code == "unread"] == [2]


def test_a_file_of_empty_pages_fails_with_no_text(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no text"):
        read(drawn(tmp_path / "a.pdf", lambda canvas: None))


def test_a_picture_without_writing_costs_no_ocr(tmp_path: Path) -> None:
    Image.linear_gradient("L").resize((800, 800)).save(tmp_path / "photo.png")

    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 800, "A photograph of the pier.")
        canvas.drawImage(str(tmp_path / "photo.png"), 72, 300, 400, 400)

    assert not read(drawn(tmp_path / "a.pdf", draw)).pages[0].ocr


def test_a_picture_on_a_page_of_text_is_read_only_where_the_settings_say_so(tmp_path: Path) -> None:
    image = scan_image(tmp_path / "a.png", size=(1200, 900))

    def draw(canvas: Canvas) -> None:
        for row in range(12):
            canvas.drawString(72, 800 - 16 * row, f"Paragraph {row} of a page with text of its own.")
        canvas.drawImage(str(image), 72, 200, 400, 300)

    path = drawn(tmp_path / "a.pdf", draw)
    plain, asked = read(path), read(path, replace(Settings(), ocr=Ocr(pictures=True)))
    assert "pictures-unread" in codes(plain) and not plain.pages[0].ocr and "harbour" not in plain.text
    assert "pictures-unread" not in codes(asked) and asked.pages[0].ocr and "harbour" in asked.text


def test_a_scan_is_read_at_its_own_resolution(tmp_path: Path) -> None:
    """A card of 150 × 105 points with type of 4 points: at 200 dpi nobody can read it."""
    image = Image.new("L", (1250, 875), 255)
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype(str(FONTS / "DejaVuSans.ttf"), 33)
    for number, line in enumerate(MINUTES * 3):
        draw.text((40, 60 + 84 * number), line, 0, font)
    image.save(tmp_path / "card.png")
    path = tmp_path / "card.pdf"
    drawn(path, lambda canvas: canvas.drawImage(str(tmp_path / "card.png"), 0, 0, 150, 105), (150, 105))
    assert " ".join(read(path).text.split()) == " ".join(MINUTES * 3)


def test_pixels_are_limited_before_a_page_is_rendered(tmp_path: Path) -> None:
    image = scan_image(tmp_path / "a.png")
    path = drawn(tmp_path / "a.pdf", lambda canvas: put(canvas, image))
    small = Settings(limits=replace(Limits(), pixels=1_000_000))
    assert "low-resolution" in codes(read(path, small))
    with pytest.raises(LimitExceeded, match=r"limits\.pixels"):
        read(path, Settings(limits=replace(Limits(), pixels=100_000)))
    huge = drawn(tmp_path / "b.pdf", lambda canvas: canvas.circle(7000, 7000, 5000, fill=1), (14400, 14400))
    with pytest.raises(LimitExceeded, match=r"200 × 200 inches"):
        read(huge)


def test_a_font_that_shuffles_its_letters_is_found_out(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        unicode_font(canvas, 12)
        for number, line in enumerate(MINUTES * 3):
            canvas.drawString(72, 750 - 16 * number, line)

    def shifted(match: re.Match[bytes]) -> bytes:
        code = int(match[1], 16)
        return b"<00%02X>" % (0x61 + (code - 0x61 + 3) % 26 if 0x61 <= code <= 0x7A else code)

    with pikepdf.open(drawn(tmp_path / "a.pdf", draw)) as pdf:
        for item in pdf.objects:
            if isinstance(item, pikepdf.Dictionary) and "/ToUnicode" in item:
                table = item.ToUnicode.read_bytes()
                item.ToUnicode.write(re.sub(rb"<00(..)>(?=\s*$)", shifted, table, flags=re.MULTILINE))
        pdf.save(tmp_path / "b.pdf")
    extraction = read(tmp_path / "b.pdf")
    assert extraction.text == READ
    assert "garbled" in codes(extraction)
