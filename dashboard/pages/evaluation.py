"""Evaluation: what was kept of each, and the trend."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from dashboard.serving import Served, Serving
from dashboard.templating import page
from dashboard.trend import line_trend
from evaluation.metrics import CUTS
from evaluation.results import Milestone, milestone
from schemas.errors import NotFound
from schemas.evaluation import Judged
from storage.evaluations import find, kept, read, report_of

MAIN_CUT = 4  # passages that a reader is given
MOST_LISTED = 200
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The page's own policy, in its head, admits that one style alone."""
router = APIRouter(prefix="/ui/evaluation", include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Series:
    """The kept evaluations of one question set, oldest first."""

    name: str
    milestones: tuple[Milestone, ...]
    trend: Markup


@router.get("")
async def show(request: Request, served: Served) -> Response:
    series = await served.work.run(lambda: _series(served))
    return page(
        request.scope, "evaluation.html.j2", active="evaluation", cut=MAIN_CUT, cuts=CUTS, series=series
    )


@router.get("/{name}")
async def one(request: Request, served: Served, name: str) -> Response:
    values = await served.work.run(lambda: _one(served, name))
    return page(
        request.scope, "evaluation_one.html.j2", active="evaluation", cut=MAIN_CUT, cuts=CUTS, **values
    )


@router.get("/{name}/report")
async def report(served: Served, name: str, download: bool = False) -> Response:
    """The whole report as its own page, which may run nothing and is no part of this site."""
    html = await served.work.run(lambda: _report(served, name))
    headers = {"Content-Security-Policy": REPORT_POLICY}
    if download:
        headers["Content-Disposition"] = f'attachment; filename="evaluation-{name}.html"'
    return HTMLResponse(html, headers=headers)


def _report(served: Serving, name: str) -> str:
    _path(served, name)
    html = report_of(served.index.path, name)
    if html is None:
        raise NotFound(
            f"the report of the evaluation {name} was not kept: `pincite evaluate` keeps the next one's"
        )
    return html


def _series(served: Serving) -> list[Series]:
    by_set: dict[tuple[str, str], list[Milestone]] = {}
    for result in kept(served.index.path):
        made = milestone(result)
        by_set.setdefault((made.set_name, made.set_sha256), []).append(made)
    return [
        Series(
            name,
            tuple(made),
            line_trend(
                f"Recall@{MAIN_CUT} of {name} over {len(made)} evaluations",
                [_point(one) for one in made],
            ),
        )
        for (name, _), made in sorted(by_set.items())
    ]


def _point(made: Milestone) -> tuple[str, float, float, float]:
    share = made.recall[MAIN_CUT]
    return f"version {made.version}", share.value or 0.0, share.low or 0.0, share.high or 0.0


def _path(served: Serving, name: str) -> Path:
    """The file of a kept evaluation of this index. Raises `NotFound`."""
    path = find(served.index.path, name) if name.replace("-", "").isalnum() else None
    if path is None or path.parent.parent != served.index.path:
        raise NotFound(f"no evaluation {name!r} is kept")
    return path


def _one(served: Serving, name: str) -> dict[str, Any]:
    result = read(_path(served, name))
    main = [row for row in result.rows if row.strategy == result.main]
    return {
        "made": milestone(result),
        "reported": report_of(served.index.path, name) is not None,
        "lost": [row for row in main if _is_lost(row)][:MOST_LISTED],
        "bluffs": [row for row in main if row.role == "unanswerable" and row.answered][:MOST_LISTED],
    }


def _is_lost(row: Judged) -> bool:
    return row.role == "answerable" and (row.rank is None or row.rank > MAIN_CUT)
