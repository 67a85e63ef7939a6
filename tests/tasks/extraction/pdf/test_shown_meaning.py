"""What a page shows and its words alone do not say: raised, lowered and struck signs, layers that are off."""

from pathlib import Path

import pikepdf
import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.tasks.extracted import message
from tests.tasks.pdf_files import drawn, read, unicode_font


def signs(canvas: Canvas, pieces: list[tuple[str, float, float]], size: float = 12, y: float = 700) -> None:
    """Pieces of one line, each with its rise and its size as shares of the type size."""
    text = canvas.beginText(72, y)
    for words, rise, share in pieces:
        text.setFont("Helvetica", size * share)
        text.setRise(rise * size)
        text.textOut(words)
    canvas.drawText(text)


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        ([("up to 10", 0, 1), ("6", 0.35, 0.6), (" cycles", 0, 1)], "up to 10^6 cycles"),
        ([("up to 10", 0, 1), ("-3", 0.35, 0.65), (" bar", 0, 1)], "up to 10^-3 bar"),
        ([("an area of 12 m", 0, 1), ("2", 0.3, 0.6), (" each", 0, 1)], "an area of 12 m² each"),
        ([("water is H", 0, 1), ("2", -0.15, 0.6), ("O here", 0, 1)], "water is H₂O here"),
        ([("the pump", 0, 1), ("1", 0.35, 0.6), (" is old", 0, 1)], "the pump^1 is old"),
        ([("the 1", 0, 1), ("st", 0.35, 0.6), (" of May", 0, 1)], "the 1st of May"),
        ([("SMALL ", 0, 1), ("C", 0, 1), ("APITALS", 0, 0.75), (" 106", 0, 1)], "SMALL CAPITALS 106"),
        ([("plain 106 words", 0, 1), (" and small print", 0, 0.7)], "plain 106 words and small print"),
    ],
)
def test_raised_and_lowered_signs_keep_their_meaning(
    tmp_path: Path, pieces: list[tuple[str, float, float]], wanted: str
) -> None:
    assert read(drawn(tmp_path / "a.pdf", lambda canvas: signs(canvas, pieces))).text.strip() == wanted


def line_through(canvas: Canvas, words: str, y: float, at: float = 3.6) -> None:
    """Words in 12 points with a line over all of them, `at` points above the baseline."""
    canvas.setFont("Helvetica", 12)
    canvas.drawString(72, y, words)
    canvas.setLineWidth(0.7)
    canvas.line(72, y + at, 72 + canvas.stringWidth(words, "Helvetica", 12), y + at)


def test_words_with_a_line_through_them_are_marked_and_told(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        line_through(canvas, "The price is 4,100 euro.", 700)
        canvas.drawString(72, 680, "The price is 5,300 euro.")
        line_through(canvas, "Underlined words are current.", 660, at=-1.5)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert "~~The price is 4,100 euro.~~" in extraction.text
    assert extraction.text.count("~~") == 2
    assert "4,100" in message(extraction, "struck-text")


def test_rules_of_a_table_and_of_the_page_strike_nothing(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 12)
        for row in range(4):
            for column in range(3):
                canvas.drawString(76 + 100 * column, 700 - 20 * row, f"cell {row}{column}")
        for row in range(5):
            canvas.line(72, 714 - 20 * row, 372, 714 - 20 * row)
        canvas.line(40, 503.6, 555, 503.6)  # from edge to edge, through a short word
        canvas.drawString(280, 500, "oo")

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert "~~" not in extraction.text and "struck-text" not in {one.code for one in extraction.warnings}


def test_a_strikeout_annotation_marks_its_words(tmp_path: Path) -> None:
    path = drawn(tmp_path / "plain.pdf", lambda canvas: canvas.drawString(72, 700, "old words and new words"))
    with pikepdf.open(path) as pdf:
        mark = pikepdf.Dictionary(
            Type=pikepdf.Name.Annot,
            Subtype=pikepdf.Name.StrikeOut,
            Rect=[72, 697, 128, 712],
            QuadPoints=[72, 712, 128, 712, 72, 697, 128, 697],
        )
        pdf.pages[0].Annots = pdf.make_indirect(pikepdf.Array([pdf.make_indirect(mark)]))
        pdf.save(tmp_path / "a.pdf")
    assert "~~old words~~ and new words" in read(tmp_path / "a.pdf").text


@pytest.mark.parametrize(("base", "shown"), [("/ON", False), ("/OFF", False), (None, True)])
def test_the_text_of_a_layer_that_is_off_is_left_out_and_told(
    tmp_path: Path, base: str | None, shown: bool
) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "Words of the page 8801.")
        canvas._code.append("/OC /MC0 BDC")
        canvas.drawString(72, 680, "Switched off words 8802.")
        canvas._code.append("EMC")

    with pikepdf.open(drawn(tmp_path / "plain.pdf", draw)) as pdf:
        group = pdf.make_indirect(pikepdf.Dictionary(Type=pikepdf.Name.OCG, Name="Draft ü"))
        pdf.pages[0].Resources.Properties = pikepdf.Dictionary(MC0=group)
        default = pikepdf.Dictionary() if base is None else pikepdf.Dictionary(BaseState=pikepdf.Name(base))
        if base == "/ON":
            default.OFF = pikepdf.Array([group])
        pdf.Root.OCProperties = pikepdf.Dictionary(OCGs=pikepdf.Array([group]), D=default)
        pdf.save(tmp_path / "a.pdf")
    extraction = read(tmp_path / "a.pdf")
    assert "8801" in extraction.text and ("8802" in extraction.text) is shown
    told = [one.message for one in extraction.warnings if one.code == "hidden-text"]
    assert shown is not bool(told) and all("layer off" in one for one in told)


def test_numbers_of_invoices_stay_findable(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"), invariant=True)
    for number in range(4711, 4719):
        canvas.drawString(72, 800, f"Invoice {number}")
        canvas.drawString(72, 780, "Works of Tarnholm")
        unicode_font(canvas)
        for row in range(12):
            canvas.drawString(72, 700 - 20 * row, f"Position {row} of the work done in {number * (row + 7)}.")
        canvas.drawString(280, 40, f"Page {number - 4710}")
        canvas.showPage()
    canvas.save()
    text = read(tmp_path / "a.pdf").text
    assert all(f"Invoice {number}" in text for number in range(4711, 4719))
    assert "Works of Tarnholm" not in text and "Page 3" not in text
