"""What of tesseract is installed: its release and its languages. Imports no library."""

import functools
import os
import subprocess

from pincite.schemas.errors import OcrUnavailable

INSTALL = "Debian, Ubuntu: apt-get install tesseract-ocr; macOS: brew install tesseract tesseract-lang"
_COMMAND = "tesseract"


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
    return frozenset(_ask(_COMMAND, search, "--list-langs")[1:])


def version() -> str:
    """As in "5.3.0"."""
    first = _ask(_COMMAND, os.environ.get("PATH", ""), "--version")[0]
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
