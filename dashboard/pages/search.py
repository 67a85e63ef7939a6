"""Search and ask: hits with their measures, why each has its rank, and what a threshold would refuse."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from markupsafe import Markup

from dashboard.api.models import MOST_CHARACTERS, MOST_HITS
from dashboard.marks import TermCount, marked
from dashboard.problems import Problem, problem_of
from dashboard.serving import Served, Serving
from dashboard.templating import page
from dashboard.why import shares_of
from retrieval.filters import Filters
from retrieval.fusion import RRF_K
from retrieval.ranking import Mode
from retrieval.refusal import Threshold
from retrieval.search import Results
from schemas.errors import PinciteError, UsageError
from schemas.records import Hit
from schemas.tables import document_of

MODES: tuple[Mode, ...] = ("hybrid", "dense", "bm25")
LONG = 900  # characters of a passage from which on it scrolls
router = APIRouter(include_in_schema=False)

_Text = Annotated[str, Query(max_length=1_000)]


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit with what the page says of it."""

    hit: Hit
    document_id: str
    quote: Markup
    terms: list[TermCount]
    dense_share: float | None  # of the RRF score
    bm25_share: float | None


class Asked:
    """The fields of the page's address."""

    def __init__(
        self,
        q: Annotated[str, Query(max_length=MOST_CHARACTERS)] = "",
        mode: _Text = "hybrid",
        rerank: _Text = "",
        k: Annotated[int, Query(ge=1, le=MOST_HITS)] = 10,
        threshold: _Text = "",
        documents: _Text = "",
        folders: _Text = "",
        types: _Text = "",
        languages: _Text = "",
        since: _Text = "",
        before: _Text = "",
        confidence: _Text = "",
    ) -> None:
        self.q = q.strip()
        if mode not in MODES:
            raise UsageError(f"unknown mode {mode!r}: use one of {', '.join(MODES)}")
        self.mode: Mode = mode
        self.rerank = bool(rerank)
        self.k = k
        self.threshold = threshold
        self.filters = {
            "documents": documents,
            "folders": folders,
            "types": types,
            "languages": languages,
            "since": since,
            "before": before,
            "confidence": confidence,
        }

    def as_filters(self) -> Filters:
        """Raises `UsageError` for a date or number that is none."""
        given = self.filters
        return Filters(
            **{name: _several(given[name]) for name in ("documents", "folders", "types", "languages")},
            modified_since=_date(given["since"]),
            modified_before=_date(given["before"]),
            min_ocr_confidence=_number(given["confidence"], 0, 100),
        )


@router.get("/ui/search")
async def show(request: Request, served: Served, asked: Annotated[Asked, Depends()]) -> Response:
    found = await served.work.run(lambda: _found(served, asked))
    return page(
        request.scope,
        "search.html.j2",
        active="search",
        asked=asked,
        modes=MODES,
        endpoint=served.endpoint is not None,
        rrf_k=RRF_K,
        long=LONG,
        **found,
    )


def _found(served: Serving, asked: Asked) -> dict[str, Any]:
    known = served.searcher.threshold()
    problem: Problem | None = None
    results: Results | None = None
    cut = known.distance
    try:
        if (given := _number(asked.threshold, 0, 2)) is not None:
            cut = given
        if asked.q:
            results = served.searcher.search(
                asked.q, mode=asked.mode, k=asked.k, filters=asked.as_filters(), rerank=asked.rerank
            )
    except PinciteError as error:
        problem = problem_of(error)
    hits = [_shown(asked.q, asked.mode, hit) for hit in results.hits] if results else []
    return {"known": _told(known), "cut": cut, "problem": problem, "results": results, "hits": hits}


def _told(known: Threshold) -> dict[str, Any]:
    return {
        "distance": known.distance,
        "warning": known.warning,
        "questions": known.calibration.questions if known.calibration else "",
    }


def _shown(query: str, mode: Mode, hit: Hit) -> ShownHit:
    return ShownHit(hit, document_of(hit.chunk_id), *marked(query, hit.content), *shares_of(mode, hit))


def _several(given: str) -> tuple[str, ...]:
    return tuple(part for one in given.split(",") if (part := one.strip()))


def _date(given: str) -> datetime | None:
    if not given:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError as error:
        raise UsageError(f"{given!r} is no date: write it as 2026-11-29") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _number(given: str, least: float, most: float) -> float | None:
    if not given:
        return None
    try:
        found = float(given)
    except ValueError as error:
        raise UsageError(f"{given!r} is no number") from error
    if not least <= found <= most:
        raise UsageError(f"{given} is not between {least:g} and {most:g}")
    return found
