"""Strict Open XML, Office files of before 2007 and Rich Text."""

import zipfile
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest

from pincite.schemas.errors import Unreadable, Unsupported
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.extract import extract
from pincite.tasks.extraction.office import libreoffice
from pincite.tasks.extraction.office.rich_text import extract_rich_text
from tests.tasks.extracted import check_offsets, codes

needs_libreoffice = pytest.mark.skipif(not libreoffice.command(), reason="LibreOffice is not installed")
RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}\pard Count 4.2 x 10{\super 6} in 20 m\super 2\nosupersub  of "
    r"H{\sub 2}O.\par The price is {\strike 4,100 euro} 5,300 euro. {\v secret}Gr\'f6\'dfe \u8364?5\par "
    r"\trowd\cellx1000\cellx2000 Part\cell Torque\cell\row\trowd\cellx1000\cellx2000 Seal\cell 45 Nm\cell\row"
    r"\pard After.\par}"
)
RTF_TEXT = (
    "Count 4.2 x 10^6 in 20 m² of H₂O.\n\nThe price is ~~4,100 euro~~ 5,300 euro. Größe €5\n\n"
    "| Part | Torque |\n| --- | --- |\n| Seal | 45 Nm |\n\nAfter."
)


def text_of(path: Path) -> str:
    extraction = extract(path, Settings(), lambda page: None)
    check_offsets(extraction)
    return extraction.text


def make_strict(path: Path) -> None:
    """The package under the namespaces of ISO/IEC 29500-1."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    rooms = ("wordprocessingml", "spreadsheetml", "presentationml", "drawingml", "officeDocument")
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            strict = data.replace(b"relationships/extended-properties", b"relationships/extendedProperties")
            for room in rooms:
                everyday = f"http://schemas.openxmlformats.org/{room}/2006/".encode()
                strict = strict.replace(everyday, f"http://purl.oclc.org/ooxml/{room}/".encode())
            archive.writestr(name, strict)


def write_docx(path: Path) -> None:
    document = docx.Document()
    document.add_heading("Pump", 1)
    document.add_paragraph("Drain first.").add_run("2").font.superscript = True
    document.save(str(path))


def write_pptx(path: Path) -> None:
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "Goals 7"
    deck.save(str(path))


def write_xlsx(path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["part", "zip"])
    book.active.append(["A-1", 21391234])
    book.active["B2"].number_format = "00000-0000"
    book.save(path)


def test_strict_open_xml_is_read_as_everyday_files_are(tmp_path: Path) -> None:
    for suffix, write in ((".docx", write_docx), (".pptx", write_pptx), (".xlsx", write_xlsx)):
        path = tmp_path / f"a{suffix}"
        write(path)
        everyday = text_of(path)
        make_strict(path)
        assert text_of(path) == everyday


def test_rich_text_is_read_without_libreoffice(tmp_path: Path) -> None:
    (tmp_path / "a.rtf").write_text(RTF)
    extraction = extract_rich_text(tmp_path / "a.rtf", Settings())
    check_offsets(extraction)
    assert extraction.text == RTF_TEXT
    assert {"struck-text", "hidden-text"} <= set(codes(extraction))
    (tmp_path / "b.rtf").write_text("{\\rtf1")
    with pytest.raises(Unreadable):
        extract_rich_text(tmp_path / "b.rtf", Settings())


def test_without_libreoffice_an_old_file_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libreoffice, "command", lambda: "")
    path = tmp_path / "a.doc"
    path.write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "WordDocument".encode("utf-16-le") + bytes(60)
    )
    with pytest.raises(Unsupported, match="LibreOffice"):
        extract(path, Settings(), lambda page: None)


@needs_libreoffice
def test_old_files_are_read_by_libreoffice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_docx(tmp_path / "w.docx")
    write_pptx(tmp_path / "p.pptx")
    write_xlsx(tmp_path / "x.xlsx")
    for name, suffix in (("w.docx", "doc"), ("p.pptx", "ppt"), ("x.xlsx", "xls")):
        libreoffice.convert(tmp_path / name, suffix)
    assert text_of(tmp_path / "w.doc") == "# Pump\n\nDrain first.2"
    assert "Goals 7" in text_of(tmp_path / "p.ppt")
    assert "| A-1 | 02139-1234 |" in text_of(tmp_path / "x.xls")
    monkeypatch.setattr(libreoffice, "command", lambda: "")
    assert "| A-1 | 02139-1234 |" in text_of(tmp_path / "x.xls")  # by xlrd
    (tmp_path / "a.rtf").write_text(RTF)
    monkeypatch.undo()
    assert text_of(tmp_path / "a.rtf").startswith("Count 4.2 x 10^6 in 20 m² of H₂O.")
