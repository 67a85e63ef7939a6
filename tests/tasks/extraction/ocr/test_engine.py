import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import psutil
import pytest
from PIL import Image, ImageDraw, ImageFont

from benchmarks import scans
from benchmarks.scans import PARAGRAPHS, character_error_rate, edit_distance, page_image
from pincite.schemas.errors import LimitExceeded, OcrUnavailable
from pincite.schemas.settings import Limits, Ocr, Settings
from pincite.tasks.extraction.ocr import installed, preprocessing
from pincite.tasks.extraction.ocr.engine import OcrPage, read_page
from pincite.tasks.extraction.ocr.tesseract import parse_table

SETTINGS = Settings()
SHORT = PARAGRAPHS[:3]


def short_page() -> tuple[Image.Image, str]:
    """The upper part of a page, for the time that a full one takes."""
    image, truth = page_image(SHORT)
    return image.crop((0, 0, image.width, 800)), truth


def text_of(page: OcrPage) -> str:
    return " ".join(word.text for word in page.words)


def one_line(text: str, size: tuple[int, int] = (1000, 700)) -> Image.Image:
    image = Image.new("L", size, 255)
    ImageDraw.Draw(image).text((120, 150), text, fill=0, font=ImageFont.truetype(scans.FONT, 34))
    return image


def curves() -> Image.Image:
    """A drawing with much ink and no letter."""
    y, x = np.mgrid[0:900, 0:700]
    ink = np.sin(x / 20 + np.sin(y / 50) * 3) + np.sin(y / 15) > 1.2
    return Image.fromarray(np.where(ink, 30, 230).astype(np.uint8))


def test_a_clean_page_is_read_in_order_with_its_quote_signs() -> None:
    image, truth = page_image()
    page = read_page(image, SETTINGS)
    assert character_error_rate(text_of(page), truth) <= 0.01
    assert text_of(page).count('"') == truth.count('"') == 4
    assert page.confidence is not None and page.confidence > 90
    assert (page.rotation, page.skew, page.warnings) == (0, 0.0, ())
    assert [word for block in page.blocks for line in block for word in line] == list(page.words)


@pytest.mark.parametrize(
    ("spoil", "rotation", "skew"),
    [
        pytest.param(scans.noisy, 0, 0, id="noise"),
        pytest.param(lambda page: scans.skewed(page, 5), 0, 5, id="skew"),
        pytest.param(lambda page: scans.noisy(scans.skewed(page, -3.3)), 0, -3.3, id="noise and skew"),
        pytest.param(scans.shadowed, 0, 0, id="shadow"),
        pytest.param(lambda page: scans.turned(page, 1), 270, 0, id="quarter turn"),
        pytest.param(lambda page: scans.turned(page, 2), 180, 0, id="half turn"),
        pytest.param(lambda page: scans.turned(scans.skewed(page, 2), 3), 90, 2, id="three quarters, skewed"),
    ],
)
def test_a_spoiled_scan_is_read_with_few_errors(spoil: scans.Spoil, rotation: int, skew: float) -> None:
    image, truth = short_page()
    page = read_page(spoil(image), SETTINGS)
    assert character_error_rate(text_of(page), truth) <= 0.03
    assert page.rotation == rotation
    assert page.skew == pytest.approx(skew, abs=0.25)


def test_two_columns_are_read_one_after_the_other() -> None:
    image, truth = page_image(columns=2, points=9)
    page = read_page(scans.turned(image, 2), SETTINGS)
    assert character_error_rate(text_of(page), truth) <= 0.01


def test_a_line_alone_on_an_upside_down_page_is_read() -> None:
    page = read_page(one_line("Delivery note 4471").rotate(180), SETTINGS)
    assert (text_of(page), page.rotation) == ("Delivery note 4471", 180)


def test_boxes_lie_on_the_words_of_the_upright_image() -> None:
    image, _ = short_page()
    page = read_page(scans.turned(scans.skewed(image, 4), 1), SETTINGS)
    ink = preprocessing.ink(image)
    assert (page.width, page.height) == image.size
    for word in page.words:
        box = ink[round(word.top) - 3 : round(word.bottom) + 3, round(word.x0) - 3 : round(word.x1) + 3]
        assert box.any()
    first = page.words[0]
    assert first.text == "The"
    assert (first.x0, first.top) == pytest.approx((180, 186), abs=8)


def test_small_type_is_read_enlarged() -> None:
    image, truth = short_page()
    page = read_page(scans.coarse(image, 0.25), SETTINGS)
    assert character_error_rate(text_of(page), truth) <= 0.05


def test_confidence_falls_as_the_scan_gets_poorer_and_is_told_when_low() -> None:
    image, _ = short_page()
    image = image.crop((0, 0, image.width, 380))
    poor, poorer = (read_page(scans.blurred(image, pixels), SETTINGS) for pixels in (3.6, 4.5))
    assert 90 > (poor.confidence or 0) > (poorer.confidence or 0)
    assert {"low-confidence", "ink-without-words"} & {warning.code for warning in poorer.warnings}


