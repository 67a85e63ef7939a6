"""Opening a PDF: limits before any parser sees it, passwords, repair."""

import io
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import pikepdf
import pypdfium2 as pdfium
from pypdfium2 import raw

from schemas.errors import Encrypted, LimitExceeded, SourceChanged, Unreadable
from schemas.records import DocumentWarning
from schemas.settings import Limits

TAIL = 2048  # bytes at the end in which a whole file has its %%EOF
STEP = 1 << 20  # bytes inflated at a time
DEFLATE_RATIO = 1032  # no deflate stream grows by more, see zlib's technical details

_STREAM = re.compile(rb"stream\r?\n")
_IMAGE = re.compile(rb"/Subtype\s*/Image")


@dataclass(frozen=True, slots=True)
class Opened:
    """An open document; the caller closes `pdf`. `data` backs it when it was repaired."""

    pdf: pdfium.PdfDocument
    warnings: tuple[DocumentWarning, ...] = ()


def open_pdf(path: Path, limits: Limits) -> Opened:
    """The document, repaired where it must be.

    Raises LimitExceeded (source size, inflated size, pages), Encrypted, Unreadable, SourceChanged.
    """
    data = _read(path, limits)
    check_inflated(data, limits.inflated_bytes)
    opened = _open(data)
    pages = len(opened.pdf)
    if pages > limits.pages:
        opened.pdf.close()
        raise LimitExceeded(
            f"{pages:,} pages, over the limit of {limits.pages:,}; raise limits.pages or split the file"
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
                f"{size:,} bytes, over the limit of {limits.source_bytes:,}; raise limits.source_bytes "
                "or split the file"
            )
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise SourceChanged(f"{path.name} vanished while it was read; run again") from error
    except OSError as error:
        raise Unreadable(f"can't read {path.name}: {error.strerror}; check its permissions") from error
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
    return Opened(pdf, warnings)


def _error_code(error: pdfium.PdfiumError) -> int:
    code = getattr(error, "err_code", None)
    return code if isinstance(code, int) else raw.FPDF_ERR_UNKNOWN


def _repaired(data: bytes) -> Opened:
    """The document as qpdf rebuilds it, for files that pdfium refuses."""
    fixed = io.BytesIO()
    try:
        with pikepdf.open(io.BytesIO(data)) as pdf:
            pdf.save(fixed)
        opened = pdfium.PdfDocument(fixed.getvalue())
    except pikepdf.PasswordError as error:
        raise Encrypted("the PDF is encrypted and needs a password; save a copy without one") from error
    except (pikepdf.PdfError, pdfium.PdfiumError, RuntimeError, ValueError) as error:
        raise Unreadable(
            f"not a PDF that can be read, and repair failed ({_one_line(error)}); fetch or export it again"
        ) from error
    return Opened(opened, (DocumentWarning("repaired", "the file was damaged and was rebuilt with qpdf"),))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def check_inflated(data: bytes, limit: int) -> None:
    """Raises LimitExceeded when the streams of a PDF, images apart, inflate to more than `limit` bytes.

    Streams are found in the raw bytes, so no parser meets a bomb before it is known: xref and object streams
    count too. An image alone may be as large as the limit; the pixel cap guards its rendering.
    """
    cheap = len(data) * DEFLATE_RATIO <= limit
    total = 0
    for match in _STREAM.finditer(data):
        start = match.end()
        if not _is_zlib(data[start : start + 2]):
            continue
        nested = _is_zlib(_first_bytes(data, start))
        if cheap and not nested:
            continue
        size = _inflated_size(data, start, 2 if nested else 1, limit - total)
        if total + size > limit:
            raise LimitExceeded(
                f"its streams inflate to more than {limit:,} bytes; if the file is trusted, raise "
                "limits.inflated_bytes"
            )
        head = data[max(0, match.start() - 1000) : match.start()]
        if not _IMAGE.search(head[head.rfind(b" obj") + 1 :]):
            total += size


def _is_zlib(head: bytes) -> bool:
    return len(head) >= 2 and head[0] & 0x0F == 8 and head[0] >> 4 <= 7 and (head[0] << 8 | head[1]) % 31 == 0


def _first_bytes(data: bytes, start: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data[start : start + 256], 2)
    except zlib.error:
        return b""


def _inflated_size(data: bytes, start: int, layers: int, limit: int) -> int:
    """Bytes that the stream at `start` inflates to, over all its layers; stops soon after `limit`."""
    inflaters = [zlib.decompressobj() for _ in range(layers)]
    size = 0
    window = memoryview(data)
    position = start
    while position < len(data) and size <= limit and not inflaters[0].eof:
        size += _feed(inflaters, 0, bytes(window[position : position + STEP]), limit - size)
        position += STEP
    return size


def _feed(inflaters: list["zlib._Decompress"], layer: int, chunk: bytes, limit: int) -> int:
    if layer == len(inflaters):
        return 0
    size, inflater = 0, inflaters[layer]
    while chunk and size <= limit and not inflater.eof:
        try:
            out = inflater.decompress(chunk, STEP)
        except zlib.error:
            return size  # the parser stops here as well
        size += len(out) + _feed(inflaters, layer + 1, out, limit - size)
        chunk = inflater.unconsumed_tail
    return size
