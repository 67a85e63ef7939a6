import struct
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from benchmarks import scans
from benchmarks.scans import PARAGRAPHS, character_error_rate, page_image
from pincite.schemas.errors import LimitExceeded, Unreadable
from pincite.schemas.records import Extraction, Place
from pincite.schemas.settings import Limits, Ocr, Settings
from pincite.tasks.extraction.extract import check_extraction, extract
from pincite.tasks.extraction.image import extract_image

SETTINGS = Settings()


def line_image(text: str, size: tuple[int, int] = (900, 400)) -> Image.Image:
    image = Image.new("L", size, 255)
    ImageDraw.Draw(image).text((100, 120), text, fill=0, font=ImageFont.truetype(scans.FONT, 36))
    return image


def read(path: Path, settings: Settings = SETTINGS) -> Extraction:
    extraction = extract_image(path, settings, lambda page: None)
    check_extraction(extraction)
    return extraction


def codes(extraction: Extraction) -> list[str]:
    return [warning.code for warning in extraction.warnings]


def test_a_scan_becomes_a_page_with_words_in_points_and_confidences(tmp_path: Path) -> None:
    image, truth = page_image(columns=2, points=9)
    path = tmp_path / "скан\nodd.png"
    image.save(path, dpi=(200, 200))
    extraction = extract(path, SETTINGS, lambda page: None)
    assert character_error_rate(extraction.text, truth) <= 0.01
    [page] = extraction.pages
    assert (page.width, page.height) == pytest.approx((595.4, 841.7), abs=1)
    assert page.ocr and page.ocr_confidence is not None and page.ocr_confidence > 90
    assert extraction.places == (Place("page", 0, len(extraction.text), "1"),)
    assert [extraction.text[w.start : w.end] for w in extraction.words] == truth.split()
    assert len(extraction.blocks) == len(PARAGRAPHS)
    assert extraction.media_type == "image/png"
    assert extraction.extractor_version.startswith("2 tesseract-")


def test_each_frame_of_a_tiff_is_a_page_and_a_repeated_one_is_read_once(tmp_path: Path) -> None:
    first, second = line_image("Delivery note 4471"), line_image("Customs form 0815")
    blank = Image.new("L", first.size, 255)
    path = tmp_path / "fax.tiff"
    frames = [blank, second.rotate(180), first]
    first.save(path, save_all=True, append_images=frames, dpi=(100, 100))
    seen: list[int] = []
    extraction = extract_image(path, SETTINGS, seen.append)
    check_extraction(extraction)
    assert extraction.text == "Delivery note 4471\n\nCustoms form 0815"
    assert [place.label for place in extraction.places] == ["1", "3"]
    assert [page.number for page in extraction.pages] == seen == [1, 2, 3, 4]
    assert [page.start == page.end for page in extraction.pages] == [False, True, False, True]
    assert codes(extraction) == ["repeated-frames"]
    assert extraction.pages[0].width == pytest.approx(648)


@pytest.mark.parametrize(
    ("suffix", "media_type"),
    [
        ("jpg", "image/jpeg"),
        ("webp", "image/webp"),
        ("bmp", "image/bmp"),
        ("gif", "image/gif"),
        ("tif", "image/tiff"),
    ],
)
def test_every_format_is_read(tmp_path: Path, suffix: str, media_type: str) -> None:
    path = tmp_path / f"note.{suffix}"
    line_image("Delivery note 4471").save(path)
    extraction = extract(path, SETTINGS, lambda page: None)
    assert (extraction.text, extraction.media_type) == ("Delivery note 4471", media_type)


@pytest.mark.parametrize("suffix", ["jpg", "tif"])
def test_a_photo_is_turned_as_exif_says(tmp_path: Path, suffix: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by a quarter
    path = tmp_path / f"photo.{suffix}"
    squeezed = line_image("Delivery note 4471").resize(
        (450, 400)
    )  # pixels of a fax: 100 dpi across, 200 down
    squeezed.rotate(90, expand=True).save(path, exif=exif, dpi=(200, 100))
    extraction = read(path)
    assert extraction.text == "Delivery note 4471"
    assert (extraction.pages[0].width, extraction.pages[0].height) == pytest.approx((324, 144))


def test_text_on_a_transparent_ground_is_read(tmp_path: Path) -> None:
    line = line_image("Delivery note 4471")
    clear = Image.new("RGBA", line.size, (0, 0, 0, 0))
    clear.putalpha(line.point(lambda grey: 255 - grey))
    clear.save(tmp_path / "note.png")
    assert read(tmp_path / "note.png").text == "Delivery note 4471"


def png_header(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    header = struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))
    data = b"IDAT" + zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n"
        + header
        + struct.pack(">I", len(data) - 4)
        + data
        + struct.pack(">I", zlib.crc32(data))
    )


