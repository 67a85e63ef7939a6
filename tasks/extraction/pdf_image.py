"""The image of a PDF page for people to look at."""

import pypdfium2 as pdfium
from PIL import Image

from schemas.errors import LimitExceeded
from schemas.settings import Settings
from tasks.extraction.pdf_ocr import check_pictures
from tasks.extraction.pdf_page import PageContent
from tasks.extraction.pdf_shapes import read_shapes
from tasks.extraction.pdf_words import page_frame
from tasks.extraction.sketch import fitting


def page_image(
    page: pdfium.PdfPage, content: PageContent, settings: Settings
) -> tuple[Image.Image | None, str]:
    """(the page in colour as it is shown, ""), or (None, why there is no image)."""
    try:
        check_pictures(read_shapes(page, page_frame(page)).pictures, settings, content.number)
        scale = fitting(content.width, content.height, settings.limits.pixels)
        bitmap = page.render(scale=scale)
    except (LimitExceeded, pdfium.PdfiumError, ValueError, OverflowError) as error:
        return None, str(error)
    try:
        return bitmap.to_pil().convert("RGB"), ""
    finally:
        bitmap.close()
