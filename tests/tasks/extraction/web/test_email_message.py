"""Messages written by the standard library, and malformed ones."""

import base64
import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.schemas.errors import Encrypted, Unreadable
from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import check_extraction, extract
from pincite.tasks.extraction.mail import extract_email
from pincite.tasks.extraction.web.email_message import unflowed
from tests.tasks.extracted import check_offsets, codes, message, places


def read(mail: EmailMessage | bytes, folder: Path) -> Extraction:
    path = folder / "a.eml"
    path.write_bytes(mail if isinstance(mail, bytes) else mail.as_bytes())
    extraction = extract_email(path, Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction


def mail_of(body: str = "The pump leaks.\n\nPlease call.\n") -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = "Störung an Pumpe 7"
    mail["From"] = "Ann Lee <ann@example.org>"
    mail["To"] = "Бо <bo@example.org>"
    mail["Date"] = "Tue, 05 Mar 2024 10:00:00 +0100"
    if body:
        mail.set_content(body)
    return mail


def test_subject_header_lines_and_body_are_read(tmp_path: Path) -> None:
    extraction = read(mail_of(), tmp_path)
    assert extraction.title == "Störung an Pumpe 7"
    assert extraction.text == (
        "# Störung an Pumpe 7\n\nFrom: Ann Lee <ann@example.org>\nTo: Бо <bo@example.org>\n"
        "Date: Tue, 05 Mar 2024 10:00:00 +0100\n\nThe pump leaks.\n\nPlease call."
    )


def test_of_alternatives_the_plain_text_is_read_once(tmp_path: Path) -> None:
    mail = mail_of()
    mail.add_alternative("<p>The pump <b>leaks</b>.</p><p>Please call.</p>", subtype="html")
    assert read(mail, tmp_path).text.count("leaks") == 1


def test_a_plain_text_that_only_points_to_the_html_gives_way_to_it(tmp_path: Path) -> None:
    mail = mail_of("See HTML.\n")
    mail.add_alternative("<h2>Report</h2><p>" + "The pump leaks at forty bar. " * 9 + "</p>", subtype="html")
    extraction = read(mail, tmp_path)
    assert "## Report" in extraction.text
    assert "See HTML" not in extraction.text


def test_an_html_body_is_read_with_its_tables(tmp_path: Path) -> None:
    mail = mail_of("")
    mail.set_content(
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>0</td></tr></table>", subtype="html"
    )
    assert "| 1 | 0 |" in read(mail, tmp_path).text


def test_an_attachment_that_can_not_be_read_is_listed_and_named(tmp_path: Path) -> None:
    mail = mail_of()
    mail.add_attachment(b"x" * 12345, maintype="application", subtype="pdf", filename="Прайс 2024.pdf")
    extraction = read(mail, tmp_path)
    assert "- Прайс 2024.pdf (12,345 bytes, application/pdf)" in extraction.text
    assert "Прайс 2024.pdf" in message(extraction, "attachment")


def test_an_attachment_is_read_under_its_name_and_on_a_place_of_its_own(tmp_path: Path) -> None:
    mail = mail_of()
    mail.add_attachment(b"part,stock\nA-1,14\n", maintype="text", subtype="csv", filename="stock.csv")
    mail.add_attachment("# Plan\n\nEverything starts in May.\n", subtype="markdown", filename="plan.md")
    path = tmp_path / "a.eml"
    path.write_bytes(mail.as_bytes())
    extraction = extract_email(path, Settings(), lambda page: None)
    check_extraction(extraction)
    assert "## stock.csv\n\n| part | stock |" in extraction.text
    assert places(extraction)["stock.csv"].endswith("| A-1 | 14 |")
    assert "Everything starts in May." in places(extraction)["plan.md"]
    assert "attachment" not in codes(extraction)
    listed = extract_email(path, Settings(read_attachments=False), lambda page: None)
    assert "Everything" not in listed.text and "plan.md" in message(listed, "attachment")


def test_a_forwarded_message_is_read_under_its_subject(tmp_path: Path) -> None:
    inner = mail_of("The seal is worn.\n")
    del inner["Subject"]
    inner["Subject"] = "Seal of pump 9"
    mail = mail_of("See below.\n")
    mail.add_attachment(inner)
    text = read(mail, tmp_path).text
    assert "See below.\n\n## Seal of pump 9\n\nFrom: Ann Lee" in text
    assert text.endswith("The seal is worn.")


@pytest.mark.parametrize(
    "boundary",
    [
        "----=_NextPart_de9a",
        '"----=_NextPart_de9a',
        "----=_NextPart_de9a; x=y",
        "_004_AB=CD(E)?F/:G_",
        "===============12==",
    ],
)
def test_a_boundary_without_quotes_keeps_its_body(tmp_path: Path, boundary: str) -> None:
    mark = boundary.strip('"').partition(";")[0]
    data = (
        f"Subject: setting\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary={boundary}\n\n"
        f"--{mark}\nContent-Type: text/plain\n\nThe valve setting is 9921 bar.\n--{mark}--\n"
    )
    extraction = read(data.encode(), tmp_path)
    assert extraction.text.endswith("The valve setting is 9921 bar.")
    assert extraction.warnings == ()


def test_a_boundary_that_the_header_names_wrongly_is_found_in_the_body(tmp_path: Path) -> None:
    data = (
        b"Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=other\n\n"
        b"--real\nContent-Type: text/plain\n\nThe pump leaks.\n--real--\n"
    )
    assert read(data, tmp_path).text == "# s\n\nThe pump leaks."


def test_a_body_whose_parts_can_not_be_told_apart_is_never_lost_in_silence(tmp_path: Path) -> None:
    data = b"Subject: s\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=no\n\nThe pump leaks.\n"
    extraction = read(data, tmp_path)
    assert "The pump leaks." in extraction.text
    assert "boundary" in message(extraction, "broken-part")
    with pytest.raises(Unreadable, match="body of this message is missing"):
        read(b"Subject: s\nContent-Type: multipart/mixed; boundary=AA\n\n--AA\n", tmp_path)


def test_an_invitation_is_read_beside_the_words_and_alone(tmp_path: Path) -> None:
    source = (
        "BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nTZID:Oslo\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n"
        "END:STANDARD\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nSUMMARY:Pump review\\, line\r\n  7\r\n"
        "DTSTART;TZID=Oslo:20270105T090000\r\nLOCATION:Hall 3\r\nORGANIZER;CN=Ann Lee:mailto:a@example.org\r\n"
        "BEGIN:VALARM\r\nDESCRIPTION:Reminder\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    event = (
        "Event: Pump review, line 7\nBegins: 2027-01-05 09:00 Oslo\nPlace: Hall 3\n"
        "Organizer: Ann Lee <a@example.org>"
    )
    mail = mail_of("Please come.\n")
    mail.add_alternative(source, subtype="calendar")
    assert read(mail, tmp_path).text.endswith(f"Please come.\n\n{event}")
    alone = b"Subject: s\nContent-Type: text/calendar; charset=utf-8\n\n" + source.encode()
    assert read(alone, tmp_path).text == f"# s\n\n{event}"


def test_mail_saved_in_utf16_is_read(tmp_path: Path) -> None:
    data = "Subject: Größe\nFrom: a@example.org\nContent-Type: text/plain; charset=iso-8859-1\n\nMaß: 5 µm\n"
    extraction = read(data.encode("utf-16"), tmp_path)
    assert extraction.title == "Größe" and extraction.text.endswith("Maß: 5 µm")
    part = b"Subject: s\nContent-Type: text/plain; charset=utf-16le\nContent-Transfer-Encoding: base64\n\n"
    body = base64.b64encode("泵漏水了".encode("utf-16-le"))
    assert read(part + body + b"\n", tmp_path).text == "# s\n\n泵漏水了"


def test_mail_nested_a_thousand_deep_ends_as_a_reason_or_a_text(tmp_path: Path) -> None:
    nested = b"Content-Type: message/rfc822\n\n" * 1000
    try:
        assert "not-followed" in codes(
            read(b"Subject: s\n" + nested + b"Subject: inner\n\nwords\n", tmp_path)
        )
    except Unreadable as error:
        assert "deeper" in error.message


def test_every_message_of_a_mail_folder_is_a_section(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    folder = mailbox.mbox(path)
    for body in ("The pump leaks.\n", "The seal is worn.\n"):
        folder.add(mail_of(body))
    folder.close()
    extraction = extract(path, Settings(), lambda page: None)
    check_offsets(extraction)
    assert extraction.text.count("## Störung an Pumpe 7") == 2
    assert places(extraction)["message 2"].endswith("The seal is worn.")


def test_every_text_part_that_is_shown_is_read_in_order(tmp_path: Path) -> None:
    data = (
        b"Subject: parts\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=XX\n\n"
        b"--XX\nContent-Type: text/plain\n\nfirst\n--XX\nContent-Type: text/html\n\n<p>second</p>\n"
        b"--XX\nContent-Type: text/plain\n\nthird\n--XX--\n"
    )
    assert read(data, tmp_path).text == "# parts\n\nfirst\n\nsecond\n\nthird"


def test_raw_utf8_and_wrong_charsets_are_read(tmp_path: Path) -> None:
    data = "Subject: Größe\nFrom: Jörg <j@example.org>\nContent-Type: text/plain; charset=us-ascii\n\nMaß: 5 µm\n"
    extraction = read(data.encode(), tmp_path)
    assert extraction.title == "Größe"
    assert "From: Jörg <j@example.org>" in extraction.text
    assert "Maß: 5 µm" in extraction.text


def test_an_unknown_charset_does_not_lose_the_body(tmp_path: Path) -> None:
    data = b"Subject: x\nContent-Type: text/plain; charset=no-such-thing\n\nThe pump leaks.\n"
    assert "The pump leaks." in read(data, tmp_path).text


def test_a_body_that_is_no_text_fails_and_beside_another_is_named(tmp_path: Path) -> None:
    broken = b"Content-Type: text/plain; charset=utf-16\nContent-Transfer-Encoding: base64\n\n//4wAAo=\n"
    with pytest.raises(Unreadable):
        read(b"Subject: s\n" + broken, tmp_path)
    data = (
        b"Subject: s\nContent-Type: multipart/mixed; boundary=XX\n\n--XX\n" + broken + b"--XX\n"
        b"Content-Type: text/plain\n\nThe pump leaks.\n--XX--\n"
    )
    extraction = read(data, tmp_path)
    assert "The pump leaks." in extraction.text
    assert "broken-part" in codes(extraction)


def test_encoded_words_and_folded_lines_are_decoded(tmp_path: Path) -> None:
    data = b"Subject: =?utf-8?B?R3LDvMOfZQ==?=\n =?iso-8859-1?Q?_aus_K=F6ln?=\nFrom: a@example.org\n\nx\n"
    assert read(data, tmp_path).title == "Grüße aus Köln"


def test_flowed_lines_are_joined_and_quotes_keep_their_marks(tmp_path: Path) -> None:
    assert unflowed("one \ntwo\n> quoted \n> on\n-- \nAnn", False) == "one two\n> quoted on\n-- \nAnn"
    data = b"Subject: f\nContent-Type: text/plain; format=flowed\n\nThe pump \nleaks at \nforty bar.\n"
    assert read(data, tmp_path).text.endswith("The pump leaks at forty bar.")


@pytest.mark.parametrize(
    "kind", ["multipart/encrypted; boundary=XX", "application/pkcs7-mime; smime-type=enveloped-data"]
)
def test_an_encrypted_body_is_encrypted(tmp_path: Path, kind: str) -> None:
    data = f"Subject: s\nFrom: a@example.org\nContent-Type: {kind}\n\n--XX\n\nx\n--XX--\n".encode()
    with pytest.raises(Encrypted, match="decrypted"):
        read(data, tmp_path)


def test_a_cut_off_message_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    mail = mail_of()
    mail.add_attachment(b"x" * 9000, maintype="application", subtype="pdf", filename="a.pdf")
    extraction = read(mail.as_bytes()[:1500], tmp_path)
    assert "The pump leaks." in extraction.text
    assert "attachment" in codes(extraction)


@pytest.mark.parametrize(
    "header",
    [
        "From: <>@<<",
        "To: =?utf-8?q?=",
        "From: a@[",
        'Content-Disposition: attachment; filename*0="',
        "Date: 99 Foo -1",
        "Subject: =?x?b?!!!?=",
        "To: a@b,,, ;;: (((",
        "Content-Type: ;;;==",
        "Content-Transfer-Encoding: base65",
    ],
)
def test_malformed_headers_lose_no_body(tmp_path: Path, header: str) -> None:
    data = f"X-First: 1\n{header}\n\nThe pump leaks.\n".encode()
    text = read(data, tmp_path).text
    assert "The pump leaks." in text or "Attachments:" in text


def test_what_has_no_header_is_no_message(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no header"):
        read(b"\n\njust text\n", tmp_path)


WORDS = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORDS, st.lists(WORDS, min_size=1, max_size=4), st.sampled_from(["utf-8", "koi8-r", "gb18030"]))
def test_every_word_of_subject_and_body_is_in_the_text(
    tmp_path: Path, subject: str, words: list[str], charset: str
) -> None:
    mail = EmailMessage()
    mail["Subject"] = subject
    try:
        "\n".join(words).encode(charset)
    except UnicodeEncodeError:
        charset = "utf-8"
    mail.set_content("\n".join(words), charset=charset)
    text = read(mail, tmp_path).text
    for word in (subject, *words):
        assert word in text
