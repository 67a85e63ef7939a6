"""Small PDFs that the tests draw themselves."""

from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from pincite.schemas.records import Extraction
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.pdf.reader import extract_pdf

FONTS = Path("/usr/share/fonts/truetype/dejavu")
PAGE = (595.0, 842.0)
MINUTES = (
    "The harbour board met on Tuesday in the old hall",
    "and decided that the ferry would run in winter.",
    "Nobody spoke against the motion, which passed.",
)


def drawn(path: Path, draw: Callable[[Canvas], None], size: tuple[float, float] = PAGE) -> Path:
    """Writes what `draw` draws, the last page ended."""
    canvas = Canvas(str(path), pagesize=size, invariant=True)
    draw(canvas)
    canvas.showPage()
    canvas.save()
    return path


def unicode_font(canvas: Canvas, size: float = 12) -> None:
    """Sets a font for Hebrew, Arabic, Cyrillic and ligatures."""
    if "DejaVu" not in pdfmetrics.getRegisteredFontNames():
        pdfmetrics.registerFont(TTFont("DejaVu", str(FONTS / "DejaVuSans.ttf")))
    canvas.setFont("DejaVu", size)


def scan_image(
    path: Path, lines: tuple[str, ...] = MINUTES * 3, size: tuple[int, int] = (1654, 2339)
) -> Path:
    """A page of text as an image at 200 dpi."""
    image = Image.new("L", size, 255)
    draw = ImageDraw.Draw(image)
    font = ImageFont.truetype(str(FONTS / "DejaVuSerif.ttf"), 34)
    for number, line in enumerate(lines):
        draw.text((180, 200 + number * 52), line, fill=0, font=font)
    image.save(path)
    return path


def read(path: Path, settings: Settings | None = None) -> Extraction:
    """The extraction, its offsets checked."""
    extraction = extract_pdf(path, settings or Settings(), lambda page: None)
    text = extraction.text
    assert "\n\n".join(text[block.start : block.end] for block in extraction.blocks) == text
    for block in extraction.blocks:
        assert text[block.start : block.end].strip() == text[block.start : block.end]
        assert block.kind != "heading" or text[block.start : block.end] == block.title
    assert [page.number for page in extraction.pages] == list(range(1, len(extraction.pages) + 1))
    for place in extraction.places:
        page = extraction.pages[int(place.label) - 1]
        assert (place.start, place.end) == (page.start, page.end)
    for word in extraction.words:
        assert text[word.start : word.end].strip() and not any(map(str.isspace, text[word.start : word.end]))
        assert 0 <= word.confidence <= 100
    return extraction


def kinds(extraction: Extraction, kind: str) -> list[str]:
    """The texts of all blocks of a kind."""
    return [extraction.text[b.start : b.end] for b in extraction.blocks if b.kind == kind]
