"""Calls tesseract: what is installed, which way is up, which words stand where.

Tesseract is started without a session of its own, so that whoever ends this process group ends it too.
"""

import functools
import os
import subprocess

import pytesseract
from PIL import Image

from pincite.schemas.errors import DocumentError, LimitExceeded, OcrUnavailable, Unreadable, WorkerDied
from pincite.tasks.extraction.pages.layout import WordBox

INSTALL = "Debian, Ubuntu: apt-get install tesseract-ocr; macOS: brew install tesseract tesseract-lang"


class OcrTimeout(DocumentError):
    """One call took too long. Caught in `ocr`: the page is lost, not the document."""

    kind = "limit"


def check_languages(languages: tuple[str, ...]) -> None:
    """Raises `OcrUnavailable` that names what to install: tesseract, a language, orientation data."""
    if not languages:
        raise OcrUnavailable("no language is set for OCR: set ocr.languages, for example to eng")
    missing = [name for name in dict.fromkeys((*languages, "osd")) if name not in installed_languages()]
    if missing:
        raise OcrUnavailable(
            f"tesseract has no data for {', '.join(missing)}: install it (Debian, Ubuntu: apt-get install "
            f"{' '.join(map(package_name, missing))}; macOS: brew install tesseract-lang) or change ocr.languages"
        )


def package_name(language: str) -> str:
    """The Debian package of a language or script: chi_sim is in tesseract-ocr-chi-sim."""
    script, _, name = language.rpartition("/")
    return f"tesseract-ocr-{'script-' if script else ''}{name.lower().replace('_', '-')}"


def installed_languages() -> frozenset[str]:
    """Names as `tesseract --list-langs` gives them; asked once for each command and search path."""
    search = f"{os.environ.get('PATH', '')}:{os.environ.get('TESSDATA_PREFIX', '')}"
    return frozenset(_ask(pytesseract.pytesseract.tesseract_cmd, search, "--list-langs")[1:])


def version() -> str:
    """As in "5.3.0"."""
    first = _ask(pytesseract.pytesseract.tesseract_cmd, os.environ.get("PATH", ""), "--version")[0]
    return first.removeprefix("tesseract").strip().removeprefix("v")


@functools.lru_cache(maxsize=8)
def _ask(command: str, search: str, question: str) -> tuple[str, ...]:
    """The lines of the answer. `search` is part of the cache's key only. A failure is not remembered."""
    try:
        told = subprocess.run(
            [command, question], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise OcrUnavailable(
            f"tesseract can't be run ({error}), and a page without text needs it: install it ({INSTALL}), then retry"
        ) from error
    return tuple(told.stdout.decode("utf-8", "replace").splitlines())


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
