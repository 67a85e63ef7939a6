"""Evaluation: what was kept of each, and the trend."""

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from dashboard.evaluations import MAIN_CUT, Series, kept_evaluation, series_of
from dashboard.serving import Served
from dashboard.templating import page
from dashboard.trend import line_trend
from evaluation.metrics import CUTS
from evaluation.results import Milestone

router = APIRouter(prefix="/ui/evaluation", include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """The kept evaluations of one question set, oldest first, with their trend."""

    name: str
    milestones: tuple[Milestone, ...]
    trend: Markup


@router.get("")
async def show(request: Request, served: Served) -> Response:
    series = await served.work.run(lambda: [_shown(one) for one in series_of(served.index)])
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
    )


def _shown(one: Series) -> Shown:
    label = f"Recall@{MAIN_CUT} of {one.name} over {len(one.milestones)} evaluations"
    return Shown(one.name, one.milestones, line_trend(label, [_point(made) for made in one.milestones]))


def _point(made: Milestone) -> tuple[str, float, float, float]:
    share = made.recall[MAIN_CUT]
    return f"version {made.version}", share.value or 0.0, share.low or 0.0, share.high or 0.0
