"""E-mail messages (.eml): header lines, the body, and the names of what is attached.

bytes → `email` with the default policy → headers, body parts in order → blocks. Of alternatives the plain text is
read, or the HTML where the plain text says less. Attachments are listed and not followed.
"""

import re
from collections.abc import Callable, Iterator
from email import policy
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message, MIMEPart
from email.parser import BytesParser
from pathlib import Path

from pincite.schemas.counting import counted
from pincite.schemas.errors import Encrypted, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import decode
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.web.html import append_html, decode_html

EXTRACTOR = "email"
EXTRACTOR_VERSION = "2"
MEDIA_TYPE = "message/rfc822"

_SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Date")
_LOCKED = ("multipart/encrypted", "application/pgp-encrypted")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_STUB = 3  # a plain text so many times shorter than the HTML beside it only says "read the HTML"
_DEPTH = 30  # of parts in parts
# What the header parser of Python 3.11 is known to raise on malformed headers instead of recording a defect.
_HEADER_FAULTS = (ValueError, IndexError, AttributeError, TypeError, LookupError, HeaderParseError)
_PARAGRAPH = re.compile(r"\n\s*\n")


def extract_email(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The message. Title: its subject. Raises `Encrypted`, or `Unreadable` for what is no message."""
    progress(1)
    data = path.read_bytes()
    message = BytesParser(policy=policy.default).parsebytes(data)
    if not message.keys():
        raise Unreadable(
            "no header line such as From: or Subject: is at the head of this file: it is no message"
        )
    reader = _Reader(settings, data)
    subject = reader.headers(message)
    try:
        reader.body(message, 0)
    except _HEADER_FAULTS as error:
        raise Unreadable(f"the headers of a part are malformed ({type(error).__name__}: {error})") from error
    reader.list_attachments()
    return reader.builder.extraction(subject, MEDIA_TYPE, EXTRACTOR, EXTRACTOR_VERSION)


class _Reader:
    def __init__(self, settings: Settings, data: bytes) -> None:
        self.builder = TextBuilder()
        self._include_hidden = settings.include_hidden_text
        self._raw = BytesParser(policy=policy.compat32).parsebytes(data, headersonly=True)
        self._attached: list[str] = []
        self._read = 0  # parts of the body
        self._broken: Unreadable | None = None  # the first part that could not be read

    def headers(self, message: MIMEPart) -> str:
        """Appends the lines that a mail program shows; returns the subject."""
        subject = self._header(message, "Subject")
        self.builder.heading(subject, 1)
        lines = [f"{name}: {value}" for name in _SHOWN if (value := self._header(message, name))]
        self.builder.paragraph("\n".join(lines))
        return subject

    def body(self, part: MIMEPart, depth: int) -> None:
        """Appends one part and the parts in it, in order. Raises `Encrypted`."""
        kind = part.get_content_type()
        if kind in _LOCKED or (kind.endswith("pkcs7-mime") and part.get_param("smime-type") != "signed-data"):
            raise Encrypted("the body of this message is encrypted: save it decrypted and index it again")
        if depth > _DEPTH:
            self.builder.name("not-followed", f"parts nested deeper than {_DEPTH} levels, not read", kind)
        elif (
            part.is_attachment()
            or kind == "message/rfc822"
            or (not part.is_multipart() and part.get_filename())
        ):
            self._attach(part)
        elif kind == "multipart/alternative":
            self._alternative(part, depth)
        elif part.is_multipart():
            for child in part.iter_parts():
                self.body(child, depth + 1)
        elif kind in _TEXTS:
            self._text(part, _TEXTS[kind])
        elif kind not in _SIGNATURES:
            self._attach(part)

    def list_attachments(self) -> None:
        """Raises `Unreadable` when there was a body and no part of it could be read."""
        if self._broken and not self._read:
            raise self._broken
        if not self._attached:
            return
        self.builder.paragraph(
            "Attachments:\n" + "\n".join(f"- {line}" for line in self._attached), kind="list"
        )
        for line in self._attached:
            self.builder.name("attachment", "attachments are listed and not followed", line)

    def _text(self, part: MIMEPart, read: Callable[["_Reader", MIMEPart], None]) -> None:
        try:
            read(self, part)
            self._read += 1
        except Unreadable as error:
            self._broken = self._broken or error
            self.builder.name(
                "broken-part", "parts that can't be read", f"{part.get_content_type()} ({error})"
            )

    def _alternative(self, part: MIMEPart, depth: int) -> None:
        """The same message several times, the richest last (RFC 2046, 5.1.4)."""
        choices = list(part.iter_parts())
        plain = next((choice for choice in choices if choice.get_content_type() == "text/plain"), None)
        rich = next((choice for choice in reversed(choices) if choice is not plain), None)
        stub = plain is not None and rich is not None and self._is_stub(plain, rich)
        chosen = rich if plain is None or stub else plain
        if chosen is not None:
            self.body(chosen, depth + 1)
        for choice in choices:
            if choice is not chosen and choice.get_content_type() in ("text/calendar", "message/rfc822"):
                self._attach(choice)

    def _is_stub(self, plain: MIMEPart, rich: MIMEPart) -> bool:
        page = next((part for part in rich.walk() if part.get_content_type() == "text/html"), None)
        shown = TextBuilder()
        try:
            said = len(one_line(decode(_payload(plain), plain.get_content_charset() or "")[0]))
            if page is None or not said:
                return not said
            append_html(decode_html(_payload(page))[0], shown)
            return len(shown.extraction("", "", "", "").text) > _STUB * said
        except Unreadable:
            return False

    def _plain(self, part: MIMEPart) -> None:
        text = self._decoded(part)
        if str(part.get_param("format", "")).lower() == "flowed":
            text = unflowed(text, str(part.get_param("delsp", "")).lower() == "yes")
        for paragraph in _PARAGRAPH.split(text):
            self.builder.paragraph("\n".join(line.rstrip() for line in paragraph.strip("\n").split("\n")))

    def _html(self, part: MIMEPart) -> None:
        charset = part.get_content_charset()
        data = _payload(part)
        source, warnings = decode(data, charset) if charset else decode_html(data)
        self.builder.add_warnings(warnings)
        append_html(source, self.builder, self._include_hidden)

    def _decoded(self, part: MIMEPart) -> str:
        data = _payload(part)
        text, warnings = decode(data, part.get_content_charset() or "") if data.strip() else ("", ())
        self.builder.add_warnings(warnings)
        return text

    def _attach(self, part: MIMEPart) -> None:
        kind = part.get_content_type()
        if kind == "message/rfc822":
            inner = part.get_payload()
            message = inner[0] if isinstance(inner, list) and inner else None
            name = str(message["Subject"] or "") if isinstance(message, Message) else ""
            size = len(message.as_bytes(policy=policy.compat32)) if isinstance(message, Message) else 0
        else:
            name, size = part.get_filename() or "", len(_payload(part))
        self._attached.append(f"{one_line(name) or 'unnamed'} ({counted(size, 'byte')}, {kind})")

    def _header(self, message: MIMEPart, name: str) -> str:
        """The header as shown. Several of one name (a fault) are all shown."""
        try:
            text = ", ".join(str(value) for value in message.get_all(name, []))
        except _HEADER_FAULTS as error:
            self.builder.warn(
                "broken-header", f"the {name} header is malformed ({error}): shown as it is written"
            )
            text = "\ufffd"
        return one_line(self._as_written(name) if "\ufffd" in text else text)

    def _as_written(self, name: str) -> str:
        """The raw header: encoded words decoded where they can be, bytes beyond ASCII by their encoding."""
        raw = ", ".join(str(value) for key, value in self._raw.raw_items() if key.lower() == name.lower())
        if not raw.isascii():
            return decode(raw.encode("utf-8", "surrogateescape"))[0]
        try:
            return str(make_header(decode_header(raw)))
        except _HEADER_FAULTS:
            return raw


_TEXTS: dict[str, Callable[[_Reader, MIMEPart], None]] = {
    "text/plain": _Reader._plain,
    "text/html": _Reader._html,
}


def unflowed(text: str, delete_space: bool) -> str:
    """Lines that were broken to fit the screen, joined again (RFC 3676, 4)."""
    lines: list[str] = []
    open_depth: int | None = None
    for depth, line in _quoted(text):
        flows = line.endswith(" ") and line != "-- "
        if open_depth == depth and line != "-- ":
            lines[-1] += line
        else:
            lines.append("> " * bool(depth) + line if depth < 2 else ">" * depth + " " + line)
        if flows and delete_space:
            lines[-1] = lines[-1][:-1]
        open_depth = depth if flows else None
    return "\n".join(lines)


def _quoted(text: str) -> Iterator[tuple[int, str]]:
    """(depth of quoting, line without its marks and without the space that was stuffed before it)."""
    for line in text.split("\n"):
        bare = line.lstrip(">")
        yield len(line) - len(bare), bare.removeprefix(" ")


def _payload(part: MIMEPart) -> bytes:
    """The decoded bytes; those of a broken base64 as far as they go."""
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""
