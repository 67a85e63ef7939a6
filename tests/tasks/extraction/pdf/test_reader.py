"""PDF extraction on files with known truth: text, order, structure, what lies beside the text."""

from collections import Counter
from pathlib import Path

import pikepdf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pikepdf import Array, Dictionary, Name
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from benchmarks.extraction import order, text_error, words_of
from benchmarks.pdf_files import KINDS, make, running
from pincite.schemas.settings import Settings
from tests.tasks.extracted import codes, message, places
from tests.tasks.pdf_files import drawn, kinds, read, unicode_font

TEXT_KINDS = [kind for kind in KINDS if "table" not in kind and "ruled" not in kind and "cells" not in kind]


@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_every_block_is_read_whole_and_in_order(tmp_path: Path, kind: str) -> None:
    for seed in (1, 2):
        truth = make(tmp_path / "a.pdf", seed, KINDS[kind])
        text = read(tmp_path / "a.pdf").text
        assert order(text, truth) == 1.0
        assert text_error(text, truth) <= 0.005


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(sorted(KINDS)))
def test_no_visible_word_is_dropped_or_added(tmp_path: Path, seed: int, kind: str) -> None:
    truth = make(tmp_path / "a.pdf", seed, KINDS[kind])
    read_words = Counter("".join(words_of(read(tmp_path / "a.pdf").text)))
    expected = Counter("".join(words_of(truth.text)))
    assert sum(((read_words - expected) + (expected - read_words)).values()) <= 0.005 * sum(expected.values())


def test_running_lines_and_page_numbers_stay_out_and_headings_stay(tmp_path: Path) -> None:
    truth = make(tmp_path / "a.pdf", 3, running(4))
    extraction = read(tmp_path / "a.pdf")
    assert "Proceedings" not in extraction.text
    assert "Page 2" not in extraction.text
    assert kinds(extraction, "heading") == truth.headings
    assert "Proceedings of the harbour board" in message(extraction, "running-lines")


