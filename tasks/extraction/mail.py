"""Mail in its three wrappings: one message (.eml), a folder of them (.mbox), and Outlook's own file (.msg)."""

import mailbox
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from pincite.schemas.errors import DocumentError, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.base.interface import Progress
from pincite.tasks.extraction.base.text_builder import TextBuilder, one_line
from pincite.tasks.extraction.members import Members
from pincite.tasks.extraction.web.email_message import append_message

MEDIA_TYPE = "message/rfc822"
_HEADERS = ("From", "To", "Cc", "Bcc", "Reply-To", "Date")
# What olefile and python-oxmsg raise on streams that are missing or make no sense.
_DAMAGE = (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)


def extract_email(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """The message. Title: its subject. Raises `Encrypted`, or `Unreadable` for what is no message."""
    progress(1)
    builder = TextBuilder()
    members = Members(settings, progress).read if settings.read_attachments else None
    subject = append_message(builder, path.read_bytes(), settings, members)
    return builder.extraction(subject, MEDIA_TYPE)


def extract_mbox(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """All messages of a folder, each a section on its place. One that can't be read is named."""
    builder = TextBuilder()
    members = Members(settings, progress).read if settings.read_attachments else None
    for number, data in enumerate(_messages(path), start=1):
        progress(number)
        with builder.place("entry", f"message {number}"):
            try:
                append_message(builder, data, settings, members, level=2)
            except DocumentError as error:
                builder.name("broken-part", "messages that can't be read", f"{number} ({error.message})")
    return builder.extraction("", "application/mbox")


def _messages(path: Path) -> Iterator[bytes]:
    folder = mailbox.mbox(path, create=False)
    try:
        for key in folder.iterkeys():
            yield folder.get_bytes(key)
    finally:
        folder.close()


def extract_msg(path: Path, settings: Settings, progress: Progress) -> Extraction:
    """A message of Outlook, read as if it had been sent."""
    progress(1)
    builder = TextBuilder()
    members = Members(settings, progress).read if settings.read_attachments else None
    try:
        message, attached = _of_outlook(path)
    except _DAMAGE as error:
        raise Unreadable(
            f"not a readable Outlook message ({type(error).__name__}: {error}): it is damaged, cut off or empty"
        ) from error
    subject = append_message(builder, message.as_bytes(), settings, None)
    for name, data in attached:
        reason = members(builder, name, data) if members else "listed"
        if reason:
            builder.name("attachment", "attachments that are not read", f"{name} ({reason})")
    return builder.extraction(subject, "application/vnd.ms-outlook")


def _of_outlook(path: Path) -> tuple[EmailMessage, list[tuple[str, bytes]]]:
    from oxmsg import Message

    found = Message.load(str(path))
    message = EmailMessage()
    message["Subject"] = one_line(found.subject or "")
    headers = {name.lower(): one_line(value) for name, value in found.message_headers.items()}
    sent, sender = found.sent_date, found.sender
    if sender and "from" not in headers:
        headers["from"] = one_line(sender)
    if sent and "date" not in headers:
        headers["date"] = format_datetime(sent)
    if "to" not in headers and found.recipients:
        headers["to"] = ", ".join(f"{each.name} <{each.email_address}>" for each in found.recipients)
    for name in _HEADERS:
        if value := headers.get(name.lower()):
            message[name] = value
    message.set_content(found.body or "")
    if found.html_body:
        message.add_alternative(found.html_body, subtype="html")
    attached = [
        (one_line(each.file_name or "") or "unnamed", each.file_bytes)
        for each in found.attachments
        if each.file_bytes
    ]
    return message, attached
