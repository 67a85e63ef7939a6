"""What all zip containers have in common: bombs, passwords, damage, hostile XML."""

import io
import random
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

from pincite.schemas.errors import DocumentError, Encrypted, LimitExceeded, Unreadable, Unsupported
from pincite.schemas.settings import Limits, Settings
from pincite.tasks.extraction.base.interface import Extractor
from pincite.tasks.extraction.office.docx import extract_docx
from pincite.tasks.extraction.office.pptx import extract_pptx
from pincite.tasks.extraction.office.spreadsheet import extract_ods, extract_xlsx
from tests.tasks.extracted import rewrite_part


def make_docx(path: Path) -> None:
    document = docx.Document()
    document.add_heading("Heading", 1)
    document.add_paragraph("The pump leaks.", style="List Number")
    document.add_table(rows=2, cols=2).cell(0, 0).text = "cell"
    document.save(str(path))


def make_pptx(path: Path) -> None:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "The pump leaks."
    slide.notes_slide.notes_text_frame.text = "notes"
    presentation.save(str(path))


def make_xlsx(path: Path) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["part", "price"])
    workbook.active.append(["pump", 7])
    workbook.save(path)


def make_ods(path: Path) -> None:
    document = OpenDocumentSpreadsheet()
    table, row, cell = Table(name="Data"), TableRow(), TableCell()
    cell.addElement(P(text="The pump leaks."))
    row.addElement(cell)
    table.addElement(row)
    document.spreadsheet.addElement(table)
    document.save(str(path))


OFFICE = [
    pytest.param(make_docx, extract_docx, "word/document.xml", id="docx"),
    pytest.param(make_pptx, extract_pptx, "ppt/slides/slide1.xml", id="pptx"),
    pytest.param(make_xlsx, extract_xlsx, "xl/worksheets/sheet1.xml", id="xlsx"),
    pytest.param(make_ods, extract_ods, "content.xml", id="ods"),
]
Make = Callable[[Path], None]


def outcome(extractor: Extractor, path: Path, limits: Limits | None = None) -> str:
    return extractor(path, Settings(limits=limits or Limits()), lambda page: None).text


@pytest.mark.parametrize(("make", "extractor", "part"), OFFICE)
def test_a_bomb_is_refused_by_its_directory(
    tmp_path: Path, make: Make, extractor: Extractor, part: str
) -> None:
    path = tmp_path / "a"
    make(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.bin", bytes(20 << 20))
    with pytest.raises(LimitExceeded, match=r"raise limits\.inflated_bytes"):
        outcome(extractor, path, Limits(inflated_bytes=10 << 20))


@pytest.mark.parametrize(("make", "extractor", "part"), OFFICE)
def test_a_directory_that_lies_about_a_size_is_found_out(
    tmp_path: Path, make: Make, extractor: Extractor, part: str
) -> None:
    path = tmp_path / "a"
    make(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.bin", bytes(20 << 20))
    data = path.read_bytes().replace(struct.pack("<L", 20 << 20), struct.pack("<L", 100))
    path.write_bytes(data)
    with pytest.raises(DocumentError) as raised:
        outcome(extractor, path, Limits(inflated_bytes=10 << 20))
    assert raised.value.kind in ("limit", "unreadable")


@pytest.mark.parametrize(("make", "extractor", "part"), OFFICE)
def test_entities_are_not_expanded(tmp_path: Path, make: Make, extractor: Extractor, part: str) -> None:
    path = tmp_path / "a"
    make(path)
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "boom"}">' for n in range(10))

    def bomb(xml: str) -> str:
        head = xml.index("?>") + 2 if xml.startswith("<?xml") else 0
        return xml[:head] + f"<!DOCTYPE x [{entities}]>" + xml[head:].replace("pump", "&e9;")

    rewrite_part(path, part, bomb)
    began = time.process_time()
    with pytest.raises(Unreadable, match="document type"):
        outcome(extractor, path)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(("make", "extractor", "part"), OFFICE)
def test_an_encrypted_package_names_the_remedy(
    tmp_path: Path, make: Make, extractor: Extractor, part: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1200) + "EncryptedPackage".encode("utf-16-le") + bytes(9)
    )
    with pytest.raises(Encrypted, match="save it without one"):
        outcome(extractor, path)
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1200))
    with pytest.raises(Unsupported, match="before 2007"):
        outcome(extractor, path)


