"""Calls tesseract: which way is up, which words stand where.

Tesseract is started without a session of its own, so that whoever ends this process group ends it too.
"""

import os

import pytesseract
from PIL import Image

from pincite.schemas.errors import DocumentError, LimitExceeded, OcrUnavailable, Unreadable, WorkerDied
from pincite.tasks.extraction.ocr.installed import INSTALL
from pincite.tasks.extraction.pages.layout import WordBox


class OcrTimeout(DocumentError):
    """One call took too long. Caught in `ocr`: the page is lost, not the document."""

    kind = "limit"


def orientation(grey: Image.Image, timeout_s: float) -> tuple[int, float]:
    """(degrees clockwise to turn, confidence from 0); (0, 0) where tesseract finds too few characters."""
    _one_thread()
    try:
        found = pytesseract.image_to_osd(
            _uncompressed(grey), config="--dpi 200", output_type=pytesseract.Output.DICT, timeout=timeout_s
        )
    except pytesseract.TesseractError as error:
        if error.status < 0:
            raise _died(error) from error
        return 0, 0.0
    except RuntimeError as error:
        raise _late(timeout_s) from error
    return int(found.get("rotate", 0)), float(found.get("orientation_conf", 0.0))


def word_table(grey: Image.Image, languages: tuple[str, ...], config: str, timeout_s: float) -> str:
    """Tesseract's TSV of one image."""
    _one_thread()
    try:
        return str(
            pytesseract.image_to_data(
                _uncompressed(grey),
                lang="+".join(languages),
                config=f"--dpi 200 {config}",
                timeout=timeout_s,
            )
        )
    except pytesseract.TesseractNotFoundError as error:
        raise OcrUnavailable(
            f"tesseract vanished while in use: install it ({INSTALL}), then retry"
        ) from error
    except pytesseract.TesseractError as error:
        raise _died(error) from error
    except RuntimeError as error:
        raise _late(timeout_s) from error


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
        words.append(WordBox(text, left, top, left + width, top + height, min(confidence, 100)))
    return tuple(words), tuple(dropped)


def _one_thread() -> None:
    # Several tesseracts side by side get slower with more than one thread each (tesseract issue 3109).
    os.environ["OMP_THREAD_LIMIT"] = "1"


def _uncompressed(grey: Image.Image) -> Image.Image:
    """A copy that pytesseract hands over as PNM; as PNG, its default, a page costs .3 s more."""
    handed = grey.copy()
    handed.format = "PPM"
    return handed


def _died(error: pytesseract.TesseractError) -> DocumentError:
    if "bad_alloc" in str(error.message):
        return LimitExceeded("tesseract needed more memory than the limit: raise limits.memory_bytes")
    if error.status < 0:
        return WorkerDied(f"tesseract was ended by signal {-error.status}: it may work on the next try")
    return Unreadable(f"tesseract could not read the page image ({error.message}): is it damaged?")


def _late(timeout_s: float) -> OcrTimeout:
    return OcrTimeout(f"tesseract took longer than {timeout_s:.0f} s: raise limits.deadline_s")
