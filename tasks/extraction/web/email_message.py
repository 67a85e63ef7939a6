"""E-mail messages (.eml): header lines, the body, forwarded messages, invitations, and what is attached.

bytes → message → headers, body parts in order → blocks. Of alternatives the plain text is read, or the HTML where
the plain text says less. Attachments are handed to `members`, which reads them; without it they are listed.
"""

import re
from collections.abc import Callable, Iterator
from email import policy
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message, MIMEPart
from email.parser import BytesParser
from typing import cast

from pincite.schemas.counting import counted
from pincite.schemas.errors import Encrypted, Unreadable
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.encoding import Decoded, decode, normalise_lines
from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.web.calendar_text import calendar_paragraphs
from pincite.tasks.extraction.web.html import append_html, decode_html
from pincite.tasks.extraction.web.mail_parser import defects_of, parse_message

_SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Date")
_LOCKED = ("multipart/encrypted", "application/pgp-encrypted")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_SUFFIXES = {"application/pdf": ".pdf", "text/html": ".html", "text/plain": ".txt", "text/csv": ".csv"}
_STUB = 3  # a plain text so many times shorter than the HTML beside it only says "read the HTML"
_DEPTH = 30  # of parts in parts
# What the header parser of Python 3.11 is known to raise on malformed headers instead of recording a defect.
_HEADER_FAULTS = (ValueError, IndexError, AttributeError, TypeError, LookupError, HeaderParseError)
_PARAGRAPH = re.compile(r"\n\s*\n")


Members = Callable[[TextBuilder, str, bytes], str]
"""Reads an attached file (name, bytes) into the builder; returns why it was not read, "" when it was."""


def append_message(
    builder: TextBuilder, data: bytes, settings: Settings, members: Members | None = None, level: int = 1
) -> str:
    """Appends one message under its subject as a heading of `level`; returns the subject.

    Raises `Encrypted`, or `Unreadable` for what is no message or has a body of which nothing could be read.
    """
    message, data = parse_message(data)
    reader = MailReader(builder, settings, members)
    raw = BytesParser(policy=policy.compat32).parsebytes(data, headersonly=True)
    try:
        subject = reader.headers(message, raw, level)
        reader.body(message, 0)
        reader.close(message)
    except _HEADER_FAULTS as error:
        raise Unreadable(f"the headers of a part are malformed ({type(error).__name__}: {error})") from error
    except RecursionError as error:
        raise Unreadable("parts within parts, deeper than the mail parser follows: not read") from error
    return subject


