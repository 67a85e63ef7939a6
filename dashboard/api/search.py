"""POST /search."""

from dataclasses import fields
from itertools import repeat

from fastapi import APIRouter

from pincite.dashboard.api.addresses import passage_address
from pincite.dashboard.api.models import SearchBody, SearchResult, ServedHit, ThresholdBody
from pincite.dashboard.http.problems import READS, WRITES, described
from pincite.dashboard.state.serving import Served
from pincite.dashboard.views.rank_explanation import Why, why_of
from pincite.retrieval.searcher import Results
from pincite.retrieval.threshold import no_answer
from pincite.schemas.display import one_line
from pincite.schemas.records import Hit
from pincite.schemas.tables import document_of

router = APIRouter(tags=["search"])


@router.post("/search", responses=described(400, 409, *WRITES))
async def search(body: SearchBody, served: Served) -> SearchResult:
    """The best passages, each with its place; with a threshold it can say no (`refused`)."""

    def find() -> Results:
        return served.searcher.search(
            body.query,
            mode=body.mode,
            k=body.k,
            threshold=body.threshold,
            filters=body.filters.filters(),
            rerank=body.rerank,
            explain=body.explain,
        )

    results = await served.work.run(find)
    return SearchResult(
        query=body.query,
        hits=[
            served_hit(hit, why_of(body.mode, hit, terms, results.most_of_words) if body.explain else None)
            for hit, terms in zip(results.hits, results.shares or repeat(()), strict=False)
        ],
        refused=results.refused,
        message=_message(body, results),
        version=results.version,
        searched=results.searched,
        evidence=results.evidence,
        widened={word: list(found) for word, found in results.widened.items()},
        offered={word: list(meant) for word, meant in results.offered.items()},
        absent=list(results.absent),
    )


@router.get("/threshold", responses=described(*READS))
async def threshold(served: Served) -> ThresholdBody:
    """The measured threshold of the index, or the founding one."""
    known = await served.work.run(served.searcher.threshold)
    return ThresholdBody(
        distance=known.distance,
        doubt=known.warning or None,
        questions=known.calibration.questions if known.calibration else None,
    )


def served_hit(hit: Hit, why: Why | None) -> ServedHit:
    document_id = document_of(hit.chunk_id)
    address = passage_address(document_id, hit.start, hit.end)
    shown = {one.name: getattr(hit, one.name) for one in fields(hit)}  # `asdict` would take its chunk apart
    return ServedHit(**shown, document_id=document_id, passage=address, why=why)


def _message(body: SearchBody, results: Results) -> str | None:
    if results.hits:
        return None
    if not results.searched:
        return "no passage of the index passes the filters"
    if body.threshold is not None:
        return no_answer(one_line(body.query), body.threshold)
    return f'nothing found for "{one_line(body.query)}"'
