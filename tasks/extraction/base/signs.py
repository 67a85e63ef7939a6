"""Signs: how the content of a file shows what it is, whatever its name says."""

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sign:
    """One of `starts`, `part`, `mimetype`, `stream` and `test` says what is looked for."""

    seen: str  # in words, for messages: "a PDF"
    starts: bytes = b""  # a regular expression that matches from the first byte of the file on
    part: str = ""  # the name of a part that a ZIP container of this format must have
    mimetype: bytes = b""  # what the part "mimetype" of a ZIP container of this format says
    stream: str = ""  # the name of a stream that an OLE2 file of this format has
    test: Callable[[bytes], bool] | None = None  # of the first bytes; asked when nothing else is recognised
    binary: bool = True  # False when the sign is only text that a text file may hold as well


_MAIL_HEADERS = re.compile(
    rb"(?:Return-Path|Received|From|To|Date|Subject|Message-ID|MIME-Version|Delivered-To|X-[\w-]+):", re.I
)


def is_mail(head: bytes) -> bool:
    """Two header lines (RFC 5322) that only mail has, at the very start."""
    if not _MAIL_HEADERS.match(head):
        return False
    header = head.split(b"\n\n")[0].split(b"\r\n\r\n")[0]
    return bool(re.search(rb"^From:", header, re.I | re.M)) and bool(
        re.search(rb"^(Message-ID|MIME-Version|Date):", header, re.I | re.M)
    )


def is_late_pdf(head: bytes) -> bool:
    """Readers accept a PDF header anywhere in the first 1,024 bytes (ISO 32000-1, annex H.3.4.1)."""
    return bool(re.search(rb"%PDF-\d", head[:1024])) and b"\x00" in head