def test_a_page_under_the_configured_confidence_says_so() -> None:
    strict = replace(SETTINGS, ocr=Ocr(low_confidence=99.5))
    page = read_page(one_line("Delivery note 4471"), strict)
    assert [warning.code for warning in page.warnings] == ["low-confidence"]


def test_much_ink_without_a_word_is_a_warning() -> None:
    page = read_page(curves(), SETTINGS)
    assert page.words == () and page.confidence is None
    assert [warning.code for warning in page.warnings] == ["ink-without-words"]


def test_an_empty_page_has_no_words_and_no_warning() -> None:
    assert read_page(Image.new("RGB", (800, 600), "white"), SETTINGS) == OcrPage(
        (), 0, None, width=800, height=600
    )


@pytest.mark.parametrize("mode", ["transparent", "dark", "16 bit", "one bit", "palette"])
def test_every_kind_of_image_becomes_black_on_white(mode: str) -> None:
    line = one_line("Delivery note 4471", (560, 300))
    clear = Image.new("RGBA", line.size, (0, 0, 0, 0))
    clear.putalpha(line.point(lambda grey: 255 - grey))
    wide = Image.fromarray(np.asarray(line, dtype=np.uint16) * 250)
    kinds = {
        "transparent": clear,
        "dark": line.point(lambda grey: 255 - grey),
        "16 bit": wide,
        "one bit": line.convert("1"),
        "palette": line.convert("P"),
    }
    difference = np.abs(
        np.asarray(preprocessing.to_grey(kinds[mode]), dtype=int) - np.asarray(line, dtype=int)
    )
    assert difference.mean() < 2


def test_an_image_over_the_pixel_limit_is_refused() -> None:
    with pytest.raises(LimitExceeded, match=r"limits\.pixels"):
        read_page(Image.new("L", (200, 100), 255), replace(SETTINGS, limits=Limits(pixels=10_000)))


def test_a_quote_sign_in_the_table_swallows_no_row() -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = [
        "5\t1\t1\t1\t1\t1\t10\t20\t30\t12\t91.6\t\"no",
        "5\t1\t1\t1\t1\t2\t45\t20\t30\t12\t88.2\tpilot",
        "4\t1\t1\t1\t2\t0\t10\t40\t30\t12\t-1\t",
        "5\t1\t1\t1\t2\t1\t10\t40\t30\t12\t95.0\t ",
        "5\t1\t1\t1\t2\t2\t45\t40\t30\t12\t0.000000\t~|",
        "5\t1\t1\t1\t2\t3\t80\t40\t30\t12\t77\t'\"",
    ]  # fmt: skip
    words, dropped = parse_table("\n".join([head, *rows, ""]))
    assert [(word.text, word.confidence) for word in words] == [('"no', 92), ("pilot", 88), ("'\"", 77)]
    assert (words[0].x0, words[0].top, words[0].x1, words[0].bottom) == (10, 20, 40, 32)
    assert dropped == ("~|",)


def test_a_missing_language_names_its_package() -> None:
    with pytest.raises(
        OcrUnavailable, match=r"apt-get install tesseract-ocr-chi-sim tesseract-ocr-xyz\b"
    ) as error:
        read_page(one_line("text"), replace(SETTINGS, ocr=Ocr(languages=("eng", "chi_sim", "xyz"))))
    assert error.value.transient


def test_a_missing_tesseract_names_its_remedy_and_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        context.setenv("PATH", "/nowhere")
        with pytest.raises(OcrUnavailable, match="apt-get install tesseract-ocr") as error:
            read_page(one_line("text"), SETTINGS)
    assert error.value.transient and error.value.kind == "ocr-unavailable"
    assert "osd" in installed.installed_languages()


READER = """
import sys
from benchmarks import scans
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.ocr.engine import read_page
image, _ = scans.page_image(scans.PARAGRAPHS * 5, points=8, columns=2)
print("ready", flush=True)
while True:
    read_page(image, Settings())
"""


def tesseracts(group: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["name"]):
        try:
            if process.info["name"] == "tesseract" and os.getpgid(process.pid) == group:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def test_tesseract_dies_with_the_process_group_of_its_reader() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", READER], stdout=subprocess.PIPE, start_new_session=True
    ) as reader:
        try:
            assert reader.stdout is not None and reader.stdout.readline() == b"ready\n"
            deadline = time.monotonic() + 30
            while not (running := tesseracts(reader.pid)) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert running, "no tesseract in the reader's process group"
        finally:
            os.killpg(reader.pid, signal.SIGKILL)
    _, alive = psutil.wait_procs(running, timeout=60)
    assert not alive


@pytest.mark.parametrize(
    ("left", "right", "distance"), [("kitten", "sitting", 3), ("", "abc", 3), ("ab", "ba", 2)]
)
def test_the_measure_itself_is_right(left: str, right: str, distance: int) -> None:
    assert edit_distance(left, right) == distance
