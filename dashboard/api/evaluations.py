"""GET /evaluations and /evaluations/{name}: what was kept of each."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from pincite.dashboard.api.run_models import FromRecord
from pincite.dashboard.http.problems import READS, described
from pincite.dashboard.state.serving import Served
from pincite.dashboard.views.evaluations import MAIN_CUT, kept_evaluation, series_of
from pincite.evaluation.results import Milestone
from pincite.schemas.evaluation import Judged

router = APIRouter(prefix="/evaluations", tags=["evaluations"])


class SeriesBody(FromRecord):
    """The kept evaluations of one question set, oldest first."""

    name: str
    sha256: str
    evaluations: list[Milestone] = Field(validation_alias="milestones")


class EvaluationList(BaseModel):
    series: list[SeriesBody]


class EvaluationBody(BaseModel):
    made: Milestone
    cut: int = Field(description="passages among which a question must be answered, or it is lost")
    lost: list[Judged] = Field(description="at most 200")
    bluffs: list[Judged] = Field(description="answered, and should have been refused; at most 200")


@router.get("", responses=described(*READS))
async def evaluations(served: Served) -> EvaluationList:
    """Kept evaluations by question set; shares have their 95 % Wilson intervals."""
    found = await served.work.run(lambda: series_of(served.index))
    return EvaluationList(series=[SeriesBody.model_validate(one) for one in found])


@router.get("/{name}", responses=described(404, *READS))
async def evaluation(name: Annotated[str, Path(max_length=200)], served: Served) -> EvaluationBody:
    """One evaluation, with the questions that it lost."""
    found = await served.work.run(lambda: kept_evaluation(served.index, name))
    return EvaluationBody(made=found.made, cut=MAIN_CUT, lost=list(found.lost), bluffs=list(found.bluffs))
