"""Evaluation: what was kept of each, and the trend."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from markupsafe import Markup

from dashboard.serving import Served, Serving
from dashboard.templating import page
from dashboard.trend import line_trend
from evaluation.metrics import CUTS
from evaluation.results import Milestone, milestone
from schemas.errors import NotFound
from schemas.evaluation import Judged
from storage.evaluations import find, kept, read

MAIN_CUT = 4  # passages that a reader is given
MOST_LISTED = 200
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


def _one(served: Serving, name: str) -> dict[str, Any]:
    path = find(served.index.path, name) if name.replace("-", "").isalnum() else None
    if path is None or path.parent.parent != served.index.path:
        raise NotFound(f"no evaluation {name!r} is kept")
    result = read(path)
    main = [row for row in result.rows if row.strategy == result.main]
    return {
        "made": milestone(result),
        "lost": [row for row in main if _is_lost(row)][:MOST_LISTED],
        "bluffs": [row for row in main if row.role == "unanswerable" and row.answered][:MOST_LISTED],
    }


def _is_lost(row: Judged) -> bool:
    return row.role == "answerable" and (row.rank is None or row.rank > MAIN_CUT)
