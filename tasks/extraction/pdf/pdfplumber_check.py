"""A second opinion on a page's text from pdfplumber: asked for the first of several pages, and in doubt.

It costs some 50 ms a page against 10 for all of ours, so it is not asked for each page.
"""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import pdfplumber
from pdfplumber.page import Page
from pdfplumber.pdf import PDF

from pincite.schemas.counting import counted
from pincite.schemas.records import DocumentWarning
from pincite.tasks.extraction.pdf.layers import Layers
from pincite.tasks.extraction.pdf.line_text import clean
from pincite.tasks.extraction.pdf.words import PdfWord

MAX_OBJECTS = 5_000  # drawn on the page; more of them cost pdfplumber seconds
DIFFERENT = 1.4  # ratio of the numbers of characters from which on the two disagree
MANY = 50  # characters by which they must differ as well

logging.getLogger("pdfminer").setLevel(logging.ERROR)  # what it would warn of is judged here


class SecondReader:
    """pdfplumber on the same bytes, opened when it is first asked."""

    def __init__(self, data: bytes, pages: int) -> None:
        self._data = data
        self.layers = Layers(data)
        self.pages = pages
        self._pdf: PDF | None = None
        self._failed = False
        self._compared = False
        self.warnings: list[DocumentWarning] = []

    def __enter__(self) -> "SecondReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()

    def rest(self) -> None:
        """Lets go of what the file's pages take in memory; the file is opened again when it is asked for."""
        if self._pdf is not None:
            self._pdf.close()
            self._pdf = None

    def count(self, number: int, expected: int) -> int | None:
        """Characters of the page that are no white space; None when pdfplumber can't read it.

        Those drawn again in the same place count once, where that matters: telling them apart is slow.
        """
        with self._page(number) as page:
            if page is None:
                return None
            characters = _count(page)
            return _count(page.dedupe_chars()) if disagreement(characters, expected) else characters

    def words(self, number: int) -> list[PdfWord]:
        """The words of the page as shown; none when pdfplumber can't read it, or knows no more than pdfium."""
        with self._page(number) as page:
            if page is None:
                return []
            found = page.dedupe_chars().extract_words(
                extra_attrs=["size", "fontname"], x_tolerance_ratio=0.25
            )
        words = [
            PdfWord(
                clean(word["text"]),
                float(word["x0"]),
                float(word["top"]),
                float(word["x1"]),
                float(word["bottom"]),
                None,
                float(word["size"]),
                "bold" in str(word["fontname"]).lower(),
            )
            for word in found
        ]
        text = "".join(word.text for word in words)
        if "(cid:" in text or any(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" for c in text):
            return []
        return words

    @contextmanager
    def _page(self, number: int) -> Iterator[Page | None]:
        """The open page, flushed afterwards; None when the file or the page can't be read."""
        page = self._opened(number)
        try:
            yield page
        finally:
            if page is not None:
                page.close()

    def _opened(self, number: int) -> Page | None:
        if self._failed:
            return None
        try:
            if self._pdf is None:
                self._pdf = pdfplumber.open(io.BytesIO(self._data))
                if not self._compared:
                    self._compare_pages(len(self._pdf.pages))
            page = self._pdf.pages[number - 1]
            len(page.chars)  # parses the page, and fails here if it does
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - pdfminer lets damage out as whatever it caused, in any class
            self._failed = True
            self._pdf = None  # its close() would build the broken pages again; it holds no file
            self.warnings.append(
                DocumentWarning(
                    "not-compared",
                    f"pdfplumber can't read the file ({type(error).__name__}): pdfium's text stands alone",
                )
            )
            return None
        return page

    def _compare_pages(self, pages: int) -> None:
        self._compared = True
        if pages != self.pages:
            self.warnings.append(
                DocumentWarning(
                    "page-count", f"pdfium finds {counted(self.pages, 'page')}, pdfplumber {pages}"
                )
            )


def _count(page: Page) -> int:
    return sum(1 for char in page.chars if char["text"].strip())


def disagreement(first: int, second: int) -> bool:
    """Whether two numbers of characters of one page differ too much."""
    more, less = max(first, second), min(first, second)
    return more - less > MANY and more > DIFFERENT * less
