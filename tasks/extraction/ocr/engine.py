"""Reads a page image: words in reading order, each with its confidence.

image → grey, evenly lit, without grain, sharp, level → right way up → read → otherwise where the result is poor

Light, grain, blur and skew are measured and mended before the first reading, since tesseract drops what they
spoil without a word: of a page with a shadow it lost 40 % of the characters at a confidence of 96.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from PIL import Image, ImageFilter

from pincite.schemas.counting import counted
from pincite.schemas.errors import LimitExceeded
from pincite.schemas.records import DocumentWarning
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.ocr import installed, preprocessing, tesseract
from pincite.tasks.extraction.pages.layout import WordBox, reading_order

MAX_SIDE = 32_000  # pixels; tesseract refuses a side over 32,767
UNEVEN = 0.15  # paper that loses this share of its brightness lies in a shadow
GRAINY = 2.0  # grey levels
SOFT = 3.5  # pixels of an edge; sharp pages have 1 to 2.6, after smoothing too
MIN_SKEW = 0.2  # degrees; less does no harm, and turning softens the letters
SURE_OSD = 9.0  # its wrong answers were seen up to 3.8, right ones on full pages from 13
SURE_READING = 80.0  # the wrong way up a page reads at 24 to 37
DOUBTFUL = 88.0  # below this, errors were seen to pass 3 %
ILLEGIBLE = 30.0  # what is read below this from a whole page is not text
PICTURE = 60.0  # below this neither, if few characters are in words: pictures read as "@& 8@ eo" at 42
FEW_IN_WORDS = 0.3
UNREAD_INK = 0.25  # share of the ink outside the words from which on something may have been passed over
MUCH_INK = 0.002  # share of a page that is inked; a line of text on A4 covers .001
SMALL_WORDS = 16.0  # pixels; lines lower than this read better enlarged
SMALL_SIDE = 1_800  # pixels; A4 at 150 dpi
ENLARGED_PIXELS = 30_000_000
DROPPED_SHOWN = 20
CALLS_IN_DEADLINE = 4  # one call of tesseract may take this part of a document's time

UPRIGHT_AXIS, SIDEWAYS_AXIS = (0, 180), (90, 270)
LOCAL_THRESHOLD = "--psm 3 -c thresholding_method=2"  # Sauvola's


@dataclass(frozen=True, slots=True)
class OcrPage:
    """What was read from one page image.

    Boxes are in pixels of the upright image: the given one turned clockwise by `rotation`, its lines then
    made level by turning it clockwise by `skew` around its centre.
    """

    words: tuple[WordBox, ...]  # in reading order
    rotation: int  # degrees clockwise: 0, 90, 180 or 270
    confidence: float | None  # 0 to 100, mean over characters; None without words
    warnings: tuple[DocumentWarning, ...] = ()
    width: int = 0  # of the upright image, pixels
    height: int = 0
    skew: float = 0.0  # degrees
    blocks: tuple[tuple[tuple[WordBox, ...], ...], ...] = ()  # the same words as blocks of lines


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A cleaned page."""

    clean: Image.Image
    raw: Image.Image | None  # before light and grain were mended; None where nothing was
    inked: preprocessing.Ink

    def turned(self, degrees: int) -> "_Sheet":
        return _Sheet(
            preprocessing.turned(self.clean, degrees),
            None if self.raw is None else preprocessing.turned(self.raw, degrees),
            np.rot90(self.inked, -degrees // 90),
        )


@dataclass(frozen=True, slots=True)
class _Reading:
    words: tuple[WordBox, ...] = ()
    dropped: tuple[str, ...] = ()  # marks without confidence
    unread: float = 1.0  # share of the ink outside the words
    late: bool = False  # ended for its time

    @property
    def confidence(self) -> float:
        """Mean over characters; 0 without words."""
        characters = sum(len(word.text) for word in self.words)
        return sum(len(word.text) * (word.confidence or 0) for word in self.words) / max(characters, 1)

    @property
    def score(self) -> float:
        """How much was read how well. Confidence is squared, so that much noise never beats a line of text.

        Words on their side do not count: tesseract reads them too, but their boxes mislead the order.
        """
        return sum(
            len(word.text) * ((word.confidence or 0) / 100) ** 2 for word in self.words if _is_level(word)
        )

    @property
    def is_level(self) -> bool:
        return 2 * sum(map(_is_level, self.words)) > len(self.words)

    @property
    def is_legible(self) -> bool:
        """Whether what was read is text at all."""
        if self.confidence >= PICTURE:
            return True
        in_words = sum(len(word.text) for word in self.words if _is_wordlike(word))
        characters = sum(len(word.text) for word in self.words)
        return self.confidence >= ILLEGIBLE and in_words >= FEW_IN_WORDS * characters

    @property
    def is_good(self) -> bool:
        return self.confidence >= DOUBTFUL and self.unread <= UNREAD_INK


def _is_level(word: WordBox) -> bool:
    return len(word.text) < 3 or word.x1 - word.x0 >= word.bottom - word.top


def _is_wordlike(word: WordBox) -> bool:
    """At least three letters or digits and few other signs; one sign is a word in East Asian scripts."""
    signs = sum(character.isalnum() for character in word.text)
    enough = signs >= 3 or any(character >= "\u2e80" for character in word.text)
    return enough and signs >= 0.7 * len(word.text) and (word.confidence or 0) >= 50


def read_page(image: Image.Image, settings: Settings) -> OcrPage:
    """The words of one page image, at any quarter turn and a skew of up to 6 degrees.

    An empty page gives no words and no warning. Raises `OcrUnavailable` (transient: tesseract or a language
    is missing), `LimitExceeded` (pixels, memory), `Unreadable`, `WorkerDied` (tesseract ended by itself).
    """
    installed.check_languages(settings.ocr.languages)
    if image.width * image.height > settings.limits.pixels:
        raise LimitExceeded(
            f"a page image of {image.width} x {image.height} pixels is over the limit of "
            f"{settings.limits.pixels}: render it smaller, or raise limits.pixels"
        )
    sheet, skew = _clean(image)
    if not sheet.inked.any():
        return OcrPage((), 0, None, width=image.width, height=image.height)
    rotation, reading = _upright(sheet, settings)
    if not reading.is_good:
        reading = _read_otherwise(sheet.turned(rotation), reading, settings)
    size = image.size if rotation in UPRIGHT_AXIS else image.size[::-1]
    frame = sheet.clean.size if rotation in UPRIGHT_AXIS else sheet.clean.size[::-1]
    return _page(_in_frame(reading, frame, size), rotation, skew, size, float(sheet.inked.mean()), settings)


def _clean(image: Image.Image) -> tuple[_Sheet, float]:
    """(the page evenly lit, without grain and level, degrees clockwise by which it was turned)."""
    raw = preprocessing.to_grey(image)
    if max(raw.size) > MAX_SIDE:
        raw.thumbnail((MAX_SIDE, MAX_SIDE))
    clean, paper = raw, preprocessing.light(raw)
    if preprocessing.unevenness(paper) > UNEVEN:
        clean = preprocessing.evened(clean, paper)
    if preprocessing.grain(clean) > GRAINY:
        clean = preprocessing.smoothed(clean)
    inked = preprocessing.ink(clean)
    if preprocessing.softness(clean, inked) > SOFT:
        clean = preprocessing.sharpened(clean)
        inked = preprocessing.ink(clean)
    mended = clean is not raw
    skew, _ = preprocessing.skew(inked)
    if abs(skew) < MIN_SKEW:
        return _Sheet(clean, raw if mended else None, inked), 0.0
    level = preprocessing.rotated(clean, skew)
    return _Sheet(level, preprocessing.rotated(raw, skew) if mended else None, preprocessing.ink(level)), skew


def _upright(sheet: _Sheet, settings: Settings) -> tuple[int, _Reading]:
    """(degrees clockwise to turn, the reading then): by OSD; where it is unsure, by what reads best."""
    try:
        turn, sureness = tesseract.orientation(sheet.clean, _timeout_s(settings))
    except tesseract.OcrTimeout:
        turn, sureness = 0, 0.0
    _, on_side = preprocessing.skew(sheet.inked)
    order = [*SIDEWAYS_AXIS, *UPRIGHT_AXIS] if on_side else [*UPRIGHT_AXIS, *SIDEWAYS_AXIS]
    enough = dict.fromkeys(order, SURE_READING)
    if sureness >= SURE_OSD:
        order.sort(key=lambda candidate: candidate != turn)
        enough[turn] = settings.ocr.low_confidence
    readings: dict[int, _Reading] = {}
    for candidate in order:
        side = sheet.turned(candidate)
        reading = readings[candidate] = _read(side.clean, side.inked, settings)
        if reading.is_level and reading.words and reading.confidence >= enough[candidate]:
            return candidate, reading
    best = max(order, key=lambda candidate: readings[candidate].score)
    if sureness >= SURE_OSD and readings[best].confidence < settings.ocr.low_confidence:
        best = turn  # nothing was legible, perhaps for want of its language: OSD knows more scripts
    return best, readings[best]


def _read_otherwise(sheet: _Sheet, first: _Reading, settings: Settings) -> _Reading:
    """The best of `first` and of readings of the same page cleaned in other ways."""
    best = first
    for image, config, enlarged in _variants(sheet, first, settings):
        reading = _read(image, sheet.inked, settings, config, enlarged)
        best = max(best, reading, key=lambda each: each.score)
        if best.is_good:
            break
    return best


def _variants(sheet: _Sheet, first: _Reading, settings: Settings) -> Iterator[tuple[Image.Image, str, int]]:
    """(image, tesseract's options, times enlarged), the most promising first; few where little is amiss."""
    clean = sheet.clean
    low = first.confidence < settings.ocr.low_confidence
    # Enlarged or taken for sparse text, noise costs tesseract minutes and reads as nonsense.
    crowded = preprocessing.is_crowded(sheet.inked)
    # The boxes of what was misread say little about its size.
    small = not first.words or median(word.bottom - word.top for word in first.words) < SMALL_WORDS
    small = small or (low and max(clean.size) <= SMALL_SIDE)
    fits = 4 * clean.width * clean.height <= ENLARGED_PIXELS
    if first.confidence < DOUBTFUL and small and fits and not crowded:
        yield clean.resize((2 * clean.width, 2 * clean.height), Image.Resampling.LANCZOS), "--psm 3", 2
    if low or first.unread > UNREAD_INK:
        yield clean, LOCAL_THRESHOLD, 1
    if low and not crowded:
        yield clean.filter(ImageFilter.MedianFilter(3)), "--psm 3", 1
        yield clean, "--psm 11", 1  # sparse text: the labels of a drawing
    if low and sheet.raw is not None and not preprocessing.is_crowded(preprocessing.ink(sheet.raw)):
        yield sheet.raw, "--psm 3", 1


def _timeout_s(settings: Settings) -> float:
    return settings.limits.deadline_s / CALLS_IN_DEADLINE


def _read(
    image: Image.Image,
    inked: preprocessing.Ink,
    settings: Settings,
    config: str = "--psm 3",
    enlarged: int = 1,
) -> _Reading:
    """One pass of tesseract over `image`, which is `enlarged` times as large as `inked`."""
    try:
        table = tesseract.word_table(image, settings.ocr.languages, config, _timeout_s(settings))
    except tesseract.OcrTimeout:
        return _Reading(late=True)
    words, dropped = tesseract.parse_table(table)
    if enlarged != 1:
        words = tuple(
            replace(
                word,
                x0=word.x0 / enlarged,
                top=word.top / enlarged,
                x1=word.x1 / enlarged,
                bottom=word.bottom / enlarged,
            )
            for word in words
        )
    return _Reading(words, dropped, _unread(inked, words))


def _unread(inked: preprocessing.Ink, words: tuple[WordBox, ...]) -> float:
    """The share of the ink that lies in no word's box."""
    outside = inked.copy()
    for word in words:
        rows = slice(max(0, int(word.top) - 2), int(word.bottom) + 3)
        outside[rows, max(0, int(word.x0) - 2) : int(word.x1) + 3] = False
    return float(outside.sum() / max(inked.sum(), 1))


def _in_frame(reading: _Reading, frame: tuple[int, int], size: tuple[int, int]) -> _Reading:
    """Boxes in the upright image, which lies in the middle of the frame that levelling widened."""
    x, y = (frame[0] - size[0]) / 2, (frame[1] - size[1]) / 2
    return replace(
        reading,
        words=tuple(
            replace(word, x0=word.x0 - x, top=word.top - y, x1=word.x1 - x, bottom=word.bottom - y)
            for word in reading.words
        ),
    )


def _page(
    reading: _Reading,
    rotation: int,
    skew: float,
    size: tuple[int, int],
    ink_share: float,
    settings: Settings,
) -> OcrPage:
    words = reading.words if reading.is_legible else ()
    ordered = reading_order(words, float(size[0]), float(size[1]))
    blocks = tuple(tuple(tuple(line) for line in block) for block in ordered)
    return OcrPage(
        words=tuple(word for block in blocks for line in block for word in line),
        rotation=rotation,
        confidence=reading.confidence if words else None,
        warnings=tuple(_warnings(reading, ink_share, settings)),
        width=size[0],
        height=size[1],
        skew=skew,
        blocks=blocks,
    )


def _warnings(reading: _Reading, ink_share: float, settings: Settings) -> Iterator[DocumentWarning]:
    languages = "+".join(settings.ocr.languages)
    confidence = reading.confidence
    if reading.late:
        yield DocumentWarning(
            "ocr-timeout", f"OCR took longer than {_timeout_s(settings):.0f} s and was given up"
        )
    elif not reading.is_legible:
        if reading.words:
            found = f"only marks that it takes for text at confidence {confidence:.0f} of 100, left out here"
        else:
            found = "no word"
        if ink_share >= MUCH_INK or reading.words:
            yield DocumentWarning(
                "ink-without-words",
                f"{ink_share:.1%} of the page is inked and OCR found {found}: a picture, handwriting, or "
                f"another language than {languages}",
            )
    elif confidence < settings.ocr.low_confidence:
        yield DocumentWarning(
            "low-confidence",
            f"OCR read the page at confidence {confidence:.0f} of 100: a better scan may help, or another "
            f"language than {languages}",
        )
    if reading.is_legible and reading.unread > 2 * UNREAD_INK:
        yield DocumentWarning(
            "unread-ink",
            f"{reading.unread:.0%} of the ink lies outside the words that OCR read: pictures, or text that it missed",
        )
    if reading.dropped and reading.is_legible:
        shown, more = " ".join(reading.dropped[:DROPPED_SHOWN]), len(reading.dropped) - DROPPED_SHOWN
        yield DocumentWarning(
            "dropped-marks",
            f"{counted(len(reading.dropped), 'mark')} that OCR gave no confidence, left out: {shown}"
            + (f" and {more} more" if more > 0 else ""),
        )
