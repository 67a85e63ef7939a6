"""Which extractor reads a file, and what is refused before any does."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from pincite.schemas.errors import (
    DocumentError,
    Encrypted,
    InvariantBroken,
    LimitExceeded,
    SourceChanged,
    SourceUnavailable,
    Unreadable,
    Unsupported,
)
from pincite.schemas.records import Block, DocumentWarning, Extraction, Page, Place, Word
from pincite.schemas.settings import Limits, Settings
from pincite.tasks.extraction.extract import check_extraction, extract
from pincite.tasks.extraction.registry import formats
from pincite.tasks.extraction.sniffing import sniff


def read(path: Path, settings: Settings | None = None) -> Extraction:
    return extract(path, settings or Settings(), lambda page: None)


def write(path: Path, content: bytes | str) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path: Path, error: type[DocumentError], settings: Settings | None = None) -> str:
    with pytest.raises(error) as caught:
        read(path, settings)
    return str(caught.value)


def test_no_suffix_belongs_to_two_formats() -> None:
    suffixes = [suffix for format_ in formats().values() for suffix in format_.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(re.fullmatch(r"\.[a-z0-9]+", suffix) for suffix in suffixes)


@pytest.mark.parametrize("name", ["a.txt", "A.TXT", "README", "notes.2024", "Letter to Dr. Okonkwo"])
def test_plain_text_is_read_under_any_name_without_a_telling_suffix(name: str, tmp_path: Path) -> None:
    assert read(write(tmp_path / name, "The pump stands still.\n")).extractor == "plain"


def test_an_unknown_format_is_refused_with_what_was_seen_and_what_is_read(tmp_path: Path) -> None:
    told = refused(write(tmp_path / "a.xyz", b"\x01\x02\x00\x99" * 50), Unsupported)
    assert ".xyz" in told and "binary data" in told
    other = refused(write(tmp_path / "c.xyz", b"\x07\x00\x98" * 50), Unsupported)
    assert told == other, "files of one kind that fail for one reason are one group"
    assert all(format_.name in told for format_ in formats().values())
    assert "name it .txt" in refused(write(tmp_path / "b.xyz", "words"), Unsupported)


@pytest.mark.parametrize(
    ("name", "content", "seen"),
    [
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "OLE2"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "OLE2"),
        ("song.mp3", b"ID3\x04" + bytes(99), "MP3"),
        ("data", b"\x1f\x8b\x08" + bytes(30), "gzip"),
        ("core", b"\x7fELF" + bytes(99), "program"),
        ("db.pdf", b"SQLite format 3\x00" + bytes(99), "SQLite"),
    ],
)
def test_a_format_that_is_known_but_not_read_is_named(
    name: str, content: bytes, seen: str, tmp_path: Path
) -> None:
    assert seen in refused(write(tmp_path / name, content), Unsupported)


def test_a_zip_archive_is_told_from_the_formats_that_are_zip_inside(tmp_path: Path) -> None:
    def archive(name: str, parts: dict[str, str]) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w") as file:
            for part, text in parts.items():
                file.writestr(part, text)
        return tmp_path / name

    assert extract(archive("a.zip", {"x.txt": "words"}), Settings(), lambda page: None).extractor == "zip"
    assert sniff(archive("a", {"word/document.xml": "<x/>"})).key == "docx"
    assert sniff(archive("b", {"ppt/presentation.xml": "<x/>"})).key == "pptx"
    assert sniff(archive("c", {"xl/workbook.xml": "<x/>"})).key == "xlsx"
    assert sniff(archive("d", {"META-INF/container.xml": "<x/>"})).key == "epub"
    spreadsheet = "application/vnd.oasis.opendocument.spreadsheet"
    assert sniff(archive("e", {"mimetype": spreadsheet})).key == "ods"
    assert "OpenDocument" in refused(
        archive("f.odf", {"mimetype": "application/vnd.oasis.opendocument.formula"}), Unsupported
    )


def test_a_picture_under_a_wrong_or_no_suffix_is_a_picture(tmp_path: Path) -> None:
    picture = Image.new("L", (20, 20), 255)
    for format_ in ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF"):
        picture.save(tmp_path / "picture", format_)
        assert sniff(tmp_path / "picture").key == "image", format_


def test_a_suffix_that_lies_is_overruled_with_a_warning(tmp_path: Path) -> None:
    page = write(tmp_path / "report.pdf", "<!DOCTYPE html><p>Please log in.</p>")
    extraction = read(page)
    assert extraction.extractor == "html"
    assert extraction.warnings[0].code == "format-mismatch"
    assert ".pdf" in extraction.warnings[0].message and "HTML" in extraction.warnings[0].message


def test_text_that_looks_like_another_text_format_keeps_its_suffix(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.txt", "<!DOCTYPE html><p>An example.</p>")).extractor == "plain"
    assert read(write(tmp_path / "a.md", "%PDF is what a PDF begins with.")).extractor == "markdown"
    assert read(write(tmp_path / "b.txt", "BM is short for Bondarenko and Marchetti.")).extractor == "plain"


def test_html_mail_and_transcripts_without_a_suffix_are_seen(tmp_path: Path) -> None:
    assert (
        sniff(write(tmp_path / "a", "<?xml version='1.0'?>\n<!-- x -->\n<html><p>x</p></html>")).key == "html"
    )
    assert sniff(write(tmp_path / "b", "WEBVTT\n\n00:00.000 --> 00:01.000\nx\n")).key == "transcript"
    mail = "Received: by x\r\nFrom: a@example.org\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\n\r\nx"
    assert sniff(write(tmp_path / "c", mail)).key == "email"
    assert sniff(write(tmp_path / "d", "From: the beginning\n\nDate: unknown")).key == ""


def test_an_encrypted_office_file_is_encrypted(tmp_path: Path) -> None:
    content = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(5000) + "EncryptedPackage".encode("utf-16-le")
    assert "password" in refused(write(tmp_path / "a.xlsx", content), Encrypted)


def test_an_empty_file_is_unreadable(tmp_path: Path) -> None:
    for name in ("a.txt", "a.pdf", "a.docx", "a"):
        assert "empty file" in refused(write(tmp_path / name, b""), Unreadable)


@pytest.mark.parametrize("content", [" \n\t\n", "---\n\n***\n", "!?… — §"])
def test_a_text_without_letter_or_digit_is_unreadable(content: str, tmp_path: Path) -> None:
    for name in ("a.txt", "a.md", "a.html"):
        assert "no text" in refused(write(tmp_path / name, content), Unreadable)


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "x" * 101)
    assert "limits.source_bytes" in refused(path, LimitExceeded, Settings(limits=Limits(source_bytes=100)))
    assert read(path, Settings(limits=Limits(source_bytes=101))).text == "x" * 101


def test_a_file_that_is_gone_has_changed(tmp_path: Path) -> None:
    refused(tmp_path / "a.txt", SourceChanged)


def test_a_pipe_or_folder_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "folder.txt").mkdir()
    for name in ("pipe.txt", "folder.txt"):
        assert "not a regular file" in refused(tmp_path / name, Unsupported)


def test_a_link_to_itself_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.txt").symlink_to("a.txt")
    assert "symbolic links" in refused(tmp_path / "a.txt", SourceUnavailable)


@pytest.mark.parametrize(
    "spans",
    [
        {"blocks": (Block("paragraph", 0, 6),)},
        {"blocks": (Block("paragraph", -1, 2),)},
        {"blocks": (Block("paragraph", 3, 2),)},
        {"blocks": (Block("paragraph", 0, 3), Block("paragraph", 2, 5))},
        {"places": (Place("page", 3, 5, "1"), Place("page", 0, 2, "2"))},
        {"pages": (Page(1, 0, 3, 10, 10), Page(2, 2, 5, 10, 10))},
        {"words": (Word(0, 9, 90),)},
    ],
)
def test_offsets_outside_the_text_or_out_of_order_are_refused(spans: dict[str, object]) -> None:
    with pytest.raises(InvariantBroken, match="must lie in"):
        check_extraction(Extraction("words", "", "text/plain", "x", "1", **spans))  # type: ignore[arg-type]


def test_sound_offsets_pass_and_a_lone_surrogate_does_not() -> None:
    check_extraction(
        Extraction("ab cd", "", "text/plain", "x", "1", (Block("paragraph", 0, 2), Block("paragraph", 3, 5)))
    )
    with pytest.raises(InvariantBroken, match="surrogate at character 1"):
        check_extraction(Extraction("a\ud800", "", "text/plain", "x", "1"))


def test_what_an_extractor_gave_up_is_the_reason_why_there_is_no_text() -> None:
    warnings = (DocumentWarning("hidden-text", "3 hidden elements left out"),)
    with pytest.raises(Unreadable, match="3 hidden elements left out"):
        check_extraction(Extraction(" ", "", "text/plain", "x", "1", warnings=warnings))


def test_reading_one_format_loads_no_parser_of_another(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", "words")
    code = (
        "import sys; from pathlib import Path; from pincite.schemas.settings import Settings\n"
        "from pincite.tasks.extraction.extract import extract\n"
        f"extract(Path({str(tmp_path / 'a.txt')!r}), Settings(), lambda page: None)\n"
        "print([name for name in ('torch', 'lxml', 'pypdfium2', 'markdown_it', 'prefect') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "content", "extractor"),
    [
        ("note.txt", b"%PDF-1.7 is the first line of every such file.\n", "plain"),
        ("note.md", b"GIF89a is the newer of the two signatures.\n", "markdown"),
        (
            "mz.csv",
            b"MZ,the letters that begin a program and " + b"more " * 20,
            "delimited",
        ),
        ("cp.txt", "%PDF-1.4 steht am Anfang, Größe egal".encode("cp1252"), "plain"),
    ],
)
def test_text_that_begins_like_a_binary_format_is_text(
    name: str, content: bytes, extractor: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    assert extract(tmp_path / name, Settings(), lambda page: None).extractor == extractor
