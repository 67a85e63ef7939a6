"""Makes the sample documents: `python samples/make.py [--to FOLDER]`.

words → text files, drawn PDFs, pages drawn as a scanner sees them → samples/documents

The same bytes on every run with the same libraries (`samples/made.json` names those of the committed files).
Fonts: Helvetica, which every PDF reader has, and Bitstream Vera, which comes with reportlab.
"""

import argparse
import hashlib
import io
import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pikepdf
import reportlab
import words
from PIL import Image, ImageDraw, ImageFilter, ImageFont
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    FrameBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
)

HERE = Path(__file__).parent
LIBRARIES = ("numpy", "pikepdf", "pillow", "reportlab")
PASSWORD = "tarnholm"

DPI = 200
SCAN_POINTS = (420.0, 595.0)  # A5
SCAN_PIXELS = (round(SCAN_POINTS[0] * DPI / 72), round(SCAN_POINTS[1] * DPI / 72))

TITLE = ParagraphStyle("title", fontName="Helvetica-Bold", fontSize=18, leading=22)
HEADING = ParagraphStyle(
    "heading", fontName="Helvetica-Bold", fontSize=12, leading=15, spaceBefore=8, spaceAfter=3
)
BODY = ParagraphStyle("body", fontName="Helvetica", fontSize=10, leading=13, spaceAfter=6)
CELL = ParagraphStyle("cell", fontName="Helvetica", fontSize=9, leading=11)


def bulletin() -> bytes:
    """Two columns under a title that runs across them, on one page."""
    width, height = A4
    column, bottom = (width - 50 * mm) / 2, height - 193 * mm
    frames = [
        Frame(20 * mm, height - 38 * mm, width - 40 * mm, 20 * mm, id="title"),
        Frame(20 * mm, bottom, column, 155 * mm, id="left"),
        Frame(30 * mm + column, bottom, column, 155 * mm, id="right"),
    ]
    story: list[Flowable] = [Paragraph(words.BULLETIN_TITLE, TITLE), FrameBreak()]
    story += [Paragraph(text, HEADING if kind == "h" else BODY) for kind, text in words.BULLETIN]
    return _document(words.BULLETIN_TITLE, [PageTemplate("two", frames)], story)


def catalogue() -> bytes:
    """A ruled table over several pages, with a running header and page numbers."""
    width, height = A4
    rows = [line.split("|") for line in words.CATALOGUE.splitlines()]
    cells = [list(words.CATALOGUE_HEAD), *[[row[0], Paragraph(row[1], CELL), *row[2:]] for row in rows]]
    table = Table(
        cells, colWidths=[30 * mm, 72 * mm, 22 * mm, 18 * mm, 24 * mm], repeatRows=1, rowHeights=11 * mm
    )
    table.setStyle(
        [
            ("GRID", (0, 0), (-1, -1), 0.6, colors.black),
            ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9),
            ("FONT", (0, 1), (-1, -1), "Helvetica", 9),
            ("ALIGN", (3, 0), (-1, -1), "RIGHT"),
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
        ]
    )

    def running(canvas: Canvas, document: BaseDocTemplate) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(20 * mm, height - 12 * mm, "Tarnholm Pump Works - Spare parts catalogue 2023")
        canvas.drawCentredString(width / 2, 10 * mm, f"Page {document.page}")

    template = PageTemplate(
        "page", [Frame(20 * mm, 18 * mm, width - 40 * mm, height - 38 * mm)], onPage=running
    )
    story = [Paragraph("Spare parts for the TP series", TITLE), Spacer(1, 4 * mm)]
    story += [Paragraph(words.CATALOGUE_INTRO, BODY), table]
    return _document("Spare parts catalogue 2023", [template], story)


def service_file() -> bytes:
    """A drawn page, a scanned one, a drawn one."""
    with (
        pikepdf.open(io.BytesIO(_letter(words.MIXED_FIRST))) as first,
        pikepdf.open(io.BytesIO(scan(words.MIXED_SCAN, seed=2))) as middle,
        pikepdf.open(io.BytesIO(_letter(words.MIXED_LAST))) as last,
    ):
        merged = pikepdf.new()
        for part in (first, middle, last):
            merged.pages.extend(part.pages)
        return _saved(merged)


