"""Mixed documents for benchmarks: Markdown, text, HTML, digital PDF and scans, made from a seed."""

import io
import random
from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

_WORDS = (
    "pump seal bearing impeller shaft casing flange gasket motor valve pressure flow suction discharge head "
    "vibration temperature lubricant coupling alignment strainer cavitation inspection maintenance operator "
    "manual schedule replacement clearance torque fastener drain vent sensor controller alarm log shift record "
    "measured above below between during after before every the a of in with without and or is was must may"
).split()


def sentence(draw: random.Random) -> str:
    words = [draw.choice(_WORDS) for _ in range(draw.randint(8, 18))]
    return f"{' '.join(words).capitalize()} {draw.randint(1, 9999)}."


def paragraph(draw: random.Random) -> str:
    return " ".join(sentence(draw) for _ in range(draw.randint(3, 6)))


def write_markdown(path: Path, draw: random.Random, paragraphs: int) -> None:
    parts = [f"# Manual {draw.randint(1, 9999)}"]
    for number in range(paragraphs):
        parts += [f"## Section {number}"] * (number % 3 == 0) + [paragraph(draw)]
    path.write_text("\n\n".join(parts))


def write_text(path: Path, draw: random.Random, paragraphs: int) -> None:
    path.write_text("\n\n".join(paragraph(draw) for _ in range(paragraphs)))


def write_html(path: Path, draw: random.Random, paragraphs: int) -> None:
    body = "".join(f"<p>{paragraph(draw)}</p>" for _ in range(paragraphs))
    path.write_text(f"<!doctype html><title>Page</title><main><h1>Page</h1>{body}</main>")


def write_pdf(path: Path, draw: random.Random, paragraphs: int) -> None:
    canvas = Canvas(str(path), pagesize=A4, invariant=1)
    for start in range(0, paragraphs, 4):
        y = 780.0
        for _ in range(min(4, paragraphs - start)):
            text = paragraph(draw)
            for at in range(0, len(text), 90):
                canvas.drawString(60, y, text[at : at + 90])
                y -= 14
            y -= 14
        canvas.showPage()
    canvas.save()


def write_scan(path: Path, draw: random.Random, _paragraphs: int) -> None:
    image = Image.new("L", (1240, 1754), 255)
    font = ImageFont.load_default(28)
    pen = ImageDraw.Draw(image)
    for row in range(20):
        pen.text((120, 150 + 60 * row), sentence(draw)[:70], fill=0, font=font)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    canvas = Canvas(str(path), pagesize=A4, invariant=1)
    canvas.drawImage(ImageReader(buffer), 0, 0, *A4)
    canvas.save()


Writer = Callable[[Path, random.Random, int], None]
_MIX: tuple[tuple[str, Writer, int], ...] = (
    ("md", write_markdown, 30),
    ("txt", write_text, 25),
    ("html", write_html, 20),
    ("pdf", write_pdf, 20),
    ("scan.pdf", write_scan, 5),
)
"""Suffix, writer, share in percent."""


def write_corpus(folder: Path, documents: int, paragraphs: int, scans: bool = True, seed: int = 1) -> None:
    """`documents` files of `paragraphs` paragraphs each; without `scans`, Markdown takes their share."""
    folder.mkdir(parents=True)
    for number in range(documents):
        draw = random.Random(seed * 1_000_003 + number)
        point, (suffix, writer, _) = number % 100, _MIX[0]
        for one_suffix, one_writer, share in _MIX:
            if point < share:
                suffix, writer = one_suffix, one_writer
                break
            point -= share
        if suffix == "scan.pdf" and not scans:
            suffix, writer = _MIX[0][0], _MIX[0][1]
        writer(folder / f"{number:05}.{suffix}", draw, paragraphs)
