"""Opening a PDF: limits before any parser sees it, passwords, repair."""

import io
import re
from dataclasses import dataclass
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
from pypdfium2 import raw

from pincite.schemas.counting import counted
from pincite.schemas.errors import Encrypted, LimitExceeded, SourceChanged, SourceUnavailable, Unreadable
from pincite.schemas.records import DocumentWarning
from pincite.schemas.settings import Limits
from pincite.tasks.extraction.pdf.bombs import check_forms, check_inflated

TAIL = 2048  # bytes at the end in which a whole file has its %%EOF


@dataclass(frozen=True, slots=True)
class Opened:
    """An open document; the caller closes `pdf`."""

    pdf: pdfium.PdfDocument
    data: bytes  # as read, or as repaired
    warnings: tuple[DocumentWarning, ...] = ()


def open_pdf(path: Path, limits: Limits) -> Opened:
    """The document, repaired where it must be.

    Raises LimitExceeded (source size, inflated size, pages), Encrypted, Unreadable, SourceChanged.
    """
    data = _read(path, limits)
    check_inflated(data, limits.inflated_bytes)
    check_forms(data)
    opened = _open(data)
    pages = len(opened.pdf)
    if pages > limits.pages:
        opened.pdf.close()
        raise LimitExceeded(
            f"{counted(pages, 'page')}, over the limit of {limits.pages:,}; raise limits.pages or split the file"
        )
    if pages == 0:
        opened.pdf.close()
        raise Unreadable("the PDF has no pages; export it again from its source")
    return opened


def _read(path: Path, limits: Limits) -> bytes:
    try:
        size = path.stat().st_size
        if size > limits.source_bytes:
            raise LimitExceeded(
                f"{counted(size, 'byte')}, over the limit of {limits.source_bytes:,}; raise limits.source_bytes "
                "or split the file"
            )
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise SourceChanged(f"{path.name} vanished while it was read; run again") from error
    except OSError as error:
        raise SourceUnavailable(
            f"can't read {path.name}: {error.strerror}; check its permissions and its disk"
        ) from error
    if not data.strip(b"\0\t\n\r\f "):
        raise Unreadable("the file is empty; nothing to index")
    return data


def _open(data: bytes) -> Opened:
    try:
        pdf = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if _error_code(error) in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise Encrypted(
                "the PDF is encrypted and needs a password; save a copy without one "
                "(qpdf --decrypt --password=… in.pdf out.pdf)"
            ) from error
        return _repaired(data)
    warnings: tuple[DocumentWarning, ...] = ()
    if b"%%EOF" not in data[-TAIL:]:
        warnings = (DocumentWarning("repaired", "the file's end is missing; what could be found was read"),)
    return Opened(pdf, data, warnings)


def _error_code(error: pdfium.PdfiumError) -> int:
    code = getattr(error, "err_code", None)
    return code if isinstance(code, int) else raw.FPDF_ERR_UNKNOWN


def _repaired(data: bytes) -> Opened:
    """The document as qpdf rebuilds it, for files that pdfium refuses."""
    fixed = io.BytesIO()
    try:
        with pikepdf.open(io.BytesIO(data)) as pdf:
            pdf.save(fixed)
        rebuilt = fixed.getvalue()
        opened = pdfium.PdfDocument(rebuilt)
    except pikepdf.PasswordError as error:
        raise Encrypted("the PDF is encrypted and needs a password; save a copy without one") from error
    except (pikepdf.PdfError, pdfium.PdfiumError, RuntimeError, ValueError) as error:
        raise Unreadable(
            f"not a PDF that can be read, and repair failed ({_one_line(error)}); fetch or export it again"
        ) from error
    return Opened(
        opened, rebuilt, (DocumentWarning("repaired", "the file was damaged and was rebuilt with qpdf"),)
    )


def _one_line(error: Exception) -> str:
    """The message without the address of the object that was read, which differs each time."""
    return " ".join(re.sub(r"stream <[^>]*>: ", "", str(error)).split())[:200]