class MailReader:
    """Appends the parts of one message to a builder."""

    def __init__(self, builder: TextBuilder, settings: Settings, members: Members | None) -> None:
        self.builder = builder
        self._include_hidden = settings.include_hidden_text
        self._members = members
        self._raw: Message | None = None
        self._attached: list[tuple[str, str, bytes]] = []  # (line in the list, name, bytes)
        self._read = 0  # parts of the body
        self._broken: Unreadable | None = None  # the first part that could not be read
        self._level = 1

    def headers(self, message: MIMEPart, raw: Message | None, level: int) -> str:
        """Appends the lines that a mail program shows; returns the subject. `raw`: the header undecoded."""
        self._raw, self._level = raw, level
        subject = self._header(message, "Subject")
        self.builder.heading(subject, level)
        lines = [f"{name}: {value}" for name in _SHOWN if (value := self._header(message, name))]
        self.builder.paragraph("\n".join(lines))
        return subject

    def body(self, part: MIMEPart, depth: int) -> None:
        """Appends one part and the parts in it, in order. Raises `Encrypted`."""
        kind = part.get_content_type()
        if kind in _LOCKED or (kind.endswith("pkcs7-mime") and part.get_param("smime-type") != "signed-data"):
            raise Encrypted("the body of this message is encrypted: save it decrypted and index it again")
        for defect in defects_of(part):
            self.builder.name("broken-part", "parts that are not whole", f"{kind} ({defect})")
        if depth > _DEPTH:
            self.builder.name("not-followed", f"parts nested deeper than {_DEPTH} levels, not read", kind)
        elif kind == "message/rfc822":
            self._forwarded(part, depth)
        elif part.is_attachment() or (not part.is_multipart() and part.get_filename()):
            self._attach(part)
        elif kind == "multipart/alternative" and part.is_multipart():
            self._alternative(part, depth)
        elif kind == "message/delivery-status":
            self._status(part)
        elif part.is_multipart():
            for child in part.iter_parts():
                self.body(child, depth + 1)
        elif kind in _TEXTS or kind.startswith(("text/", "multipart/")):
            self._text(part, _TEXTS.get(kind, MailReader._plain))
        elif kind not in _SIGNATURES:
            self._attach(part)

    def close(self, message: MIMEPart) -> None:
        """What is attached. Raises `Unreadable` when there was a body and no part of it could be read."""
        if self._broken and not self._read:
            raise self._broken
        if not self._read and not self._attached and any(map(any, map(defects_of, message.walk()))):
            raise Unreadable(
                "the body of this message is missing: " + next(defects_of(message), "it is cut off")
            )
        if self._attached:
            lines = "\n".join(f"- {line}" for line, _, _ in self._attached)
            self.builder.paragraph("Attachments:\n" + lines, kind="list")
        for line, name, data in self._attached:
            if not (self._members and data):
                self.builder.name("attachment", "attachments are listed and not read", line)
            elif reason := self._members(self.builder, name, data):
                self.builder.name("attachment", "attachments are listed and not read", f"{line}: {reason}")

    def _forwarded(self, part: MIMEPart, depth: int) -> None:
        """A message in this one, under its own subject."""
        inner = part.get_payload()
        message = inner[0] if isinstance(inner, list) and inner else None
        if not isinstance(message, MIMEPart):
            self._attach(part)
            return
        level, raw = self._level, self._raw
        subject = self.headers(message, None, min(level + 1, 6))
        self._read += bool(subject)
        self.body(message, depth + 1)
        self._level, self._raw = level, raw

    def _status(self, part: MIMEPart) -> None:
        """A report on delivery: groups of header lines (RFC 3464)."""
        for group in part.get_payload() if part.is_multipart() else ():
            lines = [f"{name}: {one_line(str(value))}" for name, value in cast(Message, group).items()]
            self._read += bool(lines)
            self.builder.paragraph("\n".join(lines))

    def _text(self, part: MIMEPart, read: Callable[["MailReader", MIMEPart], None]) -> None:
        try:
            read(self, part)
            self._read += bool(_payload(part).strip())
        except Unreadable as error:
            self._broken = self._broken or error
            self.builder.name(
                "broken-part", "parts that can't be read", f"{part.get_content_type()} ({error})"
            )

    def _alternative(self, part: MIMEPart, depth: int) -> None:
        """The same message several times, the richest last (RFC 2046, 5.1.4)."""
        choices = list(part.iter_parts())
        plain = next((choice for choice in choices if choice.get_content_type() == "text/plain"), None)
        others = [choice for choice in choices if choice is not plain]
        shown = [choice for choice in others if choice.get_content_type() != "text/calendar"]
        rich = next(reversed(shown or others), None)
        stub = plain is not None and rich is not None and self._is_stub(plain, rich)
        chosen = rich if plain is None or stub else plain
        if chosen is not None:
            self.body(chosen, depth + 1)
        for choice in choices:
            if choice is not chosen and choice.get_content_type() in ("text/calendar", "message/rfc822"):
                self.body(choice, depth + 1)

    def _is_stub(self, plain: MIMEPart, rich: MIMEPart) -> bool:
        page = next((part for part in rich.walk() if part.get_content_type() == "text/html"), None)
        shown = TextBuilder()
        try:
            said = len(one_line(decode(_payload(plain), plain.get_content_charset() or "")[0]))
            if page is None or not said:
                return not said
            append_html(decode_html(_payload(page))[0], shown)
            return len(shown.extraction("", "").text) > _STUB * said
        except Unreadable:
            return False

    def _plain(self, part: MIMEPart) -> None:
        text = self._decoded(part)
        if str(part.get_param("format", "")).lower() == "flowed":
            text = unflowed(text, str(part.get_param("delsp", "")).lower() == "yes")
        for paragraph in _PARAGRAPH.split(text):
            self.builder.paragraph("\n".join(line.rstrip() for line in paragraph.strip("\n").split("\n")))

    def _calendar(self, part: MIMEPart) -> None:
        for paragraph in calendar_paragraphs(self._decoded(part)):
            self.builder.paragraph(paragraph)

    def _html(self, part: MIMEPart) -> None:
        charset = part.get_content_charset()
        data = _payload(part)
        source, warnings = _decode(data, charset) if charset else decode_html(data)
        self.builder.add_warnings(warnings)
        append_html(source, self.builder, self._include_hidden)

    def _decoded(self, part: MIMEPart) -> str:
        data = _payload(part)
        text, warnings = _decode(data, part.get_content_charset() or "") if data.strip() else ("", ())
        self.builder.add_warnings(warnings)
        return text

    def _attach(self, part: MIMEPart) -> None:
        kind = part.get_content_type()
        name, data = one_line(part.get_filename() or ""), _payload(part)
        line = f"{name or 'unnamed'} ({counted(len(data), 'byte')}, {kind})"
        drawn = kind.startswith("image/") and (
            part.get("Content-ID") or part.get_content_disposition() == "inline"
        )
        # A picture of the body is a logo far more often than a page to read.
        self._attached.append((line, name or f"unnamed{_SUFFIXES.get(kind, '')}", b"" if drawn else data))

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
        if self._raw is None:
            return "\ufffd"
        raw = ", ".join(str(value) for key, value in self._raw.raw_items() if key.lower() == name.lower())
        if not raw.isascii():
            return decode(raw.encode("utf-8", "surrogateescape"))[0]
        try:
            return str(make_header(decode_header(raw)))
        except _HEADER_FAULTS:
            return raw


_TEXTS: dict[str, Callable[[MailReader, MIMEPart], None]] = {
    "text/plain": MailReader._plain,
    "text/html": MailReader._html,
    "text/calendar": MailReader._calendar,
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


def _decode(data: bytes, charset: str) -> Decoded:
    """Of a part that was packed for the way, UTF-16 can be what its bytes are."""
    if charset.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        try:
            text = data.decode(charset)
        except (UnicodeDecodeError, LookupError):
            return decode(data)
        return normalise_lines(text), ()
    return decode(data, charset)


def _payload(part: MIMEPart) -> bytes:
    """The decoded bytes; those of a broken base64 as far as they go."""
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""
