"""Reads pictures of text by OCR: one page a frame.

header → pixel cap → each frame: decode, turn as EXIF says → OCR → tables, order, paragraphs → canonical text
"""

import struct
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from PIL import Image, ImageOps

from pincite.schemas.errors import LimitExceeded, SourceChanged, Unreadable
from pincite.schemas.records import DocumentWarning, Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.ocr.engine import OcrPage, read_page
from pincite.tasks.extraction.pdf.assembly import Assembly
from pincite.tasks.extraction.pdf.line_text import clean, hyphenated
from pincite.tasks.extraction.pdf.page import PageContent
from pincite.tasks.extraction.pdf.page_record import Sketch
from pincite.tasks.extraction.pdf.pieces import pieces_of, turned
from pincite.tasks.extraction.pdf.structure import find_headings, without_running_lines

POINTS_PER_INCH = 72.0
PLAUSIBLE_DPI = (30.0, 4800.0)
FINE_DPI = 300.0  # a finer scan reads no better and costs tesseract time by its pixels
LARGE_PIXELS = 12_000_000  # A4 at FINE_DPI has 9 million; smaller images are never scaled down
MEDIA_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # JPEG of a phone with a second picture for depth
    "TIFF": "image/tiff",
    "WEBP": "image/webp",
    "BMP": "image/bmp",
    "GIF": "image/gif",
}
OPENED = tuple(name for name in MEDIA_TYPES if name != "MPO")  # which Pillow opens as a kind of JPEG
ORIENTATION, ON_SIDE = 0x0112, (5, 6, 7, 8)  # EXIF
BOMBS = (Image.DecompressionBombError, Image.DecompressionBombWarning)
# What Pillow's decoders raise on damaged files.
DAMAGE = (OSError, SyntaxError, ValueError, EOFError, struct.error, KeyError, IndexError, TypeError)


def extract_image(
    path: Path, settings: Settings, progress: Progress, sketch: Sketch | None = None
) -> Extraction:
    """The text of a picture, with words and confidences; each frame is a page of its own.

    `sketch` takes what is seen of the pages.

    Raises `LimitExceeded` (pixels, before anything is decoded; frames), `Unreadable` (damaged, no text),
    `OcrUnavailable`, `SourceChanged`.
    """
    told: list[DocumentWarning] = []
    with _opened(path, settings, told) as image:
        media_type = MEDIA_TYPES[str(image.format)]
        pages = list(_pages(image, settings, progress, told, sketch))
    kept, running = without_running_lines(pages)
    if sketch is not None:
        sketch.leave_out(pages, kept)
    if running:
        shown = ", ".join(map(repr, running[:5]))
        told.append(
            DocumentWarning("running-lines", f"headers and footers that return were left out: {shown}")
        )
    headings = find_headings(kept, ())
    assembly = Assembly()
    for index, page in enumerate(kept):
        assembly.add_page(page, index, headings)
    if sketch is not None:
        sketch.settle(assembly.sources)
    told += assembly.warnings
    text = assembly.text
    if not any(character.isalnum() for character in text):
        raise Unreadable(_nothing(len(pages), told))
    return Extraction(
        text=text,
        title=headings.largest,
        media_type=media_type,
        blocks=tuple(assembly.blocks),
        places=tuple(assembly.places),
        pages=tuple(assembly.pages),
        words=tuple(assembly.words),
        warnings=tuple(told),
    )


@contextmanager
def _opened(path: Path, settings: Settings, told: list[DocumentWarning]) -> Iterator[Image.Image]:
    """The image with its header read and inside the limits; Pillow's own warnings go into `told`."""
    cap, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, settings.limits.pixels
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.filterwarnings("always", module=r"PIL\b")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            # By name, Pillow 13 maps an uncompressed TIFF into memory with its sides swapped and shows garbage.
            with _file(path) as file, _header(file, settings) as image:
                yield image
    except BOMBS as error:  # at the header, or at a later frame's
        raise LimitExceeded(f"{error}: raise limits.pixels or scale the image down") from error
    finally:
        Image.MAX_IMAGE_PIXELS = cap
    messages = dict.fromkeys(str(warning.message) for warning in heard)
    told += [DocumentWarning("damaged", f"the image file is not quite sound: {each}") for each in messages]


def _file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise SourceChanged("the file vanished before it was read: index again") from error
    except OSError as error:
        raise Unreadable(f"the file can't be opened ({error}): check its permissions") from error


def _header(file: BinaryIO, settings: Settings) -> Image.Image:
    try:
        image = Image.open(file, formats=OPENED)
    except DAMAGE as error:
        raise Unreadable(f"not an image that can be opened ({error}): is the file whole?") from error
    try:
        _check_pixels(image, settings, 1)
    except LimitExceeded:
        image.close()
        raise
    return image


def _check_pixels(image: Image.Image, settings: Settings, page: int) -> None:
    if image.width * image.height > settings.limits.pixels:
        raise LimitExceeded(
            f"an image of {image.width} x {image.height} pixels is over the limit of {settings.limits.pixels:,}: "
            "raise limits.pixels or scale the image down",
            page,
        )


