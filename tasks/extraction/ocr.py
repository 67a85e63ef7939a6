"""Reads a page image with tesseract: words in reading order, each with its confidence.

image → grey, evenly lit, deskewed → orientation → read → read again otherwise where the result is poor
"""

import functools
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytesseract
from PIL import Image, ImageFilter

from schemas.errors import DocumentError, LimitExceeded, Unreadable, WorkerDied
from schemas.records import DocumentWarning
from schemas.settings import Settings
from tasks.extraction import scan
from tasks.extraction.layout import WordBox, reading_order

MAX_SIDE = 32_000  # tesseract refuses a side over 32,767 pixels
UNEVEN = 0.15  # paper that loses this share of its brightness lies in a shadow
SURE_OSD = 9.0  # wrong answers of OSD were seen up to a confidence of 3.8, right ones from 9
SURE_READING = 80.0  # the wrong way up, a page reads at 24 to 37
UNREAD_INK = 0.25  # more ink than this outside the words: something was passed over
MUCH_INK = 0.002  # share of a page; a short line of text on A4 covers .001
SMALL_WORDS = 16  # pixels; lines lower than this read better enlarged


class OcrUnavailable(DocumentError):
    """Tesseract or one of its languages is not installed."""

    kind = "ocr-unavailable"
    transient = True


@dataclass(frozen=True, slots=True)
class OcrPage:
    """What was read from one page image.

    Boxes are in pixels of the upright image: the given one turned clockwise by `rotation`, then turned by
    `skew` around its centre until the lines are level.
    """

    words: tuple[WordBox, ...]  # in reading order
    rotation: int  # degrees clockwise: 0, 90, 180 or 270
    confidence: float | None  # 0 to 100, mean over characters; None without words
    warnings: tuple[DocumentWarning, ...] = ()
    width: int = 0  # of the upright image, pixels
    height: int = 0
    skew: float = 0.0  # degrees clockwise
    blocks: tuple[tuple[tuple[WordBox, ...], ...], ...] = ()  # the same words as blocks of lines


@dataclass(frozen=True, slots=True)
class _Reading:
    """One pass of tesseract over one image."""

    words: tuple[WordBox, ...]
    dropped: tuple[str, ...]  # marks that tesseract itself gives no confidence
    unread: float  # share of the ink outside the words

    @property
    def confidence(self) -> float:
        characters = sum(len(word.text) for word in self.words)
        return sum(len(word.text) * (word.confidence or 0) for word in self.words) / max(characters, 1)

    @property
    def score(self) -> float:
        """How much was read how well: confidence squared, so that a page of noise never beats a line of text.

        Words on their side do not count: tesseract reads vertical lines too, but their boxes are of no use.
        """
        return sum(
            len(word.text) * ((word.confidence or 0) / 100) ** 2 for word in self.words if _is_level(word)
        )


def _is_level(word: WordBox) -> bool:
    return len(word.text) < 3 or word.x1 - word.x0 >= word.bottom - word.top


def read_page(image: Image.Image, settings: Settings) -> OcrPage:
    """The words of one page image, at any quarter turn and a skew of up to 5 degrees.

    An empty page gives no words and no warning. Raises `OcrUnavailable`, `LimitExceeded` (pixels, memory),
    `Unreadable` and `WorkerDied` (tesseract ended by itself).
    """
    check_languages(settings.ocr.languages)
    if image.width * image.height > settings.limits.pixels:
        raise LimitExceeded(
            f"a page image of {image.width} x {image.height} pixels is over the limit of {settings.limits.pixels}: "
            "render it smaller, or raise limits.pixels"
        )
    grey = scan.to_grey(image)
    if max(grey.size) > MAX_SIDE:
        grey.thumbnail((MAX_SIDE, MAX_SIDE))
    paper = scan.light(grey)
    shadowed = scan.unevenness(paper) > UNEVEN
    lit = scan.evened(grey, paper) if shadowed else grey
    inked = scan.ink(lit)
    if not inked.any():
        return OcrPage((), 0, None, width=image.width, height=image.height)
    skew, on_side = scan.skew(inked)
    if abs(skew) >= 0.2:
        lit, grey = scan.rotated(lit, skew), scan.rotated(grey, skew)
    else:
        skew = 0.0
    rotation, reading = _upright(lit, on_side, settings)
    if _is_poor(reading, settings):
        plain = _turned(grey, rotation) if shadowed else None
        reading = _read_otherwise(_turned(lit, rotation), plain, reading, settings)
    sideways = rotation in (90, 270)
    size = (image.height, image.width) if sideways else image.size
    return _page(reading, rotation, skew, size, lit.size[::-1] if sideways else lit.size, inked, settings)


