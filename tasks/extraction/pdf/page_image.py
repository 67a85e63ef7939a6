"""The image of a PDF page for people to look at."""

import pypdfium2 as pdfium
from PIL import Image

from pincite.schemas.errors import LimitExceeded
from pincite.schemas.settings import Settings
from pincite.tasks.extraction.pdf.page import PageContent
from pincite.tasks.extraction.pdf.page_ocr import check_pictures
from pincite.tasks.extraction.pdf.page_record import fitting
from pincite.tasks.extraction.pdf.shapes import read_shapes
from pincite.tasks.extraction.pdf.words import page_frame


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
