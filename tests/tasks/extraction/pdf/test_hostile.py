"""Damaged, encrypted and hostile PDFs end with a reason inside the limits."""

import io
import random
import zlib
from dataclasses import replace
from pathlib import Path

import pikepdf
import pytest
from pikepdf import Array, Dictionary, Name, Stream

from benchmarks.pdf_files import KINDS, make, running
from pincite.schemas.errors import DocumentError, Encrypted, LimitExceeded, SourceChanged, Unreadable
from pincite.schemas.settings import Limits, Settings
from pincite.tasks.extraction.pdf.reader import extract_pdf
from tests.tasks.extracted import codes
from tests.tasks.pdf_files import read


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("pdf") / "a.pdf"
    make(path, 1, running(2))
    return path.read_bytes()


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def locked(data: bytes, path: Path, password: str) -> Path:
    with pikepdf.open(io.BytesIO(data)) as pdf:
        pdf.save(path, encryption=pikepdf.Encryption(owner="owner", user=password))
    return path


def test_an_empty_password_opens_and_another_is_asked_for(tmp_path: Path, sound: bytes) -> None:
    plain = read(put(tmp_path / "a.pdf", sound)).text
    assert read(locked(sound, tmp_path / "b.pdf", "")).text == plain
    with pytest.raises(Encrypted, match="qpdf --decrypt"):
        read(locked(sound, tmp_path / "c.pdf", "secret"))


def test_a_damaged_file_is_repaired_and_says_so(tmp_path: Path, sound: bytes) -> None:
    plain = read(put(tmp_path / "a.pdf", sound)).text
    for name, data in (("tail.pdf", sound[:-40]), ("head.pdf", b"junk\n" * 400 + sound)):
        extraction = read(put(tmp_path / name, data))
        assert extraction.text == plain
        assert "repaired" in codes(extraction)


@pytest.mark.parametrize("cut", [0.02, 0.1])
def test_a_file_cut_off_beyond_repair_is_unreadable(tmp_path: Path, sound: bytes, cut: float) -> None:
    with pytest.raises(Unreadable, match="repair failed") as caught:
        read(put(tmp_path / "a.pdf", sound[: int(cut * len(sound))]))
    assert "0x" not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\0" * 5000, b"%PDF-1.7\n", b"not a pdf at all"])
def test_files_without_any_content_are_unreadable(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(Unreadable):
        read(put(tmp_path / "a.pdf", data))


def test_a_file_that_vanished_is_reported_as_changed(tmp_path: Path) -> None:
    with pytest.raises(SourceChanged):
        read(tmp_path / "gone.pdf")


def test_limits_name_themselves(tmp_path: Path, sound: bytes) -> None:
    path = put(tmp_path / "a.pdf", sound)
    with pytest.raises(LimitExceeded, match=r"limits\.pages"):
        read(path, Settings(limits=replace(Limits(), pages=1)))
    with pytest.raises(LimitExceeded, match=r"limits\.source_bytes"):
        read(path, Settings(limits=replace(Limits(), source_bytes=1000)))
    with pytest.raises(LimitExceeded, match=r"limits\.inflated_bytes"):
        read(path, Settings(limits=replace(Limits(), inflated_bytes=2000)))


def blank() -> pikepdf.Pdf:
    pdf = pikepdf.Pdf.new()
    pdf.add_blank_page(page_size=(612, 792))
    return pdf


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_stream_that_inflates_without_end_is_refused_before_it_does(tmp_path: Path, layers: int) -> None:
    data = b"0 " * (40 << 20)
    for _ in range(layers):
        data = zlib.compress(data, 9)
    pdf = blank()
    stream = Stream(pdf, b"")
    stream.write(data, filter=Array([Name.FlateDecode] * layers))
    pdf.pages[0].Contents = pdf.make_indirect(stream)
    pdf.save(tmp_path / "a.pdf", compress_streams=False, stream_decode_level=pikepdf.StreamDecodeLevel.none)
    limits = replace(Limits(), inflated_bytes=64 << 20)
    with pytest.raises(LimitExceeded, match=r"limits\.inflated_bytes"):
        read(tmp_path / "a.pdf", Settings(limits=limits))


def form(pdf: pikepdf.Pdf, content: bytes, inner: pikepdf.Object | None = None) -> pikepdf.Object:
    made = pdf.make_indirect(Stream(pdf, content))
    made.Type, made.Subtype, made.BBox = Name.XObject, Name.Form, Array([0, 0, 612, 792])
    if inner is not None:
        made.Resources = Dictionary(XObject=Dictionary(F=inner))
    return made


def test_forms_that_draw_forms_a_billion_times_are_refused(tmp_path: Path) -> None:
    pdf = blank()
    inner = form(pdf, b"0 0 10 10 re f")
    for _ in range(20):
        inner = form(pdf, b"/F Do /F Do /F Do", inner)
    pdf.pages[0].Resources = Dictionary(XObject=Dictionary(F=inner))
    pdf.pages[0].Contents = pdf.make_indirect(Stream(pdf, b"/F Do"))
    pdf.save(tmp_path / "a.pdf")
    with pytest.raises(LimitExceeded, match="forms within forms"):
        read(tmp_path / "a.pdf")


def test_a_form_that_draws_itself_ends(tmp_path: Path) -> None:
    pdf = blank()
    own = form(pdf, b"/F Do BT /H 12 Tf 72 700 Td (The board met.) Tj ET")
    own.Resources = Dictionary(
        XObject=Dictionary(F=own),
        Font=Dictionary(H=Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)),
    )
    pdf.pages[0].Resources = Dictionary(XObject=Dictionary(F=own))
    pdf.pages[0].Contents = pdf.make_indirect(Stream(pdf, b"/F Do " * 20))
    pdf.save(tmp_path / "a.pdf")
    assert "The board met." in read(tmp_path / "a.pdf").text


