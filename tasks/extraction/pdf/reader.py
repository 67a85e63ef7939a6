"""Reads PDF: pdfium page by page, OCR where a page has no usable text, one canonical text at the end.

open (limits, password, repair) → each page: words, tables, order → running lines out → headings → text
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pypdfium2 as pdfium

from pincite.schemas.counting import counted
from pincite.schemas.errors import Unreadable
from pincite.schemas.records import DocumentWarning, Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.pdf.assembly import Assembly
from pincite.tasks.extraction.pdf.flow import sealed, with_whole_words
from pincite.tasks.extraction.pdf.notes import attachment_warnings, metadata_title, outline
from pincite.tasks.extraction.pdf.open import open_pdf
from pincite.tasks.extraction.pdf.page import PageContent, read
from pincite.tasks.extraction.pdf.page_image import page_image
from pincite.tasks.extraction.pdf.page_record import Sketch
from pincite.tasks.extraction.pdf.pdfplumber_check import SecondReader
from pincite.tasks.extraction.pdf.structure import (
    Headings,
    find_headings,
    parted_at_outline,
    without_running_lines,
)

MEDIA_TYPE = "application/pdf"
SHOWN_RUNNING = 5  # texts of running lines that the warning quotes
SHOWN_PAGES = 20  # warnings of one kind that are kept with their page; the rest is counted


def extract_pdf(
    path: Path, settings: Settings, progress: Progress, sketch: Sketch | None = None
) -> Extraction:
    """The document; `sketch` takes what is seen of its pages.

    Raises LimitExceeded, Encrypted, Unreadable (damaged, garbled, no text), OcrUnavailable.
    """
    opened = open_pdf(path, settings.limits)
    pdf = opened.pdf
    try:
        if pdf.get_formtype():
            pdf.init_forms()
        entries, title = outline(pdf), metadata_title(pdf)
        warnings = [*opened.warnings, *attachment_warnings(pdf)]
        with SecondReader(opened.data, len(pdf)) as second:
            named = {entry.page for entry in entries}
            pages = [
                page if page.number in named else sealed(page)
                for page in _pages(pdf, settings, progress, second, sketch)
            ]
            warnings += second.warnings
    finally:
        pdf.close()
    kept, running = without_running_lines(pages)
    if sketch is not None:
        sketch.leave_out(pages, kept)
    del pages
    pages = parted_at_outline(list(with_whole_words(kept)), entries)
    headings = find_headings(pages, entries)
    assembly = _assembled(pages, headings, sketch)
    text = assembly.text
    warnings += _condensed(assembly.warnings) + _told(running)
    if not any(character.isalnum() for character in text):
        raise Unreadable(_nothing(len(pages), warnings))
    return Extraction(
        text=text,
        title=title or headings.largest,
        media_type=MEDIA_TYPE,
        blocks=tuple(assembly.blocks),
        places=tuple(assembly.places),
        pages=tuple(assembly.pages),
        words=tuple(assembly.words),
        warnings=tuple(warnings),
    )


def _pages(
    pdf: pdfium.PdfDocument,
    settings: Settings,
    progress: Progress,
    second: SecondReader,
    sketch: Sketch | None,
) -> Iterator[PageContent]:
    """The contents of all pages, one page open at a time."""
    for index in range(len(pdf)):
        number = index + 1
        progress(number)
        try:
            page = pdf[index]
            try:
                content = read(page, number, settings, second)
                if sketch is not None and sketch.wants(number):
                    sketch.see(content, *page_image(page, content, settings))
            finally:
                page.close()
        except pdfium.PdfiumError as error:
            warning = DocumentWarning("page-unreadable", f"the page can't be opened ({error})", number)
            content = PageContent(number, 0.0, 0.0, (), warnings=(warning,))
        yield replace(content, ocr_words=()) if content.ocr_words else content


def _assembled(pages: Sequence[PageContent], headings: Headings, sketch: Sketch | None) -> Assembly:
    assembly = Assembly()
    for index, page in enumerate(pages):
        assembly.add_page(page, index, headings)
    if sketch is not None:
        sketch.settle(assembly.sources)
    return assembly


def _condensed(warnings: Sequence[DocumentWarning]) -> list[DocumentWarning]:
    """The warnings; of a kind that most pages have, the first and one that counts the others."""
    kept: list[DocumentWarning] = []
    counts: dict[str, int] = {}
    for warning in warnings:
        counts[warning.code] = counts.get(warning.code, 0) + 1
        if counts[warning.code] <= SHOWN_PAGES:
            kept.append(warning)
    for code, count in counts.items():
        if count > SHOWN_PAGES:
            kept.append(
                DocumentWarning(code, f"and {counted(count - SHOWN_PAGES, 'more page')} with this warning")
            )
    return kept


def _told(running: Sequence[str]) -> list[DocumentWarning]:
    if not running:
        return []
    shown = ", ".join(repr(text[:60]) for text in running[:SHOWN_RUNNING])
    rest = f" and {len(running) - SHOWN_RUNNING} more" if len(running) > SHOWN_RUNNING else ""
    return [DocumentWarning("running-lines", f"headers and footers that return were left out: {shown}{rest}")]


def _nothing(pages: int, warnings: Sequence[DocumentWarning]) -> str:
    told = "; ".join(dict.fromkeys(warning.message for warning in warnings))[:400]
    return (
        f"no text: {counted(pages, 'page holds', 'pages hold')} nothing that can be read, by OCR either"
        f"{f' ({told})' if told else ''}"
    )
