"""Page images of a PDF: what can be seen on them, and what OCR reads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray
from PIL import Image

from pincite.schemas.errors import LimitExceeded
from pincite.schemas.records import DocumentWarning
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.ocr.engine import read_page
from pincite.tasks.extraction.pages.layout import WordBox
from pincite.tasks.extraction.pdf.shapes import Picture
from pincite.tasks.extraction.pdf.words import Frame

POINTS_PER_INCH = 72.0
MIN_DPI = 70  # below it no text can be read
MAX_DPI = 600  # of a scan that has more, which says no more
MOST_READ = 9_000_000  # pixels of a scan that is read at its own resolution: A4 at 300 dpi
COVERING = 0.5  # of what is read: a picture that covers so much is a scan of it
GLANCE_PIXELS = 400_000  # of the small image that is only looked at
INK = 0.0004  # share of a page that differs from its paper: a short line of small type
MUCH_INK = 0.01
CONTRAST = 40  # grey levels, of 255
DECODED_RATIO = 4  # an image may have this many times the pixel limit: pdfium scales it down as it reads it


@dataclass(frozen=True, slots=True)
class TurnedPart:
    """A picture that was turned to be read; its words stand in it as if its upright form were stretched over it."""

    x0: float
    top: float
    x1: float
    bottom: float
    turn: float  # degrees clockwise from its upright form to the picture as it stands


@dataclass(frozen=True, slots=True)
class Scanned:
    """What OCR read from a page: words in points on the page as it stands upright."""

    words: tuple[WordBox, ...]
    width: float  # points
    height: float
    turned: bool  # whether the page had to be turned or levelled, so that boxes differ from the text layer's
    confidence: float | None
    warnings: tuple[DocumentWarning, ...]
    turn: float = 0.0  # degrees clockwise from the words' upright page to the page that was read
    parts: tuple[TurnedPart, ...] = ()


def render(page: pdfium.PdfPage, frame: Frame, scale: float) -> Image.Image:
    """The page in grey as `frame` has it; `scale` is pixels a point."""
    rotation = (frame.rotation - page.get_rotation()) % 360
    bitmap = page.render(scale=scale, rotation=rotation, grayscale=True, may_draw_forms=False)
    try:
        image: Image.Image = bitmap.to_pil().copy()
        return image
    finally:
        bitmap.close()


def glance(page: pdfium.PdfPage, frame: Frame) -> tuple[Image.Image, float]:
    """(small grey image, its pixels a point): at most 72 dpi."""
    area = max(frame.width * frame.height, 1.0)
    scale = min(1.0, math.sqrt(GLANCE_PIXELS / area))
    return render(page, frame, scale), scale


def _pixels(image: Image.Image) -> NDArray[np.int16]:
    return np.asarray(image.convert("L"), dtype=np.int16)


def ink_share(image: Image.Image) -> float:
    """The share of pixels that differ from the paper, 0 to 1."""
    pixels = _pixels(image)
    if pixels.size == 0:
        return 0.0
    return float((np.abs(pixels - np.int16(np.median(pixels))) > CONTRAST).mean())


def can_be_seen(image: Image.Image, scale: float, word: WordBox) -> bool:
    """Whether anything stands out within the word's box."""
    pixels = _pixels(image)
    rows = slice(max(0, int(word.top * scale)), max(0, math.ceil(word.bottom * scale)))
    columns = slice(max(0, int(word.x0 * scale)), max(0, math.ceil(word.x1 * scale)))
    part = pixels[rows, columns]
    return bool(part.size) and int(part.max()) - int(part.min()) > CONTRAST


def looks_written(image: Image.Image, scale: float, picture: Picture) -> bool:
    """Whether a picture looks like writing on paper: much paper of one shade, some ink, little between."""
    box = (
        max(0, int(picture.x0 * scale)),
        max(0, int(picture.top * scale)),
        min(image.width, math.ceil(picture.x1 * scale)),
        min(image.height, math.ceil(picture.bottom * scale)),
    )
    if box[2] - box[0] < 8 or box[3] - box[1] < 8:
        return False
    pixels = _pixels(image.crop(box))
    paper = np.percentile(pixels, 75)
    near = float((np.abs(pixels - paper) <= 24).mean())
    ink = float((pixels < paper - CONTRAST).mean())
    return near > 0.55 and 0.005 < ink < 0.4


def check_pictures(pictures: Sequence[Picture], settings: Settings, page: int) -> None:
    """Raises LimitExceeded for an image that would not fit into memory when it is decoded."""
    limit = settings.limits.pixels * DECODED_RATIO
    for picture in pictures:
        if picture.pixels > limit:
            raise LimitExceeded(
                f"page {page} holds an image of {picture.pixels:,} pixels, over the limit of {limit:,} "
                f"({DECODED_RATIO} × limits.pixels); raise limits.pixels or scale the image down",
                page,
            )


