"""Synthetic scans with known text: pages drawn with a free font, then spoiled like a scanner spoils them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import reportlab
from PIL import Image, ImageDraw, ImageFilter, ImageFont

FONT = Path(reportlab.__file__).parent / "fonts" / "Vera.ttf"  # Bitstream Vera, free licence, in the package
A4_INCHES = (8.27, 11.69)

PARAGRAPHS = (
    "The harbour office keeps a ledger of every vessel that came in before the storm of 1887. Each entry "
    "names the master, the cargo and the berth, and the clerk signed it with his initials.",
    'A note in the margin reads "no pilot on board", and beside it the sum of 412.50 was struck out. The '
    "second hand wrote the corrected amount, 398.75, with the date of the following Monday.",
    "Grain was measured by the last, timber by the standard, and fish by the barrel. Where two measures "
    "were in use the officer entered both; nobody was allowed to convert between them.",
    "Insurance was paid in three parts: on signing, on departure, and on safe return. If a ship was late "
    'by more than forty days the underwriters could ask for a "letter of delay" from the owner.',
    "The lighthouse keeper reported wind and weather at six, noon and midnight. His figures agree with "
    "those of the observatory to within two tenths, except in January, when the glass was broken.",
    "Repairs to the eastern pier began in May and ended, after several disputes about the price of oak, "
    "in the last week of October. The contract (number 77-B) survives in a copy.",
)


def page_image(
    paragraphs: tuple[str, ...] = PARAGRAPHS, dpi: int = 200, points: float = 11, columns: int = 1
) -> tuple[Image.Image, str]:
    """(A4 page as grey image, its text in reading order: lines joined by spaces)."""
    width, height = (round(side * dpi) for side in A4_INCHES)
    image = Image.new("L", (width, height), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.truetype(FONT, points * dpi / 72)
    margin, gap, leading = round(0.9 * dpi), round(0.4 * dpi), round(points * 1.4 * dpi / 72)
    column_width = (width - 2 * margin - (columns - 1) * gap) // columns
    per_column = -(-len(paragraphs) // columns)
    for column in range(columns):
        top = margin
        for paragraph in paragraphs[column * per_column : (column + 1) * per_column]:
            for line in wrap(paragraph, font, column_width):
                draw.text((margin + column * (column_width + gap), top), line, fill=0, font=font)
                top += leading
            top += leading
    return image, " ".join(paragraphs)


def wrap(text: str, font: ImageFont.FreeTypeFont, width: int) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        if lines and font.getlength(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def noisy(image: Image.Image, sigma: float = 30, specks: float = 0.002, seed: int = 7) -> Image.Image:
    """Sensor noise of `sigma` grey levels and black and white specks on that share of the pixels."""
    random = np.random.default_rng(seed)
    grey = np.asarray(image, dtype=np.float32) + random.normal(0, sigma, (image.height, image.width))
    spots = random.random(grey.shape)
    grey[spots < specks / 2] = 0
    grey[spots > 1 - specks / 2] = 255
    return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8))


def skewed(image: Image.Image, degrees: float) -> Image.Image:
    """Turned counter-clockwise by a small angle, the frame kept."""
    return image.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)


def shadowed(image: Image.Image, darkest: float = 0.3) -> Image.Image:
    """A soft shadow from the left edge, as near the spine of a book: light falls to `darkest` of full."""
    across = np.linspace(0, 1, image.width, dtype=np.float32)
    light = darkest + (1 - darkest) / (1 + np.exp(-(across - 0.35) * 12))
    return Image.fromarray((np.asarray(image, dtype=np.float32) * light).astype(np.uint8))


def turned(image: Image.Image, quarters: int) -> Image.Image:
    """Turned clockwise by quarters."""
    return image.rotate(-90 * quarters, expand=True)


def blurred(image: Image.Image, radius: float) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(radius))


def faded(image: Image.Image, contrast: float = 0.25) -> Image.Image:
    """Ink that kept this share of its contrast."""
    return image.point(lambda grey: round(255 - (255 - grey) * contrast))


def coarse(image: Image.Image, share: float) -> Image.Image:
    """The same page scanned at this share of the resolution."""
    return image.resize((round(image.width * share), round(image.height * share)), Image.Resampling.BOX)


def jpeg(image: Image.Image, quality: int) -> Image.Image:
    from io import BytesIO

    buffer = BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).convert("L")


Spoil = Callable[[Image.Image], Image.Image]


def character_error_rate(read: str, truth: str) -> float:
    """Levenshtein distance over the length of the truth, white space folded to single spaces.

    0 is perfect, 1 is nothing right, and more than 1 is possible.
    """
    left, right = " ".join(read.split()), " ".join(truth.split())
    return edit_distance(left, right) / len(right)


def edit_distance(left: str, right: str) -> int:
    """Levenshtein distance, one numpy row a character of `left`."""
    codes = np.frombuffer(right.encode("utf-32-le"), dtype=np.uint32)
    index = np.arange(len(codes) + 1)
    row = index.copy()
    for position, letter in enumerate(left, start=1):
        best = np.minimum(row[1:] + 1, row[:-1] + (codes != ord(letter)))
        # An insertion runs along the row: row[j] = min over i <= j of best[i] + (j - i).
        row = np.minimum.accumulate(np.concatenate(([position], best)) - index) + index
    return int(row[-1])