def _pages(
    image: Image.Image,
    settings: Settings,
    progress: Progress,
    told: list[DocumentWarning],
    sketch: Sketch | None,
) -> Iterator[PageContent]:
    """The pages in order. A frame that is damaged is a page without text and a warning."""
    frames = _frame_count(image, settings)
    seen: dict[bytes, int] = {}
    repeated = 0
    for number in range(1, frames + 1):
        progress(number)
        try:
            frame, dpi = _frame(image, number, settings)
        except DAMAGE as error:
            if frames == 1:
                raise Unreadable(f"the image is damaged ({error}): get the file again", number) from error
            damaged = DocumentWarning("page-unreadable", f"the frame is damaged ({error})", number)
            yield PageContent(number, 0.0, 0.0, (), warnings=(damaged,))
            continue
        width, height = (side * POINTS_PER_INCH / each for side, each in zip(frame.size, dpi, strict=True))
        digest = sha256(frame.tobytes()).digest()
        if seen.setdefault(digest, number) != number:
            repeated += 1
            yield PageContent(number, width, height, ())
            continue
        frame = _not_too_fine(frame, dpi)
        content = _content(read_page(frame, settings), number, frame.size, (width, height))
        if sketch is not None and sketch.wants(number):
            sketch.see(content, frame)
        yield replace(content, ocr_words=())
    if repeated:
        told.append(
            DocumentWarning(
                "repeated-frames", f"{repeated} frames show what an earlier frame shows: read once"
            )
        )


def _frame_count(image: Image.Image, settings: Settings) -> int:
    if image.format == "MPO":
        return 1
    try:
        frames = int(getattr(image, "n_frames", 1))
    except DAMAGE as error:
        raise Unreadable(f"the image is damaged ({error}): get the file again") from error
    if frames > settings.limits.pages:
        raise LimitExceeded(
            f"the image has {frames:,} frames, over the limit of {settings.limits.pages:,}: raise limits.pages "
            "or split the file"
        )
    return frames


def _frame(image: Image.Image, number: int, settings: Settings) -> tuple[Image.Image, tuple[float, float]]:
    """(the frame as it is to be shown, its dpi across and down). Raises one of `DAMAGE`, `LimitExceeded`."""
    if number > 1:
        image.seek(number - 1)
    _check_pixels(image, settings, number)
    dpi = _dpi(image, settings)
    on_side = image.getexif().get(ORIENTATION) in ON_SIDE  # asked before Pillow turns a TIFF on loading
    image.load()
    frame = ImageOps.exif_transpose(image)
    return (image.copy() if frame is image else frame), (dpi[::-1] if on_side else dpi)


def _dpi(image: Image.Image, settings: Settings) -> tuple[float, float]:
    """What the file says, if it can be true; else the resolution at which pages are read."""
    told = image.info.get("dpi")
    if isinstance(told, tuple) and len(told) == 2:
        across, down = (float(each) for each in told)
        low, high = PLAUSIBLE_DPI
        if low <= across <= high and low <= down <= high:
            return across, down
    return float(settings.ocr.dpi), float(settings.ocr.dpi)


def _not_too_fine(frame: Image.Image, dpi: tuple[float, float]) -> Image.Image:
    """The frame at no more than 300 dpi, if it is large; square pixels, as on a fax they are not."""
    across, down = dpi
    target = min(across, down)
    if target > FINE_DPI and frame.width * frame.height > LARGE_PIXELS:
        target = FINE_DPI
    elif 0.8 < across / down < 1.25:
        return frame
    else:
        target = max(across, down)
    size = (max(1, round(frame.width * target / across)), max(1, round(frame.height * target / down)))
    return frame.convert("RGBA" if "A" in frame.getbands() else "L").resize(size, Image.Resampling.LANCZOS)


def _content(page: OcrPage, number: int, shown: tuple[int, int], points: tuple[float, float]) -> PageContent:
    """The page's paragraphs and tables, from boxes in points of the upright page."""
    sideways = page.rotation in (90, 270)
    x, y = (each / side for each, side in zip(points, shown, strict=True))
    if sideways:
        x, y = y, x
    words = [
        replace(
            word,
            text=clean(word.text),
            x0=word.x0 * x,
            top=word.top * y,
            x1=word.x1 * x,
            bottom=word.bottom * y,
        )
        for word in page.words
    ]
    upright = points[::-1] if sideways else points
    turn = -(page.rotation + page.skew)
    return PageContent(
        number=number,
        width=points[0],
        height=points[1],
        pieces=tuple(turned(pieces_of(words, (), upright), turn)),
        ocr=True,
        confidence=page.confidence,
        kept=hyphenated(words),
        warnings=tuple(replace(warning, page=number) for warning in page.warnings),
        frame_height=upright[1],
        ocr_words=tuple(words),
        ocr_turn=turn,
    )


def _nothing(pages: int, told: Sequence[DocumentWarning]) -> str:
    reasons = "; ".join(dict.fromkeys(warning.message for warning in told))[:400]
    held = "the image holds" if pages == 1 else f"{pages:,} frames hold"
    return f"no text: {held} nothing that OCR can read{f' ({reasons})' if reasons else ''}"
