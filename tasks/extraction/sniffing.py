"""What a file is by its content: its first bytes, and the names inside a ZIP container."""

import mmap
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

HEAD_BYTES = 4096
_TEXT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the content shows. `key` names a row of the format table, "" where no extractor reads it."""

    key: str
    seen: str  # in words, for messages
    binary: bool = True  # False when the sign is only text that a text file may hold as well


_NOTHING = Sniffed("", "")

_SIGNATURES: tuple[tuple[re.Pattern[bytes], Sniffed], ...] = tuple(
    (re.compile(pattern, re.DOTALL), sniffed)
    for pattern, sniffed in (
        (rb"%PDF-\d", Sniffed("pdf", "a PDF")),
        (rb"\x89PNG\r\n\x1a\n", Sniffed("image", "a PNG image")),
        (rb"\xff\xd8\xff", Sniffed("image", "a JPEG image")),
        (rb"II\*\x00|MM\x00\*|II\+\x00|MM\x00\+", Sniffed("image", "a TIFF image")),
        (rb"GIF8[79]a", Sniffed("image", "a GIF image")),
        (rb"RIFF.{4}WEBP", Sniffed("image", "a WebP image")),
        # "BM" alone begins many an English text: the four reserved bytes decide.
        (rb"BM.{4}\x00{4}", Sniffed("image", "a BMP image")),
        (rb"\x7fELF|MZ.{62}", Sniffed("", "a program")),
        (rb"\x1f\x8b", Sniffed("", "gzip data")),
        (rb"7z\xbc\xaf\x27\x1c", Sniffed("", "a 7-Zip archive")),
        (rb"Rar!\x1a\x07", Sniffed("", "a RAR archive")),
        (rb"BZh\d1AY", Sniffed("", "bzip2 data")),
        (rb"\xfd7zXZ\x00", Sniffed("", "XZ data")),
        (rb"SQLite format 3\x00", Sniffed("", "an SQLite database")),
        (rb"PAR1", Sniffed("", "a Parquet file")),
        (rb"ID3|\xff[\xfb\xf3\xf2]", Sniffed("", "MP3 audio")),
        (rb"RIFF.{4}WAVE", Sniffed("", "WAV audio")),
        (rb"OggS\x00", Sniffed("", "Ogg audio or video")),
        (rb".{4}ftyp", Sniffed("", "MP4 audio or video")),
        (rb"\{\\rtf", Sniffed("", "an RTF document", binary=False)),
        (rb"%!PS", Sniffed("", "PostScript", binary=False)),
        (rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(?i:<!doctype\s+html|<html\b)",
         Sniffed("html", "an HTML page", binary=False)),
        (rb"(\xef\xbb\xbf)?WEBVTT[ \t\r\n]", Sniffed("transcript", "a WebVTT transcript", binary=False)),
    )
)  # fmt: skip

_OLE2 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ZIP_PARTS = {
    "word/document.xml": Sniffed("docx", "a Word document"),
    "ppt/presentation.xml": Sniffed("pptx", "a PowerPoint presentation"),
    "xl/workbook.xml": Sniffed("xlsx", "an Excel workbook"),
    "META-INF/container.xml": Sniffed("epub", "an EPUB book"),
}
_ODS = Sniffed("ods", "an OpenDocument spreadsheet")
_ODF = Sniffed("", "an OpenDocument file that is no spreadsheet")
_MAIL_HEADERS = re.compile(
    rb"(?:Return-Path|Received|From|To|Date|Subject|Message-ID|MIME-Version|Delivered-To|X-[\w-]+):", re.I
)


def sniff(path: Path) -> Sniffed:
    """What the content of `path` shows; `Sniffed("", "")` where nothing is recognised."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(_ZIP):
        return _sniff_zip(path)
    if head.startswith(_OLE2):
        return _sniff_ole2(path)
    for pattern, sniffed in _SIGNATURES:
        if pattern.match(head):
            return sniffed
    # Readers accept a PDF header anywhere in the first 1,024 bytes (ISO 32000-1, annex H.3.4.1).
    if re.search(rb"%PDF-\d", head[:1024]) and b"\x00" in head:
        return Sniffed("pdf", "a PDF")
    if _is_mail(head):
        return Sniffed("email", "an e-mail message", binary=False)
    return _NOTHING


def reads_as_text(path: Path) -> bool:
    """Whether a file that begins like a binary format is text after all: a note about PDF files is no PDF."""
    with path.open("rb") as file:
        data = file.read(_TEXT_BYTES)
    return b"\x00" not in data and not (data.startswith(b"%PDF-") and b"endobj" in data)


def looks_binary(head: bytes) -> bool:
    """Whether these first bytes are not text in any encoding: NULs without a UTF-16 or UTF-32 sign."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return False
    return (
        b"\x00" in head or sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head) > len(head) // 20
    )


def _is_mail(head: bytes) -> bool:
    """Two header lines (RFC 5322) that only mail has, at the very start."""
    if not _MAIL_HEADERS.match(head):
        return False
    header = head.split(b"\n\n")[0].split(b"\r\n\r\n")[0]
    return bool(re.search(rb"^From:", header, re.I | re.M)) and bool(
        re.search(rb"^(Message-ID|MIME-Version|Date):", header, re.I | re.M)
    )


def _sniff_zip(path: Path) -> Sniffed:
    """Which format a ZIP container holds, by the parts that each of them must have."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            mimetype = b""
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                mimetype = archive.read("mimetype").strip()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        # A damaged container: the suffix must decide, and its extractor says what is broken.
        return _NOTHING
    if mimetype.startswith(b"application/vnd.oasis.opendocument."):
        return _ODS if mimetype.endswith(b".spreadsheet") else _ODF
    for part, sniffed in _ZIP_PARTS.items():
        if part in names:
            return sniffed
    return Sniffed("zip", "a ZIP archive")


def _sniff_ole2(path: Path) -> Sniffed:
    """An OLE2 file is a Word, Excel or PowerPoint file of before 2007, or a newer one behind a password."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        # [MS-OXMSG] 2.4: every Outlook message has this stream.
        if content.find("__properties_version1.0".encode("utf-16-le")) >= 0:
            return Sniffed("msg", "an Outlook message")
        # [MS-OFFCRYPTO] 2.3: an encrypted package is a stream of this name in an OLE2 file.
        locked = content.find("EncryptedPackage".encode("utf-16-le")) >= 0
    return (
        Sniffed("encrypted", "an encrypted Office file")
        if locked
        else Sniffed("", "an Office file of before 2007 (save it as .docx, .xlsx or .pptx)")
    )