def test_hyphens_of_line_ends_go_and_those_of_compounds_stay(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        lines = ("The committee meas-", "ured the well-known state-of-the-", "art signal of the well-",
                 "known harbour from 2019-", "2020 with Jean-", "Paul and others of the board.")  # fmt: skip
        for number, line in enumerate(lines):
            canvas.drawString(72, 700 - 14 * number, line)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert extraction.text == (
        "The committee measured the well-known state-of-the-art signal of the well-known harbour from "
        "2019-2020 with Jean-Paul and others of the board."
    )


def test_ligatures_are_spelled_out(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        unicode_font(canvas)
        canvas.drawString(72, 700, "The o\ufb03ce \ufb01nds a \ufb02ow of e\ufb00ects")

    assert read(drawn(tmp_path / "a.pdf", draw)).text == "The office finds a flow of effects"


@pytest.mark.parametrize("size", [4.0, 7.0, 12.0, 40.0])
def test_words_without_spaces_between_them_are_parted(tmp_path: Path, size: float) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        x = 40.0
        for word in ("glued", "words", "stand", "here"):
            canvas.drawString(x, 700, word)
            x += canvas.stringWidth(word) + 0.22 * size

    assert read(drawn(tmp_path / "a.pdf", draw)).text == "glued words stand here"


def test_letter_spaced_words_are_put_together(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        text = canvas.beginText(72, 700)
        text.setCharSpace(4)
        text.textOut("ANNUAL REPORT OF THE BOARD")
        canvas.drawText(text)

    assert read(drawn(tmp_path / "a.pdf", draw)).text == "ANNUAL REPORT OF THE BOARD"


def test_text_drawn_twice_to_look_bold_is_read_once(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        for shift in (0.0, 0.3):
            canvas.drawString(72 + shift, 700, "Printed twice, balloon of wool")
        for number, letter in enumerate("balloon"):
            for shift in (0.0, 0.3):
                canvas.drawString(72 + number * 6.8 + shift, 680, letter)

    text = read(drawn(tmp_path / "a.pdf", draw)).text
    assert text.startswith("Printed twice, balloon of wool")
    assert text.removeprefix("Printed twice, balloon of wool").replace(" ", "") == "balloon"


def test_hebrew_is_read_in_logical_order_with_its_numbers_and_latin_words(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        unicode_font(canvas)
        # As a printer puts it on paper: Hebrew from right to left, the number and the Latin words not.
        canvas.drawRightString(
            500, 700, "בקובץ PDF reader עם 2024 תנשב ךמסמ"[::1].replace("בקובץ", "ץבוקב").replace("עם", "םע")
        )

    assert read(drawn(tmp_path / "a.pdf", draw)).text == "מסמך בשנת 2024 עם PDF reader בקובץ"


def test_arabic_presentation_forms_become_letters(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        unicode_font(canvas)
        canvas.drawRightString(500, 700, "\ufee1\ufefc\ufeb3")

    assert read(drawn(tmp_path / "a.pdf", draw)).text == "سلام"


def test_chinese_lines_are_joined_without_spaces(tmp_path: Path) -> None:
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))

    def draw(canvas: Canvas) -> None:
        canvas.setFont("STSong-Light", 12)
        canvas.drawString(72, 700, "床前明月光。疑是地上霜。举头望明月。")
        canvas.drawString(72, 685, "低头思故乡。")

    assert read(drawn(tmp_path / "a.pdf", draw)).text == "床前明月光。疑是地上霜。举头望明月。低头思故乡。"


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_turned_page_reads_like_an_upright_one(tmp_path: Path, rotation: int) -> None:
    truth = make(tmp_path / "a.pdf", 5, KINDS["two columns"])
    with pikepdf.open(tmp_path / "a.pdf") as pdf:
        pdf.pages[0].Rotate = rotation
        pdf.save(tmp_path / "b.pdf")
    extraction = read(tmp_path / "b.pdf")
    assert order(extraction.text, truth) == 1.0
    sideways = rotation in (90, 270)
    assert (extraction.pages[0].width > extraction.pages[0].height) == sideways


def test_hidden_text_is_marked_and_kept_out_unless_asked_for(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "Everybody sees this.")
        text = canvas.beginText(72, 680)
        text.setTextRenderMode(3)
        text.textOut("Invisible command")
        text.setTextRenderMode(0)
        canvas.drawText(text)
        canvas.setFillGray(1)
        canvas.drawString(72, 660, "White command")
        canvas.setFillColorRGB(0, 0, 0.4)
        canvas.rect(72, 600, 300, 30, fill=1)
        canvas.setFillGray(1)
        canvas.drawString(80, 610, "White on blue is seen.")
        canvas.setFillGray(0)
        canvas.drawString(700, 500, "Outside command")
        canvas.setFont("Helvetica", 1)
        canvas.drawString(72, 560, "Tiny command")

    path = drawn(tmp_path / "a.pdf", draw)
    extraction = read(path)
    assert extraction.text == "Everybody sees this.\n\nWhite on blue is seen."
    assert all(
        word in message(extraction, "hidden-text") for word in ("invisible", "white", "tiny", "outside")
    )
    everything = read(path, Settings(include_hidden_text=True)).text
    assert all(word in everything for word in ("Invisible", "White command", "Tiny", "Outside"))


def test_form_fields_notes_and_attachments_are_not_lost(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 700, "Application to the board.")
        canvas.acroForm.textfield(name="surname", value="Lindqvist", x=72, y=650, width=200, height=20)
        canvas.acroForm.checkbox(name="resident", checked=True, x=72, y=620)
        canvas.acroForm.checkbox(name="refused", checked=False, x=72, y=590)

    with pikepdf.open(drawn(tmp_path / "a.pdf", draw)) as pdf:
        note = Dictionary(
            Type=Name.Annot, Subtype=Name.Text, Rect=Array([300, 600, 320, 620]), Contents="Ask the clerk"
        )
        pdf.pages[0].Annots.append(pdf.make_indirect(note))
        pdf.attachments["ledger.csv"] = pikepdf.AttachedFileSpec(pdf, b"a,b\n", filename="ledger.csv")
        pdf.save(tmp_path / "b.pdf")
    extraction = read(tmp_path / "b.pdf")
    assert (
        extraction.text
        == "Application to the board.\n\nsurname: Lindqvist\n\nresident: Yes\n\nNote: Ask the clerk"
    )
    assert "ledger.csv" in message(extraction, "attachment")


def test_the_outline_gives_headings_and_levels(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        for y, title, level in ((700, "Part one", 0), (640, "First matter", 1), (580, "Part two", 0)):
            canvas.bookmarkPage(title)
            canvas.addOutlineEntry(title, title, level)
            canvas.drawString(72, y, title)
            canvas.drawString(72, y - 30, "The board heard the report and put it aside.")

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert [(b.title, b.level) for b in extraction.blocks if b.kind == "heading"] == [
        ("Part one", 1),
        ("First matter", 2),
        ("Part two", 1),
    ]


def test_larger_and_bold_type_make_headings_and_the_largest_the_title(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        for y, font, size, text in (
            (780, "Helvetica-Bold", 22, "Annual report"),
            (740, "Helvetica-Bold", 14, "Ferries"),
            (720, "Helvetica-Bold", 10, "Winter service"),
            (706, "Helvetica", 10, "The ferry ran on every day of the winter but two."),
            (690, "Helvetica", 10, "No other vessel was hired, and no passenger was lost."),
        ):
            canvas.setFont(font, size)
            canvas.drawString(72, y, text)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert extraction.title == "Annual report"
    headings = [(b.title, b.level) for b in extraction.blocks if b.kind == "heading"]
    assert headings == [("Annual report", 1), ("Ferries", 2), ("Winter service", 3)]


def test_the_title_in_the_metadata_wins_unless_a_program_made_it_up(tmp_path: Path) -> None:
    make(tmp_path / "a.pdf", 1, KINDS["single column"], title="Report of 1913")
    assert read(tmp_path / "a.pdf").title == "Report of 1913"
    make(tmp_path / "a.pdf", 1, KINDS["single column"], title="Microsoft Word - draft3.doc")
    assert read(tmp_path / "a.pdf").title == "A single column of text"


def test_a_paragraph_goes_on_in_the_next_column(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        left = [
            "The board of the harbour heard the",
            "report of its clerk about the ferry",
            "and then decided in a long sit-",
        ]
        right = [
            "ting that it would run in winter too,",
            "which pleased the people of the north",
            "pier and the owners of the company.",
        ]
        for x, lines in ((72, left), (320, right)):
            for number, line in enumerate(lines):
                canvas.drawString(x, 700 - 14 * number, line)

    assert read(drawn(tmp_path / "a.pdf", draw)).text == (
        "The board of the harbour heard the report of its clerk about the ferry and then decided in a long "
        "sitting that it would run in winter too, which pleased the people of the north pier and the owners "
        "of the company."
    )


def test_a_word_parted_over_two_pages_stands_whole_on_the_first(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 80, "The board heard the report and meas-")
        canvas.showPage()
        canvas.drawString(72, 780, "ured the depth of the harbour.")

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert list(places(extraction).values()) == [
        "The board heard the report and measured",
        "the depth of the harbour.",
    ]


def test_bullets_are_blocks_of_their_own(tmp_path: Path) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 740, "The board decided this:")
        for y, bullet, text in (
            (724, "\u2022", "the ferry runs in winter and the"),
            (710, "", "crew is paid for it,"),
            (696, "\u2022", "nobody pays more."),
        ):
            canvas.drawString(84, y, bullet)
            canvas.drawString(98, y, text)

    extraction = read(drawn(tmp_path / "a.pdf", draw))
    assert kinds(extraction, "list") == [
        "• the ferry runs in winter and the crew is paid for it,",
        "• nobody pays more.",
    ]


def test_progress_names_each_page_before_it_is_read(tmp_path: Path) -> None:
    make(tmp_path / "a.pdf", 1, running(3))
    from pincite.tasks.extraction.pdf.reader import extract_pdf

    pages: list[int] = []
    extract_pdf(tmp_path / "a.pdf", Settings(), pages.append)
    assert pages == [1, 2, 3]


def test_the_same_file_gives_the_same_extraction(tmp_path: Path) -> None:
    make(tmp_path / "a.pdf", 7, KINDS["two ruled tables"])
    assert read(tmp_path / "a.pdf") == read(tmp_path / "a.pdf")
    assert codes(read(tmp_path / "a.pdf")) == []


def test_a_long_line_that_is_a_paragraph_stands_once(tmp_path: Path) -> None:
    line = " ".join(f"token{number:03}" for number in range(45))

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 6)
        canvas.drawString(40, 300, line)

    assert read(drawn(tmp_path / "a.pdf", draw, (1600.0, 600.0))).text == line
