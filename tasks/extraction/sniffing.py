"""What a file is by its content: its first bytes, and the names inside a ZIP container.

The signs of a format stand in its row of `registry`; here are those of what no extractor reads.
"""

import mmap
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pincite.tasks.extraction.base.signs import Sign
from pincite.tasks.extraction.registry import formats

HEAD_BYTES = 4096
_TEXT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Sniffed:
    """What the content shows. `key` names a row of the format table, "" where no extractor reads it."""

    key: str
    seen: str  # in words, for messages
    binary: bool = True  # as in `Sign`


_NOTHING = Sniffed("", "")

_UNREAD = (
    Sign("a program", rb"\x7fELF|MZ.{62}"),
    Sign("gzip data", rb"\x1f\x8b"),
    Sign("a 7-Zip archive", rb"7z\xbc\xaf\x27\x1c"),
    Sign("a RAR archive", rb"Rar!\x1a\x07"),
    Sign("bzip2 data", rb"BZh\d1AY"),
    Sign("XZ data", rb"\xfd7zXZ\x00"),
    Sign("an SQLite database", rb"SQLite format 3\x00"),
    Sign("a Parquet file", rb"PAR1"),
    Sign("MP3 audio", rb"ID3|\xff[\xfb\xf3\xf2]"),
    Sign("WAV audio", rb"RIFF.{4}WAVE"),
    Sign("Ogg audio or video", rb"OggS\x00"),
    Sign("MP4 audio or video", rb".{4}ftyp"),
    Sign("PostScript", rb"%!PS", binary=False),
)
_OLE2 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_ODF = b"application/vnd.oasis.opendocument."


def sniff(path: Path) -> Sniffed:
    """What the content of `path` shows; `Sniffed("", "")` where nothing is recognised."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(_ZIP):
        return _sniff_zip(path)
    if head.startswith(_OLE2):
        return _sniff_ole2(path)
    for pattern, sniffed in _starts():
        if pattern.match(head):
            return sniffed
    for key, sign in _signs():
        if sign.test and sign.test(head):
            return Sniffed(key, sign.seen, sign.binary)
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


def _signs() -> Iterator[tuple[str, Sign]]:
    """(key of the format, sign): of all formats, then of what no extractor reads."""
    yield from ((key, sign) for key, one in formats().items() for sign in one.signs)
    yield from (("", sign) for sign in _UNREAD)


@cache
def _starts() -> tuple[tuple[re.Pattern[bytes], Sniffed], ...]:
    return tuple(
        (re.compile(sign.starts, re.DOTALL), Sniffed(key, sign.seen, sign.binary))
        for key, sign in _signs()
        if sign.starts
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
    for key, sign in _signs():
        if sign.mimetype and sign.mimetype == mimetype.removesuffix(b"-template"):
            return Sniffed(key, sign.seen)
    if mimetype.startswith(_ODF):
        return Sniffed("", "an OpenDocument file of another kind")
    for key, sign in _signs():
        if sign.part and sign.part in names:
            return Sniffed(key, sign.seen)
    return Sniffed("zip", "a ZIP archive")


def _sniff_ole2(path: Path) -> Sniffed:
    """An OLE2 file is a Word, Excel or PowerPoint file of before 2007, or a newer one behind a password."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for key, sign in _signs():
            if sign.stream and content.find(sign.stream.encode("utf-16-le")) >= 0:
                return Sniffed(key, sign.seen)
        # [MS-OFFCRYPTO] 2.3: an encrypted package is a stream of this name in an OLE2 file.
        locked = content.find("EncryptedPackage".encode("utf-16-le")) >= 0
    return (
        Sniffed("encrypted", "an encrypted Office file")
        if locked
        else Sniffed("", "an OLE2 file that is neither Office nor Outlook")
    )