@pytest.mark.parametrize("own_resources", [True, False])
def test_a_form_that_draws_itself_twice_is_refused_at_once(tmp_path: Path, own_resources: bool) -> None:
    pdf = blank()
    own = form(pdf, b"/F Do /F Do")
    if own_resources:
        own.Resources = Dictionary(XObject=Dictionary(F=own))
    pdf.pages[0].Resources = Dictionary(XObject=Dictionary(F=own))
    pdf.pages[0].Contents = pdf.make_indirect(Stream(pdf, b"/F Do"))
    pdf.save(tmp_path / "a.pdf")
    with pytest.raises(LimitExceeded, match="forms within forms"):
        read(tmp_path / "a.pdf")


def test_a_drawing_of_two_hundred_thousand_boxes_gives_its_text_and_a_warning(tmp_path: Path) -> None:
    chance = random.Random(1)
    pdf = blank()
    boxes = b"\n".join(
        b"%d %d 9 9 re S" % (chance.randint(0, 600), chance.randint(0, 600)) for _ in range(200_000)
    )
    text = b"\nBT /H 12 Tf 72 750 Td (The board met.) Tj ET"
    pdf.pages[0].Resources = Dictionary(
        Font=Dictionary(H=Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica))
    )
    pdf.pages[0].Contents = pdf.make_indirect(Stream(pdf, boxes + text))
    pdf.save(tmp_path / "a.pdf")
    extraction = read(tmp_path / "a.pdf")
    assert extraction.text == "The board met."
    assert codes(extraction) == ["many-objects"]


def mutated(data: bytes, seed: int) -> bytes:
    """The file with bytes changed, cut out, doubled or moved."""
    chance = random.Random(seed)
    changed = bytearray(data)
    for _ in range(chance.choice((1, 3, 10, 40))):
        place, length = chance.randrange(len(changed)), chance.choice((1, 2, 8, 64))
        match chance.randrange(4):
            case 0:
                changed[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del changed[place : place + length]
            case 2:
                changed[place:place] = changed[place : place + length]
            case _:
                changed[place : place + length] = chance.choice(
                    (b"99999999", b"-1", b"/", b"<<", b"endobj", b"0 R")
                )
    return bytes(changed)


def fuzz(folder: Path, seeds: range, kinds: list[str]) -> int:
    """How many mutated files were still read; any error but a DocumentError goes through."""
    indexed = 0
    for seed in seeds:
        path = folder / f"{kinds[seed % len(kinds)].replace(' ', '-')}.pdf"
        if not path.exists():
            make(path, 1, KINDS[kinds[seed % len(kinds)]])
        try:
            extraction = extract_pdf(
                put(folder / "m.pdf", mutated(path.read_bytes(), seed)), Settings(), lambda p: None
            )
        except DocumentError as error:
            assert str(error)
        else:
            assert extraction.text.strip()
            indexed += 1
    return indexed


FUZZED = ["two columns", "merged cells", "hyphenated, justified", "quarter turns"]


def test_mutated_files_are_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    assert fuzz(tmp_path, range(60), FUZZED) > 20


@pytest.mark.slow
def test_two_thousand_mutated_files_are_read_or_refused_with_a_reason(tmp_path: Path) -> None:
    assert fuzz(tmp_path, range(60, 2060), FUZZED) > 600
