"""An evaluation as one HTML page that needs nothing beside it: no script, no host, no file.

    report.html.j2      the words that don't change     report_words.py      the sentences that follow the numbers
    report.css          the looks                       report_sections.py   plots and tables

Text of documents and questions is escaped by the template.
"""

import base64
import hashlib
from functools import lru_cache
from pathlib import Path

from jinja2 import Template
from markupsafe import Markup

from pincite.evaluation.report import sections
from pincite.evaluation.report.wording import loss_groups, summary
from pincite.schemas.evaluation import Evaluation
from pincite.schemas.html_templates import environment

_HERE = Path(__file__)


def html(evaluation: Evaluation) -> str:
    """The whole page. The same evaluation gives the same bytes."""
    style = _HERE.with_name("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _template().render(
        evaluation=evaluation,
        style=Markup(style),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        summary=summary(evaluation),
        found=sections.found(evaluation),
        pairs=sections.paired(evaluation),
        chunks=sections.chunks(evaluation),
        refusal=sections.refusal(evaluation),
        lost=sections.lost(evaluation),
        groups=loss_groups(evaluation.losses),
        findings=evaluation.findings,
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    return environment(_HERE.parent).get_template("report.html.j2")
