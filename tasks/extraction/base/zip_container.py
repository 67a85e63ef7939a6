"""Zip containers (OOXML, OpenDocument, EPUB): opened only when what they hold fits the limits.

The directory's sizes are summed before anything is inflated; every part is then inflated once with a running
count, because a directory can lie and because a damaged part must be found before a library half reads it.
"""

import re
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lxml import etree

from pincite.schemas.errors import DocumentError, Encrypted, LimitExceeded, Misread, Unreadable, Unsupported
from pincite.schemas.settings import Limits
from pincite.tasks.extraction.base.strict_copy import write_transitional

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # [MS-CFB] 2.2
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")  # stream name, [MS-OFFCRYPTO] 2.3.4.4
_ENCRYPTED_FLAG = 0x1  # APPNOTE.TXT 4.4.4
_RELATIONS = "_rels/.rels"
_STRICT = b"http://purl.oclc.org/ooxml/"  # ISO/IEC 29500-1 has other namespaces than everyday files
_PIECE = 1 << 20
_DOCTYPE = re.compile(rb"<!DOCTYPE", re.IGNORECASE)
_QUOTED = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>", re.DOTALL)  # where "<!DOCTYPE" is only text
_DAMAGE: tuple[type[Exception], ...] = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    ValueError,
)
# A part that is not there, or is no XML, as libraries say it.
_BROKEN_PARTS = (KeyError, etree.LxmlError, SyntaxError)
# What libraries raise on parts that are well-formed and make no sense.
_CONFUSION = (IndexError, TypeError, AttributeError, RecursionError)


class Container:
    """Reads parts by name; the sum of all that is read stays under the limit."""

    def __init__(self, archive: zipfile.ZipFile, limits: Limits, path: Path) -> None:
        self.path = path  # of the file to read: a copy, where the original is Strict Open XML
        self._archive = archive
        self._limits = limits
        self.names: tuple[str, ...] = tuple(dict.fromkeys(archive.namelist()))
        self._index = frozenset(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def read(self, name: str) -> bytes:
        """Raises `Unreadable` when the part is missing or damaged."""
        try:
            return self._archive.read(name)
        except KeyError as error:
            raise Unreadable(
                f"the part {name!r} is missing from the file: it is damaged or cut off"
            ) from error
        except _DAMAGE as error:
            raise Unreadable(f"the part {name!r} is damaged ({error})") from error

    def xml(self, name: str) -> etree._Element:
        return parse_xml(self.read(name), name)


@contextmanager
def open_container(path: Path, limits: Limits, what: str, *, dtd: bool = False) -> Iterator[Container]:
    """The container, checked: neither encrypted nor damaged nor larger than allowed.

    `what` names the format in messages. With `dtd` false, a part that declares a document type is refused:
    the office formats forbid it (ECMA-376 part 2, 8.1.4), and entities are declared nowhere else.
    """
    _refuse_ole(path, what)
    try:
        archive = zipfile.ZipFile(path)
    except _DAMAGE as error:
        raise Unreadable(
            f"not a readable {what} file ({error}): it is damaged, cut off or of another format"
        ) from error
    with archive:
        check_sizes(archive, limits)
        _inflate_all(archive, limits, dtd)
        container = Container(archive, limits, path)
        if _RELATIONS not in container or _STRICT not in container.read(_RELATIONS):
            yield container
            return
        with tempfile.TemporaryDirectory(prefix="pincite-strict-") as folder:
            everyday = Path(folder) / f"everyday{path.suffix}"
            write_transitional(archive, everyday)
            with zipfile.ZipFile(everyday) as copy:
                yield Container(copy, limits, everyday)


def check_sizes(archive: zipfile.ZipFile, limits: Limits) -> None:
    """Raises from the directory alone: `Encrypted` parts, or `LimitExceeded` by their declared sizes."""
    declared = sum(entry.file_size for entry in archive.infolist())
    if declared > limits.inflated_bytes:
        raise _too_large(declared, limits)
    locked = [entry.filename for entry in archive.infolist() if entry.flag_bits & _ENCRYPTED_FLAG]
    if locked:
        raise Encrypted(
            f"the part {locked[0]!r} needs a password: save the document without one and index again"
        )


def parse_xml(data: bytes, name: str) -> etree._Element:
    """The root element; entities stay unresolved, nothing is fetched. Raises `Unreadable`."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise Unreadable(
            f"the part {name!r} is not well-formed XML ({error.msg}): the file is damaged"
        ) from error


@contextmanager
def damage_as_unreadable(what: str, *faults: type[Exception]) -> Iterator[None]:
    """A library's complaint about a package that opened as a zip becomes `Unreadable`; `faults`: its own errors.

    Confusion becomes `Misread`, which is tried again: it may be our fault rather than the file's.
    """
    damage: tuple[type[Exception], ...] = (*_DAMAGE, *_BROKEN_PARTS, *faults)
    try:
        yield
    except DocumentError:
        raise
    except damage as error:
        raise Unreadable(
            f"not a readable {what} file ({type(error).__name__}: {error}): it is damaged"
        ) from error
    except _CONFUSION as error:
        raise Misread(
            f"this {what} file has parts that make no sense here ({type(error).__name__}: {error}): it is damaged, "
            "or Pincite can't read it; save it anew, or report it"
        ) from error


def _refuse_ole(path: Path, what: str) -> None:
    with path.open("rb") as file:
        head = file.read(len(_OLE))
        if head != _OLE:
            return
        if _holds(file.read, _ENCRYPTED_PACKAGE):
            raise Encrypted(f"this {what} file needs a password: save it without one and index it again")
    raise Unsupported(
        f"this is a binary Office file of before 2007, not {what}: save it as .docx, .xlsx or .pptx"
    )


def _holds(read: Callable[[int], bytes], needle: bytes) -> bool:
    tail = b""
    while piece := read(_PIECE):
        if needle in tail + piece:
            return True
        tail = piece[-len(needle) :]
    return False


def _inflate_all(archive: zipfile.ZipFile, limits: Limits, dtd: bool) -> None:
    total = 0
    for entry in archive.infolist():
        head = b""
        try:
            with archive.open(entry) as part:
                while piece := part.read(_PIECE):
                    head = head or piece
                    total += len(piece)
                    if total > limits.inflated_bytes:
                        raise _too_large(total, limits)
        except _DAMAGE as error:
            raise Unreadable(f"the part {entry.filename!r} is damaged ({error})") from error
        if not dtd and entry.filename.endswith((".xml", ".rels", ".vml")):
            _refuse_doctype(entry.filename, head)


def _refuse_doctype(name: str, head: bytes) -> None:
    # Without its zero bytes UTF-16 reads like ASCII.
    if _DOCTYPE.search(_QUOTED.sub(b"", head.replace(b"\0", b""))):
        raise Unreadable(f"the part {name!r} declares a document type, which office files must not: not read")


def _too_large(size: int, limits: Limits) -> LimitExceeded:
    return LimitExceeded(
        f"the container inflates to {size:,} bytes or more, over the limit of {limits.inflated_bytes:,}: "
        "raise limits.inflated_bytes if the file is trusted"
    )