@pytest.mark.parametrize("side", [6_400, 10_000, 60_000])
def test_an_image_over_the_pixel_cap_is_refused_by_its_header(tmp_path: Path, side: int) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_header(side, side))
    with pytest.raises(LimitExceeded, match=r"limits\.pixels"):
        read(path)
    assert Image.MAX_IMAGE_PIXELS == 89_478_485  # Pillow's own, as before


def test_a_tiff_whose_second_frame_is_over_the_cap_is_refused_with_its_page(tmp_path: Path) -> None:
    path = tmp_path / "fax.tif"
    line_image("Delivery note 4471").save(
        path, save_all=True, append_images=[Image.new("1", (4000, 4000), 1)], compression="tiff_deflate"
    )
    with pytest.raises(LimitExceeded) as error:
        read(path, replace(SETTINGS, limits=Limits(pixels=1_000_000)))
    assert error.value.page == 2


def test_a_gif_whose_second_frame_grows_over_the_cap_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "grows.gif"
    noise = np.random.default_rng(1).integers(0, 255, (40, 40), dtype=np.uint8)
    Image.fromarray(noise).save(path, save_all=True, append_images=[Image.fromarray(noise.T.copy())])
    data = bytearray(path.read_bytes())
    second = data.index(b"\x00\x2c", data.index(b"\x21\xf9", data.index(b"\x2c") + 1)) + 1  # its descriptor
    data[second + 5 : second + 9] = struct.pack("<HH", 60_000, 60_000)
    path.write_bytes(data)
    with pytest.raises(LimitExceeded, match=r"limits\.pixels"):
        read(path)


def test_more_frames_than_pages_allowed_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.tif"
    Image.new("1", (8, 8), 1).save(path, save_all=True, append_images=[Image.new("1", (8, 8), 1)] * 5)
    with pytest.raises(LimitExceeded, match=r"6 frames.*limits\.pages"):
        read(path, replace(SETTINGS, limits=Limits(pages=5)))


def test_an_image_without_text_fails_and_says_so(tmp_path: Path) -> None:
    Image.new("RGB", (400, 300), "white").save(tmp_path / "blank.png")
    with pytest.raises(Unreadable, match=r"^no text"):
        read(tmp_path / "blank.png")
    grey = np.random.default_rng(3).random((40, 30)) * 255
    picture = Image.fromarray(grey.astype(np.uint8)).resize((900, 1200), Image.Resampling.BICUBIC)
    picture.save(tmp_path / "picture.jpg")
    with pytest.raises(Unreadable, match=r"^no text.*OCR found"):
        read(tmp_path / "picture.jpg")


@pytest.mark.parametrize("kept", [0.02, 0.6])
@pytest.mark.parametrize("suffix", ["jpg", "png", "gif", "webp", "tif", "bmp"])
def test_a_truncated_image_is_unreadable(tmp_path: Path, suffix: str, kept: float) -> None:
    path = tmp_path / f"cut.{suffix}"
    noise = np.random.default_rng(1).integers(0, 255, (80, 120), dtype=np.uint8)
    Image.fromarray(noise).save(path)
    data = path.read_bytes()
    path.write_bytes(data[: max(8, int(len(data) * kept))])
    with pytest.raises(Unreadable, match=r"damaged|opened|no text"):
        read(path)


def test_a_damaged_frame_is_a_warning_when_others_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "fax.tif"
    line_image("Delivery note 4471").save(
        path, save_all=True, append_images=[line_image("Lost")], compression="tiff_adobe_deflate"
    )
    with Image.open(path) as image:
        image.seek(1)
        second = image.tag_v2[273][0]  # offset of its first strip
    data = bytearray(path.read_bytes())
    data[second : second + 60] = b"\xff" * 60
    path.write_bytes(bytes(data))
    extraction = read(path)
    assert extraction.text == "Delivery note 4471"
    assert [(warning.code, warning.page) for warning in extraction.warnings] == [("page-unreadable", 2)]


def test_poor_text_carries_its_low_confidence(tmp_path: Path) -> None:
    image, _ = page_image(PARAGRAPHS[:1])
    scans.blurred(image.crop((0, 0, 1654, 500)), 4.5).save(tmp_path / "poor.png")
    extraction = read(tmp_path / "poor.png", replace(SETTINGS, ocr=Ocr(low_confidence=80)))
    assert "low-confidence" in codes(extraction)
    assert all(warning.page == 1 for warning in extraction.warnings)
    assert (extraction.pages[0].ocr_confidence or 100) < 80
    assert min(word.confidence for word in extraction.words) < 50
