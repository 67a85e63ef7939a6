"""Evaluation: what was kept of each, and the trend."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from pincite.dashboard.http.templating import page
from pincite.dashboard.state.serving import Served
from pincite.dashboard.views.evaluations import MAIN_CUT, kept_evaluation, kept_report, series_of
from pincite.evaluation.metrics import CUTS

REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The page's own policy, in its head, admits that one style alone."""
router = APIRouter(prefix="/ui/evaluation", include_in_schema=False)


@router.get("")
async def show(request: Request, served: Served) -> Response:
    series = await served.work.run(lambda: series_of(served.index))
    return page(
        request.scope, "evaluation.html.j2", active="evaluation", cut=MAIN_CUT, cuts=CUTS, series=series
    )


@router.get("/{name}")
async def one(request: Request, served: Served, name: str) -> Response:
    found = await served.work.run(lambda: kept_evaluation(served.index, name))
    return page(
        request.scope,
        "evaluation_one.html.j2",
        active="evaluation",
        cut=MAIN_CUT,
        cuts=CUTS,
        made=found.made,
        lost=found.lost,
        bluffs=found.bluffs,
        reported=found.reported,
    )


@router.get("/{name}/report")
async def report(served: Served, name: str, download: bool = False) -> Response:
    """The whole report as its own page, which may run nothing and is no part of this site."""
    html = await served.work.run(lambda: kept_report(served.index, name))
    headers = {"Content-Security-Policy": REPORT_POLICY}
    if download:
        headers["Content-Disposition"] = f'attachment; filename="evaluation-{name}.html"'
    return HTMLResponse(html, headers=headers)