def truncated() -> bytes:
    """The first part of a PDF, as an interrupted download leaves it: page tree and cross-references are lost."""
    with pikepdf.open(io.BytesIO(bulletin())) as whole:
        data = _saved(whole)
    return data[: len(data) // 2]


def encrypted() -> bytes:
    encryption = StandardEncryption(PASSWORD, ownerPassword=f"{PASSWORD}-owner", strength=128)
    return _letter(words.CONTRACT, encryption)


def scan(text: str, seed: int, skew_degrees: float = 0.4, quarter_turns: int = 0) -> bytes:
    """One A5 page as an image of grey paper with grain, without a text layer."""
    page = Image.new("L", SCAN_PIXELS, 247)
    vera = str(Path(reportlab.__file__).parent / "fonts" / "Vera.ttf")
    font = ImageFont.truetype(vera, round(11.5 * DPI / 72), layout_engine=ImageFont.Layout.BASIC)
    ImageDraw.Draw(page).multiline_text((90, 110), text, font=font, fill=25, spacing=16)
    page = page.rotate(skew_degrees, resample=Image.Resampling.BICUBIC, fillcolor=247)
    page = page.filter(ImageFilter.GaussianBlur(0.6))
    grain = np.random.default_rng(seed).integers(-6, 7, size=(SCAN_PIXELS[1], SCAN_PIXELS[0]))
    page = Image.fromarray(np.clip(np.asarray(page) + grain, 0, 255).astype(np.uint8))
    if quarter_turns:
        page = page.rotate(90 * quarter_turns, expand=True)
    return _image_page(page, (SCAN_POINTS[1], SCAN_POINTS[0]) if quarter_turns % 2 else SCAN_POINTS)


DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "delivery-note-rotated-scan.pdf": lambda: scan(words.DELIVERY_SCAN, seed=3, quarter_turns=1),
    "error-codes.html": words.ERROR_CODES_HTML.encode,
    "inspection-report-scan.pdf": lambda: scan(words.INSPECTION_SCAN, seed=1),
    "nothing.txt": lambda: b"",
    "operator-handbook.md": words.HANDBOOK_MD.encode,
    "purchase-contract-encrypted.pdf": encrypted,
    "regulations-uk.html": words.REGULATIONS_UK_HTML.encode,
    "service-bulletin-31.pdf": bulletin,
    "service-bulletin-31-truncated.pdf": truncated,
    "service-file-34-0933.pdf": service_file,
    "shift-log.txt": words.SHIFT_LOG_TXT.encode,
    "spare-parts-catalogue.pdf": catalogue,
    "storage-rules-zh.txt": words.STORAGE_ZH_TXT.encode,
    "underhall-sv.md": words.MAINTENANCE_SV_MD.encode,
}


def make(folder: Path) -> dict[str, str]:
    """Writes all documents into `folder`; returns sha256 by file name."""
    folder.mkdir(parents=True, exist_ok=True)
    sums = {}
    for name, content in sorted(DOCUMENTS.items()):
        data = content()
        (folder / name).write_bytes(data)
        sums[name] = hashlib.sha256(data).hexdigest()
    return sums


def libraries() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES}


def _letter(paragraphs: Sequence[str], encryption: StandardEncryption | None = None) -> bytes:
    """A title and paragraphs on one A4 page."""
    width, height = A4
    template = PageTemplate("letter", [Frame(25 * mm, 25 * mm, width - 50 * mm, height - 50 * mm)])
    story: list[Flowable] = [Paragraph(paragraphs[0], TITLE), Spacer(1, 6 * mm)]
    story += [Paragraph(text, BODY) for text in paragraphs[1:]]
    return _document(paragraphs[0], [template], story, encryption)


def _document(
    title: str,
    templates: list[PageTemplate],
    story: list[Flowable],
    encryption: StandardEncryption | None = None,
) -> bytes:
    buffer = io.BytesIO()
    document = BaseDocTemplate(
        buffer, pagesize=A4, title=title, author="Pincite samples", invariant=1, encrypt=encryption
    )
    document.addPageTemplates(templates)
    document.build(story)
    return buffer.getvalue()


def _image_page(image: Image.Image, size_points: tuple[float, float]) -> bytes:
    jpeg = io.BytesIO()
    image.save(jpeg, "JPEG", quality=45, dpi=(DPI, DPI))
    pdf = pikepdf.new()
    pdf.add_blank_page(page_size=size_points)
    stream = pikepdf.Stream(pdf, jpeg.getvalue())
    stream.Type, stream.Subtype, stream.Filter = (
        pikepdf.Name.XObject,
        pikepdf.Name.Image,
        pikepdf.Name.DCTDecode,
    )
    stream.Width, stream.Height = image.size
    stream.ColorSpace, stream.BitsPerComponent = pikepdf.Name.DeviceGray, 8
    page = pdf.pages[0]
    page.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(Scan=stream))
    page.Contents = pikepdf.Stream(pdf, f"q {size_points[0]} 0 0 {size_points[1]} 0 0 cm /Scan Do Q".encode())
    return _saved(pdf)


def _saved(pdf: pikepdf.Pdf) -> bytes:
    buffer = io.BytesIO()
    pdf.save(buffer, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.generate)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the sample documents.")
    parser.add_argument(
        "--to", type=Path, help="a folder other than samples/documents; made.json stays as it is"
    )
    folder: Path | None = parser.parse_args().to
    sums = make(folder or HERE / "documents")
    if folder is None:
        made = {"libraries": libraries(), "sha256": sums}
        (HERE / "made.json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