def scan(
    page: pdfium.PdfPage,
    frame: Frame,
    number: int,
    settings: Settings,
    area: Picture | None = None,
    pictures: Sequence[Picture] = (),
) -> Scanned:
    """What OCR reads from the page, or from a part of it: at `settings.ocr.dpi` or as near as the limit lets.

    Where one of `pictures` covers it, at the picture's own resolution if that is finer.
    """
    wanted = max(float(settings.ocr.dpi), _own_dpi(frame, area, pictures))
    scale = _scale(frame, number, settings, wanted)
    image = render(page, frame, scale)
    if area is not None:
        image = image.crop(
            (
                max(0, int(area.x0 * scale)),
                max(0, int(area.top * scale)),
                min(image.width, math.ceil(area.x1 * scale)),
                min(image.height, math.ceil(area.bottom * scale)),
            )
        )
    result = read_page(image, settings)
    words = tuple(
        WordBox(w.text, w.x0 / scale, w.top / scale, w.x1 / scale, w.bottom / scale, w.confidence)
        for w in result.words
    )
    warnings = [DocumentWarning(w.code, w.message, number) for w in result.warnings]
    dpi = scale * POINTS_PER_INCH
    if dpi < 0.75 * settings.ocr.dpi:
        warnings.append(
            DocumentWarning("low-resolution", f"read at {dpi:.0f} dpi to stay within limits.pixels", number)
        )
    width, height = image.width / scale, image.height / scale
    size = (height, width) if result.rotation % 180 == 90 else (width, height)
    turned = bool(result.rotation) or abs(result.skew) >= 0.2
    turn = -(result.rotation + result.skew)
    return Scanned(words, *size, turned, result.confidence, tuple(warnings), turn)


def _own_dpi(frame: Frame, area: Picture | None, pictures: Sequence[Picture]) -> float:
    """The resolution of the scan that is to be read, as far as it pays; 0 where there is none."""
    looked_at = frame.width * frame.height if area is None else _size(area)
    scans = [one for one in pictures if _size(one) >= COVERING * looked_at > 0]
    if not scans:
        return 0.0
    largest = max(scans, key=lambda one: one.pixels)
    inches = _size(largest) / POINTS_PER_INCH**2
    most = math.sqrt(MOST_READ * POINTS_PER_INCH**2 / max(frame.width * frame.height, 1.0))
    return min(math.sqrt(largest.pixels / inches), MAX_DPI, most)


def _size(picture: Picture) -> float:
    return (picture.x1 - picture.x0) * (picture.bottom - picture.top)


def _scale(frame: Frame, number: int, settings: Settings, wanted: float) -> float:
    """Pixels a point. Raises LimitExceeded when the page is too large to be read within the pixel limit."""
    inches = max(frame.width * frame.height, 1.0) / POINTS_PER_INCH**2
    dpi = min(wanted, math.sqrt(settings.limits.pixels / inches))
    # Rounding up to whole pixels must not pass the limit.
    dpi *= 0.995 if dpi < wanted else 1.0
    if dpi < MIN_DPI:
        raise LimitExceeded(
            f"page {number} is {frame.width / POINTS_PER_INCH:.0f} × {frame.height / POINTS_PER_INCH:.0f} "
            f"inches: OCR at {MIN_DPI} dpi would take more than limits.pixels ({settings.limits.pixels:,}); "
            "raise it or split the page",
            number,
        )
    return dpi / POINTS_PER_INCH


def scan_picture(
    page: pdfium.PdfPage, frame: Frame, number: int, settings: Settings, picture: Picture
) -> Scanned:
    """What OCR reads from one picture, its words moved to where the picture stands on the page."""
    result = scan(page, frame, number, settings, picture, (picture,))
    x0, top = max(0.0, picture.x0), max(0.0, picture.top)
    # A picture that had to be turned keeps its place; only the order within it is that of its upright form.
    across = (min(picture.x1, frame.width) - x0) / max(result.width, 1.0)
    down = (min(picture.bottom, frame.height) - top) / max(result.height, 1.0)
    words = tuple(
        replace(
            w,
            x0=x0 + w.x0 * across,
            top=top + w.top * down,
            x1=x0 + w.x1 * across,
            bottom=top + w.bottom * down,
        )
        for w in result.words
    )
    x1, bottom = x0 + across * result.width, top + down * result.height
    parts = (TurnedPart(x0, top, x1, bottom, result.turn),) if result.turned else ()
    return replace(result, words=words, turn=0.0, parts=parts)


def within(scanned: Sequence[WordBox], boxes: Sequence[WordBox]) -> tuple[WordBox, ...]:
    """The words of OCR whose middle lies in one of the boxes."""
    return tuple(
        word
        for word in scanned
        if any(
            box.x0 <= (word.x0 + word.x1) / 2 <= box.x1
            and box.top <= (word.top + word.bottom) / 2 <= box.bottom
            for box in boxes
        )
    )
