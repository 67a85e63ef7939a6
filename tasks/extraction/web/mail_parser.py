"""Bytes to a message as mail programs understand it: what Python's parser gets wrong is mended before it parses.

A boundary without quotes (RFC 2045 asks for them around "="), or with a quote that is never closed; a file in
UTF-16; a multipart whose named boundary stands nowhere, though its parts are parted by another.
"""

import codecs
import re
from collections.abc import Iterator
from email import policy
from email.errors import (
    CloseBoundaryNotFoundDefect,
    HeaderParseError,
    MultipartInvariantViolationDefect,
    NoBoundaryInMultipartDefect,
    StartBoundaryNotFoundDefect,
)
from email.header import decode_header, make_header
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from typing import Any, cast

from pincite.schemas.errors import Unreadable

_UNQUOTED = re.compile(r"(\bboundary\s{0,9}=\s{0,9})([^\s\";][^\s;]{0,200})", re.IGNORECASE)
_UNCLOSED = re.compile(r"(\bboundary\s{0,9}=\s{0,9}\"[^\"]{1,200})\Z", re.IGNORECASE)
_DELIMITER = re.compile(
    rb"^--([^\r\n]{1,200}?)[ \t]*\r?\n(?=(?:[ \t]*\r?\n)?Content-|[ \t]*\r?\n)", re.MULTILINE
)
_WIDE_MARKS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LONGEST_PARSED = 4_000  # characters of a header
_LOST_BODY = (StartBoundaryNotFoundDefect, NoBoundaryInMultipartDefect, MultipartInvariantViolationDefect)


class _Lenient(policy.EmailPolicy):
    """Reads a boundary up to the next white space or semicolon, quotes or not."""

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        if name.lower() == "content-type" and isinstance(value, str) and not hasattr(value, "name"):
            value = _UNCLOSED.sub(r'\1"', _UNQUOTED.sub(r'\1"\2"', value.rstrip()))
        if isinstance(value, str) and len(value) > _LONGEST_PARSED:
            return _as_text(value)  # Python's parser of addresses takes the square of their length
        return super().header_fetch_parse(name, value)


_POLICY = _Lenient()


def _as_text(value: str) -> str:
    try:
        return str(make_header(decode_header(value)))
    except (ValueError, LookupError, HeaderParseError):
        return value


def parse_message(data: bytes) -> tuple[EmailMessage, bytes]:
    """(the message, the bytes that were parsed). Raises `Unreadable` for what is no message."""
    data = _narrow(data)
    try:
        message = _parsed(data)
        if _lost_body(message) and (mended := _with_found_boundary(message, data)):
            again = _parsed(mended)
            if not _lost_body(again):
                message, data = again, mended
    except RecursionError as error:
        raise Unreadable("parts within parts, deeper than the mail parser follows: not read") from error
    if not message.keys():
        raise Unreadable(
            "no header line such as From: or Subject: is at the head of this file: it is no message"
        )
    return message, data


def defects_of(part: MIMEPart) -> Iterator[str]:
    """In words, what of this part the parser missed."""
    if any(isinstance(defect, _LOST_BODY) for defect in part.defects):
        yield "its boundary stands nowhere in the message, so its parts can't be told apart"
    if any(isinstance(defect, CloseBoundaryNotFoundDefect) for defect in part.defects):
        yield "the message ends before its last boundary: what followed is missing"


def _parsed(data: bytes) -> EmailMessage:
    return cast(EmailMessage, BytesParser(policy=_POLICY).parsebytes(data))


def _narrow(data: bytes) -> bytes:
    """A file that was saved in UTF-16 as UTF-8; an mbox separator or blank lines before the first header go."""
    for mark, name in _WIDE_MARKS:
        if data.startswith(mark):
            data = data[len(mark) :].decode(name, errors="replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


def _lost_body(message: MIMEPart) -> bool:
    return any(isinstance(defect, _LOST_BODY) for defect in message.defects)


def _with_found_boundary(message: EmailMessage, data: bytes) -> bytes:
    """The message with the boundary that its body shows; b"" where none is seen."""
    found = _DELIMITER.search(data)
    if found is None:
        return b""
    head_end = re.search(rb"\r?\n\r?\n", data)
    body = data[head_end.end() :] if head_end else b""
    kind = message.get_content_type().encode()
    # A second Content-Type would be ignored: the first one that a parser meets counts.
    return (
        b"Content-Type: "
        + kind
        + b'; boundary="'
        + found[1].removesuffix(b"--")
        + b'"\r\n'
        + (data[: head_end.start()] if head_end else data)
        + b"\r\n\r\n"
        + body
    )
