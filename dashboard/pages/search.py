"""Search and ask: hits with their measures, why each has its rank, and what a threshold would refuse."""

from dataclasses import dataclass
from datetime import datetime
from itertools import repeat
from typing import Annotated, Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from markupsafe import Markup
from pydantic import BaseModel, Field, ValidationError
from starlette.routing import Route
from starlette.types import Scope

from pincite.dashboard.api.addresses import passage_address
from pincite.dashboard.api.models import MOST_CHARACTERS, MOST_HITS
from pincite.dashboard.http.problems import Problem, problem_of
from pincite.dashboard.http.templating import page
from pincite.dashboard.state.serving import Serving
from pincite.dashboard.views.highlights import Marker
from pincite.dashboard.views.rank_explanation import shares_of, sum_of
from pincite.retrieval.filters import Filters
from pincite.retrieval.ranking import Mode
from pincite.retrieval.searcher import Results
from pincite.retrieval.threshold import Threshold
from pincite.schemas.errors import PinciteError, UsageError
from pincite.schemas.records import Hit
from pincite.schemas.tables import document_of

MODES: tuple[Mode, ...] = ("hybrid", "dense", "bm25")
LONG = 900  # characters of a passage from which on it scrolls

_NAMES = ("documents", "folders", "types", "languages", "collections")  # filters, several parted by commas
_Text = Annotated[str, Field(max_length=1_000)]


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit with what the page says of it."""

    hit: Hit
    passage: str  # its address in the API, which under /ui is that of its page
    quote: Markup
    terms: Markup  # of which its BM25 score is the sum; "" for none
    dense_share: float | None  # of the score
    bm25_share: float | None


@dataclass(frozen=True, slots=True)
class SearchFields:
    """What is asked, from the fields of the page's address."""

    q: str
    mode: Mode
    rerank: bool
    k: int
    threshold: str
    filters: dict[str, str]

    def as_filters(self) -> Filters:
        """Raises `UsageError` for a date or number that is none."""
        given = self.filters
        return Filters(
            **{name: _several(given[name]) for name in _NAMES},
            modified_since=_date(given["since"]),
            modified_before=_date(given["before"]),
            min_ocr_confidence=_number(given["confidence"], 0, 100),
        )


class _Filters(BaseModel):
    documents: _Text = ""
    folders: _Text = ""
    types: _Text = ""
    languages: _Text = ""
    collections: _Text = ""
    since: _Text = ""
    before: _Text = ""
    confidence: _Text = ""


class _Fields(_Filters):
    q: Annotated[str, Field(max_length=MOST_CHARACTERS)] = ""
    mode: _Text = "hybrid"
    rerank: _Text = ""
    k: Annotated[int, Field(ge=1, le=MOST_HITS)] = 10
    threshold: _Text = ""


_FILTERS = tuple(_Filters.model_fields)


def _asked(request: Request) -> SearchFields:
    """Validated in one go: as parameters of the endpoint each field takes FastAPI as long as here all do."""
    try:
        given = _Fields.model_validate(dict(request.query_params))
    except ValidationError as error:
        faults = [one | {"loc": ("query", *one["loc"])} for one in error.errors()]
        raise RequestValidationError(faults) from error
    mode = next((one for one in MODES if one == given.mode), None)
    if mode is None:
        raise UsageError(f"unknown mode {given.mode!r}: use one of {', '.join(MODES)}")
    filters = {name: getattr(given, name) for name in _FILTERS}
    return SearchFields(given.q.strip(), mode, bool(given.rerank), given.k, given.threshold, filters)


async def show(request: Request) -> Response:
    served: Serving = request.app.state.serving
    asked = _asked(request)
    return await served.work.run(lambda: _page(request.scope, served, asked))


ROUTES = (Route("/ui/search", show),)


def _page(scope: Scope, served: Serving, asked: SearchFields) -> Response:
    return page(
        scope,
        "search.html.j2",
        active="search",
        asked=asked,
        modes=MODES,
        endpoint=served.endpoint is not None,
        long=LONG,
        **_found(served, asked),
    )


def _found(served: Serving, asked: SearchFields) -> dict[str, Any]:
    known = served.searcher.threshold()
    problem: Problem | None = None
    results: Results | None = None
    cut = known.distance
    try:
        if (given := _number(asked.threshold, 0, 2)) is not None:
            cut = given
        if asked.q:
            results = served.searcher.search(
                asked.q,
                mode=asked.mode,
                k=asked.k,
                filters=asked.as_filters(),
                rerank=asked.rerank,
                explain=True,
            )
    except PinciteError as error:
        problem = problem_of(error)
    hits = _shown(asked, results) if results else []
    return {"known": _told(known), "cut": cut, "problem": problem, "results": results, "hits": hits}


def _told(known: Threshold) -> dict[str, Any]:
    return {
        "distance": known.distance,
        "warning": known.warning,
        "questions": known.calibration.questions if known.calibration else "",
    }


def _shown(asked: SearchFields, results: Results) -> list[ShownHit]:
    marker = Marker(asked.q)
    return [
        ShownHit(
            hit,
            passage_address(document_of(hit.chunk_id), hit.start, hit.end),
            marker.marked(hit.content),
            sum_of(terms),
            *shares_of(asked.mode, hit, results.most_of_words),
        )
        for hit, terms in zip(results.hits, results.shares or repeat(()), strict=False)
    ]


def _several(given: str) -> tuple[str, ...]:
    return tuple(part for one in given.split(",") if (part := one.strip()))


def _date(given: str) -> datetime | None:
    """Without a zone it is of the server's, as all times of a page are (`pincite.retrieval.filters`)."""
    if not given:
        return None
    try:
        return datetime.fromisoformat(given)
    except ValueError as error:
        raise UsageError(f"{given!r} is no date: write it as 2026-11-29") from error


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