def check_languages(languages: tuple[str, ...]) -> None:
    """Raises `OcrUnavailable` that names what to install: tesseract, a language, orientation data."""
    if not languages:
        raise OcrUnavailable("no language is set for OCR: set ocr.languages, for example to eng")
    missing = [name for name in (*languages, "osd") if name not in installed_languages()]
    if missing:
        packages = " ".join(
            f"tesseract-ocr-{name.split('/')[-1].lower().replace('_', '-')}" for name in missing
        )
        raise OcrUnavailable(
            f"tesseract has no data for {', '.join(missing)}: install it (Debian, Ubuntu: apt-get install "
            f"{packages}; macOS: brew install tesseract-lang), or change ocr.languages"
        )


@functools.lru_cache(maxsize=4)
def _languages_of(command: str, search_path: str) -> frozenset[str]:
    try:
        listed = subprocess.run(
            [command, "--list-langs"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise OcrUnavailable(
            f"tesseract can't be run ({error}): a page without text needs it; install it (Debian, Ubuntu: "
            "apt-get install tesseract-ocr tesseract-ocr-osd; macOS: brew install tesseract) and retry"
        ) from error
    return frozenset(listed.stdout.decode("utf-8", "replace").split("\n")[1:])


def installed_languages() -> frozenset[str]:
    """Names as `tesseract --list-langs` gives them; asked once for each PATH."""
    return _languages_of(pytesseract.pytesseract.tesseract_cmd, os.environ.get("PATH", ""))


def _upright(lit: Image.Image, on_side: bool, settings: Settings) -> tuple[int, _Reading]:
    """(degrees clockwise to turn, the reading at that turn): by OSD, or where OSD is unsure by what reads best."""
    turn, sureness = _osd(lit)
    if sureness >= SURE_OSD:
        reading = _read(_turned(lit, turn), settings)
        if not _is_poor(reading, settings):
            return turn, reading
        readings = {turn: reading}
    else:
        readings = {}
    likely = (90, 270, 0, 180) if on_side else (0, 180, 90, 270)
    for candidate in likely:
        if candidate not in readings:
            readings[candidate] = _read(_turned(lit, candidate), settings)
        level = [word for word in readings[candidate].words if _is_level(word)]
        if readings[candidate].confidence >= SURE_READING and len(level) > 0.5 * len(
            readings[candidate].words
        ):
            break
    best = max(readings, key=lambda candidate: (readings[candidate].score, -likely.index(candidate)))
    return best, readings[best]


def _osd(lit: Image.Image) -> tuple[int, float]:
    """(degrees clockwise to turn, confidence); confidence 0 where tesseract finds too few characters."""
    try:
        found = pytesseract.image_to_osd(_pnm(lit), config="--dpi 200", output_type=pytesseract.Output.DICT)
    except pytesseract.TesseractError as error:
        if error.status < 0:
            raise _tesseract_died(error) from error
        return 0, 0.0
    return int(found.get("rotate", 0)), float(found.get("orientation_conf", 0.0))


def _turned(grey: Image.Image, degrees: int) -> Image.Image:
    """Turned clockwise by quarters, without resampling."""
    method = {
        90: Image.Transpose.ROTATE_270,
        180: Image.Transpose.ROTATE_180,
        270: Image.Transpose.ROTATE_90,
    }.get(degrees)
    return grey if method is None else grey.transpose(method)


def _is_poor(reading: _Reading, settings: Settings) -> bool:
    return (
        not reading.words or reading.confidence < settings.ocr.low_confidence or reading.unread > UNREAD_INK
    )


def _read_otherwise(
    lit: Image.Image, plain: Image.Image | None, first: _Reading, settings: Settings
) -> _Reading:
    """The best of `first` and of readings of the same page cleaned in other ways."""
    best = first
    for image, psm, options, enlarged in _variants(lit, plain, first):
        reading = _read(image, settings, psm, options)
        if enlarged:
            reading = replace(reading, words=tuple(_scaled(word, 1 / enlarged) for word in reading.words))
        best = max(best, reading, key=lambda each: each.score)
        if not _is_poor(best, settings):
            break
    return best


def _variants(
    lit: Image.Image, plain: Image.Image | None, first: _Reading
) -> Iterator[tuple[Image.Image, int, str, int]]:
    """(image, page segmentation mode, options, times enlarged), the most promising first."""
    if _median_height(first.words) < SMALL_WORDS and lit.width * lit.height < 10_000_000:
        yield lit.resize((lit.width * 2, lit.height * 2), Image.Resampling.LANCZOS), 3, "", 2
    yield lit, 3, "-c thresholding_method=2", 0  # Sauvola's local threshold
    yield lit.filter(ImageFilter.MedianFilter(3)), 3, "", 0
    if plain is not None:
        yield plain, 3, "", 0
    yield lit, 11, "", 0  # sparse text: labels in a drawing


def _median_height(words: tuple[WordBox, ...]) -> float:
    return float(np.median([word.bottom - word.top for word in words])) if words else 0.0


def _scaled(word: WordBox, factor: float) -> WordBox:
    return replace(
        word, x0=word.x0 * factor, top=word.top * factor, x1=word.x1 * factor, bottom=word.bottom * factor
    )


def _read(image: Image.Image, settings: Settings, psm: int = 3, options: str = "") -> _Reading:
    # Several tesseracts side by side get slower with more than one thread each (tesseract issue 3109).
    os.environ["OMP_THREAD_LIMIT"] = "1"
    try:
        table = pytesseract.image_to_data(
            _pnm(image), lang="+".join(settings.ocr.languages), config=f"--psm {psm} --dpi 200 {options}"
        )
    except pytesseract.TesseractNotFoundError as error:
        raise OcrUnavailable(
            "tesseract vanished while it was in use: install tesseract-ocr and retry"
        ) from error
    except pytesseract.TesseractError as error:
        raise _tesseract_died(error) from error
    words, dropped = parse_table(table)
    return _Reading(words, dropped, _unread(scan.ink(image), words))


def _pnm(grey: Image.Image) -> Image.Image:
    """A view that pytesseract hands over uncompressed; without a format it would spend .3 s on PNG."""
    handed = grey.copy()
    handed.format = "PPM"
    return handed


def _tesseract_died(error: pytesseract.TesseractError) -> DocumentError:
    if "bad_alloc" in str(error.message):
        return LimitExceeded("tesseract needed more memory than the limit: raise limits.memory_bytes")
    if error.status < 0:
        return WorkerDied(f"tesseract was ended by signal {-error.status}: it may work on the next try")
    return Unreadable(f"tesseract could not read the page image ({error.message}): is it damaged?")


def parse_table(table: str) -> tuple[tuple[WordBox, ...], tuple[str, ...]]:
    """(words with text and confidence, texts of marks without confidence) from tesseract's TSV.

    The table is not CSV: a quote sign is a character like any other (pytesseract issue 163).
    """
    words: list[WordBox] = []
    dropped: list[str] = []
    for row in table.split("\n"):
        cells = row.rstrip("\r").split("\t", 11)
        if len(cells) < 12 or cells[0] != "5":  # level 5 is a word
            continue
        text, confidence = cells[11].strip(), round(float(cells[10]))
        if not text:  # a picture or a rule that tesseract calls a word: no text is lost
            continue
        if confidence <= 0:
            dropped.append(text)
            continue
        left, top, width, height = (int(cell) for cell in cells[6:10])
        words.append(WordBox(text, left, top, left + width, top + height, confidence))
    return tuple(words), tuple(dropped)


def _unread(inked: scan.Ink, words: tuple[WordBox, ...]) -> float:
    """The share of the ink that lies in no word's box."""
    outside = inked.copy()
    for word in words:
        outside[
            max(0, int(word.top) - 2) : int(word.bottom) + 2, max(0, int(word.x0) - 2) : int(word.x1) + 2
        ] = False
    return float(outside.sum() / max(inked.sum(), 1))


def _page(
    reading: _Reading,
    rotation: int,
    skew: float,
    size: tuple[int, int],
    read_size: tuple[int, int],
    inked: scan.Ink,
    settings: Settings,
) -> OcrPage:
    # Deskewing widened the frame on all sides: boxes go back to the frame of the upright image.
    shift_x, shift_y = (read_size[0] - size[0]) / 2, (read_size[1] - size[1]) / 2
    words = [
        replace(
            word,
            x0=word.x0 - shift_x,
            x1=word.x1 - shift_x,
            top=word.top - shift_y,
            bottom=word.bottom - shift_y,
        )
        for word in reading.words
    ]
    blocks = tuple(
        tuple(tuple(line) for line in block) for block in reading_order(words, float(size[0]), float(size[1]))
    )
    return OcrPage(
        words=tuple(word for block in blocks for line in block for word in line),
        rotation=rotation,
        confidence=reading.confidence if reading.words else None,
        warnings=tuple(_warnings(reading, float(inked.mean()), settings)),
        width=size[0],
        height=size[1],
        skew=skew,
        blocks=blocks,
    )


def _warnings(reading: _Reading, ink_share: float, settings: Settings) -> Iterator[DocumentWarning]:
    if not reading.words and ink_share >= MUCH_INK:
        yield DocumentWarning(
            "ink-without-words",
            f"{ink_share:.1%} of the page is inked and OCR read no word: a picture, handwriting, or a language "
            f"other than {'+'.join(settings.ocr.languages)}",
        )
    elif reading.words and reading.confidence < settings.ocr.low_confidence:
        yield DocumentWarning(
            "low-confidence",
            f"OCR read the page at confidence {reading.confidence:.0f} of 100: a better scan, or another "
            "setting of ocr.languages, may help",
        )
    if reading.words and reading.unread > 2 * UNREAD_INK:
        yield DocumentWarning(
            "unread-ink",
            f"{reading.unread:.0%} of the page's ink lies outside the words that OCR read: pictures, or text",
        )
    if reading.dropped:
        shown = " ".join(reading.dropped[:20])
        yield DocumentWarning(
            "dropped-marks",
            f"{len(reading.dropped)} marks that OCR gave no confidence were left out: {shown}",
        )
