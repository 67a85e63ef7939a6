"""A passage as one HTML page: its text with a mark, and the page images on which it stands.

The page runs no script and asks no host for anything.
"""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from pincite.dashboard.views.passages import DocumentPassage
from pincite.schemas.html_templates import environment
from pincite.tasks.extraction.pdf.page_record import IMAGE_TYPE
from pincite.tasks.inspection.passage_pages import PassagePage

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
TEMPLATES = Path(__file__).parents[1] / "templates"


def page_of_passage(passage: DocumentPassage, pages: Sequence[PassagePage] = (), missing: str = "") -> str:
    """The whole page. `missing`: why a document with pages is shown without their images."""
    template = environment(TEMPLATES).get_template("passage_alone.html.j2")
    return template.render(
        passage=passage, pages=pages, missing=missing, policy=Markup(POLICY), image_type=IMAGE_TYPE
    )