@pytest.mark.parametrize(("make", "extractor", "part"), OFFICE)
def test_an_encrypted_part_is_encrypted(tmp_path: Path, make: Make, extractor: Extractor, part: str) -> None:
    path = tmp_path / "a"
    make(path)
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 4)
    path.write_bytes(data)
    with pytest.raises(Encrypted, match="password"):
        outcome(extractor, path)


@pytest.mark.parametrize(("make", "extractor", "part"), OFFICE)
def test_truncated_and_foreign_files_are_unreadable(
    tmp_path: Path, make: Make, extractor: Extractor, part: str
) -> None:
    path = tmp_path / "a"
    make(path)
    data = path.read_bytes()
    for damaged in (data[: len(data) // 2], b"plain text", b"PK\x03\x04" + bytes(100)):
        path.write_bytes(damaged)
        with pytest.raises(Unreadable, match="cut off"):
            outcome(extractor, path)


@pytest.mark.parametrize(("make", "extractor", "part"), OFFICE)
def test_a_part_that_is_not_xml_is_unreadable(
    tmp_path: Path, make: Make, extractor: Extractor, part: str
) -> None:
    path = tmp_path / "a"
    make(path)
    for broken in ("", "<a", "<a></b>", "\x00\x01"):
        rewrite_part(path, part, lambda xml, broken=broken: broken)  # type: ignore[misc]
        with pytest.raises(Unreadable):
            outcome(extractor, path)


@pytest.mark.parametrize(("make", "extractor", "part"), OFFICE)
def test_mutated_files_end_with_text_or_a_reason(
    tmp_path: Path, make: Make, extractor: Extractor, part: str
) -> None:
    """Each part in turn with bytes of its XML changed: the outcome is text or a `DocumentError`, nothing else."""
    original = tmp_path / "original"
    make(original)
    with zipfile.ZipFile(original) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    chance = random.Random(7)
    names = sorted(name for name in parts if name.endswith((".xml", ".rels")))
    ended = {"text": 0, "reason": 0}
    for _ in range(60):
        name = part if chance.random() < 0.5 else chance.choice(names)
        mutated = io.BytesIO()
        with zipfile.ZipFile(mutated, "w") as archive:
            for each, data in parts.items():
                archive.writestr(each, mutate(data, chance) if each == name else data)
        path = tmp_path / "a"
        path.write_bytes(mutated.getvalue())
        try:
            ended["text"] += bool(outcome(extractor, path))
        except DocumentError as error:
            assert error.message
            ended["reason"] += 1
    assert ended["text"] > 5
    assert ended["reason"] > 5


def mutate(data: bytes, chance: random.Random) -> bytes:
    """Digits and names changed, an attribute dropped, or a stretch cut out: often still well-formed."""
    changed = bytearray(data)
    kind = chance.randrange(3)
    if kind == 0:
        digits = [at for at, byte in enumerate(changed) if 48 <= byte <= 57]
        for at in chance.sample(digits, min(3, len(digits))):
            changed[at] = chance.choice(b"0123456789-x")
    elif kind == 1:
        starts = [at for at, byte in enumerate(changed) if byte == 32] or [0]
        at = chance.choice(starts)
        end = data.find(b'" ', at) + 1 or at
        del changed[at:end]
    else:
        at = chance.randrange(len(changed))
        del changed[at : at + chance.randrange(1, 40)]
    return bytes(changed)
